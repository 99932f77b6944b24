"""Inference over token sequences."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dissensus.preference.data.sparse import Floats
from dissensus.preference.transformer.tokens import Row

BATCH_TOKENS: Final = 16_384
"""Tokens per batch, padding included."""


def pick_device() -> Any:
    """Return the device of this process: its GPU if available, else the CPU."""
    import os

    import torch

    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if torch.cuda.is_available() else "cpu"


def pad_rows(rows: Sequence[Row], pad: int) -> dict[str, Any]:
    """Return token sequences as tensors, padded on the right."""
    import torch

    length = max(map(len, rows))
    tokens = np.full((len(rows), length), pad, dtype=np.int64)
    mask = np.zeros((len(rows), length), dtype=np.int64)
    for index, row in enumerate(rows):
        tokens[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return {"input_ids": torch.from_numpy(tokens), "attention_mask": torch.from_numpy(mask)}


def run_network(network: Any, rows: Sequence[Row], *, pad: int, bf16: bool) -> Floats:
    """Return the output of a network for each token sequence, independent of their order."""
    import torch

    scores = np.empty(len(rows))
    network.eval()
    device = network.device
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        for batch in _batches(rows):
            padded = pad_rows([rows[index] for index in batch], pad)
            inputs = {name: tensor.to(device) for name, tensor in padded.items()}
            scores[batch] = network(**inputs).logits[:, 0].float().cpu().numpy()
    return scores


def _batches(rows: Sequence[Row]) -> Iterator[list[int]]:
    """Yield the indices of sequences of similar length, the longest first."""
    order = sorted(range(len(rows)), key=lambda index: (-len(rows[index]), rows[index].tobytes()))
    while order:
        size = max(1, BATCH_TOKENS // max(1, len(rows[order[0]])))
        yield order[:size]
        order = order[size:]
