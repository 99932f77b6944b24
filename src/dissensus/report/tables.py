"""Tables and folded texts of a report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape

import numpy as np
import polars as pl

from dissensus.errors import NotFound
from dissensus.pipeline.analyse.result import Analysis
from dissensus.pipeline.engine.ratings import PartitionedRatings, select_pool
from dissensus.pipeline.tables import Grid, Page, escape_unprintable, format_number, format_short
from dissensus.pipeline.vet import Vetting
from dissensus.pipeline.vet.evidence import list_granular_questions
from dissensus.pipeline.vet.result import grids_of_times
from dissensus.report.groups import DisplayedGroups, format_percent
from dissensus.schema.hints import count_noun
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings.columns import FLAG
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Block, pass_over
from dissensus.stats.result import BoolArray, IntArray

# Suffix of residual questions, which Aroyo et al. (2023) do not count in DICES-350.
OTHER = "_other"
ALL, WITHOUT_FLAGGED = "all raters", "without flagged"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportTable:
    """A table with its reading; shown in a notebook as it is in a report.

    Parameters
    ----------
    name
        Name of its file, without suffix.
    title
        Title above the table.
    reading
        The result, in one sentence.
    grids
        Its blocks of cells.
    notes
        Explanations for the reader.
    table
        The numbers, if they are one table.
    """

    name: str
    title: str
    reading: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...] = ()
    table: pl.DataFrame | None = None

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.title)}</b></p>{Page(self.reading, self.grids, self.notes).as_html()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPassage:
    """A text below a heading."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """Sensitive words or texts, folded until they are opened."""

    name: str  # Id of the element on the page
    title: str
    warning: str  # Content warning before it is opened
    grids: tuple[Grid, ...] = ()  # Folded tables, then folded texts
    passages: tuple[HiddenPassage, ...] = ()

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.title)}</b><br>{escape(self.warning)}</p>"


def dataset(ratings: Ratings | PartitionedRatings) -> ReportTable:
    """Count the contents of the file, also without flagged raters if any are flagged.

    Table 1 of Aroyo et al. (2023). For a shipped questionnaire that was read completely, the counted questions are the
    granular ones about safety, without those that end in "other"; for other files they are all questions that were
    read.

    Parameters
    ----------
    ratings
        The ratings, with ``questions="all"`` for the questions that were asked; also in blocks of items.
    """
    pool = select_pool(ratings)
    counted, uncounted = _questions(pool)
    lines = [_counts(ALL, ratings, counted)]
    n_flagged = _count_flagged(pool)
    if n_flagged and n_flagged < pool.n_raters:
        lines.append(_counts(WITHOUT_FLAGGED, ratings, counted))
    table = pl.DataFrame(lines, infer_schema_length=None)
    first = table.row(0, named=True)
    annotations = count_noun(first["n_annotations"], "annotation")
    return ReportTable(
        name="dataset",
        title="The ratings",
        reading=(
            f"{count_noun(first['n_ratings'], 'rating')} of {count_noun(first['n_items'], 'item')}; "
            f"{count_noun(len(counted), 'question')} {'makes' if len(counted) == 1 else 'make'} {annotations}."
        ),
        grids=(_dataset_grid(table),),
        notes=tuple(_dataset_notes(pool, counted, uncounted)),
        table=table,
    )


def pool(ratings: Ratings, groups: Sequence[DisplayedGroups]) -> ReportTable:
    """Count the raters of each group, also without flagged ones if any are flagged.

    Table 2 of Aroyo et al. (2023).

    Parameters
    ----------
    ratings
        The ratings of all raters.
    groups
        The displayed groups of each axis.
    """
    flagged = ratings.raters[FLAG].to_numpy() if _count_flagged(ratings) else None
    table = (
        pl.concat([_group_counts(ratings, displayed, flagged) for displayed in groups])
        if groups
        else _group_counts_of(())
    )
    n = count_noun(ratings.n_raters, "rater")
    return ReportTable(
        name="pool",
        title="The raters",
        reading=f"{n}." if flagged is None else f"{n}, {int(flagged.sum()):,} of them flagged.",
        grids=tuple(
            _pool_grid(table, displayed, ratings.n_raters, with_flagged=flagged is not None) for displayed in groups
        ),
        notes=tuple(dict.fromkeys(note for displayed in groups for note in displayed.notes)),
        table=table if flagged is not None else table.drop("n_without_flagged"),
    )


def time_table(vetting: Vetting, groups: Sequence[DisplayedGroups]) -> ReportTable:
    """Return the answer times of groups, and their rank correlations with other evidence on raters.

    Parameters
    ----------
    vetting
        The evidence.
    groups
        The displayed groups of each axis; those of other axes, and hidden ones, are left out.

    Raises
    ------
    NotFound
        There are no times.
    """
    if vetting.times is None:
        raise NotFound(f"No times are shown: {vetting.absent['median_time_ms']}.")
    listed = {(displayed.axis, name) for displayed in groups for name in displayed.listed}
    is_listed = pl.Series(
        [pair in listed for pair in vetting.times.groups.select("axis", "group").rows()], dtype=pl.Boolean
    )
    shown = replace(vetting.times, groups=vetting.times.groups.filter(is_listed))
    medians = (shown.groups["median_ms"].drop_nulls() / 1000).sort().to_list()
    middle = vetting.raters["median_time_ms"].median()
    text = f"The median rater takes {middle / 1000:,.0f} s an item"  # type: ignore[operator]
    between = f"; medians of groups lie between {medians[0]:,.0f} and {medians[-1]:,.0f} s" if medians else ""
    return ReportTable(
        name="answer-times",
        title="Answer times",
        reading=f"{text}{between}.",
        grids=tuple(grids_of_times(shown)),
        notes=tuple(dict.fromkeys(note for displayed in groups for note in displayed.notes)),
        table=shown.groups,
    )


def _count_flagged(ratings: Ratings) -> int:
    return int(ratings.raters[FLAG].sum()) if FLAG in ratings.raters.columns else 0


def _questions(ratings: Ratings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the counted questions, and the residual ones that are not counted."""
    questionnaire = _questionnaire(ratings)
    if questionnaire is None:
        return ratings.questions, ()
    overall = list(questionnaire.overalls)[-1]
    granular = list_granular_questions(ratings, overall)
    uncounted = tuple(name for name in granular if name.endswith(OTHER))
    return tuple(name for name in granular if name not in uncounted), uncounted


