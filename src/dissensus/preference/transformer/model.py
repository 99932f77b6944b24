"""A preference model that is a transformer with one output."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair, Purpose
from dissensus.preference.data.sparse import Floats
from dissensus.preference.models.model import check_purpose
from dissensus.preference.transformer.inference import run_network
from dissensus.preference.transformer.tokens import TokenReader, TokenRow, tokenise_each, tokenise_pair
from dissensus.schema.records.conversation import Conversation


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Transformer:
    """A trained model, which looks at an answer and all that was said before it.

    Parameters
    ----------
    purpose
        What people chose by: ``harmless`` or ``helpful``.
    network
        Of the library transformers, with one output, which is the score before the temperature.
    reader
        What makes its tokens of conversations.
    length_alone
        Weight of log length in a model that knows nothing else, for comparison.
    temperature
        By which scores are divided, so that differences of scores are log odds.
    bf16
        Whether it computes in bfloat16, as it was trained.
    card
        What the model was made of, and how far it can be trusted: plain values for JSON.
    """

    purpose: Purpose
    network: Any
    reader: TokenReader
    length_alone: float
    temperature: float
    bf16: bool = False
    card: dict[str, Any] = field(default_factory=dict)

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot, given all before it.

        What is longer than the model reads loses its beginning, and a warning says so; `turns_cut` counts.

        Raises
        ------
        InvalidInput
            The weights are such that a score is no number.
        """
        talks = [list(tokenise_each(talk)) for talk in transcripts]
        read = self.reader.read([told for talk in talks for told in talk])
        if read.cut.any():
            warnings.warn(
                f"Some turns have more than {self.reader.max_length:,} tokens with all before them. This model reads "
                "no more, so they are scored without what was said first.",
                stacklevel=2,
            )
        scores = iter(self._scores(read).tolist())
        return [list(islice(scores, len(talk))) for talk in talks]

    def margins(self, pairs: Sequence[Pair]) -> Floats:
        """Return the score of the chosen less that of the rejected answer of each pair."""
        scores = self._scores(self.reader.read(tokenise_pair(pairs)))
        return scores[0::2] - scores[1::2]

    def turns_cut(self, transcripts: Iterable[Conversation]) -> int:
        """Return how many turns of the bot are scored without the beginning of their conversation."""
        return int(self.reader.read([told for talk in transcripts for told in tokenise_each(talk)]).cut.sum())

    def pairs_cut(self, pairs: Sequence[Pair]) -> int:
        """Return how many pairs have an answer that is scored without the beginning of its conversation."""
        cut = self.reader.read(tokenise_pair(pairs)).cut
        return int((cut[0::2] | cut[1::2]).sum())

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Refuse another purpose than the model's, unless forced; see `models.model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _scores(self, read: TokenRow) -> Floats:
        found = run_network(self.network, read.rows, pad=self.reader.pad, bf16=self.bf16) / self.temperature
        if not np.isfinite(found).all():
            raise InvalidInput("The weights of the model give scores that are no numbers. Train it anew.")
        return found
