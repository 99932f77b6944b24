"""Careless raters of a simulation."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.latent import SCALE, deal_values
from dissensus.pipeline.simulate.pool import Pool
from dissensus.schema.numbers import MAX_COUNT, check_share, check_weights, check_whole
from dissensus.stats.result import Int64Array

CAREFUL, SPEEDER, STRAIGHT_LINER, CLICKER = range(4)
KINDS = ("careful", "speeder", "straight-liner", "clicker")
NO_ANSWER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Careless:
    """Settings of the raters who do not judge."""

    speeders: int = 0  # Raters who answer carefully, but in a fraction of the time
    straight_liners: int = 0  # Raters who give one answer nearly throughout
    clickers: int = 0  # Raters who answer at random
    pace: float = 0.3  # Time of a speeder relative to an average rater
    constancy: float = 0.99  # Share of a straight-liner's ratings with that one answer
    # Answers of straight-liners, with weights
    answers: Mapping[str, float] = field(default_factory=lambda: {"No": 2, "Yes": 1})

    def __post_init__(self) -> None:
        for name in ("speeders", "straight_liners", "clickers"):
            check_whole(f"careless.{name}", getattr(self, name), most=MAX_COUNT)
        check_share("careless.constancy", self.constancy)
        check_weights("careless.answers", self.answers.values())
        if not 0 < self.pace <= 1:
            raise InvalidInput(f"careless.pace is {self.pace}; give a share of the usual time, above 0 and up to 1.")

    @property
    def count(self) -> int:
        """Number of careless raters."""
        return self.speeders + self.straight_liners + self.clickers


@dataclass(frozen=True, slots=True)
class CarelessKinds:
    """Kind of each rater and the answer code of each straight-liner (NO_ANSWER for others)."""

    kind: Int64Array
    answer: Int64Array


def draw_careless_raters(rng: np.random.Generator, careless: Careless, pool: Pool, cell: Int64Array) -> CarelessKinds:
    """Draw careless raters, first from the cells that require some, then from all."""
    first = np.zeros(cell.size, dtype=bool)
    for code, pool_cell in enumerate(pool.cells):
        first[np.flatnonzero(cell == code)[: pool_cell.careless]] = True
    order = rng.permutation(cell.size)
    chosen = order[np.argsort(~first[order], kind="stable")][: careless.count]
    kind = np.full(cell.size, CAREFUL)
    kind[chosen] = rng.permutation(
        np.repeat([SPEEDER, STRAIGHT_LINER, CLICKER], [careless.speeders, careless.straight_liners, careless.clickers])
    )
    answer = np.full(cell.size, NO_ANSWER)
    codes = np.array([SCALE.index(name) for name in careless.answers])
    answer[kind == STRAIGHT_LINER] = codes[deal_values(rng, list(careless.answers.values()), careless.straight_liners)]
    return CarelessKinds(kind, answer)


def disturb_answers(
    rng: np.random.Generator, answer: NDArray[np.int16], rater: Int64Array, kinds: CarelessKinds, constancy: float
) -> NDArray[np.int16]:
    """Return the answers, with those of straight-liners and clickers replaced."""
    blind = (kinds.kind[rater] == STRAIGHT_LINER) & (rng.random(answer.size) < constancy)
    guess = rng.integers(len(SCALE), size=answer.size)
    disturbed = np.where(blind, kinds.answer[rater], answer)
    return np.where(kinds.kind[rater] == CLICKER, guess, disturbed).astype(np.int16)
