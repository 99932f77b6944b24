"""Model registry: a folder per registered model, with its terms, versions and history."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

from dissensus.errors import Conflict, InvalidInput, NotFound, Unavailable
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.files.raw.lock import hold_lock
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

RegistryAction: TypeAlias = Literal["promoted", "kept back", "rolled back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationTerms:
    """Purpose, training settings and promotion rule of a registered model; the same for all versions."""

    purpose: Purpose
    kind: KindOfModel = "linear"
    weighting: Weighting = field(default_factory=Weighting)
    rule: PromotionRule = field(default_factory=PromotionRule)
    campaigns: tuple[str, ...] = ()  # empty: all campaigns that name the model


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """One entry in the history of a registered model."""

    at: datetime
    action: RegistryAction
    version: int  # new version, or target of a rollback
    current: int | None  # None if no version is current
    reason: str
    n_pairs: int | None = None  # training pairs of a new version
    accuracy: ClusteredEstimate | None = None
    sha256: str = ""  # of the folder of a new version
    difference: ClusteredEstimate | None = None  # in accuracy, to the previous version
    over_reference: ClusteredEstimate | None = None  # the same to the reference, if that is another version
    extra: Mapping[str, Any] = field(default_factory=dict)  # additional plain values

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain values for JSON."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        values = {
            "at": at,
            "action": self.action,
            "version": self.version,
            "current": self.current,
            "reason": self.reason,
        }
        if self.accuracy is not None:
            values |= {"n_pairs": self.n_pairs, "accuracy": asdict(self.accuracy)}
            for name in DIFFERENCES:
                difference = getattr(self, name)
                values[name] = None if difference is None else asdict(difference)
            values["sha256"] = self.sha256
        return {**values, **self.extra}

    @property
    def is_better(self) -> bool:
        """True for a version shown to be better than the reference, and for the first version."""
        over = self.over_reference or self.difference
        return self.action == "promoted" and (over is None or over.ci_low > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredModel:
    """A registered model with its terms and history."""

    folder: Path
    terms: RegistrationTerms
    entries: tuple[RegistryEntry, ...] = ()  # oldest first

    @property
    def name(self) -> str:
        """Name of the registered model."""
        return self.folder.name

    @property
    def current(self) -> int | None:
        """Current version; None if there is none."""
        return self.entries[-1].current if self.entries else None

    @property
    def previous(self) -> int | None:
        """Version that the current one first replaced; None if there was none."""
        numbers = [None, *(entry.current for entry in self.entries)]
        return None if self.current is None else numbers[numbers.index(self.current) - 1]

    @property
    def reference(self) -> int | None:
        """Version that later ones are tested against for non-inferiority; None if there is none.

        The first version, the last one shown to be better than the reference before it, or the target of the last
        rollback, whichever is latest.
        """
        references = [entry.version for entry in self.entries if entry.action == "rolled back" or entry.is_better]
        return references[-1] if references else None

    @property
    def trained_versions(self) -> dict[int, RegistryEntry]:
        """Entries of trained versions, by number."""
        return {entry.version: entry for entry in self.entries if entry.action != "rolled back"}

    def version_folder(self, number: int) -> Path:
        """Return the folder of a version."""
        if number not in self.trained_versions:
            versions = format_list(list(self.trained_versions)) or "none"
            raise NotFound(f"The registered model {self.name} has no version {number}. It has {versions}.")
        return self.folder / str(number)


def registered_model_folder(models: Path, name: str) -> Path:
    """Return the folder of a registered model."""
    check_registered_model_name(name)
    return models / name


def register_model(folder: Path, terms: RegistrationTerms) -> RegisteredModel:
    """Register a model without versions."""
    if folder.exists():
        raise Conflict(f"There is a registered model or a file {folder} already. Choose another name.")
    values = {
        "schema_version": 1,
        "purpose": terms.purpose,
        "kind": terms.kind,
        "strength": terms.weighting.strength,
        "soft_labels": terms.weighting.soft,
        "margin": terms.rule.margin,
        "confidence": terms.rule.confidence,
        "campaigns": list(terms.campaigns),
    }
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        (temporary / TERMS).write_text(json.dumps(values, indent=2) + "\n", "utf-8")
        (temporary / HISTORY).write_bytes(b"")
        temporary.rename(folder)
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
        entries = [_entry(json.loads(line)) for line in _read(folder / HISTORY).splitlines()]
        _check_order(entries)
    except (ValueError, KeyError, TypeError, ArithmeticError, AttributeError, RecursionError, OSError) as error:
        _refuse(folder, error)
    return RegisteredModel(folder=folder, terms=terms, entries=tuple(entries))


def _check_order(entries: Sequence[RegistryEntry]) -> None:
    """Raise if the versions of a history are out of order."""
    last = 0
    versions = set()
    for entry in entries:
        if entry.action != "rolled back":
            if entry.version <= last:
                raise ValueError(f"version {entry.version} follows version {last}")
            last = entry.version
            versions.add(last)
        unknown = {entry.version, entry.version if entry.current is None else entry.current} - versions
        if unknown:
            raise ValueError(f"version {min(unknown)} was never trained")


def list_registered_models(folder: Path) -> list[str]:
    """Return the names of all registered models, sorted."""
    # Not the hidden folder that an interrupted registration leaves.
    return sorted(path.parent.name for path in folder.glob(f"[!.]*/{TERMS}"))


@contextmanager
def lock_for_training(folder: Path) -> Iterator[RegisteredModel]:
    """Lock a registered model for training; raise `Conflict` if another process trains it."""
    model = open_registered_model(folder)
    if not os.access(folder, os.W_OK):
        raise Unavailable(f"{folder} cannot be written to. Only the owner of its folder can train it.")
    busy = Conflict(f"The registered model {folder.name} is being trained now. Try again later.")
    with hold_lock(folder / TERMS, busy):
        yield model


@contextmanager
def lock_for_change(folder: Path) -> Iterator[RegisteredModel]:
    """Lock a registered model for a change of its history; training does not block it."""
    open_registered_model(folder)
    with hold_lock(folder):
        yield open_registered_model(folder)


def make_version_folder(model: RegisteredModel) -> Path:
    """Make an empty folder for the next version; numbers of unfinished versions are not reused."""
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
        status = (folder / HISTORY).stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"{path.name} is larger than {MAX_FILE_BYTES:,} bytes")
    return path.read_bytes()


def _terms(values: Mapping[str, Any]) -> RegistrationTerms:
    version, purpose, kind = values["schema_version"], values["purpose"], values["kind"]
    if version != 1 or purpose not in PURPOSES or kind not in KINDS:
        raise ValueError(f"version {version} for purpose {purpose} and kind {kind} is not supported")
    return RegistrationTerms(
        purpose=purpose,
        kind=kind,
        weighting=Weighting(strength=values["strength"], soft=bool(values["soft_labels"])),
        rule=PromotionRule(margin=values["margin"], confidence=values["confidence"]),
        campaigns=tuple(map(str, values["campaigns"])),
    )


def _entry(values: dict[str, Any]) -> RegistryEntry:
    at, action = datetime.fromisoformat(values.pop("at")), values.pop("action")
    if action not in get_args(RegistryAction) or at.tzinfo is None:
        raise ValueError(f"action {action} at {at} is not supported")
    version, current, reason = (values.pop(name) for name in ("version", "current", "reason"))
    fields: dict[str, Any] = {
        "version": _to_integer(version),
        "current": None if current is None else _to_integer(current),
    }
    if action != "rolled back":
        fields |= {
            "n_pairs": _to_integer(values.pop("n_pairs")),
            "accuracy": _to_estimate(values.pop("accuracy")),
        }
        for name in DIFFERENCES:
            difference = values.pop(name)
            fields[name] = None if difference is None else _to_estimate(difference)
        fields["sha256"] = str(values.pop("sha256"))
    return RegistryEntry(at=at, action=action, reason=str(reason), extra=values, **fields)


def _to_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{format_value(value)} is not a whole number")
    return value


def _to_estimate(values: Mapping[str, Any]) -> ClusteredEstimate:
    result = ClusteredEstimate(**values)
    numbers = [value for name, value in values.items() if (name, value) != ("crossed_clusters", None)]
    if not all(isinstance(value, (int, float)) and isfinite(value) for value in numbers):
        raise ValueError(f"{format_value(values)} are not all numbers")
    return result


def _refuse(folder: Path, error: Exception) -> NoReturn:
    raise InvalidInput(f"{folder} is not a valid registered model: {format_value(error)}. Copy it again.") from None
