"""Small encoders without dependencies, whose vectors can be computed by hand."""

import hashlib
from collections.abc import Sequence

import numpy as np

from dissensus.preference.models.encoder import EncodedTexts

DIMENSION = 8


class Hashed:
    """Encodes the last 40 characters of a text as random numbers seeded by their hash."""

    name, dimension, sha256 = "hashed", DIMENSION, "a" * 64

    def __init__(self) -> None:
        self.read: list[str] = []

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        self.read += texts
        vectors = np.array([self._vector(text[-40:]) for text in texts]).reshape(-1, DIMENSION)
        return EncodedTexts(vectors.astype(np.float32), np.array([len(text) > 40 for text in texts], dtype=bool))

    @staticmethod
    def _vector(text: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = np.random.default_rng(seed).normal(size=DIMENSION)
        return np.asarray(vector / np.linalg.norm(vector))


class Topics:
    """Encodes the topic of a text, tea or maps."""

    name, dimension, sha256 = "topics", 2, "b" * 64
    tea = ("tea", "cup", "leaf", "kettle", "brew")

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        of_tea = np.array([any(word in text for word in self.tea) for text in texts])
        return EncodedTexts(np.stack([of_tea, ~of_tea], axis=1).astype(np.float32), np.zeros(len(texts), dtype=bool))
