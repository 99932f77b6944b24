"""Model registry: a folder for each registered model, with its terms, versions and history."""

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
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.preference.data.pairs import PURPOSES, Purpose
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.evaluation.promotion import PromotionRule
from dissensus.preference.models.kinds import KINDS, KindOfModel
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.registered_model import check_registered_model_name
from dissensus.stats.cluster_robust import ClusteredEstimate

TERMS: Final = "registration.json"
HISTORY: Final = "history.jsonl"
DIFFERENCES: Final = ("difference", "over_reference")
MAX_FILE_BYTES: Final = 2**24
"""Bytes of either file."""

ResultType = TypeVar("ResultType", ClusteredEstimate, ClusteredEstimate)
RegistryAction: TypeAlias = Literal["promoted", "kept back", "rolled back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationTerms:
    """Purpose, training settings and promotion rule of a registered model; the same for all versions."""

    purpose: Purpose
    kind: KindOfModel = "linear"
    counting: Weighting = field(default_factory=Weighting)
    rule: PromotionRule = field(default_factory=PromotionRule)
    campaigns: tuple[str, ...] = ()  # empty for all that name it


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """One entry in the history of a registered model."""

    at: datetime
    what: RegistryAction
    version: int  # the new one, or the one rolled back to
    current: int | None  # None where there is none
    why: str
    n_pairs: int | None = None  # training pairs of a new version
    accuracy: ClusteredEstimate | None = None
    sha256: str = ""  # of the folder of a new version
    difference: ClusteredEstimate | None = None  # in accuracy to the previous version
    over_reference: ClusteredEstimate | None = None  # the same for the reference, if it is another one
    found: Mapping[str, Any] = field(default_factory=dict)  # additional plain values

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
        """True for a version that was shown to be better than the reference, and for the first one."""
        over = self.over_reference or self.difference
        return self.what == "promoted" and (over is None or over.ci_low > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredModel:
    """A registered model with its terms and history."""

    folder: Path
    terms: RegistrationTerms
    entries: tuple[RegistryEntry, ...] = ()  # the latest last

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

        The last version shown to be better than the reference before it, or the first one, or the one last rolled
        back to.
        """
        begun = [one.version for one in self.entries if one.what == "rolled back" or one.better]
        return begun[-1] if begun else None

    @property
    def trained(self) -> dict[int, RegistryEntry]:
        """By number, how each version came about."""
        return {one.version: one for one in self.entries if one.what != "rolled back"}

    def version(self, number: int) -> Path:
        """Return the folder of a version."""
        if number not in self.trained:
            known = format_list(list(self.trained)) or "none"
            raise NotFound(f"The registered model {self.name} has no version {number}. It has {known}.")
        return self.folder / str(number)


def registered_model_folder(models: Path, name: str) -> Path:
    """Return the folder of a registered model."""
    check_registered_model_name(name)
    return models / name


def register_model(folder: Path, terms: RegistrationTerms) -> RegisteredModel:
    """Register a model without versions."""
    if folder.exists():
        raise Conflict(f"There is a registered model or a file {folder} already. Choose another name.")
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
    return RegisteredModel(folder=folder, terms=terms)


def open_registered_model(folder: Path) -> RegisteredModel:
    """Read a registered model."""
    if not (folder / TERMS).is_file():
        near = suggest(folder.name, list_registered_models(folder.parent))
        raise NotFound(
            f"There is no registered model {format_value(folder.name)} in {folder.parent}.{near} "
            f"Make it: dissensus preference register {folder.name} --purpose harmless"
        )
    try:
        terms = _terms(json.loads(_read(folder / TERMS)))
        entries = [_entry(json.loads(one)) for one in _read(folder / HISTORY).splitlines()]
        _check_order(entries)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError, DissensusError) as error:
        _refuse(folder, error)
    return RegisteredModel(folder=folder, terms=terms, entries=tuple(entries))


def _check_order(entries: Sequence[RegistryEntry]) -> None:
    """Raise if the versions of a history are out of order."""
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


def list_registered_models(folder: Path) -> list[str]:
    """Return the names of all registered models, sorted."""
    return sorted(path.parent.name for path in folder.glob(f"*/{TERMS}"))


@contextmanager
def lock_for_training(folder: Path) -> Iterator[RegisteredModel]:
    """Lock a registered model for training; raise `Conflict` if another process trains it."""
    model = open_registered_model(folder)
    if not os.access(folder, os.W_OK):
        raise Unavailable(f"{folder} cannot be written to. Training a registered model takes the owner of its folder.")
    with (folder / TERMS).open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"The registered model {folder.name} is being trained now. Try again later.") from None
        yield model


@contextmanager
def lock_for_change(folder: Path) -> Iterator[RegisteredModel]:
    """Lock a registered model for a change of its history; training does not block it."""
    open_registered_model(folder)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield open_registered_model(folder)
    finally:
        os.close(held)


def make_version_folder(model: RegisteredModel) -> Path:
    """Make a blank folder for the next version; numbers of those that were never finished are not used again."""
    numbers = [int(path.name) for path in model.folder.iterdir() if path.name.isdecimal()]
    folder = model.folder / str(max([0, *numbers]) + 1)
    try:
        folder.mkdir()
    except OSError as error:
        raise Unavailable(f"{folder} cannot be made: {error.strerror}.") from None
    return folder


def append_entry(model: RegisteredModel, entry: RegistryEntry) -> RegisteredModel:
    """Append an entry to the history, atomically."""
    entries = (*model.entries, entry)
    _check_order(entries)
    text = "".join(f"{json.dumps(item.to_dict(), ensure_ascii=False, allow_nan=False)}\n" for item in entries)
    write_atomically(text.encode(), model.folder / HISTORY)
    return replace(model, entries=entries)


def history_stamp(folder: Path) -> tuple[int, int]:
    """Return a stamp that changes with the history."""
    try:
        found = (folder / HISTORY).stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"{path.name} is larger than {MAX_FILE_BYTES:,} bytes")
    return path.read_bytes()


def _terms(written: Mapping[str, Any]) -> RegistrationTerms:
    version, purpose, kind = written["schema_version"], written["purpose"], written["kind"]
    if version != 1 or purpose not in PURPOSES or kind not in KINDS:
        raise ValueError(f"version {version} for what is {purpose}, by models of kind {kind}, is not known here")
    return RegistrationTerms(
        purpose=purpose,
        kind=kind,
        counting=Weighting(strength=written["strength"], soft=bool(written["soft_labels"])),
        rule=PromotionRule(margin=written["margin"], level=written["level"]),
        campaigns=tuple(map(str, written["campaigns"])),
    )


def _entry(written: dict[str, Any]) -> RegistryEntry:
    at, what = datetime.fromisoformat(written.pop("at")), written.pop("what")
    if what not in get_args(RegistryAction) or at.tzinfo is None:
        raise ValueError(f"it was {what} at {at}, which is not known here")
    version, current, why = (written.pop(name) for name in ("version", "current", "why"))
    known: dict[str, Any] = {"version": _whole(version), "current": None if current is None else _whole(current)}
    if what != "rolled back":
        known |= {
            "n_pairs": _whole(written.pop("n_pairs")),
            "accuracy": _numbers(ClusteredEstimate, written.pop("accuracy")),
        }
        for name in DIFFERENCES:
            difference = written.pop(name)
            known[name] = None if difference is None else _numbers(ClusteredEstimate, difference)
        known["sha256"] = str(written.pop("sha256"))
    return RegistryEntry(at=at, what=what, why=str(why), found=written, **known)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{format_value(value)} is no whole number")
    return value


def _numbers(kind: type[ResultType], written: Mapping[str, Any]) -> ResultType:
    found = kind(**written)
    if not all(isinstance(value, (int, float)) and isfinite(value) for value in written.values()):
        raise ValueError(f"{format_value(written)} are not all numbers")
    return found


def _refuse(folder: Path, why: Exception) -> NoReturn:
    raise InvalidInput(
        f"{folder} is not a registered model that can be trusted: {format_value(why)}. Copy it again."
    ) from None
