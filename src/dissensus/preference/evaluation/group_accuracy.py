"""Accuracy gained by predicting each group separately."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from dissensus.preference.data.examples import RATER, pair_labels
from dissensus.preference.data.pairs import Pair, dialogues
from dissensus.preference.data.sparse import Floats
from dissensus.preference.evaluation.accuracy import score_hits
from dissensus.stats.cluster_robust import ClusteredEstimate, clustered_share, paired_difference

Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAccuracy:
    """Accuracy on the pairs of one group, by the population model and by the group's own."""

    axis: str  # Whose pairs; both empty for all pairs
    group: str
    as_group: ClusteredEstimate  # Accuracy with the effects of their groups, and of what all choose
    as_all: ClusteredEstimate
    difference: ClusteredEstimate | None  # as_group less as_all on the same pairs; None for a single dialogue

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)


class GroupAccuracies(Protocol):
    """A model that knows groups."""

    @property
    def population(self) -> Any:
        """Accuracy of the population prediction."""
        ...

    def margins(self, pairs: Sequence[Pair], *, by_rater: bool = True) -> Floats:
        """Return margins by the groups of each pair."""
        ...


def compute_group_accuracy(
    model: GroupAccuracies, pairs: Sequence[Pair], *, level: float = 0.95
) -> tuple[GroupAccuracy, ...]:
    """Return what groups gain on pairs: all of them first, then each group of each axis."""
    hits = score_hits(model.margins(pairs, by_rater=False)), score_hits(model.population.margins(pairs))
    weight, dialogue = np.array([pair.weight for pair in pairs]), dialogues(pairs)

    def gain(axis: str, group: str, some: Mask) -> GroupAccuracy:
        one, other = (found[some] for found in hits)
        share = partial(clustered_share, clusters=dialogue[some], weights=weight[some], level=level)
        known = len(np.unique(dialogue[some])) > 1
        apart = partial(paired_difference, clusters=dialogue[some], weights=weight[some], level=level)
        return GroupAccuracy(
            axis=axis,
            group=group,
            as_group=share(one),
            as_all=share(other),
            difference=apart(one, other) if known else None,
        )

    return (gain("", "", np.ones(len(pairs), dtype=bool)), *(gain(*one) for one in _groups(pairs)))


def _groups(pairs: Sequence[Pair]) -> Iterator[tuple[str, str, Mask]]:
    for axis, labels in pair_labels(pairs).items():
        if axis != RATER:
            for group in sorted({label for label in labels if label is not None}):
                yield axis, group, labels == group
