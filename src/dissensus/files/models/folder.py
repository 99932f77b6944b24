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
from dissensus.files.models.jury import KIND, assemble_jury, disassemble_jury
from dissensus.files.models.parts import assemble_model, disassemble_model
from dissensus.files.models.transformer import (
    NETWORK,
    NETWORK_FILES,
    read_transformer,
    read_tuned_encoder,
    transformer_header,
    write_transformer,
)
from dissensus.files.raw.atomic_write import make_folder, write_atomically
from dissensus.files.raw.content import digest_file
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.models.encoder import Encoder
from dissensus.preference.models.kinds import AnyModel
from dissensus.preference.models.model import ModelIdentity
from dissensus.preference.transformer.encoder import TunedEncoder
from dissensus.preference.transformer.model import Transformer
from dissensus.schema.hints import format_list, format_value

MODEL: Final = "model.json"
CARD: Final = "card.json"
WEIGHTS: Final = "weights.npz"
SUMS: Final = "SHA256SUMS"
ARRAY_FILES: Final = (MODEL, CARD, WEIGHTS)
"""Files of a model of arrays, besides the checksums."""

TRANSFORMER_FILES: Final = (MODEL, CARD, *NETWORK_FILES)
"""Files of a transformer, besides the checksums; its folder holds nothing else."""

TUNED_JURY_FILES: Final = (*ARRAY_FILES, *NETWORK_FILES)
"""Files of a jury model with a transformer, besides the checksums; its folder holds nothing else."""

MAX_FILE_BYTES: Final = 2**27
"""Bytes of a file that is read into memory, and of all arrays together."""


def save_model(model: AnyModel | JuryModel, folder: Path) -> None:
    """Write a model as a folder; the same model gives the same bytes.

    Raises
    ------
    InvalidInput
        The folder holds other files.
    Unavailable
        The folder cannot be written.
    """
    make_model_folder(folder)
    names, tuned = _list_files(model)
    for other in {*ARRAY_FILES, *TRANSFORMER_FILES} - set(names):
        (folder / other).unlink(missing_ok=True)  # left by a replaced model of another kind
    if isinstance(model, Transformer):
        header = transformer_header(model)
        write_transformer(model, folder)
    else:
        header, arrays = disassemble_jury(model) if isinstance(model, JuryModel) else disassemble_model(model)
        if tuned is not None:
            write_transformer(tuned, folder)
        write_atomically(_pack_arrays(arrays), folder / WEIGHTS)
    for name, values in ((MODEL, header), (CARD, model.card)):
        write_atomically(_json(values), folder / name)
    write_atomically("".join(f"{digest_file(folder / name)}  {name}\n" for name in names).encode(), folder / SUMS)


def _list_files(model: AnyModel | JuryModel) -> tuple[tuple[str, ...], TunedEncoder | None]:
    """Return the names of the files of a model, and the transformer of a jury model that has one."""
    if isinstance(model, JuryModel) and isinstance(model.features.encoder, TunedEncoder):
        return TUNED_JURY_FILES, model.features.encoder
    return TRANSFORMER_FILES if isinstance(model, Transformer) else ARRAY_FILES, None


def make_model_folder(folder: Path) -> None:
    """Make the folder of a model, or check that one holds nothing but a model."""
    foreign = [name for name in make_folder(folder) if name not in (*ARRAY_FILES, *TRANSFORMER_FILES, SUMS)]
    if foreign:
        raise InvalidInput(f"{folder} holds other files than a model: {format_list(foreign, 3)}. Name a new one.")


def read_identity(folder: Path) -> ModelIdentity:
    """Return the identity of a model: the name of its folder, and the SHA-256 of its checksums."""
    if not (folder / SUMS).is_file():
        raise NotFound(f"{folder} is not a complete model: {SUMS} is missing. Copy it again, or train it again.")
    return ModelIdentity(folder.resolve().name, hashlib.sha256(_read(folder / SUMS)).hexdigest())


