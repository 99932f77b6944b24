"""Preference models on disk: a folder of JSON and plain arrays, with the hash of each file."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.model_parts import put_together, taken_apart
from dissensus.files.whole import write_whole
from dissensus.preference.encoder import Encoder
from dissensus.preference.kinds import AnyModel
from dissensus.preference.model import Identity
from dissensus.schema.hints import listed, shown

MODEL: Final = "model.json"
CARD: Final = "card.json"
WEIGHTS: Final = "weights.npz"
SUMS: Final = "SHA256SUMS"
NAMES: Final = (MODEL, CARD, WEIGHTS)

LARGEST: Final = 2**27
"""Bytes of one file of a folder, and of all arrays together."""


def save_model(model: AnyModel, folder: Path) -> None:
    """Write a model as a folder; the same model gives the same bytes.

    Raises
    ------
    InvalidInput
        The folder holds something else.
    Unavailable
        It cannot be written.
    """
    make_folder(folder)
    head, arrays = taken_apart(model)
    contents = {MODEL: _json(head), CARD: _json(model.card), WEIGHTS: _packed(arrays)}
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


def load_model(folder: Path, *, encoder: Encoder | None = None) -> AnyModel:
    """Read a model.

    Parameters
    ----------
    folder
        As `save_model` writes it.
    encoder
        The one that a model of embeddings was made with; by default the one of its name that is installed.

    Raises
    ------
    NotFound
        There is no such folder, or a file of it is missing.
    InvalidInput
        A file is not what was written: it was cut, changed, or comes from elsewhere.
    Unavailable
        The encoder is not installed, or is another one.
    """
    if not folder.is_dir():
        raise NotFound(f"There is no folder {shown(folder)}. Make a model with: dissensus preference train.")
    missing = [name for name in (*NAMES, SUMS) if not (folder / name).is_file()]
    if missing:
        raise NotFound(f"{folder} is no whole model: {listed(missing)} is missing. Copy it again, or train it anew.")
    contents = {name: _read(folder / name) for name in (*NAMES, SUMS)}
    _check_sums(folder, contents)
    try:
        return _model(json.loads(contents[MODEL]), json.loads(contents[CARD]), contents[WEIGHTS], encoder)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError, zipfile.BadZipFile) as error:
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


def _packed(arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def _model(head: dict[str, Any], card: dict[str, Any], weights: bytes, encoder: Encoder | None) -> AnyModel:
    with zipfile.ZipFile(io.BytesIO(weights)) as packed:
        if sum(part.file_size for part in packed.infolist()) > LARGEST:
            raise ValueError("its arrays are too large")
    with np.load(io.BytesIO(weights), allow_pickle=False) as arrays:
        return put_together(head, card, arrays, encoder=encoder)
