"""Items whose label differs between populations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.schema.ratings.columns import ITEM_ID, ITEM_TEXT
from dissensus.schema.ratings.table import Ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedItem:
    """An item that has not the same label in all populations.

    `probability` is that the answers with the largest shares differ: the share of joint draws of all populations in
    which they do.
    """

    item_id: str
    labels: Mapping[str, str]  # By population
    probability: float
    text: str | None  # The rated text, if the ratings have it


def find_changed_items(
    items: Sequence[str], populations: Sequence[str], shares: NDArray[np.float64], categories: Sequence[str]
) -> Iterator[ChangedItem]:
    """Yield items whose label differs, given shares by draw, population, item and answer."""
    label = shares.mean(0).argmax(-1)
    drawn = shares.argmax(-1)
    probability = (drawn != drawn[:, :1]).any(1).mean(0)
    for index in np.flatnonzero((label != label[:1]).any(0)).tolist():
        yield ChangedItem(
            item_id=items[index],
            labels={name: categories[code] for name, code in zip(populations, label[:, index], strict=True)},
            probability=float(probability[index]),
            text=None,
        )


def read_rated_texts(ratings: Ratings, item_ids: Sequence[str]) -> dict[str, str]:
    """Return the rated text of each item that has one: its response, else its other texts."""
    table = ratings.items.filter(pl.col(ITEM_ID).is_in(list(item_ids)))
    names = [name for name in table.columns if name == "response"] or [
        name for name in table.columns if name.startswith(ITEM_TEXT)
    ]
    texts = {row[ITEM_ID]: "\n\n".join(row[name] for name in names if row[name]) for row in table.iter_rows(named=True)}
    return {item: text for item, text in texts.items() if text}
