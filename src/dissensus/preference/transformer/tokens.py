"""Tokenised conversations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.pairs import Pair
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.text.transcripts import join_hh

Row = npt.NDArray[np.int32]

_AT_ONCE = 1_000


class TokenRow(NamedTuple):
    """The tokens of texts, and of each text whether its beginning was cut."""

    rows: list[Row]
    cut: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokenReader:
    """Tokeniser of conversations, truncated from the left."""

    tokenizer: Any  # Of the library tokenizers; what looks like one of its marks in a text is text
    begin: tuple[int, ...]  # Marks around each text
    end: tuple[int, ...]
    pad: int  # The token that fills up rows, which no text has
    max_length: int  # Most tokens of a text, marks included

    def read(self, texts: Sequence[str]) -> TokenRow:
        """Return the tokens of each text: the last ones where there are too many, since the answer comes last."""
        room = self.max_length - len(self.begin) - len(self.end)
        rows, cut = [], []
        for start in range(0, len(texts), _AT_ONCE):
            for one in self.tokenizer.encode_batch(list(texts[start : start + _AT_ONCE]), add_special_tokens=False):
                rows.append(np.array([*self.begin, *one.ids[-room:], *self.end], dtype=np.int32))
                cut.append(len(one.ids) > room)
        return TokenRow(rows, np.array(cut, dtype=np.bool_))


def tokenise_pair(pairs: Sequence[Pair]) -> list[str]:
    """Return each pair as two transcripts, that of the chosen answer first."""
    return [_told((*pair.context, Turn("bot", said))) for pair in pairs for said in (pair.chosen, pair.rejected)]


def tokenise_each(talk: Conversation) -> Iterator[str]:
    r"""Yield a transcript for each turn of the bot, which comes last after all before it.

    Examples
    --------
    >>> list(tokenise_each(Conversation.from_turns([("human", "Hi"), ("bot", "Yes?"), ("bot", "Well?")])))
    ['\n\nHuman: Hi\n\nAssistant: Yes?', '\n\nHuman: Hi\n\nAssistant: Yes?\n\nAssistant: Well?']
    """
    for place, turn in enumerate(talk.turns, start=1):
        if turn.speaker == "bot":
            yield _told(talk.turns[:place])


def _told(turns: Sequence[Turn]) -> str:
    return join_hh((turn.speaker, turn.text) for turn in turns)
