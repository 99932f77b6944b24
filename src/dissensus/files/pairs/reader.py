"""Reader of preference pairs as one table: comparable pairs alone, with the columns that models are trained on."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.files import conversations
from dissensus.files.conversations import PAIR
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.preference.data.pairs import EMPTY, Pair, Purpose, describe_empty
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.ratings.columns import FLAG, RATER_PREFIX
from dissensus.schema.records.conversation import Conversation

CONTEXTS: Final = "the contexts of the two differ"
SAME: Final = "both answers are the same"

STRENGTH, WEIGHT, RATER, GROUP = "strength", "weight", "rater_id", "group"
TRANCHE, AGREEMENT, STRENGTHS = "tranche", "agreement", "strengths"
_MORE: Final = re.compile(r"(chosen|rejected)_?\d+|(response|completion|answer)_([3-9c-z]|\d\d)")
_TRANCHE: Final = re.compile(r"(helpful|harmless)-(base|rejection-sampled|online)(?![a-z])")


class ReadPairs(NamedTuple):
    """Pairs in file order, numbers of excluded pairs by reason, and remarks."""

    pairs: tuple[Pair, ...]
    excluded: Mapping[str, int]
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Numbers of excluded pairs with the reasons, and the remarks."""
        counts = (f"{count_noun(count, 'pair')} left out: {reason}." for reason, count in self.excluded.items())
        return (*counts, *self.remarks)


def read_pairs(source: Any) -> ReadPairs:
    r"""Read preference pairs.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table, with ``chosen`` and ``rejected``: whole transcripts, as in
        hh-rlhf, lists of chat messages, or with a ``prompt`` the turns after it, as TRL writes them. The columns
        ``strength``, ``weight``, ``rater_id``, ``group``, ``tranche`` and ``agreement`` are read if present, and those
        that begin with ``rater_`` as groups of the rater; others are ignored. Without ``agreement`` it is counted from
        ``strengths``, and without ``tranche`` the tranche is taken from the name of the file or of its folder.

    Returns
    -------
    ReadPairs
        Comparable pairs. Pairs with different contexts, an empty answer or the same answer twice are excluded and
        counted.

    Raises
    ------
    DissensusError
        The file cannot be read or has no comparable pair; or a row is not a pair of transcripts, or has a strength or a
        weight that is not a number. The message names the row.

    Examples
    --------
    >>> question = "\n\nHuman: Is it safe?\n\nAssistant: "
    >>> answers = {"chosen": ["No.", "No.", ""], "rejected": ["Sure!", "No.", "Yes"]}
    >>> frame = pl.DataFrame({side: [question + text for text in texts] for side, texts in answers.items()})
    >>> read = read_pairs(frame)
    >>> [(pair.chosen, pair.rejected) for pair in read.pairs]
    [('No.', 'Sure!')]
    >>> read.notes
    ('1 pair left out: both answers are the same.', '1 pair left out: an answer is empty (row 3).')
    """
    frame = to_frame(source)
    with name_source(source):
        return _from_table(frame, tranche_from_name(Path(source)) if is_path(source) else None)


def join_pairs(parts: Sequence[ReadPairs]) -> ReadPairs:
    """Concatenate the pairs of several files."""
    excluded = sum((Counter(part.excluded) for part in parts), Counter[str]())
    remarks = dict.fromkeys(remark for part in parts for remark in part.remarks)
    return ReadPairs(tuple(pair for part in parts for pair in part.pairs), dict(excluded), tuple(remarks))


def purpose_from_name(path: Path) -> Purpose | None:
    """Return the purpose in the name of a file, or else of its folder; None if there is none.

    Examples
    --------
    >>> purpose_from_name(Path("hh-rlhf/helpful-base/test.jsonl.gz"))
    'helpful'
    """
    for name in (path.name, path.absolute().parent.name):
        purposes: list[Purpose] = [purpose for purpose in get_args(Purpose) if purpose in name.casefold()]
        if purposes:
            return purposes[0] if len(purposes) == 1 else None
    return None


def tranche_from_name(path: Path) -> str | None:
    """Return the tranche in the name of a file, or else of its folder; None if there is none.

    Examples
    --------
    >>> tranche_from_name(Path("helpful-online/train.jsonl.gz")), tranche_from_name(Path("pairs.jsonl"))
    ('helpful-online', None)
    """
    matches = (_TRANCHE.search(name.casefold()) for name in (path.name, path.absolute().parent.name))
    return next((match[0] for match in matches if match), None)


