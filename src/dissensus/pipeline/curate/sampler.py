"""Stratified sampling of items: screening, then drawing by plan."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version

from dissensus.errors import InvalidInput
from dissensus.pipeline.curate.manifest import (
    MAX_LISTED,
    count_strata,
    describe_overlaps,
    describe_shortfalls,
    digest_items,
    tabulate_outcomes,
)
from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.screening import Progress, SampleCandidate, list_candidates, screen_items
from dissensus.pipeline.curate.selection import Selection
from dissensus.pipeline.curate.strata import allocate_equally, allocate_proportionally, fill_strata
from dissensus.schema.hints import count_rest, format_list, format_value, suggest
from dissensus.schema.records.item import Item


def curate(items: Iterable[Item], plan: SamplePlan, *, progress: Progress | None = None) -> Selection:
    """Draw a stratified sample of items.

    Items are divided into strata and screened for personal data, then for duplicates. The planned number is drawn at
    random from each stratum.

    Parameters
    ----------
    items
        The corpus, each item once; from a file by `read_items`.
    plan
        Sample size, strata, screens and seed.
    progress
        Called with the share of the work that is done, from 0 to 1.

    Returns
    -------
    Selection
        The sample, and the outcome of every item. It does not depend on the order of the items.

    Raises
    ------
    NotFound
        No item has an attribute that the plan names.
    InvalidInput
        There are no items, or two with one id; a stratum of the plan does not exist; or too few items are left.

    Notes
    -----
    Items are ranked by SHA-256 of ``seed:item_id``, and the first of each stratum are chosen. A rank depends on the
    seed and the id alone: further strata or items do not change other draws, and a larger sample of a stratum contains
    a smaller one.

    An item with several topics in ``harm_type`` or ``topic`` belongs to the stratum of each, and counts in each once it
    is chosen; strata are filled from the smallest to the largest, so that a large one may exceed its number.

    Of a group of duplicates the first by id may be drawn. Items without a value of a stratifying attribute are left
    out.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> harm = ["Benign", "Benign", "Benign", "Extreme", "Extreme"]
    >>> corpus = [
    ...     Item(str(number), Conversation.from_turns([("bot", f"Answer {number}")]), {"degree_of_harm": degree})
    ...     for number, degree in enumerate(harm)
    ... ]
    >>> selection = curate(corpus, SamplePlan(n=2, by="degree_of_harm", allocation="equal"))
    >>> selection.strata.select("stratum", "n_items", "n_wanted", "n_chosen").rows()
    [('Benign', 3, 1, 1), ('Extreme', 2, 1, 1)]
    >>> [item.item_id for item in selection.sample]
    ['2', '4']
    """
    pool = list_candidates(_sort_items(items), plan.by, plan.sets)
    strata = _list_strata(pool, plan)
    candidates = screen_items(pool, plan, strata, progress=progress)
    if len(candidates) < plan.n:
        raise _too_few(plan, len(candidates), len(pool))
    counts = Counter(stratum for candidate in candidates for stratum in candidate.strata)
    available = [counts[stratum] for stratum in strata]
    targets = _allocate(plan, available)
    sizes = fill_strata(targets, available) if plan.fill else list(map(min, targets, available))
    _draw(candidates, dict(zip(strata, sizes, strict=True)), plan)
    table = tabulate_outcomes(pool)
    strata_table = count_strata(pool, dict(zip(strata, targets, strict=True)))
    sample = tuple(candidate.item for candidate in pool if candidate.outcome == "chosen")
    selection = Selection(
        plan=plan,
        strata=strata_table,
        items=table,
        sample=sample,
        digest=digest_items([candidate.item for candidate in pool]),
        notes=(*describe_shortfalls(plan, strata_table, len(sample)), *describe_overlaps(plan, pool)),
        version=version("dissensus"),
    )
    if progress is not None:
        progress(1.0)
    return selection


def _sort_items(items: Iterable[Item]) -> list[Item]:
    """Return the items in the order of their ids."""
    corpus = [_check_item(item) for item in items]
    if not corpus:
        raise InvalidInput("There are no items to choose from.")
    twice = [item_id for item_id, count in Counter(item.item_id for item in corpus).items() if count > 1]
    if twice:
        rest = count_rest(len(twice) - 1, "such id")
        raise InvalidInput(f"Several items have the id {format_value(twice[0])}. Each needs a different one.{rest}")
    return sorted(corpus, key=lambda item: item.item_id)


def _check_item(item: object) -> Item:
    if not isinstance(item, Item):
        raise InvalidInput(f"Give items, such as read_items(…).items has them, not {type(item).__name__}.")
    return item


def _list_strata(pool: Sequence[SampleCandidate], plan: SamplePlan) -> list[str]:
    """Return the names of the strata of the sample, in order."""
    names = sorted({stratum for candidate in pool for stratum in candidate.strata})
    if not names:
        raise InvalidInput(f"No item has a value of each of {format_list(plan.by)}. Name fewer attributes.")
    if isinstance(plan.allocation, Mapping):
        unknown = [stratum for stratum in plan.allocation if stratum not in names]
        if unknown:
            faults = " ".join(
                f"There is no stratum {format_value(stratum)}.{suggest(stratum, names)}"
                for stratum in unknown[:MAX_LISTED]
            )
            rest = count_rest(len(unknown) - MAX_LISTED, "such name") if len(unknown) > MAX_LISTED else ""
            raise InvalidInput(f"{faults}{rest} The strata of {' and '.join(plan.by)} are {format_list(names)}.")
        return list(plan.allocation)
    if plan.allocation == "equal" and len(names) > plan.n:
        raise InvalidInput(
            f"{' and '.join(plan.by)} make {len(names):,} strata, more than the {plan.n:,} items that are wanted, "
            "so that no equal number of each can be drawn. Ask for more, or name an attribute with fewer values."
        )
    return names


def _too_few(plan: SamplePlan, n_left: int, n_items: int) -> InvalidInput:
    wanted = f"{plan.n:,} items are wanted, and {n_left:,} of {n_items:,} may be drawn"
    if n_left == n_items:
        return InvalidInput(f"{wanted}. Ask for fewer.")
    return InvalidInput(f"{wanted}; screens and strata leave out the others. Ask for fewer, or leave out less.")


def _allocate(plan: SamplePlan, available: list[int]) -> list[int]:
    """Return the planned number of items of each stratum."""
    if isinstance(plan.allocation, Mapping):
        return list(plan.allocation.values())
    allocate = allocate_equally if plan.allocation == "equal" else allocate_proportionally
    return allocate(plan.n, available)


def _draw(candidates: Sequence[SampleCandidate], sizes: Mapping[str, int], plan: SamplePlan) -> None:
    """Set the outcomes: the first in rank of each stratum are chosen, small strata before large ones.

    A chosen item counts in all its strata. Where these overlap, the first in rank of all fill the sample to its size,
    unless numbers of strata are allocated.
    """
    ranked = sorted(candidates, key=lambda candidate: _rank(plan.seed, candidate.item.item_id))
    members = {stratum: [candidate for candidate in ranked if stratum in candidate.strata] for stratum in sizes}
    for candidate in ranked:
        candidate.outcome = "not drawn"
    for stratum in sorted(sizes, key=lambda stratum: (len(members[stratum]), stratum)):
        n_chosen = sum(candidate.outcome == "chosen" for candidate in members[stratum])
        _choose(members[stratum], sizes[stratum] - n_chosen)
    if any(len(candidate.strata) > 1 for candidate in ranked) and (plan.fill or isinstance(plan.allocation, str)):
        _choose(ranked, sum(sizes.values()) - sum(candidate.outcome == "chosen" for candidate in ranked))


def _choose(ranked: Sequence[SampleCandidate], n: int) -> None:
    """Choose the first n candidates in rank that are not chosen."""
    for candidate in [candidate for candidate in ranked if candidate.outcome != "chosen"][: max(0, n)]:
        candidate.outcome = "chosen"


def _rank(seed: int, item_id: str) -> bytes:
    return hashlib.sha256(f"{seed}:{item_id}".encode()).digest()
