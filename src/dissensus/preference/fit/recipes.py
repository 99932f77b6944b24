"""Recipes: how each kind of preference model is trained, and its description for the card."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dissensus.preference.data.examples import Examples
from dissensus.preference.data.pairs import Pair
from dissensus.preference.fit.embedding import choose_embedding, fit_embedding
from dissensus.preference.fit.groups import choose_groups, fit_groups_model
from dissensus.preference.fit.linear import choose_settings, fit_linear
from dissensus.preference.fit.mean_variance import choose_spread, fit_spread
from dissensus.preference.models.embedding import Embedding
from dissensus.preference.models.kinds import AnyModel, KindOfModel
from dissensus.stats.result import FloatArray

WORDS_ONLY: Final = "The model sees the words of the answer only, so an answer has the same score after any question."
LARGEST_GROUP: Final = "It speaks for the largest group where groups choose differently."


class Recipe(NamedTuple):
    """Recipe of a kind of model: choice of settings, fit, description and limits."""

    choose: Callable[..., Any]
    fit: Callable[..., AnyModel]
    description: str
    limits: tuple[str, ...]

    def margins(self, model: AnyModel, pairs: Sequence[Pair], examples: Examples) -> FloatArray:
        """Return the margins of pairs, reusing the vectors of their examples."""
        if isinstance(model, Embedding) and examples.vectors is not None:
            return model.margins_by(pairs, examples.vectors)
        return model.margins(pairs)


RECIPES: Final[dict[KindOfModel, Recipe]] = {
    "linear": Recipe(
        choose_settings,
        fit_linear,
        "linear: Bradley–Terry on TF-IDF of hashed n-grams of characters and words, and log length",
        (
            WORDS_ONLY,
            LARGEST_GROUP,
        ),
    ),
    "mean-variance": Recipe(
        choose_spread,
        fit_spread,
        "mean-variance: distributional preference learning, two linear heads on TF-IDF of hashed n-grams and log "
        "length",
        (
            WORDS_ONLY,
            "The spread is estimated from how decided choices are, so noise and disagreement look the same.",
        ),
    ),
    "groups": Recipe(
        choose_groups,
        fit_groups_model,
        "groups: Bradley–Terry on TF-IDF of hashed n-grams and log length, with shrunk effects of groups and raters",
        (
            WORDS_ONLY,
            "Effects of groups are averages: people within a group differ, and individuals must not be judged by them.",
            "The folder may contain preferences of single raters by their ids: protect it like their choices.",
        ),
    ),
    "embedding": Recipe(
        choose_embedding,
        fit_embedding,
        "embedding: Bradley–Terry on TF-IDF of hashed n-grams, log length, and vectors of a frozen encoder",
        (
            "The model sees the answer, and at most the last human turn before it.",
            LARGEST_GROUP,
            "The encoder was trained on other texts, and does not capture what they lack.",
        ),
    ),
}
