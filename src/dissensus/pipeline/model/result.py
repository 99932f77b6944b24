"""Result of a multilevel model: named effects, thresholds and random effects."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from dissensus.pipeline.model.contrasts import INTERCEPT
from dissensus.pipeline.model.convergence import ModelConvergence, build_tree
from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.details import ModelDetails, list_details
from dissensus.pipeline.model.details_page import list_grids
from dissensus.pipeline.model.shares import PredictedShare, Predictions
from dissensus.pipeline.tables import (
    UNKNOWN,
    Grid,
    Page,
    PagedResult,
    escape_unprintable,
    format_interval,
    format_short,
)
from dissensus.schema.hints import count_noun
from dissensus.schema.tabular_result import TabularResult, read_row_schema
from dissensus.stats.multilevel.fit import Estimator, Integration, Link, OrdinalFit, PosteriorFit

CROSSING: Final = "*"
"""Sign between the attributes of crossed groups."""
MOST_CHANGED: Final = 10
"""Most items that change sides in the table; all are in the JSON."""
EXCERPT: Final = 60
"""Most characters of a rated text in the table."""
SMALL_EFFECT: Final = 0.05
LARGE_EFFECT: Final = 0.30
"""Effects of practical significance and large ones, in standard deviations of the latent error (Homan et al. 2023)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEffect:
    """A fixed effect on the latent scale: of a level against the base, or of one unit of a number."""

    term: str
    level: str | None  # Levels of an interaction are joined by ×; None for a number
    estimate: float
    se: float
    ci_low: float
    ci_high: float
    # Probability of the sign of the estimate, and of an absolute effect above `SMALL_EFFECT` and `LARGE_EFFECT`; by a
    # normal approximation without a sampler
    probability_of_direction: float
    probability_beyond_small: float
    probability_beyond_large: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelThreshold:
    """A threshold on the latent scale, between two neighbouring answers."""

    between: str
    estimate: float
    se: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDeviation:
    """Standard deviation of a random effect; without a sampler its interval is symmetric for the logarithm."""

    group: str
    effect: str  # "(intercept)", or the term and level of a slope
    n_groups: int
    sd: float
    ci_low: float | None  # None where it may be 0
    ci_high: float | None
    correlations: tuple[float, ...]  # With the effects of the same term, in their order; 1 with itself


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCertificate:
    """Check of Laplace's approximation by importance sampling from it (Vehtari et al. 2024)."""

    n_draws: int
    effective_draws: float
    pareto_k: float
    is_reliable: bool  # Pareto k is at most min(1 − 1 / log10(draws), .7)
    correction: float  # Log-likelihood less its approximation
    correction_error: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedFit:
    """The design with its names, and the fit to it, from which to draw."""

    named: NamedDesign
    fit: OrdinalFit


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MultilevelModel(TabularResult, PagedResult):
    """A fitted multilevel model of ordered answers; see `fit_model`.

    Parameters
    ----------
    effects
        Fixed effects, in the order of the formula. Above 0: towards later answers of the scale.
    thresholds
        Thresholds between the answers, in order.
    deviations
        Standard deviations of random effects.
    log_likelihood
        Log marginal likelihood at the estimates, without priors.
    estimator
        "maximum likelihood", "maximum a posteriori" (the posterior mode under priors), or "posterior" (the means of a
        sampler's draws).
    priors
        Priors by class, as they were given; others are flat.
    integration
        Integration of the random effects in the log-likelihood: "laplace" or "quadrature".
    n_parameters
        Number of estimated parameters.
    certificate
        Check of the approximation; None without draws, and with a sampler.
    convergence
        Convergence of the sampler's chains by parameter; empty without one.
    predictions
        Predicted shares of answers by group and population; None without draws or attributes of raters.
    details
        Tests of terms, shares of variance, reliability, divided items and predictive checks; None unless asked for.
    formula, link, base, categories, confidence
        Formula with full names, link, first level of each factor, answers in order, and confidence level.
    n_raters, n_items, n_ratings
        Sizes of what was modelled.
    warnings, notes
        Limits of this result, and remarks on how the table was read.
    """

    effects: tuple[ModelEffect, ...]
    thresholds: tuple[ModelThreshold, ...]
    deviations: tuple[ModelDeviation, ...]
    log_likelihood: float
    estimator: Estimator
    priors: Mapping[str, str]
    integration: Integration
    n_parameters: int
    certificate: ModelCertificate | None
    convergence: tuple[ModelConvergence, ...]
    predictions: Predictions | None
    details: ModelDetails | None
    formula: str
    link: Link
    base: Mapping[str, str]
    categories: tuple[str, ...]
    confidence: float
    n_raters: int
    n_items: int
    n_ratings: int
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    version: str
    source: NamedFit = field(compare=False)

    @property
    def sd(self) -> dict[str, float]:
        """Standard deviations by group; those of slopes by group and effect."""
        return {
            row.group if row.effect == INTERCEPT else f"{row.group}: {row.effect}": row.sd for row in self.deviations
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "schema_version": 1,
            "dissensus_version": self.version,
            "warnings": list(self.warnings),
            "formula": self.formula,
            "link": self.link,
            "base": dict(self.base),
            "categories": list(self.categories),
            "confidence": self.confidence,
            "n_raters": self.n_raters,
            "n_items": self.n_items,
            "n_ratings": self.n_ratings,
            "estimator": self.estimator,
            "priors": dict(self.priors),
            "effects": [asdict(row) for row in self.effects],
            "thresholds": [asdict(row) for row in self.thresholds],
            "sd": self.sd,
            "random": [asdict(row) for row in self.deviations],
            "log_likelihood": self.log_likelihood,
            "integration": self.integration,
            "n_parameters": self.n_parameters,
            "certificate": None if self.certificate is None else asdict(self.certificate),
            "convergence": [asdict(row) for row in self.convergence],
            **_list_predictions(self.predictions),
            **list_details(self.details),
            "notes": list(self.notes),
        }

    def to_polars(self) -> pl.DataFrame:
        """Return one line per effect."""
        return pl.DataFrame([asdict(row) for row in self.effects], schema=read_row_schema(ModelEffect))

    def to_arviz(self, *, draws: int = 1000, seed: int = 0) -> Any:
        """Return draws as an ArviZ `DataTree` with the group "posterior".

        Parameters
        ----------
        draws
            Draws from the normal approximation, weighted towards the exact distribution and resampled, as one chain;
            with a sampler all draws of its chains are returned instead.
        seed
            Seed of these draws.

        Raises
        ------
        Unavailable
            arviz-base is not installed.
        """
        named, fit = self.source.named, self.source.fit
        if isinstance(fit, PosteriorFit):
            return build_tree(named, fit.approximation.draws, fit.approximation.n_chains)
        rng = np.random.default_rng(seed)
        return build_tree(named, fit.approximation.draw(draws, rng).resample(rng), 1)

    def __repr__(self) -> str:
        return f"MultilevelModel({self.formula}; {self.link}; {self.n_ratings:,} ratings)"

    def page(self) -> Page:
        """Return a model as a page, warnings first."""
        warnings = [f"Warning: {warning}" for warning in self.warnings]
        sizes = (count_noun(self.n_ratings, "rating"), count_noun(self.n_items, "item"))
        head = (
            f"{sizes[0]} of {sizes[1]} by {count_noun(self.n_raters, 'rater')}. Cumulative {self.link} model: "
            f"{self.formula}"
        )
        grids = estimate_grids(self)
        if self.predictions is not None:
            grids += share_grids(self.predictions, self.confidence)
            grids += label_change_grids(self.predictions)
        if self.details is not None:
            grids += list_grids(self.details, f"{100 * self.confidence:g} % interval")
        return Page("\n".join([*warnings, head]), tuple(grids), describe_fit(self))


