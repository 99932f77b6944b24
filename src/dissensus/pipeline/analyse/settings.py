"""What an analysis was asked for, kept with its result so that it can be repeated."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.schema.ratings import Ratings
from dissensus.stats.bootstrap import Resample
from dissensus.stats.significance import Method

REST = "rest"
Family = Literal["table", "metric", "axis", "axis-metric"]
Adjust = Literal["bh", "max-t"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that determines an analysis besides the ratings; see `analyse`."""

    question: str
    axes: tuple[str, ...]
    against: str = REST
    permutations: int = 0
    permute_within: str | None = None
    method: Method = "two-sided"
    adjust: Adjust = "bh"
    family: Family = "table"
    bootstrap: int = 0
    resample: Resample = "both"
    level: float = 0.95
    seed: int = 0
    min_raters: int = 5

    def __post_init__(self) -> None:
        for name, allowed in (("method", Method), ("adjust", Adjust), ("family", Family), ("resample", Resample)):
            if getattr(self, name) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                raise InvalidInput(f"{name} is {getattr(self, name)!r}; choose one of {choices}.")
        for name in ("permutations", "bootstrap", "seed", "min_raters"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"{name} is {getattr(self, name)}; give 0 or a positive number.")
        if self.bootstrap == 1:
            raise InvalidInput("bootstrap is 1; one replicate has no spread. Give 0, or 1000 for a stable interval.")
        if not 0 < self.level < 1:
            raise InvalidInput(f"level is {self.level}; give a confidence level between 0 and 1, such as 0.95.")


def question_of(ratings: Ratings, question: str | None) -> str:
    """Return the question to analyse: the one named, the only one, or the overall."""
    if question is not None:
        return question
    if len(ratings.questions) == 1:
        return ratings.questions[0]
    if "Q_overall" in ratings.questions:
        return "Q_overall"
    raise InvalidInput(f"Several questions were read: {', '.join(ratings.questions)}. Name the one to analyse.")


def strata_of(ratings: Ratings, attributes: str) -> npt.NDArray[np.int32]:
    """Return the stratum of each rater by one attribute, or by several joined with ``*``.

    An attribute of items, such as phase, is one of raters if each rater rated items of one value. Raters whose stratum
    is unknown change places among themselves alone.
    """
    strata = np.zeros(ratings.n_raters, dtype=np.int64)
    for name in attributes.split("*"):
        column = name.strip()
        codes = _item_strata(ratings, column) if column in ratings.items.columns else ratings.group_codes(column)[0]
        strata = strata * (int(codes.max()) + 2) + codes + 1
    _, stratum = np.unique(strata, return_inverse=True)
    return stratum.astype(np.int32)


def _item_strata(ratings: Ratings, column: str) -> npt.NDArray[np.int32]:
    values, code = np.unique(ratings.items[column].fill_null("").to_numpy(), return_inverse=True)
    of_rating = code[ratings.answers["item"].to_numpy()]
    rater, value = np.divmod(
        np.unique(ratings.answers["rater"].to_numpy().astype(np.int64) * len(values) + of_rating), len(values)
    )
    twice = np.flatnonzero(rater[1:] == rater[:-1])
    if twice.size:
        first, second = value[twice[0]], value[twice[0] + 1]
        who = ratings.raters["rater_id"][int(rater[twice[0]])]
        raise InvalidInput(
            f"Rater {who} rated items whose {column} is {values[first]!r} and items whose {column} is "
            f"{values[second]!r}, so it does not tell raters apart. Permute within an attribute of raters, or analyse "
            f"one {column} at a time with --where."
        )
    return np.asarray(value, dtype=np.int32)
