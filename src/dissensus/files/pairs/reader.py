"""Reader of preference pairs."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files import conversations
from dissensus.files.conversations import PAIR
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.preference.data.pairs import Pair, Purpose
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings.columns import FLAG, RATER_PREFIX
from dissensus.schema.records.conversation import Conversation

CONTEXTS: Final = "the contexts of the two differ"
EMPTY: Final = "an answer is empty"
SAME: Final = "both answers are the same"

STRENGTH, WEIGHT, RATER, GROUP = "strength", "weight", "rater_id", "group"
TRANCHE, AGREEMENT, STRENGTHS = "tranche", "agreement", "strengths"
_TRANCHE: Final = re.compile(r"(helpful|harmless)-(base|rejection-sampled|online)(?![a-z])")


class ReadPairs(NamedTuple):
    """Pairs in the order of their files, how many were left out, by reason, and what else the reader should know."""

    pairs: tuple[Pair, ...]
    excluded: Mapping[str, int]
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Say how many were left out, and why."""
        left = (f"{count:,} pair{'s' * (count > 1)} left out: {why}." for why, count in self.excluded.items())
        return (*left, *self.remarks)


def read_pairs(source: Any) -> ReadPairs:
    r"""Read preference pairs.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table, with ``chosen`` and ``rejected``: whole transcripts, as in
        hh-rlhf, lists of chat messages, or with a ``prompt`` what comes after it, as TRL writes them. Columns
        ``strength``, ``weight``, ``rater_id``, ``group``, ``tranche`` and ``agreement`` are read where there are any,
        and those that begin with ``rater_`` as groups of the rater; others are not looked at. Without ``agreement`` it
        is counted from ``strengths``, and a tranche that no column has is taken from the name of the file or of its
        folder.

    Returns
    -------
    ReadPairs
        Pairs that can be compared. Left out and counted are those whose contexts differ, that have an empty answer, or
        the same answer twice.

    Raises
    ------
    DissensusError
        The file cannot be read or has no pair to compare; or a row is no pair of transcripts, or has a strength or a
        weight that is no number. The message has the row.

    Examples
    --------
    >>> question = "\n\nHuman: Is it safe?\n\nAssistant: "
    >>> answers = {"chosen": ["No.", "No.", ""], "rejected": ["Sure!", "No.", "Yes"]}
    >>> frame = pl.DataFrame({side: [question + text for text in texts] for side, texts in answers.items()})
    >>> found = read_pairs(frame)
    >>> [(pair.chosen, pair.rejected) for pair in found.pairs]
    [('No.', 'Sure!')]
    >>> found.notes
    ('1 pair left out: both answers are the same.', '1 pair left out: an answer is empty.')
    """
    frame = to_frame(source)
    with name_source(source):
        return _from_table(frame, tranche_from_name(Path(source)) if is_path(source) else None)


def join_pairs(found: Sequence[ReadPairs]) -> ReadPairs:
    """Return the pairs of several files, one after the other."""
    excluded = sum((Counter(one.excluded) for one in found), Counter[str]())
    return ReadPairs(tuple(pair for one in found for pair in one.pairs), dict(excluded))


def purpose_from_name(path: Path) -> Purpose | None:
    """Return what the name of a file, or else of its folder, says that people chose by; None if nothing.

    Examples
    --------
    >>> purpose_from_name(Path("hh-rlhf/helpful-base/test.jsonl.gz"))
    'helpful'
    """
    for name in (path.name, path.absolute().parent.name):
        found: list[Purpose] = [purpose for purpose in get_args(Purpose) if purpose in name.casefold()]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def tranche_from_name(path: Path) -> str | None:
    """Return what the name of a file, or else of its folder, says of when its pairs were collected; None if nothing.

    Examples
    --------
    >>> tranche_from_name(Path("helpful-online/train.jsonl.gz")), tranche_from_name(Path("pairs.jsonl"))
    ('helpful-online', None)
    """
    found = (_TRANCHE.search(name.casefold()) for name in (path.name, path.absolute().parent.name))
    return next((one[0] for one in found if one), None)


