"""Model lines on disk: a folder with the terms, a model folder for each version, and all that happened to them."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeAlias, TypeVar, get_args

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotFound, Unavailable
from dissensus.files.raw.atomic_write import write_whole
from dissensus.preference.data.pairs import PURPOSES, Purpose
from dissensus.preference.data.weighting import Counting
from dissensus.preference.evaluation.promotion import Rule
from dissensus.preference.models.kinds import KINDS, KindOfModel
from dissensus.schema.hints import suggest, format_list, format_value
from dissensus.schema.registered_model import check_registered_model_name
from dissensus.stats.paired import Difference
from dissensus.stats.proportion import Share

TERMS: Final = "line.json"
HISTORY: Final = "history.jsonl"
DIFFERENCES: Final = ("difference", "over_reference")
LARGEST: Final = 2**24
"""Bytes of either file."""

Result = TypeVar("Result", Share, Difference)
What: TypeAlias = Literal["promoted", "kept back", "rolled back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a line is for, and by which rule its versions follow each other; the same for all of them."""

    purpose: Purpose  # What people chose by
    kind: KindOfModel = "linear"  # What is trained, and how what each person said counts
    counting: Counting = field(default_factory=Counting)
    rule: Rule = field(default_factory=Rule)  # When a version takes the place of another
    campaigns: tuple[str, ...] = ()  # Those that it learns from, where they name it; none for all that name it


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that happened to a line."""

    at: datetime
    what: What  # A new version was promoted or kept back, or the line was rolled back
    version: int  # Which one: the new one, or that to which it was rolled back
    current: int | None  # The version that is current since; None where there is none
    why: str
    # Of a new version, on how many pairs it was trained, how often it is right on those held out, and of its folder
    n_pairs: int | None = None
    accuracy: Share | None = None
    sha256: str = ""
    # Its accuracy less that of the one that was current; None where there was none
    difference: Difference | None = None
    # The same for the reference; None where there was none but the one that was current
    over_reference: Difference | None = None
    found: Mapping[str, Any] = field(default_factory=dict)  # What else is known of it: plain values for JSON

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        known = {"at": at, "what": self.what, "version": self.version, "current": self.current, "why": self.why}
        if self.accuracy is not None:
            known |= {"n_pairs": self.n_pairs, "accuracy": asdict(self.accuracy)}
            for name in DIFFERENCES:
                found = getattr(self, name)
                known[name] = None if found is None else asdict(found)
            known["sha256"] = self.sha256
        return {**known, **self.found}

    @property
    def better(self) -> bool:
        """Whether a new version was shown to be better than the reference, or is the first."""
        over = self.over_reference or self.difference
        return self.what == "promoted" and (over is None or over.ci_low > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line as it is."""

    folder: Path
    terms: Terms  # What it is for
    entries: tuple[Entry, ...] = ()  # All that happened to it, the latest last

    @property
    def name(self) -> str:
        """Return its name."""
        return self.folder.name

    @property
    def current(self) -> int | None:
        """The version that is current, None where there is none."""
        return self.entries[-1].current if self.entries else None

    @property
    def before(self) -> int | None:
        """The version in whose place the current one came first; None where there was none."""
        numbers = [None, *(one.current for one in self.entries)]
        return None if self.current is None else numbers[numbers.index(self.current) - 1]

    @property
    def reference(self) -> int | None:
        """The version that no later one may fall behind by more than the margin; None where there is none.

        It is the last one that was shown to be better than the reference before it, or the first one. Whoever rolls a
        line back says that from then on it is that version.
        """
        begun = [one.version for one in self.entries if one.what == "rolled back" or one.better]
        return begun[-1] if begun else None

    @property
    def trained(self) -> dict[int, Entry]:
        """By number, how each version came about."""
        return {one.version: one for one in self.entries if one.what != "rolled back"}

    def version(self, number: int) -> Path:
        """Return the folder of a version."""
        if number not in self.trained:
            known = format_list(list(self.trained)) or "none"
            raise NotFound(f"The line {self.name} has no version {number}. It has {known}.")
        return self.folder / str(number)


def folder_of(models: Path, name: str) -> Path:
    """Return the folder of a line in that of all lines."""
    check_registered_model_name(name)
    return models / name


def make_line(folder: Path, terms: Terms) -> Line:
    """Make a line without versions."""
    if folder.exists():
        raise Conflict(f"There is a line or a file {folder} already. Choose another name.")
    written = {
        "schema_version": 1,
        "purpose": terms.purpose,
        "kind": terms.kind,
        "strength": terms.counting.strength,
        "soft_labels": terms.counting.soft,
        "margin": terms.rule.margin,
        "level": terms.rule.level,
        "campaigns": list(terms.campaigns),
    }
    part = folder.with_name(f".{folder.name}.part")
    try:
        part.mkdir(parents=True, exist_ok=True)
        (part / TERMS).write_text(json.dumps(written, indent=2) + "\n", "utf-8")
        (part / HISTORY).write_bytes(b"")
        part.rename(folder)
    except OSError as error:
        raise Unavailable(f"{folder} cannot be made: {error.strerror}.") from None
    return Line(folder=folder, terms=terms)


