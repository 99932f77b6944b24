"""Streaming reader of preference pairs, row by row: all pairs with all their columns, and a log of their faults."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.files.conversations import is_message_list
from dissensus.files.pairs.columns import CHOSEN, MARGIN, PROMPT, REJECTED
from dissensus.files.pairs.reader import CONTEXTS, SAME, STRENGTH, refuse_more_responses
from dissensus.files.raw import content
from dissensus.files.raw.json_stream import stream_records
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.pipeline.release import ReleasedPair
from dissensus.preference.data.pairs import EMPTY
from dissensus.schema.hints import format_value
from dissensus.text.messages import parse_messages
from dissensus.text.pasted import parse_transcript
from dissensus.text.speakers import describe_unknown_speaker, find_unknown_speakers
from dissensus.text.transcripts import append_response_hh, is_hh, join_hh, parse_hh, write_hh
from dissensus.text.turns import Turns

HUMAN: Final = "a transcript ends with the human"
INSTRUCTIONS: Final = "instructions of the bot, which transcripts do not hold, are left out"


class PairTurns(NamedTuple):
    """Turns of a pair: the shared ones, and the rest of each side."""

    shared: Turns
    chosen: Turns
    rejected: Turns


class PairRow(NamedTuple):
    """One pair of a file."""

    chosen: str  # transcript as hh-rlhf writes it
    rejected: str
    strength: float | None = None  # None if unknown
    extra: Mapping[str, object] = {}  # all other columns

    @property
    def turns(self) -> tuple[Turns, Turns]:
        """Turns of both sides."""
        return parse_hh(self.chosen), parse_hh(self.rejected)

    @property
    def parts(self) -> PairTurns:
        """The shared turns, and the rest of each side, which is never empty."""
        chosen, rejected = self.turns
        limit = min(len(chosen), len(rejected)) - 1
        n_shared = next((index for index in range(limit) if chosen[index] != rejected[index]), limit)
        return PairTurns(chosen[:n_shared], chosen[n_shared:], rejected[n_shared:])

    def faults(self) -> Iterator[str]:
        """Yield the reasons why the answers cannot be compared."""
        chosen, rejected = self.turns
        if "human" in (chosen[-1][0], rejected[-1][0]):
            yield HUMAN
        elif not chosen[-1][1].strip() or not rejected[-1][1].strip():
            yield EMPTY
        elif chosen[:-1] != rejected[:-1]:
            yield CONTEXTS
        elif chosen == rejected:
            yield SAME


@dataclass(slots=True)
class PairReadLog:
    """Log of reading pairs."""

    # One-based row numbers of pairs with a fault, by fault.
    faults: dict[str, list[int]] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)  # besides the transcripts
    n_rows: int = 0

    def note(self, fault: str) -> None:
        """Log a fault of the current row."""
        self.faults.setdefault(fault, []).append(self.n_rows)

    def notes(self, *, in_output: bool = True) -> Iterator[str]:
        """Describe the faults, for pairs that the output keeps or leaves out."""
        for fault, rows in self.faults.items():
            ending = "; kept all the same" if in_output and fault != INSTRUCTIONS else ""
            yield f"{_rows(rows)}: {fault}{ending}."


def _rows(rows: Sequence[int]) -> str:
    more = f" and {len(rows) - 5:,} more" if rows[5:] else ""
    s = "s" * (len(rows) > 1)
    return f"{len(rows):,} pair{s} (row{s} {', '.join(f'{row:,}' for row in rows[:5])}{more})"


def stream_pairs(source: Any, log: PairReadLog | None = None) -> Iterator[PairRow]:
    """Stream the pairs of a file or table, and log their faults; errors name the row."""
    log = PairReadLog() if log is None else log
    if is_path(source) and content.detect_format(Path(source)) == "json":
        yield from _read(stream_records(Path(source)), f"{source}, record ", log)
        return
    with name_source(source):
        yield from _read(to_frame(source).iter_rows(named=True), "Row ", log)


def read_pair_columns(source: Path) -> tuple[str, ...]:
    """Return the columns that pairs of a file have besides the transcripts; in JSON not every record has each."""
    is_json = content.detect_format(source) == "json"
    records: Iterable[Iterable[str]] = stream_records(source) if is_json else [to_frame(source).columns]
    columns = {name: None for record in records for name in record}
    return tuple(name for name in columns if name not in (CHOSEN, REJECTED, PROMPT))


def _read(records: Iterator[Mapping[str, Any]], where: str, log: PairReadLog) -> Iterator[PairRow]:
    for record in records:
        log.n_rows += 1
        try:
            row = parse_pair_row(record, log)
        except InvalidInput as error:
            raise InvalidInput(f"{where}{log.n_rows:,}: {error}") from None
        for fault in row.faults():
            log.note(fault)
        log_unknown_speakers(row, log)
        yield row


def log_unknown_speakers(row: PairRow, log: PairReadLog) -> None:
    """Log the labels in transcripts that name no known speaker."""
    texts = dict.fromkeys(text for turns in row.turns for _, text in turns)
    for name in find_unknown_speakers(texts, paragraphs=True):
        log.note(describe_unknown_speaker(name))


def parse_pair_row(record: Mapping[str, Any], log: PairReadLog) -> PairRow:
    """Parse the pair in a record."""
    missing = [side for side in (CHOSEN, REJECTED) if record.get(side) is None]
    if missing:
        raise InvalidInput(f"{missing[0]} is missing. A pair has 'chosen' and 'rejected', each a transcript.")
    prompt = record.get(PROMPT)
    _refuse_more_responses(record)
    sides = [_transcript(prompt, record[side], log) for side in (CHOSEN, REJECTED)]
    for side, text in zip((CHOSEN, REJECTED), sides, strict=True):
        _check_unicode(text, side)
    name = STRENGTH if record.get(STRENGTH) is not None else MARGIN
    log.columns |= {key: None for key in record if key not in (CHOSEN, REJECTED, PROMPT)}
    extra = {key: value for key, value in record.items() if key not in (CHOSEN, REJECTED, PROMPT, name)}
    strength = _number(name, record.get(name))
    if strength is None and MARGIN in record:
        extra[STRENGTH] = None  # The column exists, and others may have one
    return PairRow(sides[0], sides[1], strength, extra)


def _refuse_more_responses(record: Mapping[str, Any]) -> None:
    """Raise if a record has more responses than the two of a pair."""
    refuse_more_responses([key for key, value in record.items() if value is not None])
    for side in (CHOSEN, REJECTED):
        value = record[side]
        if isinstance(value, list) and len(value) > 1 and all(isinstance(part, str) for part in value):
            raise InvalidInput(
                f"{side} holds {len(value)} responses, and a pair has one. Write a row for each comparison of two."
            )


def _transcript(prompt: object, message: object, log: PairReadLog) -> str:
    if prompt is None or prompt == "":
        if isinstance(message, str) and is_hh(message):
            return message
        return write_hh(_turns(message, log))
    if _is_text(prompt) and _is_text(message) and is_hh(str(prompt)):
        return append_response_hh(str(prompt), str(message))
    before: Turns = (("human", str(prompt)),) if _is_text(prompt) else _turns(prompt, log)
    after: Turns = (("bot", str(message)),) if _is_text(message) else _turns(message, log)
    if not after:
        raise InvalidInput("a response is an empty list. Give its messages.")
    return write_hh((*before, *after))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not is_message_list(value)


def _turns(messages: object, log: PairReadLog) -> Turns:
    if isinstance(messages, str) and not messages.startswith("["):
        return parse_transcript(messages)
    try:
        chat = parse_messages(json.loads(messages) if isinstance(messages, str) else messages)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{format_value(messages)} is not a list of messages.") from None
    if chat.instructions is not None and log.n_rows not in log.faults.get(INSTRUCTIONS, [])[-1:]:
        log.note(INSTRUCTIONS)
    return chat.turns


def _check_unicode(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{name} has half of a surrogate pair (like \\ud800), as character {error.start + 1:,}, which is not text. "
            "Remove it."
        ) from None


def _number(name: str, value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None or number - number != 0:
        raise InvalidInput(
            f"{name} is {format_value(value)}, which is not a number. Write it like 2 or 0.5, or leave it empty."
        )
    return number


def transcripts_of(pair: ReleasedPair) -> tuple[str, str]:
    """Return both transcripts of a pair, as hh-rlhf writes them."""
    before = join_hh((turn.speaker, turn.text) for turn in pair.context)
    return before + join_hh((("bot", pair.chosen),)), before + join_hh((("bot", pair.rejected),))
