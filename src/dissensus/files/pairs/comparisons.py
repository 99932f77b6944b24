"""Reader of chatbot comparisons."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.conversations import to_text_column
from dissensus.files.pairs.reader import read_numbers
from dissensus.files.raw.table_reader import name_source, to_frame
from dissensus.preference.ranking.ranking import Comparisons
from dissensus.schema.hints import count_noun, count_rest, format_list, format_value, suggest

A, B, WINNER = "bot_a", "bot_b", "winner"
RATER, WEIGHT = "rater_id", "weight"
SCORES: Final = ("score_a", "score_b")
OUTCOMES: Final[Mapping[str, float]] = {"a": 1.0, "b": 0.0, "tie": 0.5}

FOREIGN: Final[Mapping[str, str]] = {"model_a": A, "model_b": B, "judge": RATER}
FOREIGN_WINNERS: Final[Mapping[str, str]] = {
    "model_a": "a",
    "model_b": "b",
    "tie (bothbad)": "tie",
    "both_bad": "tie",
    "bothbad": "tie",
}

SAME: Final = "both answers are by one chatbot"

_OUTCOME, _GROUP = "__outcome__", "__group__"  # Unlike the name of a column of a file


class ReadComparisons(NamedTuple):
    """All comparisons, those of each requested group, and numbers of excluded ones by reason."""

    comparisons: Comparisons
    groups: dict[str, Comparisons]
    excluded: dict[str, int]

    @property
    def notes(self) -> tuple[str, ...]:
        """Numbers of excluded comparisons with the reasons."""
        return tuple(
            f"{count_noun(count, 'comparison')} left out: {reason}." for reason, count in self.excluded.items()
        )


def read_comparisons(source: Any, *, by: str | None = None) -> ReadComparisons:
    """Read comparisons of chatbots.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table, with ``bot_a``, ``bot_b`` and ``winner`` (``a``, ``b``,
        ``tie``, or the name of one of the two), in the order in which they were compared. ``rater_id``, ``weight`` and
        the scores of a preference model, ``score_a`` and ``score_b``, are read if present. The columns of Chatbot
        Arena are read too: ``model_a``, ``model_b``, ``judge``, and ``tie (bothbad)`` as a tie.
    by
        Column whose values are groups; rows without one are in no group.

    Returns
    -------
    ReadComparisons
        Comparisons of two chatbots. Those of a chatbot with itself are excluded and counted.

    Raises
    ------
    DissensusError
        The file cannot be read, a column is missing, or a value is not valid; the message names the row.

    Examples
    --------
    >>> table = pl.DataFrame({"bot_a": ["x", "y"], "bot_b": ["y", "x"], "winner": ["a", "tie"]})
    >>> read = read_comparisons(table)
    >>> read.comparisons.bots, read.comparisons.outcome.tolist()
    (('x', 'y'), [1.0, 0.5])
    """
    frame = to_frame(source)
    with name_source(source):
        return _from_table(frame, by)


def _from_table(frame: pl.DataFrame, by: str | None) -> ReadComparisons:
    if frame.is_empty():
        raise InvalidInput("The table has no rows.")
    frame = _rename_foreign(frame)
    by = by if by is None or by in frame.columns else FOREIGN.get(by, by)
    required = [A, B, WINNER, *([by] if by else [])]
    missing = [name for name in required if name not in frame.columns]
    if missing:
        near = suggest(missing[0], frame.columns)
        raise NotFound(
            f"There is no column {format_list(missing)}.{near} Comparisons have bot_a, bot_b and winner (a, b or tie). "
            f"The columns are {format_list(frame.columns)}."
        )
    table = frame.select(to_text_column(frame[name]) for name in (A, B, WINNER))
    weight = _numbers(frame, WEIGHT, 1.0)
    invalid = np.flatnonzero(~(weight > 0))
    if len(invalid):
        raise InvalidInput(f"Row {invalid[0] + 1:,}: weight is {weight[invalid[0]]:g}; give a number above 0.")
    scores = [name for name in SCORES if set(SCORES) <= set(frame.columns)]
    table = table.with_columns(
        pl.Series(_OUTCOME, list(_outcomes(table)), dtype=pl.Float64),
        pl.Series(WEIGHT, weight),
        *(pl.Series(name, _numbers(frame, name, np.nan)) for name in scores),
        *([to_text_column(frame[RATER])] if RATER in frame.columns else []),
        *([to_text_column(frame[by]).alias(_GROUP)] if by else []),
    )
    _check_raters(table)
    distinct = table.filter(pl.col(A) != pl.col(B))
    excluded = {SAME: table.height - distinct.height} if distinct.height < table.height else {}
    if distinct.is_empty():
        raise InvalidInput(f"None of {table.height:,} comparisons can be ranked: {SAME}.")
    names = sorted(distinct[_GROUP].drop_nulls().unique()) if by else []
    groups = {name: _comparisons(distinct.filter(pl.col(_GROUP) == name)) for name in names}
    return ReadComparisons(_comparisons(distinct), groups, excluded)


def _rename_foreign(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose columns and winners are named as in Chatbot Arena with the names used here."""
    renamed = {old: new for old, new in FOREIGN.items() if old in frame.columns and new not in frame.columns}
    if not {"model_a", "model_b"} <= renamed.keys():
        return frame
    frame = frame.rename(renamed)
    if WINNER not in frame.columns or frame[WINNER].dtype != pl.String:
        return frame
    return frame.with_columns(pl.col(WINNER).replace(FOREIGN_WINNERS))


def _outcomes(table: pl.DataFrame) -> Iterator[float]:
    for row, (a, b, winner) in enumerate(table.select(A, B, WINNER).iter_rows(), start=1):
        if not a or not b:
            raise InvalidInput(f"Row {row:,}: {A if not a else B} is empty. Name the chatbot.")
        outcomes = {**OUTCOMES, a: 1.0, b: 0.0} if a != b else OUTCOMES
        if winner not in outcomes:
            described = "empty" if winner is None else format_value(winner)
            raise InvalidInput(
                f"Row {row:,}: winner is {described}; it is a, b or tie, or one of {format_list([a, b])}."
            )
        yield outcomes[winner]


def _numbers(frame: pl.DataFrame, name: str, default: float) -> Any:
    return pl.Series(read_numbers(frame, name), dtype=pl.Float64).fill_null(default).to_numpy()


def _comparisons(table: pl.DataFrame) -> Comparisons:
    bots = tuple(sorted({*table[A], *table[B]}))
    indices = {name: index for index, name in enumerate(bots)}
    return Comparisons(
        bots=bots,
        a=np.array([indices[name] for name in table[A]], dtype=np.int64),
        b=np.array([indices[name] for name in table[B]], dtype=np.int64),
        outcome=table[_OUTCOME].to_numpy(),
        weight=table[WEIGHT].to_numpy(),
        rater=_number_raters(table),
        scores=table.select(SCORES).to_numpy() if set(SCORES) <= set(table.columns) else None,
    )


def _check_raters(table: pl.DataFrame) -> None:
    if RATER in table.columns and len(missing := table[RATER].is_null().arg_true()):
        raise InvalidInput(
            f"Row {missing[0] + 1:,}: {RATER} is empty. Fill in the raters, or leave the column out."
            f"{count_rest(len(missing) - 1, 'such row')}"
        )


def _number_raters(table: pl.DataFrame) -> Any:
    if RATER not in table.columns:
        return None
    return np.unique(table[RATER].to_numpy(), return_inverse=True)[1].astype(np.int64)
