"""The kinds of models that can be trained here."""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, get_args

from dissensus.preference.fitting import choose, fitted
from dissensus.preference.groups import Groups
from dissensus.preference.groups_fit import choose_groups, fitted_groups
from dissensus.preference.linear import Linear
from dissensus.preference.mean_variance import MeanVariance
from dissensus.preference.mean_variance_fit import choose_spread, fitted_spread

KindOfModel = Literal["linear", "mean-variance", "groups"]
KINDS: Final[tuple[str, ...]] = get_args(KindOfModel)


AnyModel = Linear | MeanVariance | Groups


class Recipe(NamedTuple):
    """How a kind of model is made: settings chosen, weights fitted; what a card says of it, and its own limits."""

    choose: Callable[..., Any]
    fitted: Callable[..., AnyModel]
    about: str
    limits: tuple[str, ...]


RECIPES: Final[dict[KindOfModel, Recipe]] = {
    "linear": Recipe(
        choose,
        fitted,
        "linear: Bradley–Terry on TF-IDF of hashed runs of characters and words, and log length",
        ("It speaks for the largest group where groups choose differently.",),
    ),
    "mean-variance": Recipe(
        choose_spread,
        fitted_spread,
        "mean-variance: distributional preference learning, two linear heads on TF-IDF of hashed runs and log length",
        ("The spread is told from how decided choices are, so noise and differences between people look the same.",),
    ),
    "groups": Recipe(
        choose_groups,
        fitted_groups,
        "groups: Bradley–Terry on TF-IDF of hashed runs and log length, with shrunk effects of groups and raters",
        (
            "Effects of groups are averages: people of one group differ, and nobody is to be judged by theirs.",
            "The folder may hold what single raters like, by their ids: keep it as carefully as what they chose.",
        ),
    ),
}
