"""Encoder of texts by a tuned transformer."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.preference.models.encoder import EncodedTexts
from dissensus.preference.transformer.inference import encode_rows, find_head
from dissensus.preference.transformer.tokens import TokenReader

NAME: Final = "transformer"


@dataclass(frozen=True, eq=False, kw_only=True)
class TunedEncoder:
    """Encoder of texts by the input of the output layer of a network."""

    network: Any
    reader: TokenReader

    name: Final = NAME

    @property
    def dimension(self) -> int:
        """Dimension of the vectors."""
        return int(find_head(self.network).in_features)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the weights and of all else that determines the vectors."""
        reader, digest = self.reader, hashlib.sha256()
        digest.update(repr((reader.begin, reader.end, reader.pad, reader.max_length)).encode())
        digest.update(reader.tokenizer.to_str().encode())
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors of texts, which are truncated from the left beyond the token limit."""
        tokenized = self.reader.read(texts)
        vectors = encode_rows(self.network, tokenized.rows, pad=self.reader.pad)
        if not np.isfinite(vectors).all():
            raise UndefinedEstimate(
                "Tuning the transformer diverged: its vectors are not finite numbers. Lower the learning rate: "
                "--learning-rate."
            )
        return EncodedTexts(vectors, tokenized.cut)
