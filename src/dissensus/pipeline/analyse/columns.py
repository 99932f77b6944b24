"""Columns of the analysis table, in order."""

from typing import Final

from dissensus.stats.design import METRICS

UNBIASED: Final = ("answer_share", "mean_difference", "pairwise_agreement", "group_distance")
"""Statistics of a group whose expectation does not depend on the number of ratings."""

CORRECTED: Final = "corrected_gai"
COLUMNS: Final = (*UNBIASED, *METRICS, CORRECTED)
"""Statistics of each comparison."""

ORDERED_COLUMNS: Final = ("answer_mean", *COLUMNS[1:], "superiority")
"""Statistics of each comparison of ordered answers."""

COMPARED: Final = ("pairwise_agreement", "irr", "negentropy", "plurality_size", "gai")
"""Statistics whose difference is computed on request: of a group, less that of the group compared with."""

DIFFERENCES: Final = tuple(f"{metric}_difference" for metric in COMPARED)

SMALL_SAMPLE: Final = (
    "answer_share",
    "answer_mean",
    "mean_difference",
    "superiority",
    "pairwise_agreement",
    "xrr",
    "negentropy",
    "cross_negentropy",
    "plurality_size",
    "voting_agreement",
    "pairwise_agreement_difference",
    "negentropy_difference",
    "plurality_size_difference",
)
"""Statistics whose intervals have a small-sample factor; those of others are wide enough in small groups without."""

UPPER: Final = ("group_distance", "between_share")
"""Statistics that are tested for large values alone."""

PUBLISHED: Final = (*METRICS, CORRECTED, "dsi")
"""Statistics whose tests depend on the assignment of items, more than those of the unbiased ones."""
