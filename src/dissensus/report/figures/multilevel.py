"""Figures of a multilevel model: effects, predicted shares, items that divide groups, predictive checks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import polars as pl

from dissensus.errors import NotFound, UndefinedEstimate
from dissensus.pipeline.model import ModelEffect, MultilevelModel
from dissensus.pipeline.model.divided_items import DividedItem
from dissensus.pipeline.model.predictive_checks import PredictiveCheck
from dissensus.pipeline.model.shares import PredictedShare
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.means import LOOKS, MeanRow, MeanRows, ScaleStyle, draw_means
from dissensus.report.graphics.layout import concat_vertically
from dissensus.report.groups import EVERYBODY, format_percent, join_with_and, make_slug
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.columns import CROSSED, RATER_PREFIX
from dissensus.stats.cluster_bootstrap import BootstrapEstimate

MOST_NAMED: Final = 3
"""Effects or groups that a reading names."""
MOST_DIVIDED: Final = 5
"""Items of each group that a figure shows."""
SMALLEST_RATE: Final = 0.001
"""False sign rate below which draws do not tell how small it is."""
ALL_ANSWERS: Final = "all answers"
GAP: Final = 16


class _Interval(Protocol):
    @property
    def ci_low(self) -> float: ...
    @property
    def ci_high(self) -> float: ...


def _mark(estimate: float, row: _Interval | None = None, n: int = 0) -> BootstrapEstimate:
    low, high = (None, None) if row is None else (row.ci_low, row.ci_high)
    return BootstrapEstimate(estimate=estimate, ci_low=low, ci_high=high, n=n, clusters=n, effective=float(n))


def effects(model: MultilevelModel) -> Figure:
    """Draw the effects of a multilevel model with their intervals, term by term.

    Parameters
    ----------
    model
        The model; see `fit_model`.
    """
    if not model.effects:
        raise UndefinedEstimate("The model has no fixed effects, only random ones.")
    terms: dict[str, list[ModelEffect]] = {}
    for row in model.effects:
        terms.setdefault(row.term, []).append(row)
    blocks = [
        MeanRows(
            _describe_term(term, model.base),
            tuple(MeanRow(name=_name_level(row), marks={"": _mark(row.estimate, row)}) for row in rows),
        )
        for term, rows in terms.items()
    ]
    beyond = sorted(
        (row for row in model.effects if row.ci_low > 0 or row.ci_high < 0), key=lambda row: -abs(row.estimate)
    )
    unit = "standard deviations of the latent error" if model.link == "probit" else "log-odds"
    return Figure(
        name="model-effects",
        title="Effects of the multilevel model",
        reading=_read_effects(beyond, len(model.effects)),
        table=model.to_polars(),
        draw=lambda width: draw_means(blocks, width, ScaleStyle(reference=0)),
        notes=(
            f"Effects are in {unit}, right of 0 towards {model.categories[-1]!r}, of one rater on one item; "
            f"intervals are of {100 * model.confidence:g} %. An interaction is what a crossed group has beyond the sum "
            "of its two effects.",
        ),
    )


def _read_effects(beyond: Sequence[ModelEffect], n: int) -> str:
    if not beyond:
        return f"The intervals of all {count_noun(n, 'effect')} include 0."
    names = [f"{_name_level(row)} ({format_short(row.estimate)})".replace("\n", " ") for row in beyond[:MOST_NAMED]]
    largest = " The largest are" if len(beyond) > MOST_NAMED else " They are" if len(beyond) > 1 else " It is"
    verb = "lies" if len(beyond) == 1 else "lie"
    return f"{len(beyond):,} of {count_noun(n, 'effect')} {verb} beyond 0.{largest} {join_with_and(names)}."


def _describe_term(term: str, base: Mapping[str, str]) -> str:
    """Return a term in words, with the first levels of its factors."""
    columns = term.split(":")
    first = CROSSED.join(base[column] for column in columns if column in base)
    name = CROSSED.join(map(format_axis, columns))
    return f"{name} (first: {first})" if len(columns) == 1 and first else name


def _name_level(row: ModelEffect) -> str:
    return escape_unprintable(row.level or f"{row.term}, by one unit").replace(CROSSED, f"\n{CROSSED.lstrip()}")


def predicted_shares(model: MultilevelModel, axis: str | None) -> Figure:
    """Draw the predicted share of each answer by group.

    Parameters
    ----------
    model
        The model; see `fit_model`.
    axis
        An axis of its predictions, such as "rater_race" or "rater_race*rater_gender"; None for its populations.
    """
    shares = model.predictions.shares if model.predictions else ()
    rows = [row for row in shares if row.axis == axis]
    if not rows:
        axes = list(dict.fromkeys(row.axis for row in shares if row.axis is not None))
        raise NotFound(f"The model predicts no shares by {axis}; it has {join_with_and(axes) if axes else 'none'}.")
    by_group: dict[str, list[PredictedShare]] = {}
    for row in rows:
        by_group.setdefault(row.group, []).append(row)
    drawn = model.categories if len(model.categories) <= len(LOOKS) else model.categories[-1:]
    lines = tuple(
        MeanRow(
            name=_name_group(group, parts[0]),
            marks={row.answer: _mark(row.estimate, row, row.n_raters) for row in parts if row.answer in drawn},
        )
        for group, parts in by_group.items()
    )
    words = "population" if axis is None else format_axis(axis)
    of = "" if len(drawn) > 1 else f" of {drawn[0]!r}"
    return Figure(
        name=f"model-shares-{make_slug(axis or 'population')}",
        title=f"Predicted shares{of} by {words}",
        reading=_read_shares([parts[-1] for parts in by_group.values()]),
        table=pl.DataFrame(
            [
                {name: getattr(row, name) for name in PredictedShare.__dataclass_fields__ if name != "axis"}
                for row in rows
            ],
            infer_schema_length=None,
        ),
        draw=lambda width: draw_means([MeanRows("", lines)], width, ScaleStyle(percent=True, least=0)),
        notes=tuple(_share_notes(rows)),
        axis=axis,
    )


def _name_group(group: str, row: PredictedShare) -> str:
    name = escape_unprintable(group).replace(CROSSED, f"\n{CROSSED.lstrip()}")
    return name if row.axis is None else f"{name}\n{count_noun(row.n_raters, 'rater')}"


def _read_shares(rows: Sequence[PredictedShare]) -> str:
    """Return the range of the last answer, how certain the highest share is, and groups that differ from the base."""
    low, high = min(rows, key=lambda row: row.estimate), max(rows, key=lambda row: row.estimate)
    answer = escape_unprintable(rows[0].answer)
    if len(rows) == 1:
        return (
            f"New raters of {escape_unprintable(low.group)} would say {answer} to {format_percent(low.estimate)} of "
            "the items."
        )
    span = (
        f"New raters of {escape_unprintable(high.group)} would say {answer} to {format_percent(high.estimate)} of the "
        f"items, those of {escape_unprintable(low.group)} to {format_percent(low.estimate)}."
    )
    first = max((row for row in rows if row.probability_highest is not None), key=_rank, default=None)
    if first is not None:
        span += (
            f" The highest share is that of {escape_unprintable(first.group)} with a probability of "
            f"{format_short(first.probability_highest)}."
        )
    beyond = [
        escape_unprintable(row.group)
        for row in rows
        if row.difference_ci_low is not None
        and row.difference_ci_high is not None
        and (row.difference_ci_low > 0 or row.difference_ci_high < 0)
    ]
    base = [escape_unprintable(row.group) for row in rows if row.axis is not None and row.difference is None]
    if rows[0].axis is None or not base:
        return span
    return f"{span} From {base[0]} {f'differ {join_first(beyond)}' if beyond else 'no group differs'}."


def _rank(row: PredictedShare) -> float:
    return row.probability_highest or 0.0


def _share_notes(rows: Sequence[PredictedShare]) -> Iterator[str]:
    yield (
        "Shares that raters who were not asked would give, averaged over all items of the table; small groups lean on "
        "the rest of the model."
    )
    if rows[0].axis is not None:
        yield "Differences are from the group with the most raters; the numbers below have their intervals."


def divided_items(model: MultilevelModel) -> Figure:
    """Draw the items that divide groups most certainly: differences of a group from all others in the last answer.

    Parameters
    ----------
    model
        The model, with details and effects of groups by item; see `fit_model`.
    """
    rows = model.details.divided_items if model.details else ()
    if not rows:
        raise UndefinedEstimate(
            "The model has no effects of groups by item, such as (0 + race | item_id), so no item divides groups more "
            "than others."
        )
    shown = list_most_divided(rows)
    blocks: dict[tuple[str, str], list[MeanRow]] = {}
    for row in shown:
        mark = _mark(row.difference, row, row.n_raters)
        line = MeanRow(name=f"item {escape_unprintable(row.item_id)}", marks={"": mark})
        blocks.setdefault((row.axis, row.group), []).append(line)
    headed = [
        MeanRows(f"{escape_unprintable(group)} minus {EVERYBODY} else", tuple(lines))
        for (_, group), lines in blocks.items()
    ]
    first = shown[0]
    more = "more" if first.difference > 0 else "less"
    answer = escape_unprintable(model.categories[-1])
    rate = first.false_sign_rate
    return Figure(
        name="model-divided",
        title="Items that divide groups",
        reading=(
            f"On item {escape_unprintable(first.item_id)}, {escape_unprintable(first.group)} would say {answer} {more} "
            f"often than others, by {100 * abs(first.difference):.0f} points; false sign rate "
            f"{'below .001' if rate < SMALLEST_RATE else format_short(rate, 3)}."
        ),
        table=pl.DataFrame(
            [{name: getattr(row, name) for name in DividedItem.__dataclass_fields__} for row in rows],
            infer_schema_length=None,
        ),
        draw=lambda width: draw_means(headed, width, ScaleStyle(percent=True, reference=0)),
        notes=(
            f"Differences between shares of {answer!r} in a group and in all others, shrunk towards that on the "
            "average item.",
            f"The {MOST_DIVIDED} items of each group with the most certain sign are drawn; the numbers have all.",
        ),
    )


def list_most_divided(rows: Sequence[DividedItem]) -> list[DividedItem]:
    """Return the first items of each group, from rows in order of the certainty of the sign of the difference."""
    by_group: dict[tuple[str, str], list[DividedItem]] = {}
    for row in rows:
        by_group.setdefault((row.axis, row.group), []).append(row)
    return [row for of_group in by_group.values() for row in of_group[:MOST_DIVIDED]]


def predictive_checks(model: MultilevelModel) -> Figure:
    """Draw posterior predictive checks: observed values beside the intervals of replicated answers.

    Parameters
    ----------
    model
        The model, with details; see `fit_model`.
    """
    checks = model.details.predictive_checks if model.details else ()
    if not checks:
        raise UndefinedEstimate("The model was fitted without predictive checks.")
    panels: dict[str, list[PredictiveCheck]] = {}
    for row in checks:
        name = row.check.removesuffix(row.answer or "").replace(RATER_PREFIX, "").strip()
        panels.setdefault(name, []).append(row)
    failed = [row for row in checks if not row.passes]
    return Figure(
        name="model-checks",
        title="Predictive checks of the multilevel model",
        reading=_read_checks(failed, len(checks)),
        table=pl.DataFrame(
            [{name: getattr(row, name) for name in PredictiveCheck.__dataclass_fields__} for row in checks],
            infer_schema_length=None,
        ),
        draw=lambda width: concat_vertically(
            [draw_means([_check_rows(name, rows)], width, ScaleStyle()) for name, rows in panels.items()], spacing=GAP
        ),
        notes=(
            f"By the model: mean and {100 * model.confidence:g} % interval of new answers of the same raters to the "
            "same items. A check fails where the observed value lies outside.",
        ),
    )


def _check_rows(name: str, rows: Sequence[PredictiveCheck]) -> MeanRows:
    lines = tuple(
        MeanRow(
            name=f"{escape_unprintable(row.answer or ALL_ANSWERS)}\n{'passes' if row.passes else 'fails'}",
            marks={"observed": _mark(row.observed), "by the model": _mark(row.replicated, row)},
        )
        for row in rows
    )
    return MeanRows(f"{name} …" if rows[0].answer else name, lines)


def _read_checks(failed: Sequence[PredictiveCheck], n: int) -> str:
    if not failed:
        return f"The model passes all {count_noun(n, 'predictive check')}."
    names = [escape_unprintable(row.check) for row in failed]
    return f"The model fails {len(failed):,} of {count_noun(n, 'predictive check')}: {join_first(names)}."


def join_first(names: Sequence[str]) -> str:
    """Return the first names, and the number of others, joined by commas and "and"."""
    rest = [f"{len(names) - MOST_NAMED:,} more"] if len(names) > MOST_NAMED else []
    return join_with_and([*names[:MOST_NAMED], *rest])
