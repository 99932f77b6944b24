"""Analysis of a ratings table by group."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.block_estimates import estimate_blocks
from dissensus.pipeline.analyse.columns import COLUMNS, DIFFERENCES, ORDERED_COLUMNS
from dissensus.pipeline.analyse.comparisons import (
    AxisComparison,
    build_exchangeable_strata,
    build_pool_comparison,
    compare_axis,
)
from dissensus.pipeline.analyse.item_attributes import (
    analyse_item_attributes,
    describe_attributes,
    warn_of_family,
)
from dissensus.pipeline.analyse.level import Level, build_scale, describe_level
from dissensus.pipeline.analyse.permutations import compute_tests
from dissensus.pipeline.analyse.resampling import GroupTable, Progress, ProgressTicks, compute_intervals
from dissensus.pipeline.analyse.result import Analysis
from dissensus.pipeline.analyse.rows import build_rows, compute_between_share, compute_estimates
from dissensus.pipeline.analyse.settings import Adjust, AnalysisSettings, Family
from dissensus.pipeline.analyse.significance import add_significance
from dissensus.pipeline.engine.ratings import PartitionedRatings, select_pool
from dissensus.schema.advice import Advice
from dissensus.schema.ratings.columns import REST
from dissensus.schema.ratings.item_values import resolve_item_attributes
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.bootstrap import Resample
from dissensus.stats.design import BlockedDesign, Design
from dissensus.stats.groups.coverage import describe_interval_designs
from dissensus.stats.permutation import Method
from dissensus.stats.result import Int32Array


def analyse(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings | PartitionedRatings,
    *,
    by: str | Sequence[str] = (),
    cross: str | Sequence[str] = (),
    by_item: str | Sequence[str] = (),
    question: str | None = None,
    share_of: str | None = None,
    level: Level = "nominal",
    against: str = REST,
    permutations: int = 0,
    permute_within: str | None = None,
    method: Method = "two-sided",
    adjust: Adjust = "bh",
    family: Family = "table",
    bootstrap: int = 0,
    resample: Resample = "both",
    confidence: float = 0.95,
    seed: int = 0,
    min_raters: int = 5,
    differences: bool = False,
    progress: Progress | None = None,
) -> Analysis:
    """Measure agreement within and between groups of raters.

    For every group of every axis, statistics whose expectation does not depend on the number of ratings: the share of
    an answer and its difference from others on the same items, pairwise agreement, distance; then published ones:
    Krippendorff's alpha (`irr`), negentropy and plurality size within; XRR, cross-negentropy, voting agreement and GAI
    across. For every axis the share of disagreement between groups, and the DSI (Prabhakaran et al. 2024).

    Parameters
    ----------
    ratings
        The ratings; see `read_ratings`, and `read_partitions` for folders of Parquet files.
    by, cross
        Axes, such as "race" or "rater_race", and crossed axes, such as "race*gender".
    by_item
        Attributes of items, such as "degree_of_harm" or "harm_type": agreement, the share of the answer and, with axes,
        differences between groups on the items of each value. An item with several values counts under each.
    question
        The question to analyse, if more than one was read.
    share_of
        Answer whose share is compared between groups; the last one of the scale by default.
    level
        Level of measurement. "nominal": answers are the same or not. "ordinal" and "interval": their order or their
        numbers count in alpha, XRR, GAI, pairwise agreement and distance, and groups are compared by the mean
        (`answer_mean`, `mean_difference`) and by the probability that one gives a higher answer (`superiority`).
    against
        Compare each group with "rest", everybody else on the axis, or with one named group.
    permutations
        Number of permutations of the raters' demographic rows; 0 for no test.
    permute_within
        Attribute within whose values raters are exchanged, if the design sampled raters by it.
    method
        "two-sided", or "grasp" for the published rule, which rejects about twice as often as its nominal size.
    adjust, family
        "bh" for the false discovery rate or "max-t" for the family-wise error rate, over all tests of the "table", or
        those of each "metric", "axis" or "axis-metric".
    bootstrap
        Number of bootstrap replicates; 0 for no intervals.
    resample
        Units that are samples: "both" raters and items, "raters" or "items".
    confidence
        Confidence level of the intervals.
    seed
        Seed of permutations and bootstrap; the result does not depend on the number of threads.
    min_raters
        Groups with fewer raters are marked.
    differences
        Whether to compare the statistics of each group with those of the raters compared with: pairwise agreement, IRR,
        negentropy, plurality size and GAI, each in a row of its own, such as `irr_difference`.
    progress
        Called with the completed share, from 0 to 1.

    Returns
    -------
    Analysis

    Raises
    ------
    InvalidInput
        An invalid option, an axis with a single group, or an unknown group.
    NotFound
        An unknown axis or question.

    Notes
    -----
    An undefined statistic is None in its row, with the reason. Raters of unknown value on an axis are left out of its
    comparisons and counted in a note. There is no interval for DSI, since a maximum of noisy values has no valid one.
    Where the assignment of items to raters depends on the group, tests of published statistics that it would bias are
    withheld: p is None, with the reason. Against one named group, only the raters of the two groups are exchanged.

    Tests by attributes of items are one family of their own, adjusted by Benjamini and Hochberg, or by Holm with
    "max-t". Only raters of the items of a value are exchanged.

    Examples
    --------
    >>> import dissensus as ds
    >>> ratings = ds.simulate_ratings(n_items=40, raters_per_cell=6, seed=1)
    >>> analysis = ds.analyse(ratings, by=["gender"], permutations=99)
    >>> row = next(row for row in analysis.rows if row.metric == "xrr")
    >>> row.axis, row.group, row.against, round(row.estimate, 3), row.n_raters
    ('rater_gender', 'Man', 'rest', 0.091, 18)
    """
    pool = select_pool(ratings)
    if isinstance(ratings, PartitionedRatings):
        if by_item:
            ratings.refuse("An analysis by attributes of items (--by-item)")
        if level != "nominal":
            ratings.refuse(f"An analysis at the {level} level")
    question = pool.resolve_question(question)
    settings = AnalysisSettings(
        question=question,
        share_of=resolve_share(pool, question, share_of, level),
        level=level,
        axes=resolve_axes(pool, by, cross),
        by_item=resolve_item_attributes(pool, by_item),
        against=against,
        permutations=permutations,
        permute_within=permute_within,
        method=method,
        adjust=adjust,
        family=family,
        bootstrap=bootstrap,
        resample=resample,
        confidence=confidence,
        seed=seed,
        min_raters=min_raters,
        differences=differences,
    )
    return run_analysis(ratings, settings, progress=progress)


def run_analysis(
    source: Ratings | PartitionedRatings, settings: AnalysisSettings, *, progress: Progress | None = None
) -> Analysis:
    """Run an analysis by its settings; see `analyse`."""
    if settings.against != REST and not settings.axes:
        raise InvalidInput(f"against is {settings.against!r}, but no axis is given. Give the axis of this group.")
    ratings, design = _build_design(source, settings)
    categories = ratings.scale(settings.question)
    axes = [compare_axis(ratings, name, settings.against) for name in settings.axes]
    pool = build_pool_comparison(design.n_raters)
    report = progress or (lambda _: None)
    of_all = 1 / (1 + len(settings.by_item))
    tick = ProgressTicks(lambda share: report(share * of_all), settings)
    permutation_seed, bootstrap_seed = np.random.SeedSequence(settings.seed).spawn(2)
    within = build_exchangeable_strata(ratings, settings.permute_within, axes)
    share_of = 0 if settings.share_of is None else categories.index(settings.share_of)
    tables = [
        estimate_axis(design, pool, share_of, list_columns(replace(settings, differences=False))),
        *(estimate_axis(design, axis, share_of, list_columns(settings)) for axis in axes),
    ]
    if settings.bootstrap:
        seeds = bootstrap_seed.spawn(settings.bootstrap)
        tables = [
            replace(table, intervals=compute_intervals(design, table, seeds, settings, share_of, tick))
            for table in tables
        ]
    if settings.permutations and axes:
        seeds = permutation_seed.spawn(settings.permutations)
        tables = [tables[0], *compute_tests(design, tables[1:], seeds, within, share_of, tick)]
    overall = build_rows(tables[0])
    if not ratings.has_raters:
        overall = (replace(row, n_raters=None) for row in overall)
    rows, null = add_significance([row for table in tables[1:] for row in build_rows(table)], tables, settings)
    item_rows = analyse_item_attributes(
        ratings, settings, run_analysis, lambda share: report(of_all + (1 - of_all) * share)
    )
    return Analysis(
        overall=tuple(overall),
        rows=tuple(rows),
        item_rows=item_rows,
        settings=settings,
        n_raters=ratings.n_raters or None,
        n_items=design.n_items,
        n_ratings=design.n_ratings,
        categories=categories,
        notes=tuple(dict.fromkeys((*ratings.notes, *_notes(ratings, settings, axes)))),
        warnings=(*_warnings(design, settings, axes, within), *warn_of_family(item_rows, settings)),
        version=version("dissensus"),
        null=null,
    )


def _build_design(
    source: Ratings | PartitionedRatings, settings: AnalysisSettings
) -> tuple[Ratings, Design | BlockedDesign]:
    """Return the ratings of the question, and the same as codes."""
    if isinstance(source, PartitionedRatings):
        return source.pool, source.design
    if not source.has_raters:
        _refuse_rater_options(source, settings)
    ratings = source.select_question(settings.question)
    item, rater, answer = ratings.codes(settings.question)
    categories = ratings.scale(settings.question)
    scale = build_scale(settings.level, categories, answer)
    n_raters = ratings.n_raters if ratings.has_raters else item.size
    return ratings, Design(item, rater, answer, ratings.n_items, n_raters, len(categories), scale)


def list_columns(settings: AnalysisSettings) -> tuple[str, ...]:
    """Return the statistics of each comparison, in the order of their rows."""
    columns = COLUMNS if settings.level == "nominal" else ORDERED_COLUMNS
    return (*columns, *DIFFERENCES) if settings.differences else columns


def estimate_axis(
    design: Design | BlockedDesign, axis: AxisComparison, answer: int, columns: tuple[str, ...]
) -> GroupTable:
    """Return the estimates of an axis, without intervals and tests."""
    designs = describe_interval_designs(design, axis.codes, axis.inside, axis.outside)
    if isinstance(design, BlockedDesign):
        return GroupTable(axis, *estimate_blocks(design, axis, answer, columns), columns=columns, designs=designs)
    estimates = compute_estimates(design, axis, answer, columns)
    return GroupTable(axis, estimates, compute_between_share(design, axis), columns=columns, designs=designs)


def _refuse_rater_options(ratings: Ratings, settings: AnalysisSettings) -> None:
    if settings.permutations or settings.permute_within:
        ratings.require_raters("A permutation test")
    if settings.bootstrap and settings.resample != "items":
        ratings.require_raters("Resampling raters (--resample items leaves them alone)")


def resolve_axes(ratings: Ratings, *axes: str | Sequence[str]) -> tuple[str, ...]:
    """Return full names without repetition; the order of the parts of a crossing does not matter."""
    texts = [text for part in axes for text in ([part] if isinstance(part, str) else part)]
    names = [ratings.axis_name(text) for text in texts]
    return tuple({frozenset(name.split("*")): name for name in reversed(names)}.values())[::-1]


def resolve_answer(ratings: Ratings, question: str, answer: str | None) -> str:
    """Return the answer whose share is compared, the last one by default."""
    scale = ratings.scale(question)
    if answer is None:
        return scale[-1]
    if answer not in scale:
        raise InvalidInput(f"{answer!r} is not an answer to {question}. Its answers are {', '.join(scale)}.")
    return answer


def resolve_share(ratings: Ratings, question: str, answer: str | None, level: Level) -> str | None:
    """Return the answer whose share is compared at a level of measurement; None where means are compared."""
    if level == "nominal":
        return resolve_answer(ratings, question, answer)
    if answer is not None:
        raise InvalidInput(
            f"share_of is {answer!r} and level is {level!r}: ordered answers are compared by their mean. Leave out one "
            "of them."
        )
    return None


def _notes(ratings: Ratings, settings: AnalysisSettings, axes: list[AxisComparison]) -> Iterator[str]:
    yield from describe_level(settings.level, ratings.scale(settings.question))
    yield from describe_attributes(ratings, settings)
    for axis in axes:
        if axis.n_unknown:
            raters = "1 rater" if axis.n_unknown == 1 else f"{axis.n_unknown} raters"
            yield f"Left out of the comparisons on {axis.name}: {raters} without a known value."


def _advise_strata(share: float) -> str:
    unrestricted = (
        f"Raters rated {100 * share:.2g} % of the items on average, and permutations were unrestricted. If an "
        "attribute, such as phase or locale, determined the assignment,"
    )
    return Advice(
        f"{unrestricted} restrict them: --permute-within COLUMN.",
        site=f'{unrestricted} make a report of each of its values: "Only raters of" in the form of a new report.',
    )


def _warnings(
    design: Design | BlockedDesign, settings: AnalysisSettings, axes: list[AxisComparison], within: Int32Array
) -> Iterator[str]:
    if 0 < settings.bootstrap < 2 / (1 - settings.confidence):
        tails = f"{100 * settings.confidence:g} % interval"
        yield f"{settings.bootstrap} bootstrap replicates do not reach the tails of a {tails}."
    if settings.permutations == 0:
        return
    if not settings.axes:
        yield "Permutations compare groups, and no axis was given, so nothing was tested."
        return
    if settings.permutations < 39 and settings.method == "two-sided":
        least = 2 / (settings.permutations + 1)
        yield f"With {settings.permutations} permutations no p-value can be below {least:.2g}; 1,000 are usual."
    share = design.n_ratings / (design.n_items * design.n_raters)
    if settings.permute_within is None and share < 0.9:
        yield _advise_strata(share)
    for axis in axes:
        if len(np.unique(np.stack([within, axis.codes]), axis=1)[0]) == len(np.unique(within)):
            yield f"Within each stratum all raters have the same {axis.name}: permutations change nothing, and p is 1."
    if settings.method == "grasp":
        yield "The grasp rule chooses its side by the data: at 5 % it rejects a true null nearly 10 % of the time."