def read_line(folder: Path) -> Line:
    """Read a line."""
    if not (folder / TERMS).is_file():
        near = suggest(folder.name, lines_in(folder.parent))
        raise NotFound(
            f"There is no model line {format_value(folder.name)} in {folder.parent}.{near} "
            f"Make it: dissensus preference line {folder.name} --purpose harmless"
        )
    try:
        terms = _terms(json.loads(_read(folder / TERMS)))
        entries = [_entry(json.loads(one)) for one in _read(folder / HISTORY).splitlines()]
        _check_order(entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError, DissensusError) as error:
        _refuse(folder, error)
    return Line(folder=folder, terms=terms, entries=tuple(entries))


def _check_order(entries: Sequence[Entry]) -> None:
    """Refuse a history in which versions do not follow each other."""
    last = 0
    known = set()
    for entry in entries:
        if entry.what != "rolled back":
            if entry.version <= last:
                raise ValueError(f"version {entry.version} follows version {last}")
            last = entry.version
            known.add(last)
        if not {entry.version, entry.current or entry.version} <= known:
            raise ValueError(f"version {entry.current} is current and was never trained")


def lines_in(folder: Path) -> list[str]:
    """Return the names of all lines in a folder, in the order of the alphabet."""
    return sorted(path.parent.name for path in folder.glob(f"*/{TERMS}"))


@contextmanager
def alone(folder: Path) -> Iterator[Line]:
    """Yield a line that nobody else trains meanwhile."""
    line = read_line(folder)
    if not os.access(folder, os.W_OK):
        raise Unavailable(f"{folder} cannot be written to. Whoever trains a line must own its folder.")
    with (folder / TERMS).open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"The line {folder.name} is being trained now. Come again later.") from None
        yield line


@contextmanager
def changing(folder: Path) -> Iterator[Line]:
    """Yield a line as it is, which nobody else changes until the block ends; who trains holds nobody up."""
    read_line(folder)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield read_line(folder)
    finally:
        os.close(held)


def next_version(line: Line) -> Path:
    """Make a blank folder for the next version; numbers of those that were never finished are not used again."""
    numbers = [int(path.name) for path in line.folder.iterdir() if path.name.isdecimal()]
    folder = line.folder / str(max([0, *numbers]) + 1)
    try:
        folder.mkdir()
    except OSError as error:
        raise Unavailable(f"{folder} cannot be made: {error.strerror}.") from None
    return folder


def add_entry(line: Line, entry: Entry) -> Line:
    """Add what happened to a line; whoever reads it meanwhile finds all that was there before, or all of it."""
    entries = (*line.entries, entry)
    _check_order(entries)
    text = "".join(f"{json.dumps(one.to_dict(), ensure_ascii=False, allow_nan=False)}\n" for one in entries)
    write_whole(text.encode(), line.folder / HISTORY)
    return replace(line, entries=entries)


def changed(folder: Path) -> tuple[int, int]:
    """Return what is another one after something has happened to a line."""
    try:
        found = (folder / HISTORY).stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino


def _read(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} is larger than {LARGEST:,} bytes")
    return path.read_bytes()


def _terms(written: Mapping[str, Any]) -> Terms:
    version, purpose, kind = written["schema_version"], written["purpose"], written["kind"]
    if version != 1 or purpose not in PURPOSES or kind not in KINDS:
        raise ValueError(f"version {version} for what is {purpose}, by models of kind {kind}, is not known here")
    return Terms(
        purpose=purpose,
        kind=kind,
        counting=Counting(strength=written["strength"], soft=bool(written["soft_labels"])),
        rule=Rule(margin=written["margin"], level=written["level"]),
        campaigns=tuple(map(str, written["campaigns"])),
    )


def _entry(written: dict[str, Any]) -> Entry:
    at, what = datetime.fromisoformat(written.pop("at")), written.pop("what")
    if what not in get_args(What) or at.tzinfo is None:
        raise ValueError(f"it was {what} at {at}, which is not known here")
    version, current, why = (written.pop(name) for name in ("version", "current", "why"))
    known: dict[str, Any] = {"version": _whole(version), "current": None if current is None else _whole(current)}
    if what != "rolled back":
        known |= {"n_pairs": _whole(written.pop("n_pairs")), "accuracy": _numbers(Share, written.pop("accuracy"))}
        for name in DIFFERENCES:
            difference = written.pop(name)
            known[name] = None if difference is None else _numbers(Difference, difference)
        known["sha256"] = str(written.pop("sha256"))
    return Entry(at=at, what=what, why=str(why), found=written, **known)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{format_value(value)} is no whole number")
    return value


def _numbers(kind: type[Result], written: Mapping[str, Any]) -> Result:
    found = kind(**written)
    if not all(isinstance(value, (int, float)) and isfinite(value) for value in written.values()):
        raise ValueError(f"{format_value(written)} are not all numbers")
    return found


def _refuse(folder: Path, why: Exception) -> NoReturn:
    raise InvalidInput(f"{folder} is no model line that can be trusted: {format_value(why)}. Copy it again.") from None