def _list_predictions(predictions: Predictions | None) -> dict[str, Any]:
    """Return predicted shares as plain values, empty lists without any."""
    shares = predictions.shares if predictions else ()
    return {
        "shares": [asdict(row) for row in shares if row.axis is not None],
        "populations": [asdict(row) for row in shares if row.axis is None],
        "labels": [asdict(row) for row in predictions.labels] if predictions else [],
        "changed_labels": [item.item_id for item in predictions.changed] if predictions else [],
        "changed_items": [asdict(item) for item in predictions.changed] if predictions else [],
    }


def estimate_grids(model: MultilevelModel) -> list[Grid]:
    """Return effects, thresholds and standard deviations as grids."""
    interval = f"{100 * model.confidence:g} % interval"
    effects = Grid(
        ("effect", "estimate", "se", interval, "P(direction)", f"P(>{format_short(LARGE_EFFECT)})"),
        tuple(
            (
                _name(row.term, row.level),
                *(format_short(value, 3) for value in (row.estimate, row.se)),
                format_interval(row.ci_low, row.ci_high),
                format_short(row.probability_of_direction, 3),
                format_short(row.probability_beyond_large, 3),
            )
            for row in model.effects
        ),
    )
    thresholds = Grid(
        ("threshold", "estimate", "se", interval),
        tuple(
            (
                escape_unprintable(row.between),
                *(format_short(value, 3) for value in (row.estimate, row.se)),
                format_interval(row.ci_low, row.ci_high),
            )
            for row in model.thresholds
        ),
    )
    random = Grid(
        ("random effect", "groups", "sd", interval),
        tuple(
            (
                escape_unprintable(row.group if row.effect == INTERCEPT else f"{row.group}: {row.effect}"),
                f"{row.n_groups:,}",
                format_short(row.sd, 3),
                format_interval(row.ci_low, row.ci_high),
            )
            for row in model.deviations
        ),
    )
    return [effects] * bool(model.effects) + [thresholds, random]


