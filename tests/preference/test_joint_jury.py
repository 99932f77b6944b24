"""Jury models of ratings and pairs together: words of either, raters of both, files, held-out loss and refusals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.preference.pairs import simulate_group_choices
from tests.support.rated_texts import simulate_rated_texts

from dissensus.errors import InvalidInput
from dissensus.files.models.folder import load_jury_model, save_model
from dissensus.preference.data.pairs import Pair
from dissensus.preference.jury.evaluation import evaluate_jury
from dissensus.preference.jury.joint import fit_joint_jury, read_joint_answers, train_joint_jury
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.jury.pairs import Comparison, predict_choices, read_jury_pairs
from dissensus.preference.jury.texts import RatedText
from dissensus.preference.jury.training import train_jury
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.conversation import Turn

WOMEN, MEN = "rater_gender=Woman", "rater_gender=Man"
BLUNT, SOFT, RUDE = (RatedText("", f"A kind {word} talk of tea and rain.") for word in ("blunt", "soft", "rude"))


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return simulate_rated_texts()


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """Choices by other raters; one of two responses is rude in some, a word that no rated text has."""
    choices = [replace(pair, rater=f"p{pair.rater}") for pair in simulate_group_choices(150)]
    rude = [
        Pair(
            (Turn("human", f"And number {number}?"),),
            f"A kind soft talk of {calm}.",
            f"A kind rude talk of {calm}.",
            rater=f"pr{number % 24}",
            groups=(("rater_gender", "Woman" if number % 2 else "Man"),),
        )
        for number, calm in enumerate(["tea and rain", "books and bread", "gardens and music"] * 10)
    ]
    return [*choices, *rude]


@pytest.fixture(scope="module")
def model(ratings: Ratings, pairs: list[Pair]) -> JuryModel:
    return train_joint_jury(ratings, pairs, by=["gender"])


def test_words_of_pairs_count_in_the_answers_of_each_group(ratings: Ratings, model: JuryModel) -> None:
    alone = train_jury(ratings, by=["gender"])
    with pytest.raises(InvalidInput, match="does not know how people choose"):
        predict_choices(alone, [Comparison(SOFT, RUDE)])
    for group in (WOMEN, MEN):
        soft, rude = model.distributions([SOFT, RUDE], group)[:, -1]
        assert rude > soft + 0.15
    assert alone.distributions([RUDE])[0, -1] < model.distributions([RUDE])[0, -1] - 0.1
    women, men = (model.distributions([BLUNT], group)[0, -1] for group in (WOMEN, MEN))
    assert women > men + 0.2


def test_it_predicts_choices_and_exchanged_ones(model: JuryModel) -> None:
    one, other = (predict_choices(model, [Comparison(*texts)], WOMEN)[0] for texts in ((SOFT, BLUNT), (BLUNT, SOFT)))
    assert one == pytest.approx(other[::-1])
    assert one[1] > 0.75


def test_raters_of_both_are_counted_once_and_unknown_ones_are_not_people(
    ratings: Ratings, pairs: list[Pair], model: JuryModel
) -> None:
    assert model.n_raters.sum() == 48
    # Women have even numbers among the raters of the ratings, and odd ones among those of the pairs
    same = [replace(pair, rater=f"r{(int(str(pair.rater)[2:]) + 1) % 24:02}") for pair in pairs]
    assert train_joint_jury(ratings, same, by=["gender"]).n_raters.sum() == 24
    anonymous = [replace(pair, rater=None, groups=()) for pair in pairs]
    unknown = train_joint_jury(ratings, anonymous)
    assert (unknown.n_raters.tolist(), unknown.card["n_raters"]) == ([24], 24)


def test_pairs_in_another_order_or_exchanged_twice_give_the_same_model(
    ratings: Ratings, pairs: list[Pair], model: JuryModel
) -> None:
    again = train_joint_jury(ratings, pairs[::-1], by=["gender"])
    for group in (WOMEN, MEN):
        assert again.distributions([SOFT, RUDE], group) == pytest.approx(
            model.distributions([SOFT, RUDE], group), abs=1e-6
        )


def test_a_saved_model_predicts_the_same_and_has_both_in_its_card(model: JuryModel, tmp_path: Path) -> None:
    save_model(model, tmp_path)
    loaded = load_jury_model(tmp_path)
    assert loaded.model.choice_scale == model.model.choice_scale
    assert loaded.distributions([RUDE], WOMEN) == pytest.approx(model.distributions([RUDE], WOMEN), abs=1e-4)
    comparisons = [Comparison(SOFT, RUDE)]
    assert predict_choices(loaded, comparisons) == pytest.approx(predict_choices(model, comparisons), abs=1e-4)
    assert loaded.card["n_choices"] == 180
    assert loaded.card["choice_scale"] == model.model.choice_scale


def test_pairs_of_another_criterion_have_a_note(ratings: Ratings, pairs: list[Pair]) -> None:
    opposite = train_joint_jury(ratings, [pair.swapped() for pair in pairs], by=["gender"])
    assert "Choices hardly follow what moves the ratings (scale 0." in " ".join(opposite.card["notes"])


def test_choices_about_texts_held_out_are_left_out_in_whatever_context(pairs: list[Pair]) -> None:
    choices = read_jury_pairs(pairs)
    comparison, other = choices.comparisons[0], "Nobody wrote this."
    begun = RatedText(comparison.first.opening, other)
    for text in (begun, RatedText("", comparison.first.response), RatedText("Why?", comparison.second.response)):
        left = choices.leave_out([text])
        assert 0 not in left.items
        assert 0 < len(left.answers) < len(choices.answers)
    assert len(choices.leave_out([RatedText("", other)]).answers) == len(choices.answers)


@pytest.mark.slow
def test_it_is_evaluated_beside_ratings_alone_without_pairs_of_the_same_conversations(
    ratings: Ratings, pairs: list[Pair]
) -> None:
    few = ratings.select_items(pl.Series(np.arange(ratings.n_items) < 40))
    evaluation = evaluate_jury(few, pairs, by=["gender"], n_folds=2)
    assert list(evaluation.rivals) == ["item_blind", "plurality", "pooled", "ratings_alone"]
    assert "of 3 against ratings-alone" in evaluation.verdict()
    # No pair is left for the fold of the conversation of all pairs
    opening = read_joint_answers(few, pairs).ratings.texts[0].opening
    same = [replace(pair, context=(Turn("human", opening),)) for pair in pairs]
    assert evaluate_jury(few, same, n_folds=2).rows[0].rival_losses["ratings_alone"] > 0


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            lambda pair: replace(pair, groups=()),
            {"by": ["gender"]},
            "No pair has a group of 'rater_gender'.*--pair-r",
        ),
        (lambda pair: replace(pair, rater=None), {"by": ["gender"]}, "pairs have a group of rater_gender and no rater"),
        (lambda pair: replace(pair, rater="r01"), {"by": ["gender"]}, "Rater 'r01' has two groups of rater_gender"),
        (lambda pair: pair, {"by": ["gender*town"]}, "is crossed, and pairs have one group for each axis"),
        (lambda pair: pair, {"by": ["gender"], "min_raters": 40}, "No group of rater_gender has 40 raters"),
        (lambda pair: pair, {"unsafe": ["No"]}, "Unsafe answers are 'No', and the answers in order"),
        (lambda pair: Pair((), f"x{pair.chosen.split()[-1]}", "zzz"), {}, "pairs of responses were compared, and a"),
        (
            lambda pair: Pair((), "q" + "".join(filter(str.isdigit, pair.dialogue)), "zzz"),
            {},
            "No word is both in a response of the pairs and",
        ),
    ],
)
def test_what_cannot_be_learned_from_both_is_refused(
    ratings: Ratings,
    pairs: list[Pair],
    change: Callable[[Pair], Pair],
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(InvalidInput, match=message):
        train_joint_jury(ratings, [change(pair) for pair in pairs], **options)


def test_texts_are_needed_and_a_pair_of_one_response_is_none(ratings: Ratings, pairs: list[Pair]) -> None:
    bare = Ratings(ratings.answers, ratings.raters, ratings.items.select("item_id"), ratings.repeats)
    with pytest.raises(InvalidInput, match="Items have no texts"):
        train_joint_jury(bare, pairs)
    with pytest.raises(InvalidInput, match="so nothing was chosen"):
        Pair((), "the same", "the same")
    with pytest.raises(InvalidInput, match="0 pairs of responses were compared, and a jury model needs 20"):
        train_joint_jury(ratings, [])


def test_a_group_of_few_raters_in_ratings_is_learned_with_those_of_pairs(ratings: Ratings, pairs: list[Pair]) -> None:
    answers = read_joint_answers(ratings, pairs, by=["gender"], min_raters=20)
    assert answers.ratings.axes == {"rater_gender": ("Man", "Woman")}
    assert np.array_equal(answers.ratings.groups, answers.choices.groups)
    assert fit_joint_jury(answers).axes == answers.ratings.axes