def _from_table(frame: pl.DataFrame, tranche: str | None) -> ReadPairs:
    missing = [name for name in PAIR if name not in frame.columns]
    if missing:
        raise NotFound(
            f"There is no column {format_list(missing)}; pairs have 'chosen' and 'rejected', each a whole transcript. "
            f"{_describe_columns(frame)}"
        )
    before = conversations.find_prompt_column(frame.columns)
    sides = [conversations.read_conversations(frame.select(*before, side)) for side in PAIR]
    talks = [[side.held[place].conversation for place in side.which] for side in sides]
    texts = [_texts(frame, name) for name in (RATER, GROUP, TRANCHE)]
    numbers = [_numbers(frame, name) for name in (STRENGTH, WEIGHT)]
    others = zip(*numbers, _agreements(frame), *texts, _groups(frame), strict=True)
    excluded: Counter[str] = Counter()
    pairs = []
    for row, (chosen, rejected, told) in enumerate(zip(*talks, others, strict=True), start=1):
        why = _find_exclusion(chosen, rejected)
        if why is not None:
            excluded[why] += 1
            continue
        try:
            pairs.append(_pair(chosen, rejected, told, tranche))
        except InvalidInput as error:
            raise InvalidInput(f"Row {row:,}: {error}") from None
    if not pairs:
        raise InvalidInput(
            f"None of {frame.height:,} pairs can be compared: "
            + ", ".join(f"{why} ({count:,})" for why, count in excluded.items())
        )
    return ReadPairs(tuple(pairs), dict(excluded))


def _describe_columns(frame: pl.DataFrame) -> str:
    return f"The columns are {format_list(frame.columns)}."


def _pair(chosen: Conversation, rejected: Conversation, told: tuple[Any, ...], tranche: str | None) -> Pair:
    strength, weight, agreement, rater, group, of_row, groups = told
    return Pair(
        chosen.context,
        chosen.rated.text,
        rejected.rated.text,
        strength=strength,
        weight=1.0 if weight is None else weight,
        rater=rater,
        group=group,
        tranche=tranche if of_row is None else of_row,
        agreement=agreement,
        groups=groups,
    )


def _find_exclusion(chosen: Conversation, rejected: Conversation) -> str | None:
    if not chosen.rated.text.strip() or not rejected.rated.text.strip():
        return EMPTY
    if chosen.context != rejected.context:
        return CONTEXTS
    return SAME if chosen.rated == rejected.rated else None


def _numbers(frame: pl.DataFrame, name: str) -> list[float | None]:
    if name not in frame.columns:
        return [None] * frame.height
    numbers = frame[name].cast(pl.Float64, strict=False)
    strange = (frame[name].is_not_null() & ~numbers.is_finite().fill_null(value=False)).arg_true()
    if len(strange):
        raise InvalidInput(
            f"Row {strange[0] + 1:,}: {name} is {format_value(frame[name][strange[0]])}, which is no number. Write it "
            "like "
            "2 or 0.5, or leave it empty."
        )
    return numbers.to_list()


def _agreements(frame: pl.DataFrame) -> list[float | None]:
    """Return the share of raters who chose as each pair says, told or counted from what each of them said."""
    if AGREEMENT in frame.columns or STRENGTHS not in frame.columns:
        return _numbers(frame, AGREEMENT)
    return [
        None if text is None else _agreement(row, text)
        for row, text in enumerate(conversations.to_text_column(frame[STRENGTHS]), start=1)
    ]


def _agreement(row: int, text: str) -> float | None:
    try:
        said = [float(one["strength"]) for one in json.loads(text)]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidInput(
            f'Row {row:,}: strengths is {format_value(text)}; write it like [{{"rater_id": "ann", "strength": 2}}, …].'
        ) from None
    return sum(one > 0 for one in said) / len(said) if len(said) > 1 else None


def _texts(frame: pl.DataFrame, name: str) -> list[str | None]:
    return conversations.to_text_column(frame[name]).to_list() if name in frame.columns else [None] * frame.height


def group_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns that have groups of raters."""
    return [name for name in frame.columns if name.startswith(RATER_PREFIX) and name not in (RATER, FLAG)]


def _groups(frame: pl.DataFrame) -> list[tuple[tuple[str, str], ...]]:
    """Return the groups of the rater of each row, by axis."""
    axes = sorted(group_columns(frame))
    columns = [_texts(frame, axis) for axis in axes]
    if not columns:
        return [()] * frame.height
    return [
        tuple((axis, name) for axis, name in zip(axes, row, strict=True) if name) for row in zip(*columns, strict=True)
    ]
