"""Near duplicates by comparing all pairs."""

import re
from collections.abc import Sequence
from itertools import combinations


def shingles(text: str, words: int) -> frozenset[tuple[str, ...]]:
    """Return the runs of words of a text."""
    tokens = re.findall(r"\w+", text.casefold())
    return frozenset(tuple(tokens[place : place + words]) for place in range(max(1, len(tokens) - words + 1)))


def firsts(texts: Sequence[str], threshold: float, words: int = 3) -> list[int]:
    """Return for each text the first of its group; a group is joined by pairs as similar as the threshold."""
    sets = [shingles(text, words) for text in texts]
    group = list(range(len(texts)))
    for i, j in combinations(range(len(texts)), 2):
        if len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= threshold:
            low, high = sorted((group[i], group[j]))
            group = [low if first == high else first for first in group]
    return group
