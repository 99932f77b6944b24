"""Collect, measure and publish how different people judge the safety of conversational AI.

Names are resolved when they are first used, so that importing the package costs nothing; type checkers read the
same names from `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

from dissensus._lazy import resolver

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
    "files.attempts.tables": ("read_attempts", "write_attempts"),
    "files.pairs.comparisons": ("read_comparisons",),
    "files.ratings.conversion": ("read_long", "write_long"),
    "files.items": ("Items", "read_items"),
    "files.models.folder": ("load_model", "save_model"),
    "files.pairs.items": ("read_pair_items",),
    "files.pairs.release": ("write_pairs",),
    "files.pairs.reader": ("read_pairs",),
    "files.pairs.votes": ("read_people", "read_preferences"),
    "files.ratings.reader": ("read_ratings", "validate"),
    "files.attempts.reviews": ("read_reviews",),
    "files.raw.table_writer": ("write_frame",),
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
    "schema.records.attempt": ("Attempt",),
    "schema.records.conversation": ("Conversation", "Turn"),
    "schema.records.item": ("Item",),
    "schema.records.preference": ("Edit", "Pick", "Preference"),
    "schema.questionnaire.shipped": ("Questionnaire", "load_questionnaire", "questionnaires"),
    "schema.questionnaire.parser": ("parse_questionnaire",),
    "schema.ratings.table": ("Ratings",),
    "schema.records.review": ("Review",),
    "schema.ratings.validation": ("Validation",),
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