def share_grids(predictions: Predictions, confidence: float) -> list[Grid]:
    """Return predicted shares by group of a single attribute and by population as a grid; none without either."""
    if not predictions.shares:
        return []
    interval = f"{100 * confidence:g} % interval"
    answers = list(dict.fromkeys(row.answer for row in predictions.shares))
    rows: dict[tuple[str | None, str], list[PredictedShare]] = {}
    for row in predictions.shares:
        if row.axis is None or CROSSING not in row.axis:
            rows.setdefault((row.axis, row.group), []).append(row)
    grid = Grid(
        (
            "predicted share",
            "raters",
            *map(escape_unprintable, answers),
            interval,
            "difference",
            interval,
            "P(highest)",
        ),
        tuple(
            (
                _name(axis or "population", group),
                f"{shares[0].n_raters:,}",
                *(format_short(share.estimate, 3) for share in shares),
                format_interval(shares[-1].ci_low, shares[-1].ci_high),
                format_short(shares[-1].difference, 3),
                format_interval(shares[-1].difference_ci_low, shares[-1].difference_ci_high),
                format_short(shares[-1].probability_highest, 3),
            )
            for (axis, group), shares in rows.items()
        ),
        f"Intervals are of {answers[-1]!r}; differences are from the group with the most raters. P(highest): that the "
        f"share of {answers[-1]!r} is the largest of the attribute's groups.",
    )
    return [grid]


def label_change_grids(predictions: Predictions, *, text: bool = True) -> list[Grid]:
    """Return the items that have another label in another population as a grid; none for fewer than two."""
    names = list(dict.fromkeys(row.population for row in predictions.labels))
    if len(names) < 2:
        return []
    n_items = len({row.item_id for row in predictions.labels})
    n_changed = len(predictions.changed)
    caption = f"{n_changed:,} of {count_noun(n_items, 'item')} {'changes' if n_changed == 1 else 'change'} sides"
    rest = n_changed - MOST_CHANGED
    lines = tuple(
        (
            escape_unprintable(item.item_id),
            *(escape_unprintable(item.labels[name]) for name in names),
            format_short(item.probability),
            *([_excerpt(item.text)] if text else []),
        )
        for item in predictions.changed[:MOST_CHANGED]
    )
    return [
        Grid(
            (
                "item that changes sides",
                *map(escape_unprintable, names),
                "P(labels differ)",
                *(["text"] if text else []),
            ),
            lines,
            f"{caption}; {rest:,} less certain ones are only in the JSON." if rest > 0 else f"{caption}.",
        )
    ]


def _excerpt(text: str | None) -> str:
    """Return the beginning of a text on one line."""
    if text is None:
        return UNKNOWN
    line = escape_unprintable(" ".join(text.split()))
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1].rstrip() + "…"


def describe_fit(model: MultilevelModel) -> tuple[str, ...]:
    """Return first levels, units, log-likelihood and certificate in sentences, then the notes of a model."""
    base = ", ".join(f"{name} = {escape_unprintable(level)}" for name, level in model.base.items()) or UNKNOWN
    unit = "standard deviations of the latent error" if model.link == "probit" else "log-odds"
    return (
        f"First levels, with which others are compared: {base}.",
        f"Effects are in {unit}; above 0 they are towards {model.categories[-1]!r}.",
        f"Log-likelihood ({model.integration}) {model.log_likelihood:.2f} with {model.n_parameters} parameters.",
        *_estimator_notes(model),
        *_certificate_notes(model.certificate),
        *model.notes,
    )


def _estimator_notes(model: MultilevelModel) -> tuple[str, ...]:
    priors = "; ".join(f"{key} = {escape_unprintable(text)}" for key, text in model.priors.items())
    notes = (f"Priors: {priors}; flat otherwise.",) * bool(priors)
    if model.estimator == "maximum a posteriori":
        return (*notes, "Estimates are the posterior mode, with intervals from the curvature there.")
    if model.estimator == "posterior":
        r_hats, draws = zip(*((row.r_hat, row.bulk_ess) for row in model.convergence if row.r_hat), strict=True)
        return (
            *notes,
            f"Estimates are posterior means with quantile intervals; R̂ is at most {max(r_hats):.3f}, with at least "
            f"{min(draws):.0f} effective draws.",
        )
    return notes


def _certificate_notes(certificate: ModelCertificate | None) -> tuple[str, ...]:
    if certificate is None:
        return ()
    return (
        f"Certificate of Laplace's approximation: Pareto k {format_short(certificate.pareto_k)}, "
        f"{certificate.effective_draws:.0f} effective of {certificate.n_draws} draws, correction of the log-likelihood "
        f"{certificate.correction:+.3f} ± {certificate.correction_error:.3f}.",
    )


def _name(term: str, level: str | None) -> str:
    return escape_unprintable(term if level is None else f"{term} = {level}")