def _from_table(frame: pl.DataFrame, tranche: str | None) -> ReadPairs:
    missing = [name for name in PAIR if name not in frame.columns]
    if missing:
        raise NotFound(
            f"There is no column {format_list(missing)}; pairs have 'chosen' and 'rejected', each a whole transcript. "
            f"{_describe_columns(frame)}"
        )
    if frame.is_empty():
        raise InvalidInput("The table has no rows.")
    refuse_more_responses([name for name in frame.columns if frame[name].null_count() < frame.height])
    prompt = conversations.find_prompt_column(frame.columns)
    sides = [conversations.read_conversations(frame.select(*prompt, side)) for side in PAIR]
    chosen_rejected = [[side.conversations[index].conversation for index in side.indices] for side in sides]
    texts = [_texts(frame, name) for name in (RATER, GROUP, TRANCHE)]
    numbers = [read_numbers(frame, name) for name in (STRENGTH, WEIGHT)]
    attributes = zip(*numbers, _agreements(frame), *texts, _groups(frame), strict=True)
    excluded: Counter[str] = Counter()
    empty: list[int] = []
    pairs = []
    for row, (chosen, rejected, values) in enumerate(zip(*chosen_rejected, attributes, strict=True), start=1):
        reason = _find_exclusion(chosen, rejected)
        if reason is not None:
            excluded[reason] += 1
            empty += [row] * (reason == EMPTY)
            continue
        try:
            pairs.append(_pair(chosen, rejected, values, tranche))
        except InvalidInput as error:
            raise InvalidInput(f"Row {row:,}: {error}") from None
    if empty:
        named = describe_empty("row", [f"{row:,}" for row in empty])
        excluded = Counter({named if reason == EMPTY else reason: n for reason, n in excluded.items()})
    if not pairs:
        raise InvalidInput(
            f"None of {frame.height:,} pairs can be compared: "
            + ", ".join(f"{reason} ({count:,})" for reason, count in excluded.items())
            + "."
        )
    parsed = (conversation for side in sides for conversation in side.conversations)
    return ReadPairs(tuple(pairs), dict(excluded), tuple(conversations.describe_unknown_speakers(parsed)))


def refuse_more_responses(columns: Iterable[str]) -> None:
    """Raise if columns hold more responses than the two of a pair."""
    more = [name for name in columns if _MORE.fullmatch(name)]
    if more:
        raise InvalidInput(
            f"{format_list(more)} hold more responses than the two of a pair, and pairs are read. Write a row with "
            "chosen and rejected for each comparison of two responses."
        )


def _describe_columns(frame: pl.DataFrame) -> str:
    return f"The columns are {format_list(frame.columns)}."


def _pair(chosen: Conversation, rejected: Conversation, attributes: tuple[Any, ...], tranche: str | None) -> Pair:
    strength, weight, agreement, rater, group, row_tranche, groups = attributes
    return Pair(
        chosen.context,
        chosen.rated_turn.text,
        rejected.rated_turn.text,
        strength=strength,
        weight=1.0 if weight is None else weight,
        rater=rater,
        group=group,
        tranche=tranche if row_tranche is None else row_tranche,
        agreement=agreement,
        groups=groups,
    )


def _find_exclusion(chosen: Conversation, rejected: Conversation) -> str | None:
    if not chosen.rated_turn.text.strip() or not rejected.rated_turn.text.strip():
        return EMPTY
    if chosen.context != rejected.context:
        return CONTEXTS
    return SAME if chosen.rated_turn == rejected.rated_turn else None


def read_numbers(frame: pl.DataFrame, name: str) -> list[float | None]:
    """Return a column of finite numbers; None where it is empty or does not exist."""
    if name not in frame.columns:
        return [None] * frame.height
    column = frame[name] if frame[name].dtype.is_numeric() else conversations.to_text_column(frame[name])
    numbers = column.cast(pl.Float64, strict=False)
    invalid = (column.is_not_null() & ~numbers.is_finite().fill_null(value=False)).arg_true()
    if len(invalid):
        raise InvalidInput(
            f"Row {invalid[0] + 1:,}: {name} is {format_value(column[invalid[0]])}, which is not a number. Write "
            "it like 2 or 0.5, or leave it empty."
        )
    return numbers.to_list()


def _agreements(frame: pl.DataFrame) -> list[float | None]:
    """Return the share of raters who agree with each pair: the column, or counted from the strengths."""
    if AGREEMENT in frame.columns or STRENGTHS not in frame.columns:
        return read_numbers(frame, AGREEMENT)
    return [
        None if text is None else _agreement(row, text)
        for row, text in enumerate(conversations.to_text_column(frame[STRENGTHS]), start=1)
    ]


def _agreement(row: int, text: str) -> float | None:
    try:
        strengths = [float(vote["strength"]) for vote in json.loads(text)]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise InvalidInput(
            f'Row {row:,}: strengths is {format_value(text)}; write it like [{{"rater_id": "ann", "strength": 2}}, …].'
        ) from None
    return sum(strength > 0 for strength in strengths) / len(strengths) if len(strengths) > 1 else None


def _texts(frame: pl.DataFrame, name: str) -> list[str | None]:
    return conversations.to_text_column(frame[name]).to_list() if name in frame.columns else [None] * frame.height


def group_columns(frame: pl.DataFrame) -> list[str]:
    """Return the columns with groups of raters."""
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
