"""Transcripts of conversations as tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dissensus.preference.data.pairs import Pair
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.stats.result import BoolArray, Int32Array
from dissensus.text.transcripts import join_hh

_BATCH_SIZE = 1_000


class TokenizedTexts(NamedTuple):
    """Token sequences of texts, and a mask of truncated texts."""

    rows: list[Int32Array]
    cut: BoolArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokenReader:
    """Tokenizer of conversations, which truncates them from the left."""

    tokenizer: Any  # Of the library tokenizers; encodes special tokens in a text as text
    begin: tuple[int, ...]  # Special tokens before and after each text
    end: tuple[int, ...]
    pad: int  # Padding token, which occurs in no text
    max_length: int  # Token limit of a text, special tokens included

    def read(self, texts: Sequence[str]) -> TokenizedTexts:
        """Return the tokens of each text, truncated from the left, since the answer comes last."""
        n_available = self.max_length - len(self.begin) - len(self.end)
        rows, cut = [], []
        for start in range(0, len(texts), _BATCH_SIZE):
            batch = list(texts[start : start + _BATCH_SIZE])
            for encoding in self.tokenizer.encode_batch(batch, add_special_tokens=False):
                rows.append(np.array([*self.begin, *encoding.ids[-n_available:], *self.end], dtype=np.int32))
                cut.append(len(encoding.ids) > n_available)
        return TokenizedTexts(rows, np.array(cut, dtype=np.bool_))


def render_pairs(pairs: Sequence[Pair]) -> list[str]:
    """Return the transcripts of each pair, that of the chosen answer first."""
    return [_render((*pair.context, Turn("bot", answer))) for pair in pairs for answer in (pair.chosen, pair.rejected)]


def render_each(talk: Conversation) -> Iterator[str]:
    r"""Yield a transcript for each bot turn, which ends with that turn.

    Examples
    --------
    >>> list(render_each(Conversation.from_turns([("human", "Hi"), ("bot", "Yes?"), ("bot", "Well?")])))
    ['\n\nHuman: Hi\n\nAssistant: Yes?', '\n\nHuman: Hi\n\nAssistant: Yes?\n\nAssistant: Well?']
    """
    for end, turn in enumerate(talk.turns, start=1):
        if turn.speaker == "bot":
            yield _render(talk.turns[:end])


def _render(turns: Sequence[Turn]) -> str:
    return join_hh((turn.speaker, turn.text) for turn in turns)
