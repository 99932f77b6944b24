"""Diagnostics of models that represent disagreement, beside their accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.preference.data.pairs import Pair, answers
from dissensus.preference.evaluation.group_accuracy import GroupAccuracy, compute_group_accuracy
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """Diagnostics of a model; None for those that its kind does not define."""

    # Share of all variance that lies between answers, see `dissensus.preference.models.mean_variance.MeanVariance`
    r_squared: float | None = None
    by_group: tuple[GroupAccuracy, ...] = ()  # What it gains to foretell each group by itself

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain values for JSON."""
        found: dict[str, Any] = {} if self.r_squared is None else {"r_squared": self.r_squared}
        return found | ({"by_group": [one.to_dict() for one in self.by_group]} if self.by_group else {})


def compute_diagnostics(model: Model, pairs: Sequence[Pair], *, level: float = 0.95) -> Diagnostics:
    """Return what a model finds on pairs, with intervals of this level; nothing for a linear one."""
    if isinstance(model, MeanVariance):
        return Diagnostics(r_squared=model.r_squared(answers(pairs)))
    return (
        Diagnostics(by_group=compute_group_accuracy(model, pairs, level=level))
        if isinstance(model, Groups)
        else Diagnostics()
    )
