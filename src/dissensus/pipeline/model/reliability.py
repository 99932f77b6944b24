"""Reliability of means of raters: a generalizability study, and decision studies of other numbers of raters."""

from dataclasses import dataclass
from typing import Literal

Target = Literal["mean of items", "group's mean of an item", "difference of two groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Reliability of the mean of some raters on the latent scale, with items as the objects that are measured.

    `reliability` is the generalizability coefficient, for raters who all rate the same items; `dependability` is for
    other raters of each item, whose differences count as error.
    """

    target: Target
    axis: str | None
    group: str | None  # Two groups of a difference are joined by " − "
    n_raters: float  # Of each group; the number in the table is a harmonic mean over items
    is_own: bool  # True for the number of raters in the table
    reliability: float
    ci_low: float
    ci_high: float
    dependability: float
    dependability_ci_low: float
    dependability_ci_high: float
