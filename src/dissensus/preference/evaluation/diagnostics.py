"""What models that know of disagreement find on pairs, beside how often they are right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dissensus.preference.data.pairs import Pair, answers
from dissensus.preference.evaluation.group_accuracy import Gain, gains
from dissensus.preference.models.groups import Groups
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found; nothing of what a kind of model does not know."""

    # Share of all variance that lies between answers, see `dissensus.preference.models.mean_variance.MeanVariance`
    r_squared: float | None = None
    by_group: tuple[Gain, ...] = ()  # What it gains to foretell each group by itself

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain values for JSON."""
        found: dict[str, Any] = {} if self.r_squared is None else {"r_squared": self.r_squared}
        return found | ({"by_group": [one.to_dict() for one in self.by_group]} if self.by_group else {})


def findings_of(model: Model, pairs: Sequence[Pair], *, level: float = 0.95) -> Findings:
    """Return what a model finds on pairs, with intervals of this level; nothing for a linear one."""
    if isinstance(model, MeanVariance):
        return Findings(r_squared=model.r_squared(answers(pairs)))
    return Findings(by_group=gains(model, pairs, level=level)) if isinstance(model, Groups) else Findings()
