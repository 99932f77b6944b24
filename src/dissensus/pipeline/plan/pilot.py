"""Pilot of a plan: variance components of a ratings file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.schema.advice import Advice
from dissensus.schema.axes import require_one_axis
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.columns import ANSWER_TIME
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import MaximumFit, fit_ordinal
from dissensus.stats.planning.comparison import fit_dirichlet
from dissensus.stats.planning.rating_model import LARGEST_SD, RatingModel
from dissensus.stats.result import IntArray

FEWEST_RATERS: Final = 8
"""Raters of a pilot below which their standard deviation is mostly chance."""
FEW_RATERS: Final = 30
FEWEST_ITEMS: Final = 5
LARGEST_ERROR: Final = 1.5
"""Standard error of the logarithm of a standard deviation beyond which it may be 0."""
Z: Final = 1.96
MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotEffect:
    """Standard deviation of a random effect in a pilot, with its interval of 95 %; null where it may be 0."""

    name: str
    sd: float
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """Population of a plan, from ratings or a preset."""

    source: str  # file or preset
    answer: str  # the answer whose share is planned for
    share: float  # of that answer among all ratings
    model: RatingModel
    effects: tuple[PilotEffect, ...] = ()  # standard deviations with intervals; empty for a preset
    groups: dict[str, float] | None = None  # share of the answer in each group of the axis
    n_raters: int | None = None
    n_items: int | None = None
    dirichlet: tuple[float, ...] | None = None  # of the answers to an item, over items
    minutes_per_item: float | None = None  # median time of a rating, if the file has times
    warnings: tuple[str, ...] = ()


def measure_pilot(
    ratings: Ratings,
    *,
    source: str = "pilot",
    by: str | None = None,
    question: str | None = None,
    share_of: str | None = None,
) -> Pilot:
    """Fit the multilevel model of one answer to the ratings of a pilot.

    The answer is modelled as given or not, by a probit with random effects of raters and items, and with an axis those
    of its groups on items beside fixed effects of the groups.
    """
    ratings.require_raters("A plan")
    question = ratings.resolve_question(question)
    ratings = ratings.select_question(question)
    answer = _choose_answer(ratings, question, share_of)
    item, rater, code = ratings.codes(question)
    group: IntArray | None = None
    names: tuple[str, ...] = ()
    if by is not None:
        codes, names = ratings.group_codes(ratings.axis_name(require_one_axis(by)))
        known = codes[rater] >= 0
        item, rater, code = item[known], rater[known], code[known]
        group = codes[rater]
        if len(names) < 2:
            raise InvalidInput(
                f"{by} has fewer than two groups in the pilot, so that there is nothing to compare. Name another axis."
            )
    hit = (code == ratings.scale(question).index(answer)).astype(np.int64)
    _check_size(item, rater, hit, answer)
    fit = _fit_model(item, rater, hit, group, len(names))
    sds = dict(zip(("rater", "item", "group × item"), (float(term.sds[0]) for term in fit.random), strict=False))
    effects = tuple(
        _describe_effect(name, sd, term.sd_errors[0]) for (name, sd), term in zip(sds.items(), fit.random, strict=True)
    )
    if effects[0].ci_low is None:
        reason = (
            "The pilot does not determine how much raters differ: the standard deviation between them is estimated as "
            f"{sds['rater']:.2f}, without an interval, and power would be overstated. Let more raters rate more items,"
        )
        raise UndefinedEstimate(
            Advice(f"{reason} or plan from a preset: --preset dices-350.", site=f"{reason} or plan without a file.")
        )
    model = RatingModel(
        rater_sd=min(sds["rater"], LARGEST_SD),
        item_sd=min(sds["item"], LARGEST_SD),
        group_item_sd=min(sds.get("group × item", 0.0), LARGEST_SD),
    )
    n_raters, n_items = int(np.unique(rater).size), int(np.unique(item).size)
    return Pilot(
        source=source,
        answer=answer,
        share=float(hit.mean()),
        model=model,
        effects=effects,
        groups=None if group is None else {name: float(hit[group == g].mean()) for g, name in enumerate(names)},
        n_raters=n_raters,
        n_items=n_items,
        dirichlet=_fit_answers(item, code, len(ratings.scale(question))),
        minutes_per_item=_median_minutes(ratings),
        warnings=tuple(_list_warnings(n_raters, effects)),
    )


def _choose_answer(ratings: Ratings, question: str, share_of: str | None) -> str:
    scale = ratings.scale(question)
    if share_of is None:
        return scale[-1]
    if share_of not in scale:
        raise InvalidInput(
            f"{format_value(share_of)} is not an answer to {question}.{suggest(share_of, scale)} Answers are "
            f"{format_list(scale)}."
        )
    return share_of


def _check_size(item: IntArray, rater: IntArray, hit: IntArray, answer: str) -> None:
    n_raters, n_items = np.unique(rater).size, np.unique(item).size
    if n_raters < FEWEST_RATERS:
        reason = (
            f"The pilot has {n_raters:,} raters, too few to show how much raters differ. The least that works is "
            f"{FEWEST_RATERS}; {FEW_RATERS} are better."
        )
        raise InvalidInput(
            Advice(f"{reason} Or plan from a preset: --preset dices-350.", site=f"{reason} Or plan without a file.")
        )
    if n_items < FEWEST_ITEMS:
        raise InvalidInput(
            f"The pilot has {n_items:,} items, too few to show how much items differ. The least that works is "
            f"{FEWEST_ITEMS}."
        )
    if len(item) in (n_raters, n_items):
        raise InvalidInput(
            "The pilot has one rating of each rater, or of each item, so their differences cannot be told from chance. "
            "Let raters rate two items or more, and items have two raters or more."
        )
    if hit.min() == hit.max():
        reason = f"{'All' if hit.min() else 'No'} ratings of the pilot are {answer}, so its variance is unknown."
        raise InvalidInput(
            Advice(
                f"{reason} Choose another answer with --share-of, or a pilot with both.",
                site=f"{reason} Choose a pilot with others too.",
            )
        )


def _fit_model(item: IntArray, rater: IntArray, hit: IntArray, group: IntArray | None, n_groups: int) -> MaximumFit:
    terms: list[tuple[str, IntArray]] = [("rater", rater), ("item", item)]
    covariates = np.empty((len(hit), 0))
    if group is not None:
        terms.append(("group × item", item * n_groups + group))
        covariates = (group[:, None] == np.arange(1, n_groups)).astype(float)
    random = []
    for name, codes in terms:
        levels, number = np.unique(codes, return_inverse=True)
        random.append(RandomTerm(name=name, groups=number.ravel().astype(np.int32), n_groups=levels.size))
    design = ModelDesign(answers=hit, n_categories=2, fixed=Covariates.from_matrix(covariates), random=tuple(random))
    try:
        return fit_ordinal(design)
    except UndefinedEstimate as error:
        raise UndefinedEstimate(f"The pilot does not determine how much raters and items differ. {error}") from None


def _describe_effect(name: str, sd: float, error: float) -> PilotEffect:
    if not np.isfinite(error) or error > LARGEST_ERROR:
        return PilotEffect(name=name, sd=sd, ci_low=None, ci_high=None)
    factor = float(np.exp(Z * error))
    return PilotEffect(name=name, sd=sd, ci_low=sd / factor, ci_high=sd * factor)


def _fit_answers(item: IntArray, code: IntArray, n_answers: int) -> tuple[float, ...]:
    """Return the Dirichlet distribution of the answers that were given."""
    counts = np.bincount(item * n_answers + code, minlength=(int(item.max()) + 1) * n_answers).reshape(-1, n_answers)
    return tuple(fit_dirichlet(counts[:, counts.any(axis=0)]).tolist())


def _median_minutes(ratings: Ratings) -> float | None:
    if ANSWER_TIME not in ratings.answers.columns:
        return None
    median = ratings.answers[ANSWER_TIME].median()
    return None if median is None else float(median) / MINUTE_MS  # type: ignore[arg-type]


def _list_warnings(n_raters: int, effects: tuple[PilotEffect, ...]) -> Iterator[str]:
    if n_raters < FEW_RATERS:
        yield (
            f"The pilot has {n_raters} raters: the standard deviation between raters is uncertain, and with it every "
            f"power. From {FEW_RATERS} raters on it is known better."
        )
    for effect in effects:
        if effect.ci_low is None:
            yield (
                f"The pilot does not determine the standard deviation of {effect.name}: it is taken as "
                f"{min(effect.sd, LARGEST_SD):.2f}, and may be larger."
            )
        if effect.sd > LARGEST_SD:
            yield (
                f"The standard deviation of {effect.name} is {effect.sd:.1f} in the pilot, and taken as "
                f"{LARGEST_SD:g}: answers are nearly all the same. Look at the pilot first."
            )
