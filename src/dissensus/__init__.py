"""Collect, measure and publish how different people judge the safety of conversational AI.

Names are resolved when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dissensus.errors import (
        Conflict,
        DissensusError,
        InvalidInput,
        NotAllowed,
        NotFound,
        Unavailable,
        UndefinedEstimate,
    )
    from dissensus.files.tables import read_ratings
    from dissensus.pipeline.aggregate import overall_answers, plurality, soft_labels, worst_answer
    from dissensus.pipeline.analyse import Analysis, GroupDivergence, Row, analyse, group_divergence
    from dissensus.pipeline.simulate import simulate_ratings
    from dissensus.schema.questionnaire import Questionnaire, load_questionnaire, questionnaires
    from dissensus.schema.ratings import Ratings
    from dissensus.stats.agreement import fleiss_kappa, gwet_ac1, krippendorff_alpha, krippendorff_alpha_long
    from dissensus.stats.association import dsi, gai
    from dissensus.stats.cohesion import negentropy, plurality_size
    from dissensus.stats.counts import count_answers, count_matrix
    from dissensus.stats.crossgroup import cross_negentropy, normalised_xrr, voting_agreement, xrr
    from dissensus.stats.divergence import (
        cross_entropy,
        jensen_shannon,
        kullback_leibler,
        total_variation,
        wasserstein,
    )
    from dissensus.stats.result import Estimate, Interval
    from dissensus.stats.significance import benjamini_hochberg, max_t, permutation_p

__version__ = _version("dissensus")

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
    "files.tables": ("read_ratings",),
    "pipeline.aggregate": ("overall_answers", "plurality", "soft_labels", "worst_answer"),
    "pipeline.analyse": ("Analysis", "GroupDivergence", "Row", "analyse", "group_divergence"),
    "pipeline.simulate": ("simulate_ratings",),
    "schema.questionnaire": ("Questionnaire", "load_questionnaire", "questionnaires"),
    "schema.ratings": ("Ratings",),
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
    "stats.result": ("Estimate", "Interval"),
    "stats.significance": ("benjamini_hochberg", "max_t", "permutation_p"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - sorted is a list


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dissensus' has no attribute {name!r}")
    return getattr(import_module(f"dissensus.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
