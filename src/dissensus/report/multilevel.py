"""Tables and folded texts of a multilevel model."""

from dataclasses import asdict
from typing import Final

import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.model import MultilevelModel
from dissensus.pipeline.model.details import ModelDetails
from dissensus.pipeline.model.result import MOST_CHANGED, changed_grids, describe_fit, estimate_grids
from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable, format_count, format_short
from dissensus.report.contested_items import read_passages
from dissensus.report.figures.multilevel import list_most_divided
from dissensus.report.groups import format_percent
from dissensus.report.tables import Disclosure, HiddenPassage, ReportTable
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings

WARNING: Final = "they may offend or disturb."


def model_warnings(model: MultilevelModel) -> ReportTable:
    """List the limits of a multilevel model."""
    if not model.warnings:
        raise UndefinedEstimate("The model has no warnings.")
    return ReportTable(
        name="model-warnings",
        title="Warnings",
        reading=f"{format_count(len(model.warnings), 'warning')} on this model:",
        grids=(),
        notes=model.warnings,
    )


def estimates(model: MultilevelModel) -> ReportTable:
    """List effects, thresholds and standard deviations of a multilevel model, with its certificate."""
    certificate = model.certificate
    checked = (
        "it was not checked by draws"
        if certificate is None
        else f"importance sampling {'accepts' if certificate.is_reliable else 'refuses'} its approximation"
    )
    return ReportTable(
        name="model-estimates",
        title="Estimates",
        reading=(
            f"Cumulative {model.link} model of {format_count(model.n_ratings, 'rating')}: "
            f"{escape_unprintable(model.formula)}; {checked}."
        ),
        grids=tuple(estimate_grids(model)),
        notes=describe_fit(model),
        table=model.to_polars(),
    )


def term_tests(details: ModelDetails) -> ReportTable:
    """List the tests of whole terms."""
    if not details.term_tests:
        raise UndefinedEstimate("The model has no fixed terms to test.")
    below = [row.term for row in details.term_tests if row.likelihood_ratio_p < 0.05]
    return ReportTable(
        name="model-terms",
        title="Tests of terms",
        reading=(
            f"By the likelihood ratio, {len(below):,} of {format_count(len(details.term_tests), 'term')} "
            f"{'has' if len(below) == 1 else 'have'} p < .05{': ' if below else ''}"
            f"{', '.join(map(escape_unprintable, below))}."
        ),
        grids=(
            Grid(
                ("term", "df", "Wald", "p", "likelihood ratio", "p", "LOO difference", "se"),
                tuple(
                    (
                        escape_unprintable(row.term),
                        f"{row.df:,}",
                        format_short(row.wald),
                        format_short(row.wald_p, 4),
                        format_short(row.likelihood_ratio),
                        format_short(row.likelihood_ratio_p, 4),
                        format_short(row.loo_difference),
                        format_short(row.loo_se),
                    )
                    for row in details.term_tests
                ),
            ),
        ),
        notes=(
            "Each term is tested against the model without it and without terms that contain it. p-values are not "
            "adjusted. LOO is the expected log predictive density of raters or items left out, with the term less "
            "without.",
        ),
        table=pl.DataFrame([asdict(row) for row in details.term_tests], infer_schema_length=None),
    )


def variance_shares(details: ModelDetails) -> ReportTable:
    """List the shares of the latent variance, of stable differences between raters, and of the residual."""
    shares = details.variance_shares
    largest = max(shares, key=lambda row: row.share)
    belief = details.belief
    return ReportTable(
        name="model-variance",
        title="Shares of variance",
        reading=(
            f"{escape_unprintable(largest.component)} has the largest share of the latent variance, "
            f"{format_percent(largest.share)}; within an item, stable differences between raters are "
            f"{format_percent(belief.stable)}."
        ),
        grids=(
            Grid(
                ("component", "variance", "share", "interval"),
                tuple(
                    (
                        escape_unprintable(row.component),
                        format_short(row.variance, 3),
                        format_short(row.share, 3),
                        _format_interval(row.ci_low, row.ci_high),
                    )
                    for row in shares
                ),
            ),
            Grid(
                ("within an item", "share", "interval"),
                (
                    (
                        "stable differences between raters",
                        format_short(belief.stable, 3),
                        _format_interval(belief.stable_ci_low, belief.stable_ci_high),
                    ),
                    (
                        "differences that vary by item",
                        format_short(belief.interaction, 3),
                        _format_interval(belief.interaction_ci_low, belief.interaction_ci_high),
                    ),
                    (
                        "residual",
                        format_short(belief.residual, 3),
                        _format_interval(belief.residual_ci_low, belief.residual_ci_high),
                    ),
                ),
            ),
        ),
        table=pl.DataFrame([asdict(row) for row in shares], infer_schema_length=None),
    )


