"""A small simulated campaign with times: careful raters, speeders and slow one-label raters."""

import numpy as np
import polars as pl

from dissensus.schema.ratings.table import Ratings

SCALE = ("No", "Unsure", "Yes")
SPEEDERS = ("r00", "r01", "r02")
LINERS = ("r03", "r04")


def careless_frame(seed: int = 0, *, n_raters: int = 30, n_items: int = 60) -> pl.DataFrame:
    """Return the ratings; speeders take a fifth of the time of others, and one-label raters always answer No."""
    rng = np.random.default_rng(seed)
    rater, item = (codes.ravel() for codes in np.indices((n_raters, n_items)))
    latent = rng.normal(size=n_items) + rng.normal(size=(n_raters, n_items))
    answers = (latent[..., None] > [0.2, 0.6]).sum(axis=-1)
    answers[3:5] = 0
    times = rng.lognormal(np.log(120_000), 0.3, size=answers.shape)
    times[:3] /= 5
    sides = np.stack([answers, np.where(rng.random(answers.shape) < 0.5, answers, 0)])
    return pl.DataFrame(
        {
            "item_id": [f"i{i:02}" for i in item],
            "rater_id": [f"r{r:02}" for r in rater],
            "rater_gender": [("Man", "Woman")[r % 2] for r in rater],
            "answer_time_ms": times.ravel().round(),
            "Q2_harmful_content_other": [SCALE[k] for k in sides[0].ravel()],
            "Q3_bias_other": [SCALE[k] for k in sides[1].ravel()],
            "Q_overall": [SCALE[k] for k in answers.ravel()],
        }
    )


def careless_ratings(seed: int = 0) -> Ratings:
    return Ratings.from_frame(careless_frame(seed), questions="all")
