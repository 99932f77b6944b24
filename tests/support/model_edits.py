"""Edits of the files of a saved model."""

import hashlib
import io
import json
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


def edit_file(folder: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file of a saved model, and the checksums with it."""
    (folder / name).write_bytes(change((folder / name).read_bytes()))
    sums = [f"{hashlib.sha256((folder / other).read_bytes()).hexdigest()}  {other}" for other in ARRAY_FILES]
    (folder / SUMS).write_text("\n".join(sums))
