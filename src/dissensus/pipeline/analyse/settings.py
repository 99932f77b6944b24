"""Settings of an analysis, stored with its result so that it can be repeated."""

from dataclasses import dataclass
from typing import Literal, get_args

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.level import Level
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import REST
from dissensus.stats.bootstrap import Resample
from dissensus.stats.permutation import Method
from dissensus.stats.result import check_confidence

Family = Literal["table", "metric", "axis", "axis-metric"]
Adjust = Literal["bh", "max-t"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisSettings:
    """Settings that determine an analysis, apart from the ratings; see `analyse`."""

    question: str
    share_of: str | None  # Answer whose share is compared; None where means are compared
    axes: tuple[str, ...]
    by_item: tuple[str, ...] = ()  # Attributes of items
    level: Level = "nominal"
    against: str = REST
    permutations: int = 0
    permute_within: str | None = None
    method: Method = "two-sided"
    adjust: Adjust = "bh"
    family: Family = "table"
    bootstrap: int = 0
    resample: Resample = "both"
    confidence: float = 0.95
    seed: int = 0
    min_raters: int = 5
    differences: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (
            ("level", Level),
            ("method", Method),
            ("adjust", Adjust),
            ("family", Family),
            ("resample", Resample),
        ):
            if getattr(self, name) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                raise InvalidInput(f"{name} is {getattr(self, name)!r}; choose one of {choices}.")
        for name in ("permutations", "bootstrap", "seed", "min_raters"):
            check_whole(name, getattr(self, name))
        if self.bootstrap == 1:
            raise InvalidInput("bootstrap is 1; one replicate has no spread. Give 0, or 1000 for a stable interval.")
        check_confidence(self.confidence)
