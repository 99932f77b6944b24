"""Report of a ratings file, with the sections that it supports."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.metadata import version
from inspect import signature
from typing import TYPE_CHECKING

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.analyse import Analysis, AnalysisSettings
from dissensus.pipeline.analyse.level import Level
from dissensus.pipeline.analyse.table import resolve_axes, resolve_share
from dissensus.pipeline.engine.ratings import PartitionedRatings, select_pool
from dissensus.pipeline.tables import UNKNOWN, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.agreement import agreement
from dissensus.report.figures.item_attributes import item_attribute, item_gaps
from dissensus.report.figures.null_distributions import null_distributions
from dissensus.report.graphics.drawing_process import DrawingProcess
from dissensus.report.groups import number_repeated_names
from dissensus.report.methods import METHODS, Method
from dissensus.report.result import Report, Size
from dissensus.report.sections import ReportInput, ReportOptions, Section, build_sections
from dissensus.schema.advice import Advice
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.columns import CROSS, FLAG, REST
from dissensus.schema.ratings.item_values import resolve_item_attributes
from dissensus.schema.ratings.table import Ratings

if TYPE_CHECKING:
    from dissensus.pipeline.model import MultilevelModel

Progress = Callable[[float], None]
# Most groups of an axis that is compared by default, and most such axes.
MOST_GROUPS_OF_AN_AXIS, MOST_AXES = 12, 6
# Approximate share of the time that the analysis takes.
ANALYSIS = 0.6


def build(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings | PartitionedRatings,
    *,
    by: str | Sequence[str] | None = None,
    cross: str | Sequence[str] = (),
    by_item: str | Sequence[str] = (),
    question: str | None = None,
    level: Level = "nominal",
    against: str = REST,
    exclude_flagged: bool = False,
    permutations: int = 1000,
    permute_within: str | None = None,
    bootstrap: int = 1000,
    seed: int = 0,
    min_raters: int = 5,
    suppress_below: int = 0,
    gold: str | None = None,
    unsafe: str | Sequence[str] | None = None,
    contested: int = 10,
    text: bool = True,
    title: str | None = None,
    model: "MultilevelModel | None" = None,
    command: str | None = None,
    progress: Progress | None = None,
    drawing: DrawingProcess | None = None,
) -> Report:
    """Make a report of everything that the ratings support.

    Parameters
    ----------
    ratings
        The ratings, with all questions for all figures (``questions="all"``) and with attributes of their items; or in
        blocks of items, from `read_partitions` with the ids of items and the times.
    by, cross
        Axes and crossed axes; by default the first six attributes of raters with 2 to 12 groups, without those that
        divide raters as an earlier one does.
    by_item, question, level, against, permutations, permute_within, bootstrap, seed, min_raters
        As for `analyse`.
    exclude_flagged
        Leave flagged raters out of everything but the counts of raters, vetting and the audit of the filter.
    suppress_below
        Leave out groups with fewer raters, and hide cells of the figures of raters with fewer.
    gold
        Attribute of the items with the label of the experts; by default safety_gold, if it is there.
    unsafe
        The answer, or answers, that call an item unsafe, where experts are compared with the crowd; by default "Yes".
    contested
        Number of contested items to show.
    text
        Show the texts of contested items, and of those that the model lists, folded behind a content warning.
    title
        The title of the report.
    model
        A multilevel model of these ratings, which gets sections of its own; see `fit_model`.
    command
        Command that made it; by default the call of this function.
    progress
        Called with the share of the work done, from 0 to 1.
    drawing
        Process that draws the figures of the page while other sections are computed, from `open_drawing_process`; by
        default they are drawn when the page is written.

    Returns
    -------
    Report

    Raises
    ------
    InvalidInput, NotFound
        As for `analyse`; or no ratings are left.

    Notes
    -----
    Sections that a file does not support are left out, with the reason. A single suppressed group could be computed
    from the pool and the others, so the next smallest is left out with it; the same holds for cells of tables.

    Examples
    --------
    >>> import dissensus as ds
    >>> ratings = ds.simulate_ratings(n_items=30, raters_per_cell=6, seed=1)
    >>> report = build(ratings, permutations=99, bootstrap=0)
    >>> [section.name for section in report.sections][:7]
    ['raters', 'items', 'answers', 'agreement', 'chance', 'distance', 'gold']
    >>> report["answers-gender"].table.columns
    ['group', 'n_ratings', 'share of No', 'share of Unsure', 'share of Yes']
    """
    if model is not None and suppress_below:
        raise InvalidInput(
            "A multilevel model has an effect of each group, also of the smallest, so it does not go with "
            "suppress_below (--suppress-below). Leave out one of the two."
        )
    blocks = ratings if isinstance(ratings, PartitionedRatings) else None
    if blocks is not None:
        _check_blocks(blocks, level=level, by_item=by_item, exclude_flagged=exclude_flagged, gold=gold, unsafe=unsafe)
    ratings = select_pool(ratings)
    question = ratings.resolve_question(question)
    analysed = ratings.exclude_flagged() if exclude_flagged else ratings
    axes, skipped = _choose_axes(analysed, by)
    settings = AnalysisSettings(
        question=question,
        share_of=resolve_share(analysed, question, None, level),
        level=level,
        axes=resolve_axes(analysed, axes, cross if analysed.has_raters else ()),
        by_item=resolve_item_attributes(analysed, by_item),
        against=against,
        permutations=permutations if axes or cross else 0,
        permute_within=permute_within,
        bootstrap=bootstrap if analysed.has_raters else 0,
        seed=seed,
        min_raters=min_raters,
        differences=True,
    )
    options = ReportOptions(
        exclude_flagged=exclude_flagged,
        suppress_below=suppress_below,
        gold=gold,
        unsafe=unsafe,
        contested=contested,
        text=text,
        title=title,
    )
    source = ReportInput(
        ratings=ratings,
        analysed=analysed,
        blocks=blocks,
        settings=settings,
        options=options,
        skipped=skipped,
        model=model,
        progress=None if progress is None else lambda share: progress(ANALYSIS * share),
    )
    report = _build_report(source, command or _format_call(settings, options), drawing)
    if progress is not None:
        progress(1.0)
    return report


def _check_blocks(
    ratings: PartitionedRatings,
    *,
    level: Level,
    by_item: str | Sequence[str],
    exclude_flagged: bool,
    gold: str | None,
    unsafe: str | Sequence[str] | None,
) -> None:
    """Refuse options whose result needs all ratings in memory."""
    if level != "nominal":
        ratings.refuse(f"A report at the {level} level")
    if by_item:
        ratings.refuse("A report by attributes of items (--by-item)")
    if gold is not None or unsafe is not None:
        ratings.refuse("A comparison with experts (--gold, --unsafe)")
    if exclude_flagged:
        raise InvalidInput(
            "Flagged raters are left out when a folder is read: give exclude_flagged to read_partitions, not to the "
            "report."
        )


def _build_report(source: ReportInput, command: str, drawing: DrawingProcess | None) -> Report:
    sections = build_sections(source, drawing)
    analysed, analysis, options = source.analysed, source.analysis, source.options
    n_items = analysed.n_items if source.blocks is None else analysis.n_items
    return Report(
        title=options.title or f"Ratings of {count_noun(n_items, 'item')}",
        summary=_summary(analysed, analysis),
        sizes=_sizes(analysed, analysis),
        sections=sections,
        analysis=analysis,
        command=command,
        notes=(*analysis.notes, *analysis.warnings, *_note_flagged(source.ratings, options.exclude_flagged)),
        version=version("dissensus"),
        seed=source.settings.seed,
        methods=_methods(source, sections),
    )


def list_figures(analysis: Analysis) -> tuple[Figure, ...]:
    """Return the figures of an analysis: agreement and, with permutations, null distributions of each axis.

    Those by attributes of items follow.
    """
    axes = analysis.settings.axes
    over_chance = [null_distributions(analysis, axis) for axis in axes] if analysis.settings.permutations else []
    figures = [*(agreement(analysis, axis) for axis in axes), *over_chance, *_draw_item_attributes(analysis)]
    names = number_repeated_names([figure.name for figure in figures])
    return tuple(replace(figure, name=name) for figure, name in zip(figures, names, strict=True))


def _draw_item_attributes(analysis: Analysis) -> Iterator[Figure]:
    for attribute in analysis.settings.by_item:
        yield item_attribute(analysis, attribute)
        for axis in analysis.settings.axes:
            with suppress(NotFound):
                yield item_gaps(analysis, attribute, axis)


def _choose_axes(ratings: Ratings, by: str | Sequence[str] | None) -> tuple[list[str], tuple[str, ...]]:
    """Return the axes to compare groups on, and the reason for each axis left out."""
    if by is not None:
        return [by] if isinstance(by, str) else list(by), ()
    axes: list[str] = []
    skipped: list[str] = []
    for axis in ratings.axes:
        n = ratings.raters[axis].drop_nulls().n_unique()
        if n < 2:
            skipped.append(
                f"{axis}: everybody whose value is known has the same." if n else f"{axis}: unknown for all raters."
            )
        elif n > MOST_GROUPS_OF_AN_AXIS:
            skipped.append(_advise_axis(axis, f"{n:,} values are too many to compare by default"))
        elif (same := next((other for other in axes if _have_same_groups(ratings, other, axis)), None)) is not None:
            skipped.append(_advise_axis(axis, f"it groups raters as {same} does"))
        elif len(axes) == MOST_AXES:
            skipped.append(_advise_axis(axis, f"{MOST_AXES} axes are shown by default"))
        else:
            axes.append(axis)
    return axes, tuple(skipped)


def _advise_axis(axis: str, reason: str) -> str:
    return Advice(
        f"{axis}: {reason}; ask for it with --by {axis}.",
        site=f'{axis}: {reason}; choose it under "Axes" in the form of a new report.',
    )


def _have_same_groups(ratings: Ratings, first: str, second: str) -> bool:
    """Return whether two axes divide raters into the same groups, up to names."""
    n_pairs = ratings.raters.select(first, second).unique().height
    return n_pairs == ratings.raters[first].n_unique() == ratings.raters[second].n_unique()


def _methods(source: ReportInput, sections: Sequence[Section]) -> tuple[Method, ...]:
    """Return the methods of the numbers in the report."""
    settings = source.settings
    names = {section.name for section in sections if section.parts}
    parts = {"groups": source.groups, "permutations": settings.permutations, "intervals": settings.bootstrap}
    names |= {name for name, present in parts.items() if present}
    return tuple(method for method in METHODS if names & set(method.shown_by))


def _summary(ratings: Ratings, analysis: Analysis) -> str:
    raters = f" by {count_noun(ratings.n_raters, 'rater')}" if ratings.has_raters else "; the raters are unknown"
    answers = ", ".join(analysis.categories)
    ratings_of = f"{count_noun(analysis.n_ratings, 'rating')} of {count_noun(analysis.n_items, 'item')}"
    return f"{analysis.settings.question}: {ratings_of}{raters}. Answers: {answers}."


def _sizes(ratings: Ratings, analysis: Analysis) -> tuple[Size, ...]:
    alpha = next(row.estimate for row in analysis.overall if row.metric == "irr")
    raters = (Size("raters", f"{ratings.n_raters:,}"),) if ratings.has_raters else ()
    return (
        Size("items", f"{analysis.n_items:,}"),
        *raters,
        Size("ratings", f"{analysis.n_ratings:,}"),
        Size("ratings an item", _replication(analysis)),
        Size("alpha of everybody", UNKNOWN if alpha is None else format_short(alpha, 3)),
    )


def _replication(analysis: Analysis) -> str:
    return f"{analysis.n_ratings / analysis.n_items:,.1f}".removesuffix(".0")


def _note_flagged(ratings: Ratings, excluded: bool) -> tuple[str, ...]:
    if excluded or FLAG not in ratings.raters.columns or not (n := int(ratings.raters[FLAG].sum())):
        return ()
    raters = f"{count_noun(n, 'flagged rater')} {'takes' if n == 1 else 'take'} part"
    return (
        Advice(
            f"{raters}; --exclude-flagged leaves them out.",
            site=f'{raters}; "Without excluded raters" in the form of a new report leaves them out.',
        ),
    )


def _format_call(settings: AnalysisSettings, options: ReportOptions) -> str:
    """Return the Python call that repeats the report."""
    axes = {
        "by": [axis for axis in settings.axes if CROSS not in axis],
        "cross": [axis for axis in settings.axes if CROSS in axis],
    }
    values = axes | asdict(settings) | asdict(options)
    arguments = ", ".join(f"{name}={values[name]!r}" for name in signature(build).parameters if name in values)
    return f"dissensus.report.build(ratings, {arguments})"
