"""Jury models of preferences: training on pairs of a chosen and a rejected response."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Final, NamedTuple, Self

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import RATER, pair_labels
from dissensus.preference.data.pairs import Pair, Purpose, digest
from dissensus.preference.fit.training import sort_pairs
from dissensus.preference.jury.features import TextFeatures
from dissensus.preference.jury.model import LIMITS, JuryModel
from dissensus.preference.jury.texts import RatedText
from dissensus.preference.jury.training import (
    MEASURED_ITEMS,
    MIN_ITEMS,
    MIN_RATERS,
    JuryAnswers,
    assign_groups,
    build_model,
    learn_groups,
    number_answers,
)
from dissensus.preference.models.encoder import Encoder
from dissensus.preference.models.groups import groups_of_axis
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import RATER_PREFIX
from dissensus.stats.jury.model import fit_choice_model
from dissensus.stats.result import BoolArray, FloatArray, Int64Array

QUESTION: Final = "preference"
NOT_PREFERRED: Final = "not preferred"
ANSWERS: Final = ("preferred", NOT_PREFERRED)
"""Answers about a response: whether it is preferred to another one, or to a typical one where it stands alone."""

FEW_PAIRS: Final = f"Fewer than {MEASURED_ITEMS} pairs: intervals may be too narrow."


class Comparison(NamedTuple):
    """Two responses to one conversation, in alphabetical order."""

    first: RatedText
    second: RatedText


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JuryPairs(JuryAnswers):
    """Choices between two responses; the answer is whether the second is preferred to the first."""

    pairs: tuple[Pair, ...]  # One for each choice
    comparisons: tuple[Comparison, ...]  # The items, which choices are about

    def select(self, is_kept: BoolArray) -> Self:
        """Return the choices between some responses, which remain numbered as they are."""
        pairs = compress(self.pairs, is_kept[self.items].tolist())
        return replace(JuryAnswers.select(self, is_kept), pairs=tuple(pairs))

    def leave_out(self, texts: Sequence[RatedText]) -> Self:
        """Return the choices between other responses, in conversations that begin differently from these texts.

        A text without a context begins with its response; the same response may follow different contexts.
        """
        openings, responses = {text.opening for text in texts}, {text.response for text in texts}
        return self.select(
            np.array(
                [
                    pair.first.opening not in openings
                    and responses.isdisjoint((pair.first.response, pair.second.response))
                    for pair in self.comparisons
                ]
            )
        )


def read_jury_pairs(pairs: Sequence[Pair], *, by: Sequence[str] = (), min_raters: int = MIN_RATERS) -> JuryPairs:
    """Check pairs for a jury model, and leave out groups of few raters, with a note."""
    check_whole("min_raters", min_raters)
    pairs = sort_pairs(pairs)
    compared = [_compare(pair) for pair in pairs]
    numbers = {comparison: number for number, comparison in enumerate(dict.fromkeys(compared))}
    if len(numbers) < MIN_ITEMS:
        raise InvalidInput(
            f"{len(numbers):,} pairs of responses were compared, and a jury model needs {MIN_ITEMS} or more. Give more."
        )
    labels = pair_labels(pairs)
    raters, ids = _number_raters(pairs)
    known = {axis: tuple(sorted({str(name) for name in column if name is not None})) for axis, column in labels.items()}
    known.pop(RATER, None)
    columns: dict[str, tuple[Int64Array, tuple[str, ...]]] = {}
    for axis in dict.fromkeys(RATER_PREFIX + axis if RATER_PREFIX + axis in known else axis for axis in by):
        index = {name: number for number, name in enumerate(groups_of_axis(known, axis))}
        _check_raters(pairs, axis)
        codes = np.array([index.get(name, -1) for name in labels[axis]], np.int64)
        columns[axis] = assign_groups(axis, tuple(index), raters, codes, ids), tuple(index)
    learned = learn_groups(columns, raters, int(raters.max()) + 1, min_raters)
    return JuryPairs(
        question=QUESTION,
        scale=ANSWERS,
        unsafe=(NOT_PREFERRED,),
        items=np.array([numbers[comparison] for comparison in compared], np.int64),
        raters=raters,
        answers=np.array(
            [pair.chosen == comparison.first.response for pair, comparison in zip(pairs, compared, strict=True)],
            np.int64,
        ),
        axes=learned.axes,
        groups=learned.groups,
        has_raters=any(pair.rater is not None for pair in pairs),
        notes=learned.notes,
        pairs=tuple(pairs),
        comparisons=tuple(numbers),
    )


def _compare(pair: Pair) -> Comparison:
    context = "\n".join(turn.text for turn in pair.context)
    first, second = sorted((pair.chosen, pair.rejected))
    return Comparison(RatedText(context, first), RatedText(context, second))


def _check_raters(pairs: Sequence[Pair], axis: str) -> None:
    """Refuse pairs with a group and no rater: the raters of a group cannot be counted."""
    n_unknown = sum(pair.rater is None and axis in pair.cells for pair in pairs)
    if n_unknown:
        raise InvalidInput(
            f"{n_unknown:,} of {len(pairs):,} pairs have a group of {axis} and no rater, so that the raters of a group "
            "cannot be counted. Name the rater of each pair in the column rater_id, or leave the axis out."
        )


def _number_raters(pairs: Sequence[Pair]) -> tuple[Int64Array, list[str | None]]:
    """Return the number of each pair's rater, and the ids; each pair of an unknown rater has a number of its own."""
    keys = [(pair.rater, None if pair.rater is not None else row) for row, pair in enumerate(pairs)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64), [rater for rater, _ in numbers]


