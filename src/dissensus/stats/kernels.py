"""Compiled loops over ratings, for many replicates of many groups.

Each replicate of a comparison (a group, and the raters it is compared with) becomes a row of sums over items, from
which all statistics follow. Three kernels fill the rows: `fill_bits` counts the bits of packed rater sets, for dense
designs; `fill_lists` walks the ratings of each item, for sparse designs and weighted raters; `fill_resamples` counts
once for several weightings of the items. `fill_pairs` walks the ratings for the distance between every pair of groups.

Counts and weights are whole numbers, so logarithms come from tables and products of counts are exact in floating point.
Items are added in blocks, category by category, in loops without branches that the compiler can vectorise. Kernels
call no methods of arrays, such as `sum`: machine code with those loads numba's linear algebra with it, and SciPy where
it is installed.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

from dissensus.stats.result import ZERO, FloatArray


class KernelCache(FunctionCache):
    """Cache on disk that loads machine code without the declarations of functions, which only compilation needs.

    Machine code includes the kernels that are called and the constants beside them. It is compiled again if the file of
    the kernel has changed, which is all that numba notices, or one whose kernels its module imports, and so on.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        kernels: list[Any] = [value for value in function.__globals__.values() if isinstance(value, Dispatcher)]
        caches = (kernel._cache for kernel in kernels if isinstance(kernel._cache, KernelCache))
        stamp = self._impl.locator.get_source_stamp()
        self.stamps: frozenset[bytes] = frozenset([stamp]).union(*(cache.stamps for cache in caches))
        self._cache_file = IndexDataCacheFile(self._cache_path, self._impl.filename_base, self.stamps)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel of a signature, or None; the runtime allocates its arrays."""
        target_context.refresh = partial(rtsys.initialize, target_context)
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        finally:
            del target_context.refresh


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel, and cache the machine code on disk if possible."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, **options)(function)
        # Kernels need no extensions of numba, which it would search for among all installed packages.
        kernel._compilation_chain_init_hook = lambda: None
        try:
            kernel._cache = KernelCache(function)
        except RuntimeError:
            _warn_once()
        return kernel

    return decorate


@cache
def _warn_once() -> None:
    warnings.warn(
        "Compiled code cannot be cached, so every process compiles it again, which takes some seconds. "
        "Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )


FAST = {"reassoc", "contract", "nsz"}
"""Flags by which the compiler may reorder sums; NaN and infinity keep their meaning."""

BLOCK = 512

# Within the group, over items with two distinct raters: m, squared weights, m × disagreement.
IN_M, IN_SQUARES, IN_DISAGREEMENT = 0, 1, 2
# Within the group, over items with at least one rater: their number, p ln p, largest share.
RATED, RATED_ENTROPY, RATED_PLURALITY = 3, 4, 5
# Across groups, over items that both rated: their number, squared weights, m inside and outside.
BOTH, BOTH_SQUARES, BOTH_IN, BOTH_OUT = 6, 7, 8, 9
# Across groups, over the same items: disagreement, p ln q, different votes.
BOTH_DISAGREEMENT, BOTH_CROSS_ENTROPY, BOTH_SPLIT = 10, 11, 12
N_FIXED = 13
# Blocks of K sums after the fixed ones: marginals of pairable items, of shared items inside and outside, votes.
PAIRABLE, SHARED_IN, SHARED_OUT, VOTES = 0, 1, 2, 3
N_BLOCKS = 4

METRICS = ("irr", "xrr", "negentropy", "cross_negentropy", "plurality_size", "voting_agreement", "gai")


def width(n_categories: int) -> int:
    """Return the length of a row of sums."""
    return N_FIXED + N_BLOCKS * n_categories


def tables(largest: int) -> tuple[FloatArray, FloatArray]:
    """Return n ln n and ln n for n = 0 … largest, with ln 0 set to 0, so that terms with q = 0 are left out."""
    n = np.arange(largest + 1, dtype=np.float64)
    logs = np.log(np.maximum(n, 1))
    return n * logs, logs


@compiled()
def count_groups(group):  # type: ignore[no-untyped-def]
    """Return the number of groups by the largest code of raters, in one replicate or several."""
    largest = -1
    for code in group.flat:
        largest = max(largest, code)
    return largest + 1


@compiled(fastmath=FAST, error_model="numpy")
def add_block(sums, inside, outside, squares, weight, size, n_ln_n, ln, real, votes, ready):  # type: ignore[no-untyped-def]
    """Add the first `size` items of a block to a row of sums.

    inside, outside (K, BLOCK): counts of the two groups; squares (BLOCK,): sums of squared rater weights inside; weight
    (BLOCK,): item weights. real (9, BLOCK) and votes (4, BLOCK) are scratch, and `ready` if they are those of the same
    counts.
    """
    n_categories = inside.shape[0]
    pairable, shared, vote, vote_out = real[7], real[8], votes[2], votes[3]
    if not ready:
        _describe_items(inside, outside, size, n_ln_n, ln, real, votes)
    _add_fixed(sums, squares, weight, size, ln, real, votes)
    for k in range(n_categories):
        marginal = shared_in = shared_out = voted = 0.0
        for i in range(size):
            marginal += pairable[i] * inside[k, i]
            shared_in += shared[i] * inside[k, i]
            shared_out += shared[i] * outside[k, i]
            voted += shared[i] * ((1.0 if vote[i] == k else 0.0) + (1.0 if vote_out[i] == k else 0.0))
        sums[N_FIXED + PAIRABLE * n_categories + k] += marginal
        sums[N_FIXED + SHARED_IN * n_categories + k] += shared_in
        sums[N_FIXED + SHARED_OUT * n_categories + k] += shared_out
        sums[N_FIXED + VOTES * n_categories + k] += voted


@compiled(fastmath=FAST, error_model="numpy")
def _describe_items(inside, outside, size, n_ln_n, ln, real, votes):  # type: ignore[no-untyped-def]
    m, m_out, agree, cross_agree, entropy, cross, covered = (
        real[0],
        real[1],
        real[2],
        real[3],
        real[4],
        real[5],
        real[6],
    )
    top, top_out, vote, vote_out = votes[0], votes[1], votes[2], votes[3]
    for i in range(size):
        m[i] = m_out[i] = agree[i] = cross_agree[i] = entropy[i] = cross[i] = covered[i] = 0.0
        top[i] = top_out[i] = -1
        vote[i] = vote_out[i] = 0
    # Each loop uses few arrays: with more, the compiler cannot prove that they do not overlap.
    for k in range(inside.shape[0]):
        n, q = inside[k], outside[k]
        for i in range(size):
            m[i] += n[i]
        for i in range(size):
            m_out[i] += q[i]
        for i in range(size):
            agree[i] += float(n[i]) * float(n[i])
        for i in range(size):
            cross_agree[i] += float(n[i]) * float(q[i])
        for i in range(size):
            covered[i] += float(n[i]) if q[i] > 0 else 0.0
        for i in range(size):
            entropy[i] += n_ln_n[n[i]]
        for i in range(size):
            cross[i] += n[i] * ln[q[i]]
        _vote(n, top, vote, k, size)
        _vote(q, top_out, vote_out, k, size)


@compiled()
def _vote(counts, top, vote, k, size):  # type: ignore[no-untyped-def]
    """Update the vote of each item where category k has more counts than all before it; ties go to the first."""
    for i in range(size):
        vote[i] = k if counts[i] > top[i] else vote[i]
    for i in range(size):
        top[i] = max(top[i], counts[i])


@compiled(fastmath=FAST, error_model="numpy")
def _add_fixed(sums, squares, weight, size, ln, real, votes):  # type: ignore[no-untyped-def]
    m, m_out, agree, cross_agree = real[0], real[1], real[2], real[3]
    entropy, cross, covered, pairable, shared = real[4], real[5], real[6], real[7], real[8]
    top, vote, vote_out = votes[0], votes[2], votes[3]
    in_m = in_squares = in_disagreement = rated = rated_entropy = rated_plurality = 0.0
    n_shared = shared_squares = shared_in = shared_out = shared_disagreement = cross_entropy = split = 0.0
    for i in range(size):
        pairable[i] = weight[i] if m[i] * m[i] > squares[i] else 0.0
    for i in range(size):
        shared[i] = weight[i] if m[i] * m_out[i] > 0.0 else 0.0
    for i in range(size):
        pairs = m[i] * m[i] - squares[i]
        wp = pairable[i]
        wr = float(weight[i]) if m[i] > 0.0 else 0.0
        ws = shared[i]
        in_m += wp * m[i]
        in_squares += wp * wp * squares[i]
        in_disagreement += wp * m[i] * (m[i] * m[i] - agree[i]) / max(pairs, 1.0)
        rated += wr
        share = wr / max(m[i], 1.0)
        rated_entropy += share * (entropy[i] - m[i] * ln[int(m[i])])
        rated_plurality += share * top[i]
        share = ws / max(m[i], 1.0)
        n_shared += ws
        shared_squares += ws * ws
        shared_in += ws * m[i]
        shared_out += ws * m_out[i]
        shared_disagreement += share * (m[i] + m_out[i]) * (m[i] * m_out[i] - cross_agree[i]) / max(m_out[i], 1.0)
        cross_entropy += share * (cross[i] - covered[i] * ln[int(m_out[i])])
        split += ws if vote[i] != vote_out[i] else 0.0
    sums[IN_M] += in_m
    sums[IN_SQUARES] += in_squares
    sums[IN_DISAGREEMENT] += in_disagreement
    sums[RATED] += rated
    sums[RATED_ENTROPY] += rated_entropy
    sums[RATED_PLURALITY] += rated_plurality
    sums[BOTH] += n_shared
    sums[BOTH_SQUARES] += shared_squares
    sums[BOTH_IN] += shared_in
    sums[BOTH_OUT] += shared_out
    sums[BOTH_DISAGREEMENT] += shared_disagreement
    sums[BOTH_CROSS_ENTROPY] += cross_entropy
    sums[BOTH_SPLIT] += split


@intrinsic
def _popcount(_typing, word):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """Count the set bits of a 64-bit word in one instruction."""

    def codegen(_context, builder, _signature, args):  # type: ignore[no-untyped-def]
        function = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(function, args)

    return types.int64(types.uint64), codegen


@intrinsic
def prefetch(_typing, array, row, column):  # type: ignore[no-untyped-def]
    """Fetch the cache line of an element of a two-dimensional array into the cache, to change it soon."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        values = context.make_array(signature.args[0])(context, builder, args[0])
        indexes = zip(args[1:], signature.args[1:], strict=True)
        position = [context.cast(builder, value, kind, types.intp) for value, kind in indexes]
        address = cgutils.get_item_pointer(context, builder, signature.args[0], values, position)  # type: ignore[no-untyped-call]
        flag = ir.IntType(32)
        arguments = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], arguments)
        write, all_levels, data = flag(1), flag(3), flag(1)
        builder.call(function, [builder.bitcast(address, cgutils.voidptr_t), write, all_levels, data])
        return context.get_dummy_value()

    return types.none(array, row, column), codegen


