"""What it gains to foretell each group by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from dissensus.preference.data.examples import RATER, labels_of
from dissensus.preference.data.pairs import Pair, dialogues
from dissensus.preference.data.sparse import Floats
from dissensus.preference.evaluation.accuracy import right
from dissensus.stats.paired import Difference, paired_difference
from dissensus.stats.proportion import Share, clustered_share

Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """How often a model is right on the pairs of a group."""

    axis: str  # Whose pairs; both empty for all pairs
    group: str
    as_group: Share  # Accuracy with the effects of their groups, and of what all choose
    as_all: Share
    difference: Difference | None  # The former less the latter, on the same pairs; None where all are of one dialogue

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)


class ByGroup(Protocol):
    """A model that knows groups."""

    @property
    def population(self) -> Any:
        """What all choose."""
        ...

    def margins(self, pairs: Sequence[Pair], *, by_rater: bool = True) -> Floats:
        """Return margins by the groups of each pair."""
        ...


def gains(model: ByGroup, pairs: Sequence[Pair], *, level: float = 0.95) -> tuple[Gain, ...]:
    """Return what groups gain on pairs: all of them first, then each group of each axis."""
    hits = right(model.margins(pairs, by_rater=False)), right(model.population.margins(pairs))
    weight, dialogue = np.array([pair.weight for pair in pairs]), dialogues(pairs)

    def gain(axis: str, group: str, some: Mask) -> Gain:
        one, other = (found[some] for found in hits)
        share = partial(clustered_share, clusters=dialogue[some], weights=weight[some], level=level)
        known = len(np.unique(dialogue[some])) > 1
        apart = partial(paired_difference, clusters=dialogue[some], weights=weight[some], level=level)
        return Gain(
            axis=axis,
            group=group,
            as_group=share(one),
            as_all=share(other),
            difference=apart(one, other) if known else None,
        )

    return (gain("", "", np.ones(len(pairs), dtype=bool)), *(gain(*one) for one in _groups(pairs)))


def _groups(pairs: Sequence[Pair]) -> Iterator[tuple[str, str, Mask]]:
    for axis, labels in labels_of(pairs).items():
        if axis != RATER:
            for group in sorted({label for label in labels if label is not None}):
                yield axis, group, labels == group
