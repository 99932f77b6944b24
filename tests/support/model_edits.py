"""Edits of the files of a saved model."""

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np


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
