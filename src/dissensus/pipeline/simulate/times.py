"""Simulated answer times and timestamps."""

from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.careless import SPEEDER
from dissensus.pipeline.simulate.design import index_ratings
from dissensus.pipeline.simulate.latent import shuffled_scores
from dissensus.schema.numbers import MAX_COUNT, check_spread, check_whole
from dissensus.stats.result import FloatArray, Int64Array

DAY_MS = 86_400_000
# Speeders of DICES-350 have medians from 33 to 45 seconds.
SPEEDER_SD = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTimes:
    """Settings of the answer times, which are log-normal."""

    median_s: float = 120.0  # Median of all ratings, in seconds
    rater_sd: float = 0.45  # Standard deviations of the logarithm: between raters, between items, residual
    item_sd: float = 0.15
    rating_sd: float = 0.5
    start: date  # The first day, in UTC
    days: int = 20  # Raters begin within so many days
    sitting: int = 50  # Ratings in one sitting, after which a rater pauses for some hours

    def __post_init__(self) -> None:
        for name in ("rater_sd", "item_sd", "rating_sd"):
            check_spread(f"times.{name}", getattr(self, name))
        check_whole("times.days", self.days, 1, 10_000)
        check_whole("times.sitting", self.sitting, 1, most=MAX_COUNT)
        if not 0 < self.median_s <= 3600:
            raise InvalidInput(f"times.median_s is {self.median_s}; give seconds, above 0 and up to 3600.")


def draw_pace(rng: np.random.Generator, times: SimulatedTimes, kind: Int64Array, pace: float) -> FloatArray:
    """Draw the logarithm of each rater's time relative to the pool's."""
    score = shuffled_scores(rng, kind.size)
    return np.where(kind == SPEEDER, np.log(pace) + SPEEDER_SD * score, times.rater_sd * score)


def draw_times(
    rng: np.random.Generator, times: SimulatedTimes, pace: FloatArray, rater: Int64Array, item: Int64Array, n_items: int
) -> tuple[Int64Array, Int64Array]:
    """Draw the answer time of each rating in milliseconds and its timestamp in seconds of Unix time."""
    slow = times.item_sd * shuffled_scores(rng, n_items)
    log = pace[rater] + slow[item] + times.rating_sd * rng.normal(size=rater.size)
    time_ms = np.exp(log - np.median(log)) * times.median_s * 1000
    # no rating takes longer than a day
    taken_ms = np.rint(time_ms.clip(1, DAY_MS)).astype(np.int64)
    return taken_ms, _draw_timestamps(rng, times, taken_ms, rater)


def _draw_timestamps(
    rng: np.random.Generator, times: SimulatedTimes, taken_ms: Int64Array, rater: Int64Array
) -> Int64Array:
    """Draw timestamps: each rater starts on a random day and pauses after every sitting."""
    index = index_ratings(rater)
    pause = np.where(index % times.sitting == 0, rng.random(rater.size) * DAY_MS, 0)
    pause[index == 0] *= times.days
    step = taken_ms + np.rint(pause).astype(np.int64)
    total = np.cumsum(step)
    before = np.where(index == 0, total - step, 0)
    midnight = datetime(times.start.year, times.start.month, times.start.day, tzinfo=UTC)
    return int(midnight.timestamp()) + (total - np.maximum.accumulate(before)) // 1000