def pack(
    items: npt.NDArray[np.integer[Any]],
    raters: npt.NDArray[np.integer[Any]],
    answers: npt.NDArray[np.integer[Any]],
    shape: tuple[int, int, int],
) -> npt.NDArray[np.uint64]:
    """Return the set of raters who gave each answer to each item, 64 raters per word, shape (K, words, I)."""
    n_items, n_raters, n_categories = shape
    sets = np.zeros((n_categories, words(n_raters), n_items), dtype=np.uint64)
    _pack(items, raters, answers, sets)
    return sets


def words(n_raters: int) -> int:
    """Return the number of 64-bit words that hold a set of raters."""
    return max(1, -(-n_raters // 64))


@compiled()
def _pack(items, raters, answers, sets):  # type: ignore[no-untyped-def]
    for t in range(items.size):
        r = raters[t]
        sets[answers[t], r // 64, items[t]] |= np.uint64(1) << np.uint64(r % 64)


@compiled()
def count(items, answers, n_items, n_categories):  # type: ignore[no-untyped-def]
    """Count answers by item and category; negative answers are missing."""
    counts = np.zeros((n_items, n_categories), dtype=np.int32)
    for t in range(items.size):
        if answers[t] >= 0:
            counts[items[t], answers[t]] += 1
    return counts


def by_item(
    items: npt.NDArray[np.integer[Any]],
    raters: npt.NDArray[np.integer[Any]],
    answers: npt.NDArray[np.integer[Any]],
    n_items: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int16]]:
    """Return the ratings sorted by item: start of each item, rater and answer of each rating."""
    starts = np.zeros(n_items + 1, dtype=np.int64)
    sorted_raters = np.empty(items.size, dtype=np.int32)
    sorted_answers = np.empty(items.size, dtype=np.int16)
    _sort(items, raters, answers, starts, sorted_raters, sorted_answers)
    return starts, sorted_raters, sorted_answers


@compiled()
def _sort(items, raters, answers, starts, sorted_raters, sorted_answers):  # type: ignore[no-untyped-def]
    """Sort ratings by item with a stable counting sort."""
    n_items = starts.size - 1
    for t in range(items.size):
        starts[items[t] + 1] += 1
    for i in range(n_items):
        starts[i + 1] += starts[i]
    free = starts[:-1].copy()
    for t in range(items.size):
        position = free[items[t]]
        free[items[t]] += 1
        sorted_raters[position] = raters[t]
        sorted_answers[position] = answers[t]


@compiled()
def fill_bits(sums, sets, group, inside, outside, n_ln_n, ln):  # type: ignore[no-untyped-def]
    """Fill one row of sums for each comparison of each replicate; arguments as in `fill_lists`."""
    n_categories, n_words, n_items = sets.shape
    n_groups = count_groups(group)
    members = np.zeros((n_groups + 1, n_words), dtype=np.uint64)
    counts = np.zeros((n_groups + 1, n_categories, BLOCK), dtype=np.int32)
    squares = np.zeros((n_groups, BLOCK), dtype=np.int64)
    weights = np.ones((1, n_items), dtype=np.int32)
    rest = np.zeros((n_categories, BLOCK), dtype=np.int32)
    real = np.zeros((9, BLOCK))
    votes = np.zeros((4, BLOCK), dtype=np.int32)
    for b in range(sums.shape[0]):
        members[:] = 0
        for r in range(group.shape[1]):
            if group[b, r] >= 0:
                bit = np.uint64(1) << np.uint64(r % 64)
                members[group[b, r], r // 64] |= bit
                members[n_groups, r // 64] |= bit
        for low in range(0, n_items, BLOCK):
            size = min(BLOCK, n_items - low)
            for g in range(n_groups + 1):
                _count_members(counts[g], sets, members[g], low, size)
            for g in range(n_groups):
                _sum_over_categories(counts[g], squares[g], size)
            _compare(
                sums[b : b + 1], counts, squares, weights, low, size, inside, outside, n_ln_n, ln, rest, real, votes
            )


@compiled()
def fill_lists(sums, starts, raters, answers, group, rater_weight, item_weight, inside, outside, n_ln_n, ln):  # type: ignore[no-untyped-def]
    """Fill one row of sums for each comparison of each replicate.

    sums (B, C, width). group (B or 1, R): group of each rater, negative for none. rater_weight (B or 1, R) and
    item_weight (B or 1, I): whole numbers. An array of one row is used for all replicates. inside, outside (C,): the
    two groups of each comparison; a negative one means all other groups.
    """
    n_groups = count_groups(group)
    n_categories = (sums.shape[2] - N_FIXED) // N_BLOCKS
    n_items = starts.size - 1
    counts = np.zeros((n_groups + 1, n_categories, BLOCK), dtype=np.int32)
    squares = np.zeros((n_groups, BLOCK), dtype=np.int64)
    rest = np.zeros((n_categories, BLOCK), dtype=np.int32)
    real = np.zeros((9, BLOCK))
    votes = np.zeros((4, BLOCK), dtype=np.int32)
    for b in range(sums.shape[0]):
        group_b = group[b % group.shape[0]]
        rater_weight_b = rater_weight[b % rater_weight.shape[0]]
        of_items = b % item_weight.shape[0]
        weights = item_weight[of_items : of_items + 1]
        for low in range(0, n_items, BLOCK):
            size = min(BLOCK, n_items - low)
            counts[:] = 0
            squares[:] = 0
            for i in range(size):
                for t in range(starts[low + i], starts[low + i + 1]):
                    g = group_b[raters[t]]
                    if g >= 0:
                        w = rater_weight_b[raters[t]]
                        counts[g, answers[t], i] += w
                        squares[g, i] += w * w
            for g in range(n_groups):
                _add(counts[n_groups], counts[g], size)
            _compare(
                sums[b : b + 1], counts, squares, weights, low, size, inside, outside, n_ln_n, ln, rest, real, votes
            )


@compiled()
def fill_resamples(  # type: ignore[no-untyped-def]
    sums, marks, item_runs, runs, run_group, run_answer, raters, group, rater_weight, item_weights, inside, outside,
    n_ln_n, ln
):  # fmt: skip
    """Fill one row of sums for each comparison of each replicate with V weightings of the items, sums (B, V, C, width).

    A run is the raters of an item who are of one group and gave one answer: item_runs (I + 1,) is the first run of each
    item, runs (N + 1,) the first of the raters of each run. marks (R, K + 1, I) replace runs, unless they are empty.
    group (R,). rater_weight (B, R), item_weights (B, V, I): whole numbers.
    """
    n_groups, n_categories = count_groups(group), (sums.shape[3] - N_FIXED) // N_BLOCKS
    n_items = item_runs.size - 1
    counts = np.zeros((n_groups + 1, n_categories, BLOCK), dtype=np.int32)
    squares = np.zeros((n_groups, BLOCK), dtype=np.int64)
    rest = np.zeros((n_categories, BLOCK), dtype=np.int32)
    real = np.zeros((9, BLOCK))
    votes = np.zeros((4, BLOCK), dtype=np.int32)
    for b in range(sums.shape[0]):
        for low in range(0, n_items, BLOCK):
            size = min(BLOCK, n_items - low)
            counts[:] = 0
            squares[:] = 0
            if marks.size > 0:
                count_marks(counts, squares, marks, group, rater_weight[b], low, size)
            else:
                count_runs(counts, squares, item_runs, runs, run_group, run_answer, raters, rater_weight[b], low, size)
            for g in range(n_groups):
                _add(counts[n_groups], counts[g], size)
            _compare(
                sums[b], counts, squares, item_weights[b], low, size, inside, outside, n_ln_n, ln, rest, real, votes
            )


@compiled()
def count_runs(counts, squares, item_runs, runs, run_group, run_answer, raters, weight, low, size):  # type: ignore[no-untyped-def]
    """Add the weighted answers of each group to items of a block, and the squared weights of its raters, by runs."""
    for i in range(size):
        for u in range(item_runs[low + i], item_runs[low + i + 1]):
            total = square = 0
            for t in range(runs[u], runs[u + 1]):
                w = weight[raters[t]]
                total += w
                square += w * w
            counts[run_group[u], run_answer[u], i] = total
            squares[run_group[u], i] += square


@compiled()
def count_marks(counts, squares, marks, group, weight, low, size):  # type: ignore[no-untyped-def]
    """Add the same as `count_runs`, by the marks of each rater."""
    last = marks.shape[1] - 1
    for r in range(group.size):
        g, w = group[r], weight[r]
        if g >= 0 and w > 0:
            for k in range(last):
                _add_marks(counts[g, k], marks[r, k, low:], w, size)
            _add_marks(squares[g], marks[r, last, low:], w * w, size)


@compiled()
def _add_marks(total, mark, weight, size):  # type: ignore[no-untyped-def]
    for i in range(size):
        total[i] += mark[i] * weight


@compiled()
def _compare(sums, counts, squares, weights, low, size, inside, outside, n_ln_n, ln, rest, real, votes):  # type: ignore[no-untyped-def]
    """Add a block to each comparison with each weighting of the items, sums (V, C, width), weights (V, I).

    The last of `counts` is the pool, and `rest`, `real`, `votes` are scratch.
    """
    for c in range(inside.size):
        g, h = inside[c], outside[c]
        known = max(g, h)
        if g < 0 or h < 0:
            for k in range(rest.shape[0]):
                for i in range(size):
                    rest[k, i] = counts[-1, k, i] - counts[known, k, i]
        of_inside = counts[g] if g >= 0 else rest
        of_outside = counts[h] if h >= 0 else rest
        for v in range(weights.shape[0]):
            add_block(
                sums[v, c],
                of_inside,
                of_outside,
                squares[g] if g >= 0 else _sum_others(squares, h),
                weights[v, low : low + size],
                size,
                n_ln_n,
                ln,
                real,
                votes,
                v > 0,
            )


@compiled()
def _sum_others(squares, h):  # type: ignore[no-untyped-def]
    """Sum the squares of all groups but one."""
    others = np.zeros_like(squares[0])
    for q in range(squares.shape[0]):
        if q != h:
            others += squares[q]
    return others


@compiled()
def _count_members(counts, sets, members, low, size):  # type: ignore[no-untyped-def]
    """Count the group members who gave each answer to each item of a block."""
    for k in range(counts.shape[0]):
        for i in range(size):
            counts[k, i] = _popcount(sets[k, 0, low + i] & members[0])  # type: ignore[call-arg]
        for w in range(1, members.size):
            for i in range(size):
                counts[k, i] += _popcount(sets[k, w, low + i] & members[w])  # type: ignore[call-arg]


@compiled()
def _sum_over_categories(counts, total, size):  # type: ignore[no-untyped-def]
    """Sum counts over categories, the sums of squared weights of unweighted raters."""
    total[:] = 0
    for k in range(counts.shape[0]):
        for i in range(size):
            total[i] += counts[k, i]


@compiled()
def _add(total, part, size):  # type: ignore[no-untyped-def]
    """Add the counts of a group to those of the pool."""
    for k in range(total.shape[0]):
        for i in range(size):
            total[k, i] += part[k, i]


@compiled()
def fill_pairs(total, shared, starts, raters, answers, group, n_categories):  # type: ignore[no-untyped-def]
    """Sum total variation over the items that both rated, for each pair of groups of each replicate.

    total, shared (B, G (G - 1) / 2): sums and numbers of items, pairs in the order of the upper triangle. group (B, R):
    group of each rater, negative for none.
    """
    n_groups = count_groups(group)
    n_items = starts.size - 1
    counts = np.zeros((n_groups, n_categories, BLOCK), dtype=np.int32)
    m = np.zeros((n_groups, BLOCK), dtype=np.int64)
    share = np.zeros((n_groups, n_categories, BLOCK))
    gap = np.zeros(BLOCK)
    for b in range(group.shape[0]):
        for low in range(0, n_items, BLOCK):
            size = min(BLOCK, n_items - low)
            counts[:] = 0
            for i in range(size):
                for t in range(starts[low + i], starts[low + i + 1]):
                    g = group[b, raters[t]]
                    if g >= 0:
                        counts[g, answers[t], i] += 1
            for g in range(n_groups):
                _sum_over_categories(counts[g], m[g], size)
                for k in range(n_categories):
                    for i in range(size):
                        share[g, k, i] = counts[g, k, i] / max(m[g, i], 1)
            pair = 0
            for g in range(n_groups):
                for h in range(g + 1, n_groups):
                    _add_pair(total[b], shared[b], pair, share[g], share[h], m[g], m[h], gap, size)
                    pair += 1


@compiled(fastmath=FAST, error_model="numpy")
def _add_pair(total, shared, pair, p, q, m, m_other, gap, size):  # type: ignore[no-untyped-def]
    """Add a block of items to one pair of groups; `gap` is scratch."""
    for i in range(size):
        gap[i] = 0.0
    for k in range(p.shape[0]):
        for i in range(size):
            gap[i] += abs(p[k, i] - q[k, i])
    distance, n = 0.0, 0
    for i in range(size):
        both_rated = 1 if m[i] > 0 and m_other[i] > 0 else 0
        distance += both_rated * gap[i]
        n += both_rated
    total[pair] += distance / 2
    shared[pair] += n


def metrics(sums: FloatArray, n_categories: int) -> FloatArray:
    """Return the statistics of `METRICS` from rows of sums, shape (…, width) to (…, 7); NaN where undefined."""
    fixed = np.moveaxis(sums[..., :N_FIXED], -1, 0)
    blocks = sums[..., N_FIXED:].reshape(*sums.shape[:-1], N_BLOCKS, n_categories)
    marginals, shared_in, shared_out, votes = np.moveaxis(blocks, -2, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        irr = _alpha(fixed[IN_DISAGREEMENT], fixed[IN_M], fixed[IN_SQUARES], marginals)
        pairs = fixed[BOTH_IN] * fixed[BOTH_OUT]
        expected = _nan_unless_positive((pairs - (shared_in * shared_out).sum(axis=-1)) / pairs)
        xrr = 1 - fixed[BOTH_DISAGREEMENT] / (fixed[BOTH_IN] + fixed[BOTH_OUT]) / expected
        full = np.log(n_categories)
        voting = _alpha(2 * fixed[BOTH_SPLIT], 2 * fixed[BOTH], 2 * fixed[BOTH_SQUARES], votes)
        return np.stack(
            [
                irr,
                xrr,
                full + fixed[RATED_ENTROPY] / fixed[RATED],
                full + fixed[BOTH_CROSS_ENTROPY] / fixed[BOTH],
                fixed[RATED_PLURALITY] / fixed[RATED],
                voting,
                np.where(xrr > ZERO, irr / xrr, np.nan),
            ],
            axis=-1,
        )


def _alpha(disagreement: FloatArray, n: FloatArray, squares: FloatArray, marginals: FloatArray) -> FloatArray:
    expected = _nan_unless_positive((n * n - np.square(marginals).sum(axis=-1)) / (n * n - squares))
    return 1 - disagreement / n / expected


def _nan_unless_positive(expected: FloatArray) -> FloatArray:
    return np.where(expected > 0, expected, np.nan)
