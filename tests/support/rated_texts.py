"""Ratings of short texts by two groups of raters, one of which reacts to a word that the other ignores."""

import numpy as np
import polars as pl

from dissensus.schema.ratings.table import Ratings

CALM = ("tea", "books", "rain", "bread", "gardens", "music", "maps", "shoes")
N_ITEMS, N_RATERS = 90, 24


def simulate_rated_texts(*, signal: bool = True, n_items: int = N_ITEMS) -> Ratings:
    """Rate texts with ``vile``, which all people call unsafe, and ``blunt``, which women alone do."""
    rng = np.random.default_rng(5)
    vile, blunt = rng.random((2, n_items)) < 0.4
    texts = [
        f"This is {'vile' if bad else 'kind'} {'blunt' if rude else 'soft'} talk of "
        f"{' and '.join(rng.choice(CALM, 3).tolist())}."
        for bad, rude in zip(vile, blunt, strict=True)
    ]
    items, raters = np.divmod(np.arange(n_items * N_RATERS), N_RATERS)
    woman = raters % 2 == 0
    location = (
        np.where(vile[items], 1.2, -1.0) + np.where(woman & blunt[items], 2.2, 0.0) if signal else np.zeros(len(items))
    )
    answers = np.digitize(location + 0.3 * rng.normal(size=N_RATERS)[raters] + rng.normal(size=len(items)), [-0.1, 0.1])
    table = pl.DataFrame(
        {
            "item_id": items.astype(str),
            "rater_id": [f"r{rater:02}" for rater in raters],
            "rater_gender": np.where(woman, "Woman", "Man"),
            "rater_town": np.where(raters == 0, "Ulm", np.where(raters % 3, "Kiel", "Bonn")),
            "Q_overall": np.array(["No", "Unsure", "Yes"])[answers],
        }
    )
    context = [f"USER: Say something about number {item}." for item in range(n_items)]
    columns = {"item_id": [str(item) for item in range(n_items)], "context": context, "response": texts}
    return Ratings.from_frame(table).with_items(pl.DataFrame(columns))
