"""Edits of the files of a saved model."""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dissensus.files.models.folder import ARRAY_FILES, SUMS


def head(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        values = json.loads(data)
        change(values)
        return json.dumps(values).encode()

    return changed


def arrays(**changes: Callable[[np.ndarray], np.ndarray]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        values = dict(np.load(io.BytesIO(data), allow_pickle=False))
        out = io.BytesIO()
        np.savez(out, allow_pickle=False, **{name: changes.get(name, np.asarray)(values[name]) for name in values})
        return out.getvalue()

    return changed


def name_unknown_compression(data: bytes) -> bytes:
    """Change the method of compression in each entry of the directory of a ZIP archive."""
    return re.sub(rb"(PK\x01\x02.{6})\0\0", rb"\1c\0", data, flags=re.DOTALL)


def claim_large_arrays(data: bytes) -> bytes:
    """Replace the arrays of an archive by headers of arrays that no memory holds."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (2**50,)}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            with new.open(name, "w") as member:
                np.lib.format.write_array_header_1_0(member, header)
    return out.getvalue()


def edit_file(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file of a saved model, and the checksums with it."""
    (folder / name).write_bytes(change((folder / name).read_bytes()))
    sums = [f"{hashlib.sha256((folder / other).read_bytes()).hexdigest()}  {other}" for other in ARRAY_FILES]
    (folder / SUMS).write_text("\n".join(sums))
