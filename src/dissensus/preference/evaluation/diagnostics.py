"""Diagnostics of preference models: variance between answers, and accuracy by group."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from dissensus.preference.data.examples import RATER, pair_labels
from dissensus.preference.data.pairs import Pair, answers, pair_clusters
from dissensus.preference.evaluation.accuracy import score_hits
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Model
from dissensus.stats.cluster_robust import ClusteredEstimate, clustered_share, paired_difference
from dissensus.stats.result import BoolArray


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAccuracy:
    """Accuracy on the pairs of one group, with and without group effects."""

    axis: str  # Axis and group of the pairs; both empty for all pairs
    group: str
    as_group: ClusteredEstimate  # Accuracy with group effects
    as_all: ClusteredEstimate  # Accuracy of the population prediction
    difference: ClusteredEstimate | None  # as_group minus as_all; None for a single dialogue and rater

    def to_dict(self) -> dict[str, Any]:
        """Return the accuracies as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """Diagnostics of a model; None or empty if its kind does not define them."""

    # Share of variance between answers, see `dissensus.preference.models.mean_variance.MeanVariance`
    r_squared: float | None = None
    by_group: tuple[GroupAccuracy, ...] = ()  # Accuracy with and without group effects

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics as plain values for JSON."""
        values: dict[str, Any] = {} if self.r_squared is None else {"r_squared": self.r_squared}
        return values | ({"by_group": [group.to_dict() for group in self.by_group]} if self.by_group else {})


def compute_diagnostics(model: Model, pairs: Sequence[Pair], *, confidence: float = 0.95) -> Diagnostics:
    """Compute the diagnostics of a model on pairs, with intervals of this confidence."""
    if isinstance(model, MeanVariance):
        return Diagnostics(r_squared=model.r_squared(answers(pairs)))
    if isinstance(model, Groups):
        return Diagnostics(by_group=compute_group_accuracy(model, pairs, confidence=confidence))
    return Diagnostics()


def compute_group_accuracy(model: Groups, pairs: Sequence[Pair], *, confidence: float) -> tuple[GroupAccuracy, ...]:
    """Return accuracies on all pairs, then on those of each group of each axis."""
    hits = score_hits(model.margins(pairs, by_rater=False)), score_hits(model.population.margins(pairs))
    weight, cases = np.array([pair.weight for pair in pairs]), pair_clusters(pairs)

    def compare(axis: str, group: str, mask: BoolArray) -> GroupAccuracy:
        as_group, as_all = (values[mask] for values in hits)
        clusters, weights = cases[:, mask], weight[mask]
        share = partial(clustered_share, clusters=clusters, weights=weights, confidence=confidence)
        difference = None
        if (clusters.max(axis=1) > clusters.min(axis=1)).any():
            difference = paired_difference(as_group, as_all, clusters=clusters, weights=weights, confidence=confidence)
        return GroupAccuracy(
            axis=axis, group=group, as_group=share(as_group), as_all=share(as_all), difference=difference
        )

    return (compare("", "", np.ones(len(pairs), dtype=bool)), *(compare(*masked) for masked in _group_masks(pairs)))


def _group_masks(pairs: Sequence[Pair]) -> Iterator[tuple[str, str, BoolArray]]:
    for axis, labels in pair_labels(pairs).items():
        if axis != RATER:
            for group in sorted({label for label in labels if label is not None}):
                yield axis, group, labels == group
