"""Inference over rows of tokens."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dissensus.preference.data.sparse import Floats
from dissensus.preference.transformer.tokens import Row

TOKENS_AT_ONCE: Final = 16_384
"""Tokens that are scored together, padding included."""


def pick_device() -> Any:
    """Return where networks run: the GPU of this process, if there is one."""
    import os

    import torch

    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if torch.cuda.is_available() else "cpu"


def pad_rows(rows: Sequence[Row], pad: int) -> dict[str, Any]:
    """Return rows of tokens as tensors, filled up on the right."""
    import torch

    longest = max(map(len, rows))
    tokens = np.full((len(rows), longest), pad, dtype=np.int64)
    known = np.zeros((len(rows), longest), dtype=np.int64)
    for row, held in zip(range(len(rows)), rows, strict=True):
        tokens[row, : len(held)] = held
        known[row, : len(held)] = 1
    return {"input_ids": torch.from_numpy(tokens), "attention_mask": torch.from_numpy(known)}


def run_network(network: Any, rows: Sequence[Row], *, pad: int, bf16: bool) -> Floats:
    """Return what the one output of a network says of each row, whatever their order."""
    import torch

    found = np.empty(len(rows))
    network.eval()
    where = network.device
    with torch.inference_mode(), torch.autocast(where.type, torch.bfloat16, enabled=bf16):
        for some in _batches(rows):
            given = {name: held.to(where) for name, held in pad_rows([rows[row] for row in some], pad).items()}
            found[some] = network(**given).logits[:, 0].float().cpu().numpy()
    return found


def _batches(rows: Sequence[Row]) -> Iterator[list[int]]:
    """Yield the places of rows of about the same length, the longest first."""
    order = sorted(range(len(rows)), key=lambda row: (-len(rows[row]), rows[row].tobytes()))
    while order:
        many = max(1, TOKENS_AT_ONCE // max(1, len(rows[order[0]])))
        yield order[:many]
        order = order[many:]
