"""Collect, measure and publish how different people judge the safety of conversational AI.

Names are resolved when they are first used, so that importing the package costs nothing; type checkers read the
same names from `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "errors": (
        "Conflict",
        "DissensusError",
        "InvalidInput",
        "NotAllowed",
        "NotFound",
        "Unavailable",
        "UndefinedEstimate",
    ),
    "files.fetch": ("fetch",),
    "files.converting": ("read_long", "write_long"),
    "files.ratings": ("read_ratings", "validate"),
    "files.writing": ("write_frame",),
    "pipeline.aggregate": (
        "GoldAgainstCrowd",
        "LabelModel",
        "ResampledLabels",
        "gold_against_crowd",
        "label_model",
        "overall_answers",
        "plurality",
        "resampled_labels",
        "soft_labels",
        "worst_answer",
    ),
    "pipeline.analyse": ("Analysis", "GroupDivergence", "PairDivergence", "Row", "analyse", "group_divergence"),
    "pipeline.simulate": ("Campaign", "Simulation", "preset", "presets", "simulate", "simulate_ratings"),
    "pipeline.vet": ("Criteria", "FilterAudit", "Vetting", "audit_filter", "vet"),
    "schema.questionnaire": ("Questionnaire", "load_questionnaire", "questionnaires"),
    "schema.ratings": ("Ratings",),
    "schema.validation": ("Validation",),
    "stats.agreement": ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha", "krippendorff_alpha_long"),
    "stats.association": ("dsi", "gai"),
    "stats.cohesion": ("negentropy", "plurality_size"),
    "stats.counts": ("count_answers", "count_matrix"),
    "stats.crossgroup": ("cross_negentropy", "normalised_xrr", "voting_agreement", "xrr"),
    "stats.divergence": (
        "cross_entropy",
        "jensen_shannon",
        "kullback_leibler",
        "total_variation",
        "wasserstein",
    ),
    "stats.exact": ("freeman_halton", "odds_ratio"),
    "stats.result": ("Estimate",),
    "stats.significance": ("benjamini_hochberg", "max_t", "permutation_p"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("dissensus")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dissensus' has no attribute {name!r}")
    return getattr(import_module(f"dissensus.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
