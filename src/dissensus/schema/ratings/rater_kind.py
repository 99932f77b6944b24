"""Kind of raters: people, or models that judge; models are left out unless they are asked for."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings

RaterKind = Literal["person", "model", "all"]
KINDS: Final[tuple[RaterKind, ...]] = get_args(RaterKind)


def drop_models(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return a table of ratings without those of models, and the number of those.

    Examples
    --------
    >>> frame = pl.DataFrame({"rater_id": ["ann", "tern:1"], "rater_kind": [None, " Model"]})
    >>> drop_models(frame)[0]["rater_id"].to_list(), drop_models(frame)[1]
    (['ann'], 1)
    """
    if names.RATER_KIND not in frame.columns:
        return frame, 0
    people = frame.filter(~_is_model(frame[names.RATER_KIND]))
    return people, frame.height - people.height


def select_rater_kind(ratings: Ratings, kind: RaterKind, loads: NDArray[np.int64] | None = None) -> Ratings:
    """Return the ratings of raters of a kind, with a note on those left out.

    `loads` are the numbers of ratings by rater, if the table holds only part of them.

    Examples
    --------
    >>> frame = pl.DataFrame({
    ...     "item_id": ["1", "1"], "rater_id": ["ann", "tern:1"], "rater_kind": [None, "model"], "Q1": ["Yes", "No"],
    ... })
    >>> people = select_rater_kind(Ratings.from_frame(frame), "person")
    >>> people.n_raters, people.axes, people.notes[-1][:38]
    (1, (), '1 rating by 1 rater of kind model is l')
    """
    if kind not in KINDS:
        raise InvalidInput(f"rater_kind is {format_value(kind)}; choose one of {', '.join(KINDS)}.")
    if names.RATER_KIND not in ratings.raters.columns:
        if kind == "model":
            raise InvalidInput(f"No rater is of kind model: there is no column {names.RATER_KIND}.")
        return ratings
    is_model = _is_model(ratings.raters[names.RATER_KIND])
    ratings = replace(ratings, notes=(*ratings.notes, *_describe_unknown(ratings.raters[names.RATER_KIND])))
    of_model = is_model.gather(ratings.answers["rater"])
    n = int(of_model.sum() if loads is None else loads[is_model.to_numpy()].sum())
    verb = "is" if n == 1 else "are"
    if not n and kind != "model":
        return ratings
    if kind == "all":
        counted = f"{_count(n, is_model)} of kind {names.MODEL} {verb} read beside those of people."
        return replace(ratings, notes=(*ratings.notes, counted))
    if kind == "person" and of_model.all():
        reason = "Every rater is of kind model, and ratings of people are read here."
        raise InvalidInput(
            Advice(
                f'{reason} Ask for them by name: --rater-kind model (in Python: rater_kind="model").',
                site=f"{reason} Choose a file with those.",
            )
        )
    if kind == "model" and not n:
        raise InvalidInput(f"No rater is of kind model: {names.RATER_KIND} has other values.")
    subset = ratings.select_ratings(of_model if kind == "model" else ~of_model)
    if kind == "model":
        return replace(subset, notes=(*subset.notes, "Only raters of kind model: these are answers of models."))
    left_out = f"{_count(n, is_model)} of kind {names.MODEL} {verb} left out"
    note = Advice(f"{left_out}; --rater-kind all has them.", site=f"{left_out}.")
    blank = [name for name in names.OF_MODELS if name in subset.axes and not subset.raters[name].count()]
    return replace(subset, raters=subset.raters.drop(blank), notes=(*subset.notes, note))


def _is_model(kinds: pl.Series) -> pl.Series:
    """Return which raters are models, whatever the case of the letters and the space around them."""
    return (_normalise(kinds) == names.MODEL).fill_null(value=False)


def _normalise(kinds: pl.Series) -> pl.Series:
    return kinds.cast(pl.String).str.strip_chars().str.to_lowercase()


def _describe_unknown(kinds: pl.Series) -> Iterator[str]:
    """Yield a note on values that are neither person nor model."""
    known = _normalise(kinds).fill_null("").is_in(["", *KINDS[:2]])
    unknown = kinds.filter(~known).cast(pl.String).unique(maintain_order=True).to_list()
    if unknown:
        yield f"Raters whose {names.RATER_KIND} is {format_list(unknown, 3)} are treated as people, not as models."


def _count(n_ratings: int, raters: pl.Series) -> str:
    return f"{count_noun(n_ratings, 'rating')} by {count_noun(int(raters.sum()), 'rater')}"
