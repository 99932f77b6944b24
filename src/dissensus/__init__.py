"""Collect, measure and publish how different people judge the safety of conversational AI.

Names are resolved when they are first used, so that importing the package costs nothing; type checkers read the
same names from `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

from dissensus.lazily import resolver

_HOMES = {
    "client": ("Client",),
    "errors": (
        "Conflict",
        "DissensusError",
        "InvalidInput",
        "NoDatabase",
        "NotAllowed",
        "NotFound",
        "Unavailable",
        "UndefinedEstimate",
    ),
    "files.fetch": ("fetch",),
    "files.attempts": ("read_attempts", "write_attempts"),
    "files.comparisons": ("read_comparisons",),
    "files.converting": ("read_long", "write_long"),
    "files.items": ("Items", "read_items"),
    "files.model_folder": ("load_model", "save_model"),
    "files.pair_items": ("read_pair_items",),
    "files.pair_release": ("write_pairs",),
    "files.pairs": ("read_pairs",),
    "files.votes": ("read_people", "read_preferences"),
    "files.ratings": ("read_ratings", "validate"),
    "files.reviews": ("read_reviews",),
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
    "pipeline.analyse.attempts": ("AttemptAnalysis", "AttemptMap", "analyse_attempts", "attempt_map"),
    "pipeline.curate": ("SamplePlan", "Selection", "curate"),
    "pipeline.release": ("PairPolicy", "ReleasedPair", "ReleasedPairs", "released_pairs"),
    "pipeline.simulate": (
        "Campaign",
        "Simulation",
        "preset",
        "presets",
        "simulate",
        "simulate_attempts",
        "simulate_preferences",
        "simulate_ratings",
    ),
    "pipeline.vet": ("Criteria", "FilterAudit", "Vetting", "audit_filter", "vet"),
    "schema.attempt": ("Attempt",),
    "schema.conversation": ("Conversation", "Turn"),
    "schema.item": ("Item",),
    "schema.preference": ("Edit", "Pick", "Preference"),
    "schema.questionnaire": ("Questionnaire", "load_questionnaire", "questionnaires"),
    "schema.questionnaire_parsing": ("parse_questionnaire",),
    "schema.ratings": ("Ratings",),
    "schema.review": ("Review",),
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
__all__, _resolve = resolver(__name__, _HOMES)
_ROOMS = ("preference", "report")
__all__ += _ROOMS


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("dissensus")
    return import_module(f"dissensus.{name}") if name in _ROOMS else _resolve(name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
