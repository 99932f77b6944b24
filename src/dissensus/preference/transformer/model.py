"""Transformer model: a scalar output of a network that reads the whole conversation."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair, Purpose
from dissensus.preference.models.model import check_purpose
from dissensus.preference.transformer.inference import run_network
from dissensus.preference.transformer.tokens import TokenizedTexts, TokenReader, render_each, render_pairs
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.result import FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Transformer:
    """Trained transformer, which scores an answer given the whole conversation before it.

    Parameters
    ----------
    purpose
        Purpose of the choices: ``harmless`` or ``helpful``.
    network
        Network of the library transformers with one output, the score before the temperature.
    reader
        Tokenizer of conversations.
    length_alone
        Weight of log length in the model by length alone, for comparison.
    temperature
        Divisor of scores, such that differences of scores are log odds.
    bf16
        True to compute in bfloat16, as in training.
    card
        Model card with data, settings, accuracy and limits, as plain values for JSON.
    """

    purpose: Purpose
    network: Any
    reader: TokenReader
    length_alone: float
    temperature: float
    bf16: bool = False
    card: dict[str, Any] = field(default_factory=dict)

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return the score of each bot turn of each conversation, given the turns before it.

        Conversations beyond the token limit are truncated from the left, with a warning; see `turns_cut`.

        Raises
        ------
        InvalidInput
            The weights give a score that is not finite.
        """
        texts = [list(render_each(talk)) for talk in transcripts]
        tokenized = self.reader.read([text for turns in texts for text in turns])
        if tokenized.cut.any():
            warnings.warn(
                f"Some turns with their context have more than {self.reader.max_length:,} tokens, the limit of this "
                "model. They are scored without the beginning of the conversation.",
                stacklevel=2,
            )
        scores = iter(self._scores(tokenized).tolist())
        return [list(islice(scores, len(turns))) for turns in texts]

    def margins(self, pairs: Sequence[Pair]) -> FloatArray:
        """Return the margin of each pair: score of the chosen minus score of the rejected answer."""
        scores = self._scores(self.reader.read(render_pairs(pairs)))
        return scores[0::2] - scores[1::2]

    def turns_cut(self, transcripts: Iterable[Conversation]) -> int:
        """Return the number of bot turns whose conversation is truncated."""
        return int(self.reader.read([text for talk in transcripts for text in render_each(talk)]).cut.sum())

    def pairs_cut(self, pairs: Sequence[Pair]) -> int:
        """Return the number of pairs in which a conversation is truncated."""
        cut = self.reader.read(render_pairs(pairs)).cut
        return int((cut[0::2] | cut[1::2]).sum())

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Raise an error if the purpose is not the model's, unless forced; see `models.model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _scores(self, texts: TokenizedTexts) -> FloatArray:
        scores = run_network(self.network, texts.rows, pad=self.reader.pad, bf16=self.bf16) / self.temperature
        if not np.isfinite(scores).all():
            raise InvalidInput("The weights of the model give scores that are not finite numbers. Train it again.")
        return scores