def _questionnaire(ratings: Ratings) -> Questionnaire | None:
    questionnaires = map(load_questionnaire, published_questionnaires())
    return next((questionnaire for questionnaire in questionnaires if questionnaire.matches(ratings.questions)), None)


def _counts(name: str, ratings: Ratings | PartitionedRatings, questions: Sequence[str]) -> dict[str, str | int | None]:
    """Return the counts of all raters, or of those who are not flagged."""
    if isinstance(ratings, PartitionedRatings):
        return _counts_of_blocks(name, ratings)
    if name == WITHOUT_FLAGGED:
        ratings = ratings.exclude_flagged()
    per_item = ratings.answers.group_by("item").len()["len"]
    answered = ratings.answers.select(pl.col(question).count() for question in questions)
    return {
        "pool": name,
        "n_ratings": ratings.n_ratings,
        "n_items": ratings.n_items,
        "fewest_raters_of_an_item": int(per_item.min() or 0),  # type: ignore[arg-type]
        "most_raters_of_an_item": int(per_item.max() or 0),  # type: ignore[arg-type]
        "n_raters": ratings.n_raters if ratings.has_raters else None,
        "n_flagged": _count_flagged(ratings) if FLAG in ratings.raters.columns else None,
        "n_questions": len(questions),
        "n_annotations": sum(answered.row(0)),
    }


def _counts_of_blocks(name: str, ratings: PartitionedRatings) -> dict[str, str | int | None]:
    pool, design = ratings.pool, ratings.design
    counted = np.ones(design.n_raters, np.bool_)
    if name == WITHOUT_FLAGGED:
        counted = ~pool.raters[FLAG].to_numpy()
    sizes = np.zeros(design.most_ratings + 1, np.int64)  # Items by their number of ratings
    pass_over(design, partial(_add_sizes, counted), sizes)
    rated = np.flatnonzero(sizes[1:]) + 1
    n_ratings = int(design.loads[counted].sum())
    return {
        "pool": name,
        "n_ratings": n_ratings,
        "n_items": int(sizes[1:].sum()),
        "fewest_raters_of_an_item": int(rated.min(initial=design.most_ratings)),
        "most_raters_of_an_item": int(rated.max(initial=0)),
        "n_raters": int(counted.sum()),
        "n_flagged": int(pool.raters[FLAG].to_numpy()[counted].sum()) if FLAG in pool.raters.columns else None,
        "n_questions": 1,
        "n_annotations": n_ratings,
    }


def _add_sizes(counted: BoolArray, block: Block, sizes: IntArray) -> None:
    codes = block.design
    n_ratings = np.bincount(codes.items[counted[codes.raters]], minlength=codes.n_items)
    sizes += np.bincount(n_ratings, minlength=sizes.size)


def _dataset_grid(table: pl.DataFrame) -> Grid:
    pools = table.to_dicts()
    names = {
        "n_ratings": "ratings",
        "n_items": "items",
        "raters_of_an_item": "raters per item",
        "n_raters": "raters",
        "n_flagged": "flagged raters",
        "n_questions": "questions",
        "n_annotations": "annotations",
    }
    lines = [(label, *(_cell(pool, name) for pool in pools)) for name, label in names.items()]
    return Grid(("", *(pool["pool"] for pool in pools)), tuple(lines))


def _cell(pool: dict[str, int | None], name: str) -> str:
    if name == "raters_of_an_item":
        fewest, most = pool["fewest_raters_of_an_item"], pool["most_raters_of_an_item"]
        return f"{fewest:,}" if fewest == most else f"{fewest:,}–{most:,}"
    return format_number(pool[name])


