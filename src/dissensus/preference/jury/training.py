"""Training of jury models on ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.jury.features import TextFeatures, known_by_others
from dissensus.preference.jury.model import LIMITS, JuryModel
from dissensus.preference.jury.texts import RatedText, hash_texts, read_rated_texts
from dissensus.preference.models.encoder import Encoder
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.safety import check_unsafe_answers
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.jury.model import TextAnswers, TextModel, fit_text_model
from dissensus.stats.result import BoolArray, FloatArray, Int64Array, IntArray

MIN_RATERS: Final = 5
"""Least number of raters of a group that a jury model learns, by default."""

MOST_ANSWERS: Final = 100
"""Largest number of answers of a question."""

MIN_ITEMS: Final = 20
"""Least number of items to learn from."""

UNKNOWN_SHARE: Final = 0.02
"""Share of the texts in training on which a model of the others would abstain, which sets the limit for new texts."""

MEASURED_ITEMS: Final = 120
"""Least number of items with which the coverage of intervals was measured."""

FEW_ITEMS: Final = (
    f"Fewer than {MEASURED_ITEMS} items: whether intervals cover was not measured, and they may be too narrow."
)

NOT_CONVERGED: Final = (
    "The variances of effects were still changing when training ended, so that intervals may be too narrow or too wide."
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JuryAnswers:
    """Answers about items, and the groups of raters that are large enough to learn."""

    question: str
    scale: tuple[str, ...]
    unsafe: tuple[str, ...]
    items: Int64Array
    raters: Int64Array
    answers: Int64Array
    axes: dict[str, tuple[str, ...]]
    groups: Int64Array  # Of each rater on each axis, -1 if unknown or too small, shape (A, R)
    has_raters: bool
    notes: tuple[str, ...] = ()

    def select(self, is_kept: BoolArray) -> Self:
        """Return the answers about some items, which remain numbered as they are."""
        rows = is_kept[self.items]
        return replace(self, items=self.items[rows], raters=self.raters[rows], answers=self.answers[rows])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JuryRatings(JuryAnswers):
    """Ratings with the texts of their items."""

    texts: tuple[RatedText, ...]  # Of all items


class LearnedGroups(NamedTuple):
    """Groups of each axis that have enough raters, the group of each rater, and notes on the others."""

    axes: dict[str, tuple[str, ...]]
    groups: Int64Array  # -1 if unknown or too small, shape (A, R)
    notes: tuple[str, ...]


def assign_groups(
    axis: str, names: Sequence[str], raters: Int64Array, codes: Int64Array, ids: Sequence[str | None]
) -> Int64Array:
    """Return the group of each rater on an axis, -1 if unknown, given the rater and the group of each answer.

    A rater with two groups is refused.
    """
    groups = np.full(len(ids), -1)
    for rater, group in zip(raters.tolist(), codes.tolist(), strict=True):
        if -1 not in (group, groups[rater]) and group != groups[rater]:
            raise InvalidInput(
                f"Rater {format_value(ids[rater])} has two groups of {axis}: {names[groups[rater]]} and "
                f"{names[group]}. Give each rater one, the same in all ratings and pairs; if they are two people, "
                "give them two ids."
            )
        groups[rater] = max(group, groups[rater])
    return groups


def learn_groups(
    axes: Mapping[str, tuple[IntArray, Sequence[str]]], raters: Int64Array, n_raters: int, min_raters: int
) -> LearnedGroups:
    """Return the groups with enough raters who answered; `axes` has the group of each rater, and the names."""
    learned_axes, codes, notes = {}, [], []
    for axis, (rater_codes, names) in axes.items():
        answered = rater_codes[np.unique(raters)]
        sizes = np.bincount(answered[answered >= 0], minlength=len(names))
        learned = np.flatnonzero(sizes >= max(min_raters, 1))
        small = [f"{names[g]} ({sizes[g]})" for g in range(len(names)) if sizes[g] < max(min_raters, 1)]
        listed = ", ".join(small)
        if not len(learned):
            raise InvalidInput(
                f"No group of {axis} has {min_raters} raters: {listed}. Lower --min-raters (in Python: "
                "min_raters=...), join groups, or leave the axis out."
            )
        if small:
            notes.append(f"Groups of {axis} with fewer than {min_raters} raters are not learned: {listed}.")
        number = np.full(len(names) + 1, -1)
        number[learned] = np.arange(len(learned))
        codes.append(number[rater_codes])
        learned_axes[axis] = tuple(names[g] for g in learned.tolist())
    return LearnedGroups(learned_axes, np.array(codes, np.int64).reshape(len(codes), n_raters), tuple(notes))


def read_jury_ratings(
    ratings: Ratings,
    *,
    question: str | None = None,
    unsafe: Sequence[str] | None = None,
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
) -> JuryRatings:
    """Check ratings for a jury model, and leave out groups of few raters, with a note."""
    check_whole("min_raters", min_raters)
    name = ratings.resolve_question(question)
    scale = ratings.scale(name)
    if len(scale) > MOST_ANSWERS:
        raise InvalidInput(
            f"{name} has {len(scale):,} answers, and a jury model takes up to {MOST_ANSWERS}. Join answers first."
        )
    labels = tuple(unsafe) if unsafe is not None else scale[-1:]
    check_unsafe_answers(ratings, name, labels)
    items, raters, answers = (part.astype(np.int64) for part in ratings.codes(name))
    if (n_items := len(np.unique(items))) < MIN_ITEMS:
        raise InvalidInput(
            f"{n_items:,} items were rated, and a jury model needs {MIN_ITEMS} or more. Give more ratings."
        )
    n_raters = ratings.n_raters if ratings.has_raters else len(raters)
    axes = dict.fromkeys(ratings.axis_name(axis) for axis in by)
    learned = learn_groups({axis: ratings.group_codes(axis) for axis in axes}, raters, n_raters, min_raters)
    return JuryRatings(
        question=name,
        scale=scale,
        unsafe=labels,
        texts=tuple(read_rated_texts(ratings)),
        items=items,
        raters=raters,
        answers=answers,
        axes=learned.axes,
        groups=learned.groups,
        has_raters=ratings.has_raters,
        notes=learned.notes,
    )


def train_jury(
    ratings: Ratings,
    *,
    question: str | None = None,
    unsafe: Sequence[str] | None = None,
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
    encoder: Encoder | None = None,
) -> JuryModel:
    """Train a jury model on ratings of items with texts.

    Parameters
    ----------
    ratings
        The ratings; items have a ``response`` or ``item_text``, and may have a ``context``.
    question
        The question; by default the overall or only one.
    unsafe
        Answers that call a text unsafe; by default the last of the scale.
    by
        Axes of raters, also crossed ones, such as ``race*gender``.
    min_raters
        Least number of raters of a group that is learned.
    encoder
        Frozen encoder of responses, whose vectors are features besides words.

    Returns
    -------
    JuryModel

    Raises
    ------
    InvalidInput
        Items without texts, fewer than 20 items, more than 100 answers, or an axis without a group of enough raters.
    UndefinedEstimate
        All answers are the same.

    Examples
    --------
    >>> import polars as pl
    >>> words = [("fine", "No"), ("vile", "Yes")] * 20
    >>> rows = [
    ...     {"item_id": str(i), "rater_id": str(r), "response": f"a {word} text", "Q_overall": answer}
    ...     for i, (word, answer) in enumerate(words) for r in range(5)
    ... ]
    >>> table = pl.DataFrame(rows)
    >>> items = table.select("item_id", "response").unique()
    >>> model = train_jury(Ratings.from_frame(table.drop("response")).with_items(items))
    >>> fine, vile = model.distributions([RatedText("", "a fine text"), RatedText("", "a vile text")])[:, -1]
    >>> bool(fine < 0.1), bool(vile > 0.9)
    (True, True)
    """
    return fit_jury(
        read_jury_ratings(ratings, question=question, unsafe=unsafe, by=by, min_raters=min_raters), encoder=encoder
    )


def fit_jury(ratings: JuryRatings, *, encoder: Encoder | None = None) -> JuryModel:
    """Fit a jury model to checked ratings."""
    texts = [ratings.texts[item] for item in np.unique(ratings.items)]
    features = TextFeatures.learn(texts, encoder)
    model = fit_text_model(number_answers(ratings, features.project(texts), features.blocks))
    return build_model(
        ratings, texts, features, model, few=FEW_ITEMS, card=describe_ratings(ratings, encoder, len(texts))
    )


def number_answers(answers: JuryAnswers, features: FloatArray, blocks: Int64Array) -> TextAnswers:
    """Return answers with features for the estimator; items without answers are left out of the numbering."""
    return TextAnswers(
        answers=answers.answers,
        n_answers=len(answers.scale),
        items=np.unique(answers.items, return_inverse=True)[1],
        raters=answers.raters,
        features=features,
        blocks=blocks,
        groups=answers.groups,
        n_groups=tuple(map(len, answers.axes.values())),
        has_raters=answers.has_raters,
    )


def build_model(
    answers: JuryAnswers,
    texts: Sequence[RatedText],
    features: TextFeatures,
    model: TextModel,
    *,
    few: str,
    card: Mapping[str, Any],
    people: Int64Array | None = None,
) -> JuryModel:
    """Return a fitted model with its training data and notes; `few` is the note on few items.

    Its people are the raters of the answers, or those of `people`.
    """
    cells, n_raters = count_cells(answers, answers.raters if people is None else people)
    known_shares = known_by_others([text.response for text in texts])
    notes = [
        *answers.notes,
        *([] if model.converged else [NOT_CONVERGED]),
        *([few] if len(np.unique(answers.items)) < MEASURED_ITEMS else []),
    ]
    return JuryModel(
        purpose=card["purpose"],
        question=answers.question,
        answers=answers.scale,
        unsafe=answers.unsafe,
        axes=answers.axes,
        cells=cells,
        n_raters=n_raters,
        features=features,
        model=model,
        least_known=float(np.quantile(known_shares, UNKNOWN_SHARE)),
        trained=np.unique(hash_texts(texts)),
        card={**card, "notes": notes},
    )


def count_cells(ratings: JuryAnswers, raters: Int64Array) -> tuple[BoolArray, Int64Array]:
    """Return the crossed groups of raters, and the number of raters of each."""
    codes = ratings.groups[:, np.unique(raters)].T
    unique, counts = np.unique(codes, axis=0, return_counts=True) if codes.shape[1] else (codes[:1], [len(codes)])
    parts = [unique[:, [axis]] == np.arange(len(names)) for axis, names in enumerate(ratings.axes.values())]
    cells = np.concatenate([np.zeros((len(unique), 0), np.bool_), *parts], axis=1)
    return cells, np.asarray(counts, np.int64)


def describe_ratings(ratings: JuryRatings, encoder: Encoder | None, n_items: int) -> dict[str, Any]:
    """Return the card of a model of ratings."""
    words = "TF-IDF of words and pairs of words of the response and of the turns before it"
    return {
        "description": f"jury: ordered probit on {words}, on all people and on each group, with effects of raters",
        "purpose": "harmless",
        "question": ratings.question,
        "answers": list(ratings.scale),
        "unsafe": list(ratings.unsafe),
        "groups": {axis: list(names) for axis, names in ratings.axes.items()},
        "n_ratings": len(ratings.answers),
        "n_items": n_items,
        "n_raters": len(np.unique(ratings.raters)) if ratings.has_raters else None,
        "encoder": None if encoder is None else encoder.name,
        "limits": list(LIMITS),
    }