def reliability(details: ModelDetails) -> ReportTable:
    """List the reliability of means by numbers of raters."""
    own = next(row for row in details.reliability if row.is_own)
    return ReportTable(
        name="model-reliability",
        title="Reliability",
        reading=(
            f"With {own.n_raters:.0f} raters of each item, as here, the mean of an item has a reliability of "
            f"{format_short(own.reliability)} and, with other raters for each item, a dependability of "
            f"{format_short(own.dependability)}."
        ),
        grids=(
            Grid(
                ("mean of", "raters", "reliability", "interval", "dependability", "interval"),
                tuple(
                    (
                        row.target if row.group is None else f"{row.target}: {escape_unprintable(row.group)}",
                        f"{row.n_raters:.4g}{' (here)' if row.is_own else ''}",
                        format_short(row.reliability),
                        _format_interval(row.ci_low, row.ci_high),
                        format_short(row.dependability),
                        _format_interval(row.dependability_ci_low, row.dependability_ci_high),
                    )
                    for row in details.reliability
                    if row.axis is None or row.is_own
                ),
            ),
        ),
        notes=("Other numbers of raters of groups are in the numbers of this table.",),
        table=pl.DataFrame([asdict(row) for row in details.reliability], infer_schema_length=None),
    )


def changed_items(model: MultilevelModel) -> ReportTable:
    """List the items whose label differs between populations, the most certain first."""
    grids = changed_grids(model.predictions, text=False) if model.predictions else []
    if not grids:
        raise UndefinedEstimate("Items change sides between two populations; one is given.")
    changed = model.predictions.changed if model.predictions else ()
    return ReportTable(
        name="model-changed",
        title="Items that change sides",
        reading=f"{format_count(len(changed), 'item')} would get another label from another of these populations.",
        grids=tuple(grids),
        notes=(
            "The label is the answer with the largest share; P(labels differ) is the share of draws in which those "
            "of the populations differ.",
        ),
        table=pl.DataFrame(
            [{"item_id": item.item_id, "probability": item.probability, **item.labels} for item in changed],
            infer_schema_length=None,
        ),
    )


def changed_texts(ratings: Ratings, model: MultilevelModel) -> Disclosure:
    """Fold the texts of the items that change sides."""
    changed = model.predictions.changed[:MOST_CHANGED] if model.predictions else ()
    headings = {
        item.item_id: ", ".join(f"{label} of {name}" for name, label in item.labels.items()) for item in changed
    }
    return _fold_texts("model-changed-texts", "Conversations that change sides", ratings, headings)


def divided_texts(ratings: Ratings, model: MultilevelModel) -> Disclosure:
    """Fold the texts of the items that divide groups."""
    headings: dict[str, str] = {}
    for row in list_most_divided(model.details.divided_items) if model.details else ():
        more = "more" if row.difference > 0 else "less"
        words = f"{row.group} {more} often {model.categories[-1]}, by {100 * abs(row.difference):.0f} points"
        headings[row.item_id] = f"{headings[row.item_id]}; {words}" if row.item_id in headings else words
    return _fold_texts("model-divided-texts", "Conversations that divide groups", ratings, headings)


def _fold_texts(name: str, title: str, ratings: Ratings, headings: dict[str, str]) -> Disclosure:
    """Return the texts of items below headings, in their order."""
    rows = {row[ITEM_ID]: row for row in ratings.items.iter_rows(named=True) if row[ITEM_ID] in headings}
    passages = []
    for item, heading in headings.items():
        context, response = read_passages(rows[item])
        text = "\n\n".join(part for part in (context, response) if part)
        if text:
            passages.append(
                HiddenPassage(heading=f"Item {escape_unprintable(item)}: {escape_unprintable(heading)}", text=text)
            )
    if not passages:
        raise UndefinedEstimate("The texts of these items are not read.")
    return Disclosure(name=name, title=title, warning=WARNING, passages=tuple(passages))


def _format_interval(low: float | None, high: float | None) -> str:
    return UNKNOWN if low is None else f"{format_short(low)} to {format_short(high)}"