def _dataset_notes(ratings: Ratings, questions: Sequence[str], uncounted: Sequence[str]) -> Iterator[str]:
    yield "Annotations are answers to these questions."
    if uncounted:
        answers = ratings.answers.select(pl.col(name).count() for name in (*questions, *uncounted))
        n = len(questions) + len(uncounted)
        yield (
            f"Not counted: {count_noun(len(uncounted), 'question')} whose name ends in {OTHER}; with them there "
            f"are {n:,}, "
            f"and {sum(answers.row(0)):,} annotations."
        )


def _group_counts(ratings: Ratings, groups: DisplayedGroups, flagged: BoolArray | None) -> pl.DataFrame:
    codes, names = ratings.group_codes(groups.axis)
    n_all = np.bincount(codes[codes >= 0], minlength=len(names))
    n_unflagged = n_all if flagged is None else np.bincount(codes[(codes >= 0) & ~flagged], minlength=len(names))
    indices = [names.index(name) for name in groups.listed]
    return _group_counts_of([(groups.axis, names[g], int(n_all[g]), int(n_unflagged[g])) for g in indices])


def _group_counts_of(lines: Sequence[tuple[str, str, int, int]]) -> pl.DataFrame:
    schema = {"axis": pl.String, "group": pl.String, "n_raters": pl.UInt32, "n_without_flagged": pl.UInt32}
    return pl.DataFrame(list(lines), schema=schema, orient="row")


def _pool_grid(table: pl.DataFrame, groups: DisplayedGroups, n_raters: int, *, with_flagged: bool) -> Grid:
    head = (escape_unprintable(groups.title), "raters", "share", *([WITHOUT_FLAGGED] if with_flagged else []))
    lines = [
        (
            groups.label(name, size=False),
            f"{n:,}",
            format_percent(n / n_raters),
            *([f"{n_unflagged:,}"] if with_flagged else []),
        )
        for _, name, n, n_unflagged in table.filter(pl.col("axis") == groups.axis).rows()
    ]
    return Grid(head, tuple(lines))


def group_table(analysis: Analysis, groups: Sequence[DisplayedGroups]) -> ReportTable:
    """Return the table of an analysis, without suppressed axes and groups.

    Parameters
    ----------
    analysis
        The analysis.
    groups
        The displayed groups of each axis.
    """
    groups_by_axis = {displayed.axis: displayed for displayed in groups}
    restricted = _restrict_analysis(analysis, groups_by_axis)
    page = restricted.page()
    overall, *axis_grids = page.grids
    hidden = any(displayed.hidden for displayed in groups)
    return ReportTable(
        name="groups",
        title="All statistics of all groups" if axis_grids else "Statistics of everybody",
        reading=_reading(restricted),
        grids=(
            overall,
            *(
                _format_axis_of_grid(grid, groups_by_axis[axis])
                for axis, grid in zip(_repeat_axes(restricted), axis_grids, strict=True)
            ),
        ),
        notes=(*page.notes, *(["Adjusted over all tests, those of groups left out too."] if hidden else [])),
        table=restricted.to_polars(),
    )


def _repeat_axes(analysis: Analysis) -> list[str]:
    """Return the axis of each table: one of unbiased and one of published statistics, and one of differences."""
    return [axis for axis in analysis.settings.axes for _ in range(3 if analysis.settings.differences else 2)]


def _restrict_analysis(analysis: Analysis, groups_by_axis: Mapping[str, DisplayedGroups]) -> Analysis:
    """Return an analysis without suppressed rows.

    Statistics of an axis go with them, since they depend on the suppressed groups.
    """
    indices = [
        index
        for index, row in enumerate(analysis.rows)
        if row.axis is not None
        and row.axis in groups_by_axis
        and (not groups_by_axis[row.axis].hidden if row.group is None else row.group in groups_by_axis[row.axis].listed)
    ]
    axes = tuple(axis for axis in analysis.settings.axes if axis in groups_by_axis)
    return replace(
        analysis,
        rows=tuple(analysis.rows[index] for index in indices),
        item_rows=(),
        null=analysis.null[:, indices],
        settings=replace(analysis.settings, axes=axes, by_item=()),
    )


def _reading(analysis: Analysis) -> str:
    """Return a sentence on the IRR of all raters, and on the statistics of groups beyond chance."""
    irr = next(row for row in analysis.overall if row.metric == "irr")
    ends = "" if irr.ci_low is None else f" [{format_short(irr.ci_low)}, {format_short(irr.ci_high)}]"
    text = f"IRR of everybody is {format_short(irr.estimate, 3)}{ends}"
    tested = [row for row in analysis.rows if row.p is not None]
    if not tested:
        return f"{text}."
    beyond = [row for row in tested if row.stars]
    n_adjusted = sum(row.stars == "**" for row in beyond)
    sentence = f"of {len(tested):,} statistics of groups {len(beyond):,} lie beyond chance at p < .05"
    return f"{text}; {sentence}, {n_adjusted:,} after adjustment."


def _format_axis_of_grid(grid: Grid, groups: DisplayedGroups) -> Grid:
    """Return the grid of an axis with its name in words."""
    return Grid((groups.title + grid.head[0].removeprefix(groups.axis), *grid.head[1:]), grid.lines, grid.caption)
