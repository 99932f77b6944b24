"""Small tables of ratings, literal or simulated."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from dissensus.pipeline.analyse import Analysis, Row
from dissensus.schema.ratings.table import Ratings

SCALE = ("No", "Unsure", "Yes")


def ratings_of(answers: Mapping[str, str], attributes: Mapping[str, Sequence[str | None]]) -> Ratings:
    """Return ratings from one string per rater: N, U, Y, or a dot for an unrated item."""
    return Ratings.from_frame(frame_of(answers, attributes))


def frame_of(answers: Mapping[str, str], attributes: Mapping[str, Sequence[str | None]]) -> pl.DataFrame:
    answers_by_letter = {"N": "No", "U": "Unsure", "Y": "Yes"}
    rows = [
        {
            "item_id": f"item-{i}",
            "rater_id": rater,
            **{name: values[r] for name, values in attributes.items()},
            "Q_overall": answers_by_letter[letter],
        }
        for r, (rater, letters) in enumerate(answers.items())
        for i, letter in enumerate(letters)
        if letter != "."
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def simulate_frame(
    seed: int = 0, *, n_items: int = 30, n_raters: int = 24, share_rated: float = 1.0, sizes: Sequence[int] = (10, 8, 6)
) -> pl.DataFrame:
    """Draw noisy answers about items that differ, by raters with two axes."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=n_items) + rng.normal(size=(n_raters, n_items))
    answers = (latent[..., None] > [0.2, 0.6]).sum(axis=-1)
    race = np.repeat(["Asian", "Black", "White"], sizes)[:n_raters]
    rater, item = np.nonzero(rng.random(answers.shape) < share_rated)
    return pl.DataFrame(
        {
            "item_id": [f"item-{i:03}" for i in item],
            "rater_id": [f"rater-{r:03}" for r in rater],
            "rater_race": race[rater],
            "rater_gender": [("Man", "Woman")[r % 2] for r in rater],
            "Q_overall": [SCALE[k] for k in answers[rater, item]],
        }
    )


def find(analysis: Analysis, group: str | None, metric: str, axis: str | None = None) -> Row:
    """Return the row of a group, or without a group that of the pool or of an axis."""
    rows: Iterable[Row] = (*analysis.overall, *analysis.rows)
    (row,) = [r for r in rows if r.group == group and r.metric == metric and (axis is None or r.axis == axis)]
    return row
