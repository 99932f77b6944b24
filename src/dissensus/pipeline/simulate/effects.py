"""True effects of items, raters and groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
import polars as pl

from dissensus.schema.numbers import check_number, check_spread
from dissensus.stats.result import FloatArray, Int64Array


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEffects:
    """Effects of the groups of one axis; groups not named have none."""

    main: Mapping[str, float] = field(default_factory=dict)  # Main effect of a group
    severity: Mapping[str, float] = field(default_factory=dict)  # Effect per standard deviation of an item's severity
    item_sd: Mapping[str, float] = field(default_factory=dict)  # Standard deviation of the group × item effects

    def __post_init__(self) -> None:
        for name in ("main", "severity"):
            for group, value in getattr(self, name).items():
                check_number(f"{name} of {group}", value, -10, 10)
        for group, value in self.item_sd.items():
            check_spread(f"item_sd of {group}", value)

    @property
    def groups(self) -> tuple[str, ...]:
        """Groups with an effect."""
        return tuple(dict.fromkeys((*self.main, *self.severity, *self.item_sd)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedEffects:
    """Settings of the true effects, in standard deviations of the noise of a single rating."""

    item_sd: float = 0.8  # Standard deviations of the effects of items and of raters
    rater_sd: float = 0.65
    unsure_sd: float = 1.0  # Standard deviation of the logarithm of the width of a rater's band of Unsure
    # Correlations of an item's effect with its severity, and with the score from which its gold label is cut
    severity: float = 0.2
    gold: float = 0.6
    groups: Mapping[str, GroupEffects] = field(default_factory=dict)  # Effects of groups, by axis

    def __post_init__(self) -> None:
        for name in ("item_sd", "rater_sd", "unsure_sd"):
            check_spread(f"effects.{name}", getattr(self, name))
        for name in ("severity", "gold"):
            check_number(f"effects.{name}", getattr(self, name), -1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGroups:
    """Drawn effects of the groups of one axis."""

    axis: str
    groups: tuple[str, ...]
    code: Int64Array  # Group of each rater, shape (R,)
    main: FloatArray  # Shape (G,)
    severity: FloatArray  # Shape (G,)
    by_item: FloatArray  # Group × item effects, shape (G, I)
    effect: FloatArray  # Sum of the three, shape (G, I)


def draw_groups(
    rng: np.random.Generator, axis: str, effects: GroupEffects, of_raters: pl.Series, severity: FloatArray
) -> DrawnGroups:
    """Draw the effects of the groups of an axis on items of these severities."""
    groups = tuple(of_raters.unique().sort())
    main, slope, spread = (
        np.array([float(values.get(group, 0)) for group in groups])
        for values in (effects.main, effects.severity, effects.item_sd)
    )
    by_item = spread[:, None] * rng.normal(size=(len(groups), severity.size))
    return DrawnGroups(
        axis=axis,
        groups=groups,
        code=of_raters.cast(pl.Enum(groups)).to_physical().to_numpy().astype(np.int64),
        main=main,
        severity=slope,
        by_item=by_item,
        effect=main[:, None] + slope[:, None] * severity + by_item,
    )


def tabulate_group_effects(drawn: Sequence[DrawnGroups]) -> pl.DataFrame:
    """Return the main effect and the severity slope of every group."""
    schema = {"axis": pl.String(), "group": pl.String(), "main": pl.Float64(), "severity": pl.Float64()}
    rows = [row for one in drawn for row in zip(repeat(one.axis), one.groups, one.main, one.severity, strict=False)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def tabulate_group_item_effects(drawn: Sequence[DrawnGroups], item_ids: pl.Series) -> pl.DataFrame:
    """Return the group × item effects, without groups that have none."""
    empty = pl.DataFrame({"axis": [""], "group": [""], item_ids.name: item_ids[:1], "effect": [0.0]}).clear()
    tables = [
        item_ids.to_frame().select(pl.lit(one.axis).alias("axis"), pl.lit(group).alias("group"), pl.all(), effect=row)
        for one in drawn
        for group, row in zip(one.groups, one.by_item, strict=True)
        if row.any()
    ]
    return pl.concat([empty, *tables])
