"""Result of a group divergence, and its display."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from dissensus.pipeline.tables import Grid, Page, PagedResult, escape_unprintable, format_short
from dissensus.schema.hints import count_noun
from dissensus.schema.tabular_result import TabularResult
from dissensus.stats.result import FloatArray

WITHHELD_NOTE = (
    "Not tested: the assignment of items, not the raters, determines how often these groups rated an item, and would "
    "move the test. The test of group_distance, in the analysis, holds its level in more assignments."
)
NAMES = {
    "total_variation": "total variation",
    "jensen_shannon": "Jensen–Shannon divergence",
    "kullback_leibler": "Kullback–Leibler divergence",
    "cross_entropy": "cross-entropy",
    "wasserstein": "Wasserstein distance",
    "group_distance": "unbiased distance",
}
_SCHEMA = {
    "axis": pl.String,
    "group": pl.String,
    "other": pl.String,
    "measure": pl.String,
    "estimate": pl.Float64,
    "null_mean": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "reason": pl.String,
    "n_items": pl.Int64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDivergence:
    """Mean divergence over items between the soft labels of two groups.

    Parameters
    ----------
    groups
        The two groups; a measure that is not symmetric takes the first as the truth.
    estimate
        Mean over the items that both rated, twice for group_distance; None if there are none.
    n_items
        These items.
    null_mean
        Mean of the permutation replicates of this pair: the divergence of two groups of these sizes by chance. None
        without permutations.
    p
        Permutation p-value, two-sided but for group_distance; None without permutations.
    p_adjusted
        P-value adjusted over the pairs by Benjamini and Hochberg; None without permutations.
    reason
        Reason why the test is withheld; None if it is not.
    """

    groups: tuple[str, str]
    estimate: float | None
    n_items: int
    null_mean: float | None
    p: float | None
    p_adjusted: float | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupDivergence(TabularResult, PagedResult):
    """Divergence between the soft labels of groups, pair by pair; printed as a table, in a notebook too.

    Parameters
    ----------
    axis, question, measure
        Axis, question and measure of the comparison.
    groups, n_raters
        The groups, and the number of raters in each.
    pairs
        All pairs of groups, in the order of `groups`.
    estimate
        Mean over the pairs with shared items.
    n_items
        Items on which at least one pair is compared.
    null
        Permutation replicates of `estimate`, shape (B,), with groups of the same sizes.
    pair_null
        Permutation replicates of each pair, shape (B, P); NaN for a pair without shared items.
    null_mean
        Mean of `null`: the divergence of groups of these sizes by chance; None without permutations.
    p
        Permutation p-value of `estimate`, two-sided but for group_distance; None without permutations.
    reason
        Reason why the test is withheld, as that of a pair is; None if none is.
    permute_within, seed
        Strata and seed of the permutations.
    """

    axis: str
    question: str
    measure: str
    groups: tuple[str, ...]
    n_raters: tuple[int, ...]
    pairs: tuple[PairDivergence, ...]
    estimate: float
    n_items: int
    null: FloatArray = field(repr=False)
    pair_null: FloatArray = field(repr=False)
    null_mean: float | None
    p: float | None
    reason: str | None
    permute_within: str | None
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the replicates as plain values."""
        names = (
            "axis",
            "question",
            "measure",
            "estimate",
            "n_items",
            "null_mean",
            "p",
            "reason",
            "permute_within",
            "seed",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "permutations": self.null.size,
            "groups": [{"group": group, "n_raters": n} for group, n in zip(self.groups, self.n_raters, strict=True)],
            "pairs": [asdict(pair) | {"groups": list(pair.groups)} for pair in self.pairs],
        }

    def to_polars(self) -> pl.DataFrame:
        """Return one row per pair."""
        constants = {"axis": self.axis, "measure": self.measure}
        rows = [
            asdict(pair) | constants | dict(zip(("group", "other"), pair.groups, strict=True)) for pair in self.pairs
        ]
        return pl.DataFrame(rows, schema=_SCHEMA)

    def page(self) -> Page:
        """Return the pairs as a table."""
        by_chance = ("by chance", "p", "adjusted") if self.null.size else ()
        head = (escape_unprintable(self.axis), "raters", "items", "distance", *by_chance)
        size = dict(zip(self.groups, self.n_raters, strict=True))
        lines = tuple(_line(pair, size, tested=bool(by_chance)) for pair in self.pairs)
        return Page(_summary(self), (Grid(head, lines),), tuple(_notes(self)))


def _summary(divergence: GroupDivergence) -> str:
    tested = (
        f" ({format_short(divergence.null_mean, 3)} by chance, p {format_short(divergence.p, 3)})"
        if divergence.null.size
        else ""
    )
    return (
        f"{escape_unprintable(divergence.question)}: {NAMES[divergence.measure]} between the soft labels of "
        f"{len(divergence.groups)} groups, "
        f"{format_short(divergence.estimate, 3)} on average over {count_noun(len(divergence.pairs), 'pair')}{tested}"
    )


def _line(pair: PairDivergence, size: dict[str, int], *, tested: bool) -> tuple[str, ...]:
    name = escape_unprintable(" – ".join(pair.groups))
    raters = ", ".join(f"{size[group]:,}" for group in pair.groups)
    values = (pair.estimate, *((pair.null_mean, pair.p, pair.p_adjusted) if tested else ()))
    return (name, raters, f"{pair.n_items:,}", *(format_short(value, 3) for value in values))


def _notes(divergence: GroupDivergence) -> Iterator[str]:
    if divergence.null.size:
        side = "of large values" if divergence.measure == "group_distance" else "two-sided"
        within = f" within {escape_unprintable(divergence.permute_within)}" if divergence.permute_within else ""
        yield (
            f"By chance: mean of {count_noun(divergence.null.size, 'permutation')} of the raters{within}, groups of "
            f"the same sizes, seed {divergence.seed}; p {side}, adjusted by Benjamini–Hochberg over the pairs."
        )
    if divergence.reason is not None:
        yield WITHHELD_NOTE
    if any(pair.estimate is None for pair in divergence.pairs):
        yield f"– no item was rated {'twice ' if divergence.measure == 'group_distance' else ''}by both groups."
