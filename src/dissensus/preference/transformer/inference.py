"""Inference over token sequences."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.models.encoder import Vector
from dissensus.stats.result import FloatArray, Int32Array

BATCH_TOKENS: Final = 16_384
"""Tokens per batch, padding included."""


def pick_device() -> Any:
    """Return the device of this process: its GPU if available, else the CPU."""
    import os

    import torch

    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if torch.cuda.is_available() else "cpu"


def pad_rows(rows: Sequence[Int32Array], pad: int) -> dict[str, Any]:
    """Return token sequences as tensors, padded on the right."""
    import torch

    length = max(map(len, rows))
    tokens = np.full((len(rows), length), pad, dtype=np.int64)
    mask = np.zeros((len(rows), length), dtype=np.int64)
    for index, row in enumerate(rows):
        tokens[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return {"input_ids": torch.from_numpy(tokens), "attention_mask": torch.from_numpy(mask)}


def run_network(network: Any, rows: Sequence[Int32Array], *, pad: int, bf16: bool) -> FloatArray:
    """Return the output of a network for each token sequence, independent of their order."""
    scores = np.empty(len(rows))
    for batch, _, output in _run_batches(network, rows, pad=pad, bf16=bf16):
        scores[batch] = output.logits[:, 0].float().cpu().numpy()
    return scores


def encode_rows(network: Any, rows: Sequence[Int32Array], *, pad: int) -> Vector:
    """Return the input of the output layer of a network for each token sequence, scaled to length 1."""
    from torch.nn.functional import normalize

    head, inputs = find_head(network), list[Any]()
    vectors = np.empty((len(rows), head.in_features), np.float32)
    hook = head.register_forward_pre_hook(lambda _, arguments: inputs.append(arguments[0]))
    try:
        for batch, mask, _ in _run_batches(network, rows, pad=pad, bf16=False):
            states = inputs.pop()
            if states.ndim > 2:  # One state of each token; the last one has read the whole text
                states = states[range(len(batch)), mask.sum(1) - 1]
            vectors[batch] = normalize(states.float(), dim=1).cpu().numpy()
    finally:
        hook.remove()
    return vectors


def find_head(network: Any) -> Any:
    """Return the linear layer that gives the output of a network."""
    import torch

    linear = [layer for layer in network.modules() if isinstance(layer, torch.nn.Linear) and layer.out_features == 1]
    if not linear:
        raise InvalidInput("The output of this base model is not a linear layer. Name another base model.")
    return linear[-1]


def _run_batches(
    network: Any, rows: Sequence[Int32Array], *, pad: int, bf16: bool
) -> Iterator[tuple[list[int], Any, Any]]:
    """Yield the indices of the token sequences of each batch, their mask, and the output of the network."""
    import torch

    network.eval()
    device = network.device
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        for batch in _batches(rows):
            padded = pad_rows([rows[index] for index in batch], pad)
            inputs = {name: tensor.to(device) for name, tensor in padded.items()}
            yield batch, inputs["attention_mask"], network(**inputs)


def _batches(rows: Sequence[Int32Array]) -> Iterator[list[int]]:
    """Yield the indices of sequences of similar length, the longest first."""
    order = sorted(range(len(rows)), key=lambda index: (-len(rows[index]), rows[index].tobytes()))
    begin = 0
    while begin < len(order):
        size = max(1, BATCH_TOKENS // max(1, len(rows[order[begin]])))
        yield order[begin : begin + size]
        begin += size
