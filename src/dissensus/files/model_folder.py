"""Preference models on disk: a folder of JSON and plain arrays, with the hash of each file."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any, Final, NoReturn, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.whole import write_whole
from dissensus.preference.features import BITS, Kind, Vocabulary
from dissensus.preference.linear import Linear
from dissensus.preference.model import Identity
from dissensus.preference.pairs import PURPOSES
from dissensus.schema.hints import listed, shown

MODEL: Final = "model.json"
CARD: Final = "card.json"
WEIGHTS: Final = "weights.npz"
SUMS: Final = "SHA256SUMS"
NAMES: Final = (MODEL, CARD, WEIGHTS)

LARGEST: Final = 2**27
"""Bytes of one file of a folder, and of all arrays together."""

_NUMBERS = ("length_weight", "length_alone", "temperature")
_KINDS: tuple[Kind, ...] = get_args(Kind)


def save_model(model: Linear, folder: Path) -> None:
    """Write a model as a folder; the same model gives the same bytes.

    Raises
    ------
    InvalidInput
        The folder holds something else.
    Unavailable
        It cannot be written.
    """
    make_folder(folder)
    head = {"schema_version": 1, "kind": "linear", "purpose": model.purpose, "features": list(model.vocabularies)}
    numbers = {name: getattr(model, name) for name in _NUMBERS}
    contents = {MODEL: _json(head | numbers), CARD: _json(model.card), WEIGHTS: _arrays(model)}
    for name, data in contents.items():
        write_whole(data, folder / name)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items())
    write_whole(sums.encode(), folder / SUMS)


def make_folder(folder: Path) -> None:
    """Make the folder of a model, before the work for it begins.

    Raises
    ------
    InvalidInput
        It holds something else, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in folder.iterdir() if path.name not in (*NAMES, SUMS))
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be a folder: {error.strerror}. Name another one.") from None
    if others:
        raise InvalidInput(f"{folder} holds something else than a model: {listed(others, 3)}. Name a new one.")


def identity(folder: Path) -> Identity:
    """Return what a model is told from others by: the name of its folder, and the SHA-256 of the sums of its files.

    Raises
    ------
    NotFound
        There is no whole model.
    """
    if not (folder / SUMS).is_file():
        raise NotFound(f"{folder} is no whole model: {SUMS} is missing. Copy it again, or train it anew.")
    return Identity(folder.resolve().name, hashlib.sha256(_read(folder / SUMS)).hexdigest())


def load_model(folder: Path) -> Linear:
    """Read a model.

    Raises
    ------
    NotFound
        There is no such folder, or a file of it is missing.
    InvalidInput
        A file is not what was written: it was cut, changed, or comes from elsewhere.
    """
    if not folder.is_dir():
        raise NotFound(f"There is no folder {shown(folder)}. Make a model with: dissensus preference train.")
    missing = [name for name in (*NAMES, SUMS) if not (folder / name).is_file()]
    if missing:
        raise NotFound(f"{folder} is no whole model: {listed(missing)} is missing. Copy it again, or train it anew.")
    contents = {name: _read(folder / name) for name in (*NAMES, SUMS)}
    _check_sums(folder, contents)
    try:
        return _model(json.loads(contents[MODEL]), json.loads(contents[CARD]), contents[WEIGHTS])
    except (ValueError, KeyError, TypeError, OSError, RecursionError, zipfile.BadZipFile) as error:
        _refuse(folder, shown(error))


def _refuse(folder: Path, why: str) -> NoReturn:
    raise InvalidInput(f"{folder} is no model that can be trusted: {why}. Copy it again, or train it anew.")


def _read(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise InvalidInput(f"{path} is larger than {LARGEST:,} bytes, the most that a file of a model has.")
    return path.read_bytes()


def _check_sums(folder: Path, contents: dict[str, bytes]) -> None:
    lines = contents[SUMS].decode("utf-8", "replace").splitlines()
    told = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in NAMES:
        if told.get(name) != hashlib.sha256(contents[name]).hexdigest():
            _refuse(folder, f"the SHA-256 of {name} is not the one in {SUMS}, so it was cut or changed")


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def _arrays(model: Linear) -> bytes:
    out = io.BytesIO()
    arrays: dict[str, npt.NDArray[Any]] = {}
    for kind, known in model.vocabularies.items():
        arrays |= {f"{kind}_hashes": known.hashes, f"{kind}_idf": known.idf, f"{kind}_weights": model.weights[kind]}
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def _model(head: dict[str, Any], card: dict[str, Any], weights: bytes) -> Linear:
    if (head["schema_version"], head["kind"]) != (1, "linear"):
        raise ValueError(f"version {head['schema_version']} of kind {head['kind']} is not known here")
    if head["purpose"] not in PURPOSES or not isinstance(card, dict):
        raise ValueError(f"its purpose is {head['purpose']}")
    kinds = [kind for kind in _KINDS if kind in head["features"]]
    if not kinds or kinds != head["features"]:
        raise ValueError(f"its features are {head['features']}")
    numbers = {name: float(head[name]) for name in _NUMBERS}
    if not np.isfinite(list(numbers.values())).all() or numbers["temperature"] <= 0:
        raise ValueError(f"its numbers are {numbers}")
    vocabularies: dict[Kind, Vocabulary] = {}
    found: dict[Kind, npt.NDArray[np.float32]] = {}
    for kind, (hashes, idf, weight) in _unpacked(weights, kinds).items():
        _check_arrays(hashes, idf, weight)
        vocabularies[kind], found[kind] = Vocabulary(hashes, idf), weight
    return Linear(purpose=head["purpose"], vocabularies=vocabularies, weights=found, card=card, **numbers)


def _unpacked(weights: bytes, kinds: list[Kind]) -> dict[Kind, tuple[Any, Any, Any]]:
    with zipfile.ZipFile(io.BytesIO(weights)) as packed:
        if sum(part.file_size for part in packed.infolist()) > LARGEST:
            raise ValueError("its arrays are too large")
    with np.load(io.BytesIO(weights), allow_pickle=False) as arrays:
        return {kind: (arrays[f"{kind}_hashes"], arrays[f"{kind}_idf"], arrays[f"{kind}_weights"]) for kind in kinds}


def _check_arrays(hashes: Any, idf: Any, weight: Any) -> None:
    if hashes.dtype != np.int32 or idf.dtype != np.float32 or weight.dtype != np.float32:
        raise ValueError("its arrays have other types of numbers")
    if hashes.ndim != 1 or not hashes.shape == idf.shape == weight.shape:
        raise ValueError("its arrays do not fit together")
    if len(hashes) and (hashes[0] < 0 or hashes[-1] >= 1 << BITS or (np.diff(hashes) <= 0).any()):
        raise ValueError("its features are out of order")
    if not (np.isfinite(idf).all() and np.isfinite(weight).all()):
        raise ValueError("its weights are not all numbers")
