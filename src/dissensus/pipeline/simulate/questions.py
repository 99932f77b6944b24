"""Granular answers that explain a simulated overall answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dissensus.pipeline.simulate.items import Topic
from dissensus.pipeline.simulate.latent import allot_counts, shuffled_scores
from dissensus.schema.numbers import check_number, check_spread, check_weights
from dissensus.stats.result import BoolArray, FloatArray, Int64Array

YES = 2
# Enough for column totals to be exact to a thousandth.
FITTING_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Settings of the granular questions."""

    weights: Mapping[str, float]  # Relative frequency with which a question carries an overall Unsure or Yes
    affinity: float = 1.0  # Factor of that frequency for the questions of the item's topics
    # Mean number of other questions answered Yes, and Unsure, beside the one that is Yes
    also_yes: float = 0.0
    also_unsure: float = 0.0
    also_unsure_alone: float = 0.0  # Mean number of others answered Unsure where the overall answer is Unsure
    # Answers to the question that does not count, with weights; the first names no problem
    comprehension: Mapping[str, float]
    comprehension_sd: float = 0.0  # Standard deviation, between raters, of the log odds of naming a problem

    def __post_init__(self) -> None:
        check_weights("questions.weights", self.weights.values())
        check_weights("questions.comprehension", self.comprehension.values())
        check_number("questions.affinity", self.affinity, 1, 1e6)
        for name in ("also_yes", "also_unsure", "also_unsure_alone"):
            check_number(f"questions.{name}", getattr(self, name), 0)
        check_spread("questions.comprehension_sd", self.comprehension_sd)


def draw_carriers(
    questions: Questions, counting: Sequence[str], topics: Sequence[Topic], has: BoolArray, carried: Int64Array
) -> FloatArray:
    """Return the probability that each question carries an answer to each item, shape (I, Q), rows summing to 1.

    Questions of an item's topics are likelier. Iterative proportional fitting keeps the weight of each question over
    all carried answers; `carried` has their number for each item, shape (I,).
    """
    base = np.array([questions.weights.get(name, 0.0) for name in counting], dtype=np.float64)
    about = np.array([[name in topic.questions for name in counting] for topic in topics])
    shares: FloatArray = np.where(has.astype(np.int64) @ about > 0, questions.affinity, 1.0) * base
    for _ in range(FITTING_STEPS):
        shares /= shares.sum(axis=1, keepdims=True)
        total = carried @ shares
        shares *= np.divide(base, total, out=np.ones_like(base), where=total > 0)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def draw_questions(
    rng: np.random.Generator, questions: Questions, overall: NDArray[np.int16], item: Int64Array, shares: FloatArray
) -> NDArray[np.int8]:
    """Draw answers to the granular questions, shape (N, Q), whose worst one is the overall answer."""
    answers = np.zeros((overall.size, shares.shape[1]), dtype=np.int8)
    row = np.flatnonzero(overall)
    likely, yes = shares[item[row]], (overall[row] == YES)[:, None]
    also_unsure = np.where(yes, questions.also_unsure, questions.also_unsure_alone)
    drawn = (rng.random(likely.shape) < also_unsure * likely).astype(np.int8)
    drawn[(rng.random(likely.shape) < questions.also_yes * likely) & yes] = YES
    first = (rng.random((row.size, 1)) < likely.cumsum(axis=1)).argmax(axis=1)
    drawn[np.arange(row.size), first] = overall[row]
    answers[row] = drawn
    return answers


def draw_comprehension(rng: np.random.Generator, questions: Questions, rater: Int64Array, n_raters: int) -> Int64Array:
    """Draw answers to the question that does not count, with exact totals and rates that differ by rater."""
    counts = allot_counts(list(questions.comprehension.values()), rater.size)
    leaning = questions.comprehension_sd * shuffled_scores(rng, n_raters)
    order = np.argsort(-(leaning[rater] + rng.gumbel(size=rater.size)), kind="stable")
    problems = rng.permutation(np.repeat(np.arange(1, counts.size), counts[1:]))
    answers = np.zeros(rater.size, dtype=np.int64)
    answers[order[: problems.size]] = problems
    return answers
