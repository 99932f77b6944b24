"""Simulated ratings and choices of the same people, and what a joint model of both gains on a model of either."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.special import ndtr

from dissensus.stats.jury.model import TextAnswers, TextModel, fit_choice_model, fit_joint_model, fit_text_model
from dissensus.stats.result import FloatArray

CELLS: Final = np.eye(2, dtype=bool)
N_UNSEEN, N_DRAWS, N_SIMULATIONS = 150, 400, 25
DESIGNS: Final = ((0.5, 5), (1.0, 5), (2.0, 5), (1.0, 10))
"""Scales of choices, with numbers of ratings of a text."""
THRESHOLDS: Final = (0.0, 0.7)
_LEAST: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class JointData:
    """Simulated ratings and choices, and unseen texts with what people would say of them."""

    ratings: TextAnswers
    choices: TextAnswers
    unseen: FloatArray  # Features of the texts, shape (I, P)
    shares: FloatArray  # True share of unsafe answers of each group, shape (I, 2)
    differences: FloatArray  # Features of the second of two unseen texts less those of the first, shape (I, P)
    preferred: FloatArray  # True probability that a person of each group prefers the first, shape (I, 2)


def simulate_joint(
    seed: int,
    *,
    scale: float = 1.0,
    n_items: int = 120,
    n_per_item: int = 5,
    n_choices: int = 300,
    n_features: int = 8,
    n_raters: int = 30,
) -> JointData:
    """Draw features, reactions of two groups, ratings of items by some raters, and choices between other texts."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(0, 0.4, n_features), rng.normal(0, 0.25, (n_features, 2))
    group, level = np.arange(n_raters) % 2, rng.normal(0, 0.5, n_raters)

    def locate(features: FloatArray) -> FloatArray:
        residuals = rng.normal(0, 0.3, (len(features), 1)) + rng.normal(0, 0.2, (len(features), 2))
        return np.asarray((features @ shared)[:, None] + features @ own + residuals)

    def draw_texts(n: int) -> FloatArray:
        return rng.normal(size=(n, n_features))

    rated, unseen = draw_texts(n_items), draw_texts(N_UNSEEN)
    raters = np.argsort(rng.random((n_items, n_raters)), axis=1)[:, :n_per_item].ravel()
    items = np.repeat(np.arange(n_items), n_per_item)
    latent = locate(rated)[items, group[raters]] + level[raters] + rng.normal(size=len(items))
    first, second = draw_texts(n_choices), draw_texts(n_choices)
    choosers = rng.integers(n_raters, size=n_choices)
    margins = scale * (locate(second) - locate(first))[np.arange(n_choices), group[choosers]]
    ratings = TextAnswers(
        answers=np.digitize(latent, THRESHOLDS),
        n_answers=3,
        items=items,
        raters=raters,
        features=rated,
        blocks=np.zeros(n_features, np.int64),
        groups=group[None],
        n_groups=(2,),
    )
    left, right = draw_texts(N_UNSEEN), draw_texts(N_UNSEEN)
    return JointData(
        ratings=ratings,
        choices=replace(
            ratings,
            answers=(margins + rng.normal(size=n_choices) > 0).astype(np.int64),
            n_answers=2,
            items=np.arange(n_choices),
            raters=choosers,
            features=second - first,
        ),
        unseen=unseen,
        shares=ndtr((locate(unseen) - THRESHOLDS[-1]) / np.hypot(1, 0.5)),
        differences=right - left,
        preferred=ndtr(scale * (locate(right) - locate(left))),
    )


def rating_loss(data: JointData, model: TextModel) -> float:
    """Return the expected log-loss of whether people call unseen texts unsafe."""
    return _loss(data.shares, model.locate(data.unseen).distributions(CELLS)[..., -1])


def choice_loss(data: JointData, model: TextModel) -> float:
    """Return the expected log-loss of choices between unseen texts."""
    return _loss(data.preferred, model.locate_choices(data.differences).distributions(CELLS)[..., 1])


def _loss(true: FloatArray, predicted: FloatArray) -> float:
    predicted = np.clip(predicted, _LEAST, 1 - _LEAST)
    return float(-(true * np.log(predicted) + (1 - true) * np.log(1 - predicted)).mean())


def cover(data: JointData, model: TextModel) -> float:
    """Return how often 95 % intervals cover the share of a group that calls an unseen text unsafe."""
    draws = model.locate(data.unseen).draw(CELLS, N_DRAWS, np.random.default_rng(0))[..., -1]
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return float(((low <= data.shares) & (data.shares <= high)).mean())


def describe_joint(designs: Sequence[tuple[float, int]] = DESIGNS, n_simulations: int = N_SIMULATIONS) -> Iterator[str]:
    """Yield the table of gains of a joint model on a model of ratings alone and on one of choices alone."""
    yield (
        "Ratings of 120 texts by some of 30 raters, and 300 choices of these raters between other texts, in "
        f"{n_simulations} simulations of two groups. Gains of the joint model in log-loss on unseen texts, in nats, "
        "with 95% intervals over the simulations; coverage of 95% intervals of a group's share of unsafe answers."
    )
    yield ""
    yield (
        "| ratings of a text | true scale | mean estimate | ratings: gain on ratings alone | "
        "choices: gain on choices alone | coverage | ratings alone |"
    )
    yield "|---|---|---|---|---|---|---|"
    for scale, n in designs:
        rows = [_measure(simulate_joint(seed, scale=scale, n_per_item=n)) for seed in range(n_simulations)]
        estimate, of_ratings, of_choices, joint, alone = np.array(rows).T
        yield (
            f"| {n} | {scale:g} | {estimate.mean():.2f} | {_format_gain(of_ratings)} | {_format_gain(of_choices)} | "
            f"{joint.mean():.1%} | {alone.mean():.1%} |"
        )


def _measure(data: JointData) -> tuple[float, ...]:
    joint, alone, compared = (
        fit_joint_model(data.ratings, data.choices),
        fit_text_model(data.ratings),
        fit_choice_model(data.choices),
    )
    return (
        float(joint.choice_scale or 0),
        rating_loss(data, alone) - rating_loss(data, joint),
        choice_loss(data, compared) - choice_loss(data, joint),
        cover(data, joint),
        cover(data, alone),
    )


def _format_gain(gains: FloatArray) -> str:
    half = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains))
    return f"{gains.mean():.4f} [{gains.mean() - half:.4f}, {gains.mean() + half:.4f}]"
