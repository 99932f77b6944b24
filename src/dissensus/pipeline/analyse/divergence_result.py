"""Result of a group divergence, and its display."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.pipeline.tables import Grid, Page, escape_unprintable, format_short

Floats = npt.NDArray[np.float64]
NAMES = {
    "total_variation": "total variation",
    "jensen_shannon": "Jensen–Shannon divergence",
    "kullback_leibler": "Kullback–Leibler divergence",
    "cross_entropy": "cross-entropy",
    "wasserstein": "Wasserstein distance",
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
        The mean over the items that both rated; None where there is none.
    n_items
        Items that both rated.
    null_mean
        Mean of the permutation replicates of this pair: the divergence that two groups of these sizes show by chance.
        None without permutations, as the p-values are.
    p
        Two-sided permutation p-value.
    p_adjusted
        The same after Benjamini and Hochberg over the pairs.
    """

    groups: tuple[str, str]
    estimate: float | None
    n_items: int
    null_mean: float | None
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupDivergence:
    """Divergence between the soft labels of groups, pair by pair; printed as a table, in a notebook too.

    Parameters
    ----------
    axis, question, measure
        What was compared, and how.
    groups, n_raters
        The groups, and the raters in each.
    pairs
        Every two groups, in the order of `groups`.
    estimate
        Mean over the pairs that share an item.
    n_items
        Items that at least one pair shares.
    null
        Permutation replicates of `estimate`, shape (B,), with groups of the same sizes.
    pair_null
        Permutation replicates of each pair, shape (B, P); NaN where a replicate's pair shares no item.
    null_mean
        Mean of `null`: the divergence that groups of these sizes show by chance; None without permutations.
    p
        Two-sided permutation p-value of `estimate`; None without permutations.
    permute_within, seed
        How the permutations were drawn.
    """

    axis: str
    question: str
    measure: str
    groups: tuple[str, ...]
    n_raters: tuple[int, ...]
    pairs: tuple[PairDivergence, ...]
    estimate: float
    n_items: int
    null: Floats = field(repr=False)
    pair_null: Floats = field(repr=False)
    null_mean: float | None
    p: float | None
    permute_within: str | None
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the replicates as plain values."""
        names = ("axis", "question", "measure", "estimate", "n_items", "null_mean", "p", "permute_within", "seed")
        return {
            **{name: getattr(self, name) for name in names},
            "permutations": self.null.size,
            "groups": [{"group": group, "n_raters": n} for group, n in zip(self.groups, self.n_raters, strict=True)],
            "pairs": [asdict(pair) | {"groups": list(pair.groups)} for pair in self.pairs],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def to_polars(self) -> pl.DataFrame:
        """Return one row a pair."""
        about = {"axis": self.axis, "measure": self.measure}
        rows = [asdict(pair) | about | dict(zip(("group", "other"), pair.groups, strict=True)) for pair in self.pairs]
        return pl.DataFrame(rows, schema=_SCHEMA)

    def __str__(self) -> str:
        return _page(self).as_text()

    def _repr_html_(self) -> str:
        return _page(self).as_html()


def _page(found: GroupDivergence) -> Page:
    by_chance = ("by chance", "p", "adjusted") if found.null.size else ()
    head = (escape_unprintable(found.axis), "raters", "items", "distance", *by_chance)
    size = dict(zip(found.groups, found.n_raters, strict=True))
    lines = tuple(_line(pair, size, tested=bool(by_chance)) for pair in found.pairs)
    return Page(_summary(found), (Grid(head, lines),), tuple(_notes(found)))


def _summary(found: GroupDivergence) -> str:
    tested = f" ({format_short(found.null_mean, 3)} by chance, p {format_short(found.p, 3)})" if found.null.size else ""
    return (
        f"{escape_unprintable(found.question)}: {NAMES[found.measure]} between the soft labels of "
        f"{len(found.groups)} groups, "
        f"{format_short(found.estimate, 3)} on average over {_format_count(len(found.pairs), 'pair')}{tested}"
    )


def _line(pair: PairDivergence, size: dict[str, int], *, tested: bool) -> tuple[str, ...]:
    name = escape_unprintable(" – ".join(pair.groups))
    raters = ", ".join(f"{size[group]:,}" for group in pair.groups)
    values = (pair.estimate, *((pair.null_mean, pair.p, pair.p_adjusted) if tested else ()))
    return (name, raters, f"{pair.n_items:,}", *(format_short(value, 3) for value in values))


def _notes(found: GroupDivergence) -> Iterator[str]:
    if found.null.size:
        within = f" within {escape_unprintable(found.permute_within)}" if found.permute_within else ""
        yield (
            f"By chance: mean of {_format_count(found.null.size, 'permutation')} of the raters{within}, groups "
            "of the same "
            f"sizes, seed {found.seed}; p two-sided, adjusted by Benjamini–Hochberg over the pairs."
        )
    if any(pair.estimate is None for pair in found.pairs):
        yield "– no item was rated by both groups."


def _format_count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"
