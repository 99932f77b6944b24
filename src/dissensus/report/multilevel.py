"""Tables and folded texts of a multilevel model."""

from dataclasses import asdict
from typing import Final

import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.model import MultilevelModel
from dissensus.pipeline.model.details import ModelDetails
from dissensus.pipeline.model.details_page import (
    check_grid,
    describe_consistency,
    name_widths,
    reliability_grid,
    term_grid,
    variance_grid,
)
from dissensus.pipeline.model.result import MOST_CHANGED, describe_fit, estimate_grids, label_change_grids
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figures.contested_items import read_passages
from dissensus.report.figures.multilevel import join_first, list_most_divided
from dissensus.report.groups import format_percent
from dissensus.report.tables import Disclosure, HiddenPassage, ReportTable
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings

ALPHA: Final = 0.05
WARNING: Final = "they may offend or disturb."


def model_warnings(model: MultilevelModel) -> ReportTable:
    """List the limits of a multilevel model."""
    if not model.warnings:
        raise UndefinedEstimate("The model has no warnings.")
    return ReportTable(
        name="model-warnings",
        title="Warnings",
        reading=f"{count_noun(len(model.warnings), 'warning')} on this model:",
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
            f"Cumulative {model.link} model of {count_noun(model.n_ratings, 'rating')}: "
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
    below = [escape_unprintable(row.term) for row in details.term_tests if row.likelihood_ratio_p < ALPHA]
    return ReportTable(
        name="model-terms",
        title="Tests of terms",
        reading=(
            f"By the likelihood ratio, {len(below):,} of {count_noun(len(details.term_tests), 'term')} "
            f"{'has' if len(below) == 1 else 'have'} p < .05{': ' if below else ''}{', '.join(below)}."
        ),
        grids=(term_grid(details),),
        notes=("p-values are not adjusted for the number of terms.",),
        table=pl.DataFrame([asdict(row) for row in details.term_tests], infer_schema_length=None),
    )


def variance_shares(model: MultilevelModel, details: ModelDetails) -> ReportTable:
    """List the shares of the latent variance, of stable differences between raters, and of the residual."""
    largest = max(details.variance_shares, key=lambda row: row.share)
    return ReportTable(
        name="model-variance",
        title="Shares of variance",
        reading=(
            f"The largest share of the latent variance, {format_percent(largest.share)}, is that of "
            f"{escape_unprintable(largest.component)}; within an item, stable differences between raters have "
            f"{format_percent(details.belief.stable)}."
            f"{describe_consistency(details.belief)}"
        ),
        grids=(variance_grid(details, _name_interval(model)),),
        table=pl.DataFrame([asdict(row) for row in details.variance_shares], infer_schema_length=None),
    )


def reliability(model: MultilevelModel, details: ModelDetails) -> ReportTable:
    """List the reliability of means by numbers of raters."""
    own = next(row for row in details.reliability if row.is_own)
    return ReportTable(
        name="model-reliability",
        title="Reliability",
        reading=(
            f"With {own.n_raters:.3g} raters of each item, as here, the mean of an item has a reliability of "
            f"{format_short(own.reliability)}, and of {format_short(own.dependability)} if each item has other raters."
        ),
        grids=(reliability_grid(details, _name_interval(model)),),
        table=pl.DataFrame([asdict(row) for row in details.reliability], infer_schema_length=None),
    )


def check_comparison(model: MultilevelModel, details: ModelDetails) -> ReportTable:
    """List the predictive checks that the model passes with widths of raters, and without."""
    alternative = details.alternative
    if alternative is None:
        raise UndefinedEstimate(
            "The checks are not compared with those of a model with widths of raters: it needs three answers, effects "
            "of raters, and ratings that determine it."
        )
    pairs = list(zip(details.predictive_checks, alternative.predictive_checks, strict=True))
    is_failed = not all(row.passes and other.passes for row, other in pairs)
    only = {
        "Only this model passes": [row.check for row, other in pairs if row.passes and not other.passes],
        f"Only {name_widths(alternative)} does it pass": [
            row.check for row, other in pairs if other.passes and not row.passes
        ],
    }
    sides = [
        f" {words} {join_first([escape_unprintable(name) for name in names])}."
        for words, names in only.items()
        if names
    ]
    return ReportTable(
        name="model-check-comparison",
        title="Checks with and without widths of raters",
        reading=(
            f"Of {count_noun(len(pairs), 'predictive check')} this model passes "
            f"{sum(row.passes for row, _ in pairs):,}; the same model {name_widths(alternative)} of raters passes "
            f"{sum(other.passes for _, other in pairs):,}.{''.join(sides)}"
        ),
        grids=(check_grid(details, _name_interval(model), is_short=True),) * is_failed,
        notes=("Checks that both pass are in the numbers alone.",),
        table=pl.DataFrame(
            [
                {**asdict(row), "widths": widths}
                for widths, rows in (
                    (not alternative.widths, details.predictive_checks),
                    (alternative.widths, alternative.predictive_checks),
                )
                for row in rows
            ],
            infer_schema_length=None,
        ),
    )


def label_change_table(model: MultilevelModel) -> ReportTable:
    """List the items whose label differs between populations, the most certain first."""
    grids = label_change_grids(model.predictions, text=False) if model.predictions else []
    if not grids:
        raise UndefinedEstimate("Items change sides between two populations; one is given.")
    changed = model.predictions.changed if model.predictions else ()
    return ReportTable(
        name="model-changed",
        title="Items that change sides",
        reading=f"{count_noun(len(changed), 'item')} would get another label from another of these populations.",
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


def label_change_texts(ratings: Ratings, model: MultilevelModel) -> Disclosure:
    """Fold the texts of the items that change sides."""
    changed = model.predictions.changed[:MOST_CHANGED] if model.predictions else ()
    headings = {
        item.item_id: ", ".join(f"{label} of {name}" for name, label in item.labels.items()) for item in changed
    }
    return _fold_texts("model-changed-texts", "Conversations that change sides", ratings, headings)


def divided_item_texts(ratings: Ratings, model: MultilevelModel) -> Disclosure:
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


def _name_interval(model: MultilevelModel) -> str:
    return f"{100 * model.confidence:g} % interval"
