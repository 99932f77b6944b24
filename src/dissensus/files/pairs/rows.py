"""Streaming reader of pairs, without filtering."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.files.pairs.reader import CONTEXTS, EMPTY, SAME, STRENGTH
from dissensus.files.raw import content
from dissensus.files.raw.json_stream import stream_records
from dissensus.files.raw.table_reader import is_path, name_source, to_frame
from dissensus.pipeline.release import ReleasedPair
from dissensus.schema.hints import format_value
from dissensus.text.messages import parse_messages
from dissensus.text.pasted import parse_transcript
from dissensus.text.transcripts import continued_hh, is_hh, join_hh, parse_hh, write_hh
from dissensus.text.turns import Turns

CHOSEN, REJECTED, PROMPT, MARGIN = "chosen", "rejected", "prompt", "margin"

HUMAN: Final = "a transcript ends with the human"
INSTRUCTIONS: Final = "instructions of the bot, which transcripts do not hold, are left out"


class PairTurns(NamedTuple):
    """Turns of a pair: those before that both share, and the rest of each."""

    shared: Turns
    chosen: Turns
    rejected: Turns


class PairRow(NamedTuple):
    """One pair of a file."""

    chosen: str  # transcript as hh-rlhf writes it
    rejected: str
    strength: float | None = None  # None where unknown
    others: Mapping[str, object] = {}  # all other columns
    given: tuple[Turns, Turns] | None = None  # turns of both, where they are known without parsing

    @property
    def turns(self) -> tuple[Turns, Turns]:
        """The turns of both."""
        return self.given or (parse_hh(self.chosen), parse_hh(self.rejected))

    @property
    def parts(self) -> PairTurns:
        """The turns that both share, and the rest of each, of which neither is nothing."""
        chosen, rejected = self.turns
        most = min(len(chosen), len(rejected)) - 1
        shared = next((place for place in range(most) if chosen[place] != rejected[place]), most)
        return PairTurns(chosen[:shared], chosen[shared:], rejected[shared:])

    def faults(self) -> Iterator[str]:
        """Say why the answers cannot be compared."""
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
    """Observations made while pairs are read."""

    # row numbers from 1 of pairs that cannot be compared, by reason
    faults: dict[str, list[int]] = field(default_factory=dict)
    columns: dict[str, None] = field(default_factory=dict)  # besides the transcripts
    rows: int = 0  # number read

    def note(self, why: str) -> None:
        """Note something about the row that is read."""
        self.faults.setdefault(why, []).append(self.rows)

    def notes(self, *, kept: bool = True) -> Iterator[str]:
        """Say it in words."""
        for why, rows in self.faults.items():
            ending = "; kept all the same" if kept and why != INSTRUCTIONS else ""
            yield f"{_rows(rows)}: {why}{ending}."


def _rows(rows: Sequence[int]) -> str:
    more = f" and {len(rows) - 5:,} more" if rows[5:] else ""
    s = "s" * (len(rows) > 1)
    return f"{len(rows):,} pair{s} (row{s} {', '.join(f'{row:,}' for row in rows[:5])}{more})"


def stream_pairs(source: Any, seen: PairReadLog | None = None) -> Iterator[PairRow]:
    """Stream the pairs of a file or table; an error names the row. Observations go to `seen`."""
    seen = PairReadLog() if seen is None else seen
    if is_path(source) and content.detect_format(Path(source)) == "json":
        yield from _read(stream_records(Path(source)), f"{source}, record ", seen)
        return
    with name_source(source):
        yield from _read(to_frame(source).iter_rows(named=True), "Row ", seen)


def _read(found: Iterator[Mapping[str, Any]], where: str, seen: PairReadLog) -> Iterator[PairRow]:
    for record in found:
        seen.rows += 1
        try:
            row = parse_pair_row(record, seen)
        except InvalidInput as error:
            raise InvalidInput(f"{where}{seen.rows:,}: {error}") from None
        for why in row.faults():
            seen.note(why)
        yield row


def parse_pair_row(record: Mapping[str, Any], seen: PairReadLog) -> PairRow:
    """Parse the pair in a record."""
    missing = [side for side in (CHOSEN, REJECTED) if record.get(side) is None]
    if missing:
        raise InvalidInput(f"{missing[0]} is missing. A pair has 'chosen' and 'rejected', each a transcript.")
    prompt = record.get(PROMPT)
    sides = [_transcript(prompt, record[side], seen) for side in (CHOSEN, REJECTED)]
    name = STRENGTH if record.get(STRENGTH) is not None else MARGIN
    seen.columns |= {key: None for key in record if key not in (CHOSEN, REJECTED, PROMPT)}
    others = {key: value for key, value in record.items() if key not in (CHOSEN, REJECTED, PROMPT, name)}
    return PairRow(sides[0], sides[1], _number(name, record.get(name)), others)


def _transcript(prompt: object, said: object, seen: PairReadLog) -> str:
    if prompt is None or prompt == "":
        if isinstance(said, str) and is_hh(said):
            return said
        return write_hh(_turns(said, seen))
    if isinstance(prompt, str) and isinstance(said, str) and not prompt.startswith("["):
        return continued_hh(prompt, said) if is_hh(prompt) else write_hh((("human", prompt), ("bot", said)))
    return write_hh((*_turns(prompt, seen), *_turns(said, seen)))


def _turns(said: object, seen: PairReadLog) -> Turns:
    if isinstance(said, str) and not said.startswith("["):
        return parse_transcript(said)
    try:
        chat = parse_messages(json.loads(said) if isinstance(said, str) else said)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{format_value(said)} is no list of messages.") from None
    if chat.instructions is not None and seen.rows not in seen.faults.get(INSTRUCTIONS, [])[-1:]:
        seen.note(INSTRUCTIONS)
    return chat.turns


def _number(name: str, value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None or number - number != 0:
        raise InvalidInput(
            f"{name} is {format_value(value)}, which is no number. Write it like 2 or 0.5, or leave it empty."
        )
    return number


def transcripts_of(pair: ReleasedPair) -> tuple[str, str]:
    """Return both transcripts of a pair, as hh-rlhf writes them."""
    before = join_hh((turn.speaker, turn.text) for turn in pair.context)
    return before + join_hh((("bot", pair.chosen),)), before + join_hh((("bot", pair.rejected),))


def to_pair_rows(
    pairs: Iterable[ReleasedPair], others: Callable[[ReleasedPair], Mapping[str, object]]
) -> Iterator[PairRow]:
    """Yield released pairs as rows, with additional columns."""
    for pair in pairs:
        context: Turns = tuple((turn.speaker, turn.text) for turn in pair.context)
        given: tuple[Turns, Turns] = ((*context, ("bot", pair.chosen)), (*context, ("bot", pair.rejected)))
        yield PairRow(*transcripts_of(pair), pair.strength, others(pair), given)
