"""Text encoders and vectors of answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import BoolArray, FloatArray, Int64Array
from dissensus.stats.sparse import SparseRows

Vector = npt.NDArray[np.float32]

Progress = Callable[[float], None]
"""Function that is called with the completed share of the work, from 0 to 1."""

BATCH_SIZE: Final = 1_000
"""Texts per call of an encoder."""

INTERACTION_SCALE: Final = 0.5
"""Approximate norm of the interaction of answer and question, relative to that of the answer."""


class EncodedTexts(NamedTuple):
    """Vectors of texts, shape (texts, dimension), each of length 1, and a mask of truncated texts."""

    vectors: Vector
    cut: BoolArray


class Encoder(Protocol):
    """Frozen encoder of texts as vectors."""

    @property
    def name(self) -> str:
        """Name of the encoder."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension of the vectors."""
        ...

    @property
    def sha256(self) -> str:
        """SHA-256 of the weights and of all else that determines the vectors."""
        ...

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the vectors of texts."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of answers, and their interactions with the last human turn."""

    # Vector of each answer, followed by its elementwise product with that of the last human turn, times
    # `INTERACTION_SCALE` and the root of the dimension; shape (answers, 2 · dimension)
    values: Vector
    cut: BoolArray  # True if the answer or the turn before was truncated

    @classmethod
    def from_texts(
        cls, encoder: Encoder, texts: Sequence[str], questions: Sequence[str], *, progress: Progress | None = None
    ) -> "Vectors":
        """Encode answers and questions, each distinct text once; an empty question has no interactions."""
        index_by_text = {text: index for index, text in enumerate(dict.fromkeys((*texts, *questions)))}
        encoded = _encode(encoder, list(index_by_text), progress)
        answer, question = ([index_by_text[text] for text in side] for side in (texts, questions))
        has_question = np.array([bool(text.strip()) for text in questions], dtype=np.bool_)
        scale = np.float32(INTERACTION_SCALE * encoder.dimension**0.5) * has_question.astype(np.float32)
        vectors = encoded.vectors[answer]
        products = vectors * encoded.vectors[question] * scale[:, None]
        return cls(np.hstack([vectors, products]), encoded.cut[answer] | (encoded.cut[question] & has_question))

    def take(self, rows: Int64Array) -> "Vectors":
        """Return the vectors of these answer indices."""
        return Vectors(self.values[rows], self.cut[rows])

    def columns(self, *, crossed: bool) -> FloatArray:
        """Return the vectors of answers, with or without interactions."""
        columns = self.values if crossed else self.values[:, : self.values.shape[1] // 2]
        return columns.astype(np.float64)

    def differences(self, *, crossed: bool) -> SparseRows:
        """Return the vector of each even answer minus that of the odd answer after it."""
        columns = self.columns(crossed=crossed)
        return SparseRows.dense(columns[0::2] - columns[1::2])


def _encode(encoder: Encoder, texts: Sequence[str], progress: Progress | None) -> EncodedTexts:
    vectors, cut = np.empty((len(texts), encoder.dimension), np.float32), np.empty(len(texts), dtype=bool)
    for begin in range(0, len(texts), BATCH_SIZE):
        batch = texts[begin : begin + BATCH_SIZE]
        encoded = encoder.encode(batch)
        if encoded.vectors.shape != (len(batch), encoder.dimension) or not np.isfinite(encoded.vectors).all():
            raise InvalidInput(
                f"The encoder {encoder.name} returned vectors of shape {encoded.vectors.shape} for {len(batch):,} "
                f"texts; it must return {encoder.dimension:,} finite numbers for each."
            )
        vectors[begin : begin + BATCH_SIZE], cut[begin : begin + BATCH_SIZE] = encoded
        if progress is not None:
            progress(min(1.0, (begin + BATCH_SIZE) / len(texts)))
    return EncodedTexts(vectors, cut)
