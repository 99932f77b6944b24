"""Holdout split: pairs for training, and held-out pairs for evaluation, divided by dialogue."""

import hashlib
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from dissensus.preference.data.pairs import Pair

HELD_OUT: Final = 5
"""One in this number of dialogues is held out and never trained on."""


class HoldoutSplit(NamedTuple):
    """Training pairs and held-out pairs."""

    training: tuple[Pair, ...]
    held_out: tuple[Pair, ...]


def split_holdout(pairs: Sequence[Pair]) -> HoldoutSplit:
    """Split pairs into training pairs and held-out pairs by a hash of the dialogue's first human turn.

    About one in five dialogues is held out. A dialogue is always on the same side, whatever the other pairs, so
    held-out pairs are never trained on later. Case and white space are ignored.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", f"Hello {number}"),), "yes", "no") for number in range(1000)]
    >>> held_out = set(split_holdout(pairs).held_out)
    >>> len(held_out), set(split_holdout(pairs[:500]).held_out) <= held_out
    (201, True)
    """
    sides = [_hash_dialogue(pair.dialogue) % HELD_OUT == 0 for pair in pairs]
    training = tuple(pair for pair, out in zip(pairs, sides, strict=True) if not out)
    return HoldoutSplit(training, tuple(pair for pair, out in zip(pairs, sides, strict=True) if out))


def _hash_dialogue(dialogue: str) -> int:
    normalised = " ".join(unicodedata.normalize("NFKC", dialogue).casefold().split())
    return int.from_bytes(hashlib.sha256(f"held out {normalised}".encode("utf-8", "surrogatepass")).digest()[:8])
