"""Details of a multilevel model as tables."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from dissensus.pipeline.model.belief import Belief
from dissensus.pipeline.model.details import ModelDetails
from dissensus.pipeline.model.predictive_checks import AlternativeModel, PredictiveCheck
from dissensus.pipeline.tables import Grid, escape_unprintable, format_interval, format_short

MOST_ITEMS: Final = 10


def list_grids(details: ModelDetails, interval: str) -> Iterator[Grid]:
    """Yield a table of each kind of detail that the model has."""
    if details.term_tests:
        yield term_grid(details)
    yield variance_grid(details, interval)
    yield reliability_grid(details, interval)
    if details.divided_items:
        yield _item_grid(details, interval)
    yield check_grid(details, interval)


def term_grid(details: ModelDetails) -> Grid:
    """Return the tests of terms as a table."""
    return Grid(
        ("term", "df", "Wald", "p", "likelihood ratio", "p", "LOO difference", "se"),
        tuple(
            (
                escape_unprintable(row.term),
                str(row.df),
                format_short(row.wald, 2),
                format_short(row.wald_p, 3),
                format_short(row.likelihood_ratio, 2),
                format_short(row.likelihood_ratio_p, 3),
                format_short(row.loo_difference, 2),
                format_short(row.loo_se, 2),
            )
            for row in details.term_tests
        ),
        "Each term beside all that do not contain it. LOO: log predictive density of raters or items left out, with "
        "the term less without it.",
    )


def variance_grid(details: ModelDetails, interval: str) -> Grid:
    """Return the shares of variance as a table."""
    belief = details.belief
    return Grid(
        ("component", "variance", "share", interval),
        tuple(
            (
                escape_unprintable(row.component),
                format_short(row.variance, 3),
                format_short(row.share, 3),
                format_interval(row.ci_low, row.ci_high),
            )
            for row in details.variance_shares
        ),
        f"Within an item, {format_short(belief.stable)} of the variance are stable differences between raters, "
        f"{format_short(belief.interaction)} are interactions of raters and items, and {format_short(belief.residual)} "
        "are residual." + describe_consistency(belief),
    )


def describe_consistency(belief: Belief) -> str:
    """Return which part of the residual repeats, as a further sentence; nothing without repeated answers."""
    if belief.consistency is None:
        return ""
    interval = format_interval(belief.consistency_ci_low, belief.consistency_ci_high)
    return (
        f" By {belief.n_repeats:,} repeated answers, {format_short(belief.consistency)} ({interval}) of the residual "
        f"repeats, and {format_short(belief.noise)} of the variance within an item is noise."
    )


def reliability_grid(details: ModelDetails, interval: str) -> Grid:
    """Return the reliability of means as a table: by numbers of raters, and of groups with the number here."""
    rows = [row for row in details.reliability if row.is_own or row.axis is None]
    return Grid(
        ("reliability", "raters", "same raters", interval, "other raters", interval),
        tuple(
            (
                escape_unprintable(row.target if row.group is None else f"{row.target}: {row.group}"),
                f"{row.n_raters:.3g}",
                format_short(row.reliability, 3),
                format_interval(row.ci_low, row.ci_high),
                format_short(row.dependability, 3),
                format_interval(row.dependability_ci_low, row.dependability_ci_high),
            )
            for row in rows
        ),
    )


def _item_grid(details: ModelDetails, interval: str) -> Grid:
    rows = details.divided_items[:MOST_ITEMS]
    return Grid(
        ("divided item", "group", "raters", "difference", interval, "false sign", "interaction", "false sign"),
        tuple(
            (
                escape_unprintable(row.item_id),
                escape_unprintable(f"{row.axis} = {row.group}"),
                f"{row.n_raters:,}",
                format_short(row.difference, 3),
                format_interval(row.ci_low, row.ci_high),
                format_short(row.false_sign_rate, 3),
                format_short(row.interaction, 3),
                format_short(row.interaction_false_sign_rate, 3),
            )
            for row in rows
        ),
        f"The first {len(rows)} of {len(details.divided_items):,}: shares of the last answer in the group less "
        "those of all others.",
    )


def check_grid(details: ModelDetails, interval: str, *, is_short: bool = False) -> Grid:
    """Return the predictive checks beside those of the alternative model; a short table has those that either fails."""
    alternative = details.alternative
    others = alternative.predictive_checks if alternative else ()
    pairs = list(zip_longest(details.predictive_checks, others))
    shown = [
        (row, other) for row, other in pairs if not is_short or not (row.passes and (other is None or other.passes))
    ]
    return Grid(
        (
            "predictive check",
            "observed",
            "replicated",
            interval,
            "p",
            "passes",
            *((name_widths(alternative), "passes") if alternative else ()),
        ),
        tuple(
            (
                escape_unprintable(row.check),
                _format_statistic(row, row.observed),
                _format_statistic(row, row.replicated),
                _format_range(row),
                format_short(row.p, 3),
                "yes" if row.passes else "no",
                *((_format_range(other), "yes" if other.passes else "no") if other else ()),
            )
            for row, other in shown
        ),
        f"The same model {name_widths(alternative)} of raters has {alternative.n_parameters:,} parameters and a "
        f"log-likelihood ({alternative.integration}) of {alternative.log_likelihood:.2f}."
        if alternative
        else "",
    )


def name_widths(alternative: AlternativeModel) -> str:
    """Return "with widths" or "without widths"."""
    return "with widths" if alternative.widths else "without widths"


def _format_range(row: PredictiveCheck) -> str:
    return f"{_format_statistic(row, row.ci_low)} to {_format_statistic(row, row.ci_high)}"


def _format_statistic(row: PredictiveCheck, value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if row.is_count else format_short(value, 3)