def load_any_model(folder: Path, *, encoder: Encoder | None = None) -> AnyModel | JuryModel:
    """Read a preference model or a jury model; errors as of `load_model`."""
    if not folder.is_dir():
        raise NotFound(
            f"There is no folder {format_value(folder)}. Make a model with: dissensus preference train, or "
            "dissensus jury train."
        )
    sums = _read_sums(folder)
    present = {*sums, *_list_others(folder, ())}
    names: tuple[str, ...] = TRANSFORMER_FILES if NETWORK in present and WEIGHTS not in present else ARRAY_FILES
    if {NETWORK, WEIGHTS} <= set(sums):
        names = TUNED_JURY_FILES
    missing = [name for name in (*names, SUMS) if not (folder / name).is_file()]
    if missing:
        raise NotFound(
            f"{folder} is not a complete model: {format_list(missing)} is missing. Copy it again, or train it again."
        )
    for name in names:
        if sums.get(name) != digest_file(folder / name):
            _refuse(folder, f"the SHA-256 of {name} is not the one in {SUMS}, so it was truncated or changed")
    try:
        header, card = json.loads(_read(folder / MODEL)), json.loads(_read(folder / CARD))
        if names is not ARRAY_FILES and (foreign := _list_others(folder, names)):
            raise ValueError(f"it holds {format_list(foreign, 3)} too")
        if names is TRANSFORMER_FILES:
            return read_transformer(header, card, folder)
        if names is TUNED_JURY_FILES:
            encoder = read_tuned_encoder(header["transformer"], folder)
        return _build_model(header, card, _read(folder / WEIGHTS), encoder)
    except (ValueError, KeyError, TypeError, ArithmeticError, AttributeError, OSError, RecursionError) as error:
        _refuse(folder, format_value(error))


def load_model(folder: Path, *, encoder: Encoder | None = None) -> AnyModel:
    """Read a preference model.

    Parameters
    ----------
    folder
        As `save_model` writes it.
    encoder
        Encoder that an embedding model was trained with; default: the installed one of the same name.

    Raises
    ------
    NotFound
        The folder or a file in it does not exist.
    InvalidInput
        A file was truncated, changed, or comes from elsewhere; or the folder holds a jury model.
    Unavailable
        The encoder is not installed or is a different one; or the extra ``ml`` that transformers need is not installed.
    """
    model = load_any_model(folder, encoder=encoder)
    if isinstance(model, JuryModel):
        raise InvalidInput(
            f"{folder} holds a jury model, and a preference model is needed. For jury models: dissensus jury evaluate, "
            "dissensus jury predict."
        )
    return model


def load_jury_model(folder: Path, *, encoder: Encoder | None = None) -> JuryModel:
    """Read a jury model, as `save_model` writes it.

    Raises
    ------
    NotFound
        The folder or a file in it does not exist.
    InvalidInput
        A file was truncated, changed, or comes from elsewhere; or the folder holds a preference model.
    Unavailable
        The encoder is not installed or is a different one.
    """
    model = load_any_model(folder, encoder=encoder)
    if not isinstance(model, JuryModel):
        raise InvalidInput(
            f"{folder} holds a preference model, and a jury model is needed. Make one with: dissensus jury train."
        )
    return model


def _refuse(folder: Path, reason: str) -> NoReturn:
    raise InvalidInput(f"{folder} is not a valid model: {reason}. Copy it again, or train it again.")


def _list_others(folder: Path, names: tuple[str, ...]) -> list[str]:
    """Return the other files of a folder, besides these and the checksums."""
    return sorted(path.name for path in folder.iterdir() if path.name not in (*names, SUMS))


def _read_sums(folder: Path) -> dict[str, str]:
    """Return the recorded SHA-256 of each file; empty if the checksums are missing."""
    if not (folder / SUMS).is_file():
        return {}
    lines = _read(folder / SUMS).decode("utf-8", "replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _read(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InvalidInput(f"{path} is larger than {MAX_FILE_BYTES:,} bytes, the maximum for a file of a model.")
    return path.read_bytes()


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode()


def _pack_arrays(arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def _build_model(
    header: dict[str, Any], card: dict[str, Any], weights: bytes, encoder: Encoder | None
) -> AnyModel | JuryModel:
    arrays = _unpack_arrays(weights)
    if header["kind"] == KIND:
        return assemble_jury(header, card, arrays, encoder=encoder)
    return assemble_model(header, card, arrays, encoder=encoder)


def _unpack_arrays(weights: bytes) -> dict[str, npt.NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(weights)) as packed:
            n_bytes = sum(part.file_size for part in packed.infolist())
        if n_bytes <= MAX_FILE_BYTES:
            with np.load(io.BytesIO(weights), allow_pickle=False) as arrays:
                return dict(arrays)
    except Exception as error:  # the libraries raise many kinds for damaged archives and arrays
        raise ValueError(f"its arrays cannot be read: {error}") from None
    raise ValueError("its arrays are too large")
