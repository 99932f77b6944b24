"""Model folders: JSON, plain arrays, and a SHA-256 for each file."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.models.parts import assemble_model, disassemble_model
from dissensus.files.models.transformer import (
    NETWORK,
    NETWORK_FILES,
    read_transformer,
    transformer_head,
    write_transformer,
)
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.preference.models.encoder import Encoder
from dissensus.preference.models.kinds import AnyModel
from dissensus.preference.models.model import ModelIdentity
from dissensus.preference.transformer.model import Transformer
from dissensus.schema.hints import format_list, format_value

MODEL: Final = "model.json"
CARD: Final = "card.json"
WEIGHTS: Final = "weights.npz"
SUMS: Final = "SHA256SUMS"
ARRAY_FILES: Final = (MODEL, CARD, WEIGHTS)
"""Files of models that are arrays, beside their sums."""

TRANSFORMER_FILES: Final = (MODEL, CARD, *NETWORK_FILES)
"""Files of a transformer, beside their sums; a folder of one holds nothing else."""

MAX_FILE_BYTES: Final = 2**27
"""Bytes of one file of a folder that is read as a whole, and of all arrays together."""


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
    names: tuple[str, ...] = TRANSFORMER_FILES if isinstance(model, Transformer) else ARRAY_FILES
    for other in {*ARRAY_FILES, *TRANSFORMER_FILES} - set(names):
        (folder / other).unlink(missing_ok=True)  # of a model of another kind, which this one replaces
    if isinstance(model, Transformer):
        head = transformer_head(model)
        write_transformer(model, folder)
    else:
        head, arrays = disassemble_model(model)
        write_atomically(_packed(arrays), folder / WEIGHTS)
    for name, values in ((MODEL, head), (CARD, model.card)):
        write_atomically(_json(values), folder / name)
    write_atomically("".join(f"{_sha256(folder / name)}  {name}\n" for name in names).encode(), folder / SUMS)


def make_folder(folder: Path) -> None:
    """Make the folder of a model, before the work for it begins."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = _others(folder, (*ARRAY_FILES, *TRANSFORMER_FILES))
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be a folder: {error.strerror}. Name another one.") from None
    if others:
        raise InvalidInput(f"{folder} holds something else than a model: {format_list(others, 3)}. Name a new one.")


def read_identity(folder: Path) -> ModelIdentity:
    """Return the identity of a model: the name of its folder, and the SHA-256 of its checksums."""
    if not (folder / SUMS).is_file():
        raise NotFound(f"{folder} is no whole model: {SUMS} is missing. Copy it again, or train it anew.")
    return ModelIdentity(folder.resolve().name, hashlib.sha256(_read(folder / SUMS)).hexdigest())


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
        Its encoder is not installed, or is another one; or it is a transformer, and the extra ``ml`` is not installed.
    """
    if not folder.is_dir():
        raise NotFound(f"There is no folder {format_value(folder)}. Make a model with: dissensus preference train.")
    sums = _sums(folder)
    known = {*sums, *_others(folder, ())}
    names: tuple[str, ...] = TRANSFORMER_FILES if NETWORK in known and WEIGHTS not in known else ARRAY_FILES
    missing = [name for name in (*names, SUMS) if not (folder / name).is_file()]
    if missing:
        raise NotFound(
            f"{folder} is no whole model: {format_list(missing)} is missing. Copy it again, or train it anew."
        )
    for name in names:
        if sums.get(name) != _sha256(folder / name):
            _refuse(folder, f"the SHA-256 of {name} is not the one in {SUMS}, so it was cut or changed")
    try:
        head, card = json.loads(_read(folder / MODEL)), json.loads(_read(folder / CARD))
        if names is ARRAY_FILES:
            return _of_arrays(head, card, _read(folder / WEIGHTS), encoder)
        if others := _others(folder, names):
            raise ValueError(f"it holds {format_list(others, 3)} too")
        return read_transformer(head, card, folder)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError, zipfile.BadZipFile) as error:
        _refuse(folder, format_value(error))


def _refuse(folder: Path, why: str) -> NoReturn:
    raise InvalidInput(f"{folder} is no model that can be trusted: {why}. Copy it again, or train it anew.")


def _others(folder: Path, names: tuple[str, ...]) -> list[str]:
    """Return what a folder holds beside these files and their sums."""
    return sorted(path.name for path in folder.iterdir() if path.name not in (*names, SUMS))


def _sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file as it was written; none where that is missing."""
    if not (folder / SUMS).is_file():
        return {}
    lines = _read(folder / SUMS).decode("utf-8", "replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InvalidInput(f"{path} is larger than {MAX_FILE_BYTES:,} bytes, the most that a file of a model has.")
    return path.read_bytes()


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def _packed(arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def _of_arrays(head: dict[str, Any], card: dict[str, Any], weights: bytes, encoder: Encoder | None) -> AnyModel:
    with zipfile.ZipFile(io.BytesIO(weights)) as packed:
        if sum(part.file_size for part in packed.infolist()) > MAX_FILE_BYTES:
            raise ValueError("its arrays are too large")
    with np.load(io.BytesIO(weights), allow_pickle=False) as arrays:
        return assemble_model(head, card, arrays, encoder=encoder)
