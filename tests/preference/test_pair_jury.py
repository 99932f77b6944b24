"""Jury models of preferences: groups that prefer different words, exchanged responses, held-out loss and refusals."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.preference.pairs import simulate_group_choices

from dissensus.errors import DissensusError, InvalidInput, NotFound
from dissensus.files.models.folder import load_jury_model, save_model
from dissensus.preference.data.pairs import Pair
from dissensus.preference.fit.training import sort_pairs
from dissensus.preference.jury.composition import seat_groups
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.jury.pair_evaluation import evaluate_pair_jury
from dissensus.preference.jury.pairs import (
    Comparison,
    find_unknown,
    predict_choices,
    read_jury_pairs,
    train_pair_jury,
)
from dissensus.preference.jury.prediction import predict_opinions
from dissensus.preference.jury.texts import RatedText
from dissensus.schema.records.conversation import Conversation

WOMEN, MEN = "rater_gender=Woman", "rater_gender=Man"


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return simulate_group_choices()


@pytest.fixture(scope="module")
def model(pairs: list[Pair]) -> JuryModel:
    return train_pair_jury(pairs, by=["gender"])


def compare(first: str, second: str) -> list[Comparison]:
    """Compare two responses whose other words are the same."""
    return [Comparison(*(RatedText("", f"A {words} talk of tea and rain.") for words in (first, second)))]


def test_groups_prefer_responses_without_words_of_their_own(model: JuryModel) -> None:
    for group in (WOMEN, MEN):
        assert predict_choices(model, compare("kind soft", "vile soft"), group)[0, 1] > 0.85
    assert predict_choices(model, compare("kind soft", "kind blunt"), WOMEN)[0, 1] > 0.8
    assert predict_choices(model, compare("kind soft", "kind blunt"), MEN)[0, 1] < 0.65


def test_no_comparisons_have_no_predictions(model: JuryModel) -> None:
    assert predict_choices(model, [], WOMEN).shape == (0, 2)
    assert find_unknown(model, []).shape == (0,)


def test_exchanged_responses_and_pairs_in_another_order_change_nothing(pairs: list[Pair], model: JuryModel) -> None:
    for group in (None, WOMEN, MEN):
        one, other = (
            predict_choices(model, compare(*words), group)[0]
            for words in (("kind soft", "vile blunt"), ("vile blunt", "kind soft"))
        )
        assert one == pytest.approx(other[::-1])
    again = train_pair_jury(pairs[::-1], by=["gender"])
    assert again.model.weights == pytest.approx(model.model.weights, abs=1e-9)


def test_a_model_of_preferences_is_saved_scores_and_has_seats(model: JuryModel, tmp_path: Path) -> None:
    save_model(model, tmp_path)
    loaded = load_jury_model(tmp_path)
    assert (loaded.question, loaded.purpose) == ("preference", "harmless")
    assert loaded.answers == ("preferred", "not preferred")
    talk = Conversation.from_turns(
        [("human", "Well?"), ("bot", "A kind soft talk."), ("human", "And?"), ("bot", "A kind blunt talk.")]
    )
    ((soft, blunt),) = loaded.score([talk], as_group=WOMEN)
    assert soft > blunt + 1
    rows: dict[str, Any] = {}
    for group in (WOMEN, MEN):
        texts = [comparison.second for comparison in compare("kind soft", "kind blunt")]
        rows[group] = predict_opinions(loaded, ["blunt"], texts, jury=seat_groups(loaded, {group: 12})).rows[-1].score
    assert rows[WOMEN] > rows[MEN] + 0.2


@pytest.mark.slow
def test_it_is_evaluated_beside_chance_and_the_linear_model_on_dialogues_held_out(pairs: list[Pair]) -> None:
    shares: list[float] = []
    evaluation = evaluate_pair_jury(pairs, by=["gender"], n_folds=3, progress=shares.append)
    # Folds of the jury model, then those of the linear one
    assert [share for share in shares if share] == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])
    rows = {row.group: row for row in evaluation.rows}
    assert rows[None].rival_losses["chance"] == pytest.approx(np.log(2))
    for row in evaluation.rows:
        assert row.gains["chance"].ci_low is not None
        assert row.gains["chance"].ci_low > 0.1
    assert rows["Woman"].gains["pooled"].estimate > 0
    assert evaluation.verdict().startswith("Groups predicted better than by rivals: 3 of 3 against chance (0 worse), ")
    assert (evaluation.n_items, rows[None].n_ratings, rows[None].n_raters) == (400, 400, 24)
    assert '"linear"' in evaluation.to_json()


def test_several_choices_between_two_responses_are_one_item(pairs: list[Pair]) -> None:
    read = read_jury_pairs([*pairs, pairs[0].swapped()])
    assert len(read.comparisons) == len(pairs)
    assert read.has_raters
    anonymous = [Pair(pair.context, pair.chosen, pair.rejected) for pair in pairs]
    assert not read_jury_pairs(anonymous).has_raters


def test_groups_of_unknown_raters_are_refused(pairs: list[Pair]) -> None:
    """A pair of an unknown rater would count as a rater, and a group of one person as many."""
    unknown = [replace(pair, rater=None) for pair in pairs[:30]]
    for some in (unknown, [*unknown, *pairs[30:]]):
        with pytest.raises(InvalidInput, match=r"30 of \d+ pairs have a group of rater_gender and no rater.*rater_id"):
            train_pair_jury(some, by=["gender"])
    assert not read_jury_pairs(unknown).has_raters
    anonymous = [replace(pair, groups=()) for pair in unknown]
    assert read_jury_pairs([*anonymous, *pairs[30:]], by=["gender"]).axes == {"rater_gender": ("Man", "Woman")}


def test_an_empty_cell_does_not_erase_the_group_of_a_rater(pairs: list[Pair]) -> None:
    last = {pair.rater: number for number, pair in enumerate(sort_pairs(pairs))}
    for number in (set(last.values()), {0}):
        some = [replace(pair, groups=()) if row in number else pair for row, pair in enumerate(sort_pairs(pairs))]
        whole, blank = (read_jury_pairs(each, by=["gender"]) for each in (pairs, some))
        assert blank.axes == whole.axes
        assert blank.groups.tolist() == whole.groups.tolist()


def test_raters_with_two_groups_are_refused(pairs: list[Pair]) -> None:
    one = next(pair for pair in pairs if pair.cells["rater_gender"] == "Man")
    other = replace(one, groups=(("rater_gender", "Woman"),), rejected="Another response.")
    with pytest.raises(InvalidInput, match=rf"Rater '{one.rater}' has two groups of rater_gender: .*two ids"):
        read_jury_pairs([*pairs, other], by=["gender"])


@pytest.mark.parametrize(
    ("options", "n", "error", "message"),
    [
        ({}, 10, InvalidInput, "10 pairs of responses were compared, and a jury model needs 20"),
        ({"by": ["town"]}, 50, NotFound, "no axis 'town'"),
        ({"by": ["gender"], "min_raters": 13}, 400, InvalidInput, "No group of rater_gender has 13 raters: Man"),
    ],
)
def test_pairs_that_teach_nothing_are_refused(
    pairs: list[Pair], options: dict[str, Any], n: int, error: type[DissensusError], message: str
) -> None:
    with pytest.raises(error, match=message):
        train_pair_jury(pairs[:n], **options)
