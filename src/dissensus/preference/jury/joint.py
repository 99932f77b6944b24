"""Joint jury models: one model of texts, fitted to ratings and to preferences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair, digest
from dissensus.preference.jury.features import TextFeatures, share_words
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.jury.pairs import JuryPairs, read_jury_pairs, subtract_features
from dissensus.preference.jury.training import (
    FEW_ITEMS,
    MIN_RATERS,
    JuryRatings,
    assign_groups,
    build_model,
    describe_ratings,
    learn_groups,
    number_answers,
    read_jury_ratings,
)
from dissensus.preference.models.encoder import Encoder
from dissensus.schema.hints import format_list
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.columns import CROSS, RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.jury.model import fit_joint_model
from dissensus.stats.result import BoolArray, Int64Array

SMALL_SCALE: Final = 0.2
"""Scale of choices below which a note warns that they hardly follow what moves the ratings."""

NARROWER: Final = (
    "In simulations with pairs, intervals at 95 % covered the truth in 85 to 90 % of cases, and those of ratings alone "
    "in 88 to 91 %."
)


class JointAnswers(NamedTuple):
    """Ratings and choices, whose raters and groups have the same numbers."""

    ratings: JuryRatings
    choices: JuryPairs


def read_joint_answers(
    ratings: Ratings,
    pairs: Sequence[Pair],
    *,
    question: str | None = None,
    unsafe: Sequence[str] | None = None,
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
) -> JointAnswers:
    """Check ratings and pairs for a jury model; groups are learned whose raters are enough in both together."""
    check_whole("min_raters", min_raters)
    axes = list(dict.fromkeys(ratings.axis_name(axis) for axis in by))
    _check_axes(axes, pairs)
    rated = read_jury_ratings(ratings, question=question, unsafe=unsafe, by=axes, min_raters=1)
    _check_direction(rated)
    compared = read_jury_pairs(pairs, by=axes, min_raters=1)
    ids = ratings.raters[RATER_ID].to_list() if ratings.has_raters else [None] * rated.groups.shape[1]
    choice_raters, ids = _number_raters(ids, compared)
    raters = np.concatenate([rated.raters, choice_raters])
    codes = {axis: _merge_groups(axis, rated, compared, choice_raters, ids) for axis in axes}
    learned = learn_groups(codes, raters, len(ids), min_raters)
    shared: dict[str, Any] = {"axes": learned.axes, "groups": learned.groups, "notes": learned.notes}
    return JointAnswers(replace(rated, **shared), replace(compared, raters=choice_raters, **shared))


def _check_axes(axes: Sequence[str], pairs: Sequence[Pair]) -> None:
    """Refuse axes on which no rater of a pair has a group."""
    if crossed := [axis for axis in axes if CROSS in axis]:
        raise InvalidInput(
            f"{format_list(crossed)} is crossed, and pairs have one group for each axis. Give --by for each axis."
        )
    known = {axis for pair in pairs for axis in pair.cells}
    if missing := [axis for axis in axes if axis not in known]:
        raise InvalidInput(
            f"No pair has a group of {format_list(missing)}. Give the groups of the raters of the pairs in a column of "
            "that name, or by --pair-raters FILE (in Python: Pair.groups); or leave the axis out."
        )


def _check_direction(rated: JuryRatings) -> None:
    """Refuse scales whose unsafe answers are not the last ones: the chosen response is taken as the safer one."""
    is_unsafe = np.isin(rated.scale, rated.unsafe)
    if is_unsafe[np.flatnonzero(is_unsafe)[0] :].all():
        return
    raise InvalidInput(
        f"Unsafe answers are {format_list(rated.unsafe)}, and the answers in order {format_list(rated.scale)}. Beside "
        "pairs, unsafe answers are the last ones, since the response that people choose is taken as the safer one. "
        "Give the answers in that order: --categories."
    )


def _number_raters(ids: Sequence[str | None], compared: JuryPairs) -> tuple[Int64Array, list[str | None]]:
    """Return the rater of each choice, and the ids of all raters; a rater of ratings and choices has one number."""
    all_ids = list(ids)
    numbers = {name: number for number, name in enumerate(all_ids) if name is not None}
    choice_raters = np.empty(len(compared.raters), np.int64)
    for row, pair in enumerate(compared.pairs):
        if pair.rater is None or pair.rater not in numbers:
            all_ids.append(pair.rater)
        last = len(all_ids) - 1
        choice_raters[row] = last if pair.rater is None else numbers.setdefault(pair.rater, last)
    return choice_raters, all_ids


def _merge_groups(
    axis: str, rated: JuryRatings, compared: JuryPairs, choice_raters: Int64Array, ids: Sequence[str | None]
) -> tuple[Int64Array, tuple[str, ...]]:
    """Return the group of each rater on an axis, and the names; refuse raters with two groups."""
    names = tuple(dict.fromkeys([*rated.axes[axis], *compared.axes[axis]]))
    rated_codes = rated.groups[list(rated.axes).index(axis)]
    number = np.array([*(names.index(name) for name in compared.axes[axis]), -1])
    choice_codes = number[compared.groups[list(compared.axes).index(axis)]][compared.raters]
    raters = np.concatenate([np.arange(len(rated_codes)), choice_raters])
    return assign_groups(axis, names, raters, np.concatenate([rated_codes, choice_codes]), ids), names


def train_joint_jury(
    ratings: Ratings,
    pairs: Sequence[Pair],
    *,
    question: str | None = None,
    unsafe: Sequence[str] | None = None,
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
    encoder: Encoder | None = None,
) -> JuryModel:
    """Train a jury model on ratings of items with texts, and on preferences between responses.

    Texts have the same weights in both, of all people and of each group; a scale of choices is fitted. The response
    that a person chose is taken as the safer one.

    Parameters
    ----------
    ratings, question, unsafe, by, min_raters, encoder
        As for `train_jury`; raters are counted over ratings and pairs.
    pairs
        Choices by these raters or others, with groups of the same axes.

    Returns
    -------
    JuryModel
        Predicts answers to the question; `predict_choices` predicts choices.

    Raises
    ------
    InvalidInput
        As of `train_jury` and `train_pair_jury`; unsafe answers that are not the last ones; an axis on which no pair
        has a group; a rater with two groups of an axis; responses that share no word with the texts of the items.
    UndefinedEstimate
        All answers are the same.

    Examples
    --------
    >>> import polars as pl
    >>> from dissensus.preference.jury.texts import RatedText
    >>> words = [("fine", "No"), ("vile", "Yes"), ("calm", "No"), ("calm", "Yes")] * 10
    >>> rows = [
    ...     {"item_id": str(i), "rater_id": str(r), "response": f"a {word} text", "Q_overall": answer}
    ...     for i, (word, answer) in enumerate(words) for r in range(5)
    ... ]
    >>> table = pl.DataFrame(rows)
    >>> items = table.select("item_id", "response").unique()
    >>> pairs = [Pair((), f"a fine text {n}", f"a rude text {n}") for n in range(40)]
    >>> model = train_joint_jury(Ratings.from_frame(table.drop("response")).with_items(items), pairs)
    >>> calm, rude = model.distributions([RatedText("", "a calm text"), RatedText("", "a rude text")])[:, -1]
    >>> bool(rude > calm)
    True
    """
    answers = read_joint_answers(ratings, pairs, question=question, unsafe=unsafe, by=by, min_raters=min_raters)
    return fit_joint_jury(answers, encoder=encoder)


def fit_joint_jury(answers: JointAnswers, *, encoder: Encoder | None = None) -> JuryModel:
    """Fit a jury model to checked ratings and pairs."""
    ratings, choices = answers
    texts = [ratings.texts[item] for item in np.unique(ratings.items)]
    compared = [choices.comparisons[item] for item in np.unique(choices.items)]
    responses = list(dict.fromkeys(text for comparison in compared for text in comparison))
    distinct = list(dict.fromkeys(text.response for text in responses))
    if encoder is None and not share_words([text.response for text in texts], distinct):
        raise InvalidInput(
            "No word is both in a response of the pairs and in a text of the rated items, so that neither tells of the "
            "other. Give pairs about such texts, or train on ratings and on pairs separately."
        )
    features = TextFeatures.learn(texts, encoder, compared=distinct)
    model = fit_joint_model(
        number_answers(ratings, features.project(texts), features.blocks),
        number_answers(choices, subtract_features(features, compared), features.blocks),
    )
    notes = [*ratings.notes, *_describe_scale(model.choice_scale), NARROWER]
    return build_model(
        replace(ratings, notes=tuple(notes)),
        [*texts, *responses],
        features,
        model,
        few=FEW_ITEMS,
        card=_describe(answers, encoder, len(texts), model.choice_scale),
        people=np.concatenate([ratings.raters, choices.raters[_is_known(choices)]]),
    )


def _is_known(choices: JuryPairs) -> BoolArray:
    """Return a mask of the choices whose rater is known."""
    return np.array([pair.rater is not None for pair in choices.pairs], np.bool_)


def _describe_scale(scale: float | None) -> Iterator[str]:
    if scale is not None and scale < SMALL_SCALE:
        yield (
            f"Choices hardly follow what moves the ratings (scale {scale:.2f}): the pairs tell little, or are about "
            "another criterion."
        )


def _describe(answers: JointAnswers, encoder: Encoder | None, n_items: int, scale: float | None) -> Mapping[str, Any]:
    card = describe_ratings(answers.ratings, encoder, n_items)
    raters = np.concatenate([answers.ratings.raters, answers.choices.raters[_is_known(answers.choices)]])
    return card | {
        "description": f"{card['description']}; choices between two responses by the differences of their effects",
        "n_raters": len(np.unique(raters)) if answers.ratings.has_raters else None,
        "n_choices": len(answers.choices.answers),
        "n_comparisons": len(np.unique(answers.choices.items)),
        "choice_scale": scale,
        "pairs_sha256": digest(answers.choices.pairs),
    }