def train_pair_jury(
    pairs: Sequence[Pair],
    *,
    purpose: Purpose = "harmless",
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
    encoder: Encoder | None = None,
) -> JuryModel:
    """Train a jury model on preferences.

    A response has a location for each group, and the probability of a choice is that of a normal difference (probit).
    Alone, a response is compared with a typical one, whose features are the mean of those in training: its answers are
    ``preferred`` and ``not preferred``, which takes the place of an unsafe answer.

    Parameters
    ----------
    pairs
        The pairs.
    purpose
        Criterion of the choices.
    by
        Axes of raters, such as ``gender``.
    min_raters
        Least number of raters of a group that is learned.
    encoder
        Frozen encoder of responses, whose vectors are features besides words.

    Returns
    -------
    JuryModel

    Raises
    ------
    NotFound
        No pair has a rater of a group of an axis.
    InvalidInput
        Fewer than 20 comparisons, an axis without a group of enough raters, or pairs with a group and no rater.

    Examples
    --------
    >>> pairs = [Pair((), f"a kind text {n}", f"a vile text {n}") for n in range(30)]
    >>> kind, vile = train_pair_jury(pairs).score_texts([RatedText("", "a kind text"), RatedText("", "a vile text")])
    >>> bool(kind > 0 > vile)
    True
    """
    return fit_pair_jury(read_jury_pairs(pairs, by=by, min_raters=min_raters), purpose=purpose, encoder=encoder)


def fit_pair_jury(choices: JuryPairs, *, purpose: Purpose = "harmless", encoder: Encoder | None = None) -> JuryModel:
    """Fit a jury model to checked pairs."""
    compared = [choices.comparisons[item] for item in np.unique(choices.items)]
    texts = list(dict.fromkeys(text for comparison in compared for text in comparison))
    # Both responses follow the same turns, whose words cannot tell which one is chosen.
    features = TextFeatures.learn([RatedText("", text.response) for text in texts], encoder)
    model = fit_choice_model(number_answers(choices, subtract_features(features, compared), features.blocks))
    return build_model(choices, texts, features, model, few=FEW_PAIRS, card=_describe(choices, purpose, encoder))


def predict_choices(model: JuryModel, comparisons: Sequence[Comparison], group: str | None = None) -> FloatArray:
    """Return the probabilities that a person prefers the second response, and the first, shape (comparisons, 2).

    Parameters
    ----------
    model
        Model of preferences, or of ratings and preferences.
    comparisons
        Two responses each, in any order.
    group
        Group of the person, such as ``rater_gender=Woman``; by default all people.

    Raises
    ------
    InvalidInput
        The model has seen no choices.
    NotFound
        There was no such group in training.
    """
    if model.model.choice_scale is None and model.answers != ANSWERS:
        raise InvalidInput(
            f"The model is of answers to {model.question} alone, and does not know how people choose. Train it on "
            "ratings and pairs together, or on pairs."
        )
    return model.average_choices(subtract_features(model.features, comparisons), group)


def find_unknown(model: JuryModel, comparisons: Sequence[Comparison]) -> BoolArray:
    """Return a mask of the comparisons with a response on which the model abstains."""
    return np.asarray(np.any([model.abstains(texts) for texts in _split_sides(comparisons)], axis=0))


def subtract_features(features: TextFeatures, comparisons: Sequence[Comparison]) -> FloatArray:
    """Return the features of second responses less those of first ones, shape (comparisons, P)."""
    first, second = (features.project(texts) for texts in _split_sides(comparisons))
    return second - first


def _split_sides(comparisons: Sequence[Comparison]) -> tuple[list[RatedText], list[RatedText]]:
    """Return the first responses and the second ones."""
    return [comparison.first for comparison in comparisons], [comparison.second for comparison in comparisons]


def _describe(choices: JuryPairs, purpose: Purpose, encoder: Encoder | None) -> dict[str, Any]:
    return {
        "description": "jury: probit of choices on differences of the TF-IDF of words and pairs of words of two "
        "responses, of all people and of each group",
        "purpose": purpose,
        "question": choices.question,
        "answers": list(choices.scale),
        "unsafe": list(choices.unsafe),
        "groups": {axis: list(names) for axis, names in choices.axes.items()},
        "data_sha256": digest(choices.pairs),
        "n_ratings": len(choices.answers),
        "n_items": len(np.unique(choices.items)),
        "n_raters": len(np.unique(choices.raters)) if choices.has_raters else None,
        "encoder": None if encoder is None else encoder.name,
        "limits": [*LIMITS, "Alone, a response is compared with a typical one of the training."],
    }
