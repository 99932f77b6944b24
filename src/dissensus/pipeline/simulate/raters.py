"""Drawn pool of raters and their overall answers."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.pipeline.simulate.campaign import SimulationDesign
from dissensus.pipeline.simulate.careless import (
    CLICKER,
    KINDS,
    NO_ANSWER,
    STRAIGHT_LINER,
    CarelessKinds,
    disturb_answers,
    draw_careless_raters,
)
from dissensus.pipeline.simulate.latent import SCALE, code_answers, find_cuts, shuffled_scores
from dissensus.pipeline.simulate.pool import draw_attributes, draw_cells
from dissensus.pipeline.simulate.times import draw_pace
from dissensus.stats.result import FloatArray, Int64Array


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRaters:
    """Raters as they were drawn."""

    table: pl.DataFrame  # One row each, with the columns of the file
    cell: Int64Array  # Cell of the pool, shape (R,)
    kinds: CarelessKinds
    effect: FloatArray  # Shape (R,)
    width: FloatArray  # Width of the band of Unsure relative to others, shape (R,)
    pace: FloatArray | None  # Logarithm of their time as a multiple of the pool's, shape (R,); None without times

    def truth(self, rater: Int64Array) -> pl.DataFrame:
        """Return one row for each rater: kind, effects and number of ratings."""
        answer = pl.Series([*SCALE, None]).gather(
            np.where(self.kinds.answer == NO_ANSWER, len(SCALE), self.kinds.answer)
        )
        paces = [] if self.pace is None else [pl.Series("pace", np.exp(self.pace))]
        return self.table.select(
            "rater_id",
            pl.Series("kind", KINDS).gather(self.kinds.kind),
            pl.Series("effect", self.effect),
            pl.Series("unsure_width", self.width),
            *paces,
            answer.alias("answer"),
            pl.Series("n_ratings", np.bincount(rater, minlength=self.cell.size)),
        )


def draw_raters(rng: np.random.Generator, campaign: SimulationDesign) -> DrawnRaters:
    """Draw the raters of a campaign."""
    pool, effects, times = campaign.pool, campaign.effects, campaign.times
    cell = draw_cells(rng, pool)
    kinds = draw_careless_raters(rng, campaign.careless, pool, cell)
    return DrawnRaters(
        table=draw_attributes(rng, pool, cell),
        cell=cell,
        kinds=kinds,
        effect=effects.rater_sd * shuffled_scores(rng, pool.size),
        width=np.exp(effects.unsure_sd * shuffled_scores(rng, pool.size)),
        pace=None if times is None else draw_pace(rng, times, kinds.kind, campaign.careless.pace),
    )


def draw_overall(
    rng: np.random.Generator, campaign: SimulationDesign, raters: DrawnRaters, rater: Int64Array, latent: FloatArray
) -> tuple[NDArray[np.int16], float, float]:
    """Draw the overall answers from the latent values without noise; return them with the cut and the width."""
    noisy = latent + rng.normal(size=latent.size)
    total = sum(campaign.answers.values())
    judges = ~np.isin(raters.kinds.kind[rater], (STRAIGHT_LINER, CLICKER))
    counted = judges if judges.any() else np.ones_like(judges)
    stretch = raters.width[rater]
    cut, width = find_cuts(
        noisy[counted], stretch[counted], campaign.answers["Unsure"] / total, campaign.answers["Yes"] / total
    )
    answer = code_answers(noisy, np.stack([cut - width * stretch, np.full_like(stretch, cut)], axis=-1))
    return disturb_answers(rng, answer, rater, raters.kinds, campaign.careless.constancy), cut, width
