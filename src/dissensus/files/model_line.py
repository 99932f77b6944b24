"""Model lines on disk: a folder with the terms, a model folder for each version, and all that happened to them."""

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

import numpy as np

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotFound, Unavailable
from dissensus.files.whole import write_whole
from dissensus.preference.counting import Counting
from dissensus.preference.kinds import KINDS, KindOfModel
from dissensus.preference.pairs import PURPOSES, Purpose
from dissensus.preference.promotion import Rule
from dissensus.schema.hints import did_you_mean, listed, shown
from dissensus.schema.line import check_line_name
from dissensus.stats.proportion import Share

TERMS: Final = "line.json"
HISTORY: Final = "history.jsonl"
LARGEST: Final = 2**24
"""Bytes of either file."""

What: TypeAlias = Literal["promoted", "kept back", "rolled back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a line is for, and by which rule its versions follow each other; the same for all of them.

    Parameters
    ----------
    purpose
        What people chose by.
    kind, counting
        What is trained, and how what each person said counts.
    rule
        When a version takes the place of another.
    """

    purpose: Purpose
    kind: KindOfModel = "linear"
    counting: Counting = field(default_factory=Counting)
    rule: Rule = field(default_factory=Rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that happened to a line.

    Parameters
    ----------
    at
        When.
    what
        A new version was promoted or kept back, or the line was rolled back.
    version
        Which one: the new one, or that to which it was rolled back.
    current
        The version that is current since; None where there is none.
    why
        In a sentence.
    n_pairs, accuracy
        Of a new version, on how many pairs it was trained, and how often it is right on those held out.
    found
        What else is known of it: plain values for JSON.
    """

    at: datetime
    what: What
    version: int
    current: int | None
    why: str
    n_pairs: int | None = None
    accuracy: Share | None = None
    found: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        known = {"at": at, "what": self.what, "version": self.version, "current": self.current, "why": self.why}
        if self.accuracy is not None:
            known |= {"n_pairs": self.n_pairs, "accuracy": asdict(self.accuracy)}
        return {**known, **self.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line as it is.

    Parameters
    ----------
    folder
        Where.
    terms
        What it is for.
    entries
        All that happened to it, the latest last.
    """

    folder: Path
    terms: Terms
    entries: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        """Return its name."""
        return self.folder.name

    @property
    def current(self) -> int | None:
        """The version that is current, None where there is none."""
        return self.entries[-1].current if self.entries else None

    @property
    def trained(self) -> dict[int, Entry]:
        """By number, how each version came about."""
        return {one.version: one for one in self.entries if one.what != "rolled back"}

    def version(self, number: int) -> Path:
        """Return the folder of a version.

        Raises
        ------
        NotFound
            There is no such version.
        """
        if number not in self.trained:
            known = listed(list(self.trained)) or "none"
            raise NotFound(f"The line {self.name} has no version {number}. It has {known}.")
        return self.folder / str(number)


def folder_of(models: Path, name: str) -> Path:
    """Return the folder of a line in that of all lines.

    Raises
    ------
    InvalidInput
        No line has such a name.
    """
    check_line_name(name)
    return models / name


def make_line(folder: Path, terms: Terms) -> Line:
    """Make a line without versions.

    Raises
    ------
    InvalidInput
        It cannot be made.
    Conflict
        It is there already.
    """
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise Conflict(f"There is a line or a file {folder} already. Choose another name.") from None
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be a folder: {error.strerror}. Name another one.") from None
    written = {
        "schema_version": 1,
        "purpose": terms.purpose,
        "kind": terms.kind,
        "strength": terms.counting.strength,
        "soft_labels": terms.counting.soft,
        "margin": terms.rule.margin,
        "level": terms.rule.level,
    }
    write_whole((json.dumps(written, indent=2) + "\n").encode(), folder / TERMS)
    return Line(folder=folder, terms=terms)


def read_line(folder: Path) -> Line:
    """Read a line.

    Raises
    ------
    NotFound
        There is none.
    InvalidInput
        A file of it is not what was written.
    """
    if not (folder / TERMS).is_file():
        near = did_you_mean(folder.name, lines_in(folder.parent))
        raise NotFound(
            f"There is no model line {shown(folder.name)} in {folder.parent}.{near} "
            f"Make it: dissensus preference line {folder.name} --purpose harmless"
        )
    try:
        terms = _terms(json.loads(_read(folder / TERMS)))
        history = _read(folder / HISTORY) if (folder / HISTORY).exists() else b""
        return Line(folder=folder, terms=terms, entries=tuple(_entry(json.loads(one)) for one in history.splitlines()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, DissensusError) as error:
        _refuse(folder, error)


def lines_in(folder: Path) -> list[str]:
    """Return the names of all lines in a folder, in the order of the alphabet."""
    return sorted(path.parent.name for path in folder.glob(f"*/{TERMS}"))


@contextmanager
def alone(folder: Path) -> Iterator[Line]:
    """Yield a line that nobody else changes meanwhile.

    Raises
    ------
    Conflict
        Somebody does.
    DissensusError
        As `read_line`.
    """
    read_line(folder)
    with (folder / TERMS).open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"The line {folder.name} is being trained or changed now. Come again later.") from None
        yield read_line(folder)


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
    text = "".join(f"{json.dumps(one.to_dict(), ensure_ascii=False, allow_nan=False)}\n" for one in entries)
    write_whole(text.encode(), line.folder / HISTORY)
    return Line(folder=line.folder, terms=line.terms, entries=entries)


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
    )


def _entry(written: dict[str, Any]) -> Entry:
    at, what = datetime.fromisoformat(written.pop("at")), written.pop("what")
    if what not in get_args(What):
        raise ValueError(f"it was {what}, which is not known here")
    known = {name: written.pop(name) for name in ("version", "current", "why")}
    accuracy = None
    if what != "rolled back":
        known["n_pairs"], accuracy = written.pop("n_pairs"), Share(**written.pop("accuracy"))
    numbers = [known[name] for name in ("version", "current", "n_pairs") if known.get(name) is not None]
    if not all(isinstance(number, int) for number in numbers):
        raise ValueError(f"what should be whole numbers is {numbers}")
    if accuracy is not None and not np.isfinite(np.array(astuple(accuracy), dtype=np.float64)).all():
        raise ValueError(f"an accuracy is {accuracy.estimate}")
    return Entry(at=at, what=what, **known, accuracy=accuracy, found=written)


def _refuse(folder: Path, why: Exception) -> NoReturn:
    raise InvalidInput(f"{folder} is no model line that can be trusted: {shown(why)}. Copy it again.") from None
