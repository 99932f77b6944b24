"""Text encoders, and the vectors of answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.preference.data.sparse import FeatureRows, Floats, Integers

Vector = npt.NDArray[np.float32]

Progress = Callable[[float], None]

AT_ONCE: Final = 1_000
"""Texts that an encoder is given at a time."""

CROSSED: Final = 0.5
"""Length of what answer and question come to together beside that of the answer, about."""


class EncodedTexts(NamedTuple):
    """A vector of length 1 for each text, shape (texts, dimension), and whether more was said than could be read."""

    vectors: Vector
    cut: npt.NDArray[np.bool_]


class Encoder(Protocol):
    """Frozen encoder of texts as vectors."""

    @property
    def name(self) -> str:
        """Name of the encoder."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        ...

    @property
    def sha256(self) -> str:
        """Of its weights, and of whatever else its vectors depend on."""
        ...

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors of texts."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of answers, and of these with what was asked."""

    # Of each answer its own vector and then the product with that of the last human turn, number by number, times
    # `CROSSED` and the root of the dimension; shape (answers, 2 · dimension)
    values: Vector
    cut: npt.NDArray[np.bool_]  # Whether the answer or the turn before was longer than what is read of it

    @classmethod
    def of(
        cls, encoder: Encoder, texts: Sequence[str], asked: Sequence[str], *, progress: Progress | None = None
    ) -> "Vectors":
        """Return those of answers to what was asked, each text encoded once; nothing crosses where nothing was."""
        places = {text: place for place, text in enumerate(dict.fromkeys((*texts, *asked)))}
        found = _encoded(encoder, list(places), progress)
        said, before = ([places[text] for text in some] for some in (texts, asked))
        scale = np.float32(CROSSED * encoder.dimension**0.5) * np.array([bool(text.strip()) for text in asked])
        own = found.vectors[said]
        crossed = own * found.vectors[before] * scale.astype(np.float32)[:, None]
        return cls(np.hstack([own, crossed]), found.cut[said] | (found.cut[before] & (scale > 0)))

    def take(self, rows: Integers) -> "Vectors":
        """Return those of some answers."""
        return Vectors(self.values[rows], self.cut[rows])

    def columns(self, *, crossed: bool) -> Floats:
        """Return the numbers of answers, alone or with what was asked."""
        used = self.values if crossed else self.values[:, : self.values.shape[1] // 2]
        return used.astype(np.float64)

    def differences(self, *, crossed: bool) -> FeatureRows:
        """Return those of each even answer less those of the odd one after it."""
        used = self.columns(crossed=crossed)
        return FeatureRows.dense(used[0::2] - used[1::2])


def _encoded(encoder: Encoder, texts: Sequence[str], progress: Progress | None) -> EncodedTexts:
    vectors, cut = np.empty((len(texts), encoder.dimension), np.float32), np.empty(len(texts), dtype=bool)
    for begin in range(0, len(texts), AT_ONCE):
        some = texts[begin : begin + AT_ONCE]
        found = encoder.encode(some)
        if found.vectors.shape != (len(some), encoder.dimension) or not np.isfinite(found.vectors).all():
            raise InvalidInput(
                f"The encoder {encoder.name} gives numbers of shape {found.vectors.shape} for {len(some):,} texts; it "
                f"is to give {encoder.dimension:,} finite ones for each."
            )
        vectors[begin : begin + AT_ONCE], cut[begin : begin + AT_ONCE] = found
        if progress is not None:
            progress(min(1.0, (begin + AT_ONCE) / len(texts)))
    return EncodedTexts(vectors, cut)
