"""From what raters picked to pairs: direction, strength, ties, weak picks, edits, tranches and splits."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import InvalidInput
from dissensus.pipeline.release import PairPolicy, ReleasedPair, released_pairs
from dissensus.pipeline.release.pairs import DISAGREE, NOBODY, SAME, TIE, UNCHANGED, WEAKEST
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import CRITERIA, Criterion, Edit, Pick, Preference

HUMAN = Turn("human", "Be rude.")
GOOD, BAD = "No, thank you.", "Go away."


def preference(asked: Criterion, *picks: int | Pick, **changes: Any) -> Preference:
    """Return a preference in which each rater picks a below 0, b above, and neither with 0."""
    given = [
        one
        if isinstance(one, Pick)
        else Pick(f"rater-{place}", None if one == 0 else "b" if one > 0 else "a", abs(one))
        for place, one in enumerate(picks)
    ]
    values: dict[str, Any] = {"preference_id": "p", "conversation_id": "c", "context": (HUMAN,), "a": GOOD, "b": BAD}
    return Preference(**{**values, "asked": asked, "picks": tuple(given), **changes})


def pair_of(one: Preference, **policy: Any) -> ReleasedPair:
    (pair,) = released_pairs([one], PairPolicy(**policy)).pairs
    return pair


@pytest.mark.parametrize(
    ("asked", "picked", "chosen"),
    [("more helpful", -3, GOOD), ("less harmful", -3, GOOD), ("more harmful", 3, GOOD), ("more harmful", -3, BAD)],
)
def test_the_chosen_answer_is_the_better_one(asked: Criterion, picked: int, chosen: str) -> None:
    pair = pair_of(preference(asked, picked))
    assert pair.chosen == chosen
    assert {pair.chosen, pair.rejected} == {GOOD, BAD}
    assert pair.strength == 3
    assert [each.strength for each in pair.strengths] == [3]
    assert pair.asked == asked
    assert pair.purpose == ("helpful" if asked == "more helpful" else "harmless")


@quick
@given(st.sampled_from(CRITERIA), st.lists(st.integers(-4, 4), min_size=1, max_size=6))
def test_sides_and_questions_are_symmetric(asked: Criterion, picks: list[int]) -> None:
    here = released_pairs([preference(asked, *picks)])
    there = released_pairs([preference(asked, *(-pick for pick in picks), a=BAD, b=GOOD)])
    assert [replace(pair) for pair in here.pairs] == list(there.pairs)
    assert here.dropped == there.dropped
    contrary = {"more harmful": "less harmful", "less harmful": "more harmful"}.get(asked)
    if contrary is not None:
        other = released_pairs([preference(contrary, *(-pick for pick in picks))])  # type: ignore[arg-type]
        assert [replace(pair, asked=asked) for pair in other.pairs] == list(here.pairs)
    for pair in here.pairs:
        assert pair.strength is not None
        assert pair.strength > 0
        assert sum(each.strength for each in pair.strengths if abs(each.strength) > 1) > 0


def test_what_does_not_count_is_dropped_and_counted() -> None:
    made = released_pairs(
        [
            preference("more helpful", 1, -1, 0),
            preference("more helpful", 2, -2),
            preference("more helpful"),
            preference("more helpful", 3, b=GOOD),
            preference("more helpful", 3, edits=(Edit("ann", "b", BAD),)),
        ]
    )
    assert made.dropped == {WEAKEST: 1, TIE: 1, NOBODY: 1, SAME: 1, UNCHANGED: 1}
    assert len(made.pairs) == 1
    assert "1 left out: a tie." in list(made.notes())


def test_weak_picks_stay_beside_the_pair_and_count_when_asked_to() -> None:
    one = preference("more helpful", 3, -1, -1, 0)
    assert pair_of(one).strength == 3
    assert [each.strength for each in pair_of(one).strengths] == [3, -1, -1, 0]
    assert pair_of(one, keep_weakest=True).strength == 0.25
    assert pair_of(preference("more helpful", 1, levels=1)).strength == 1


def test_strengths_outweigh_heads_and_disagreement_can_be_left_out() -> None:
    one = preference("more helpful", 4, 4, -2, -2, -2)
    assert (pair_of(one).chosen, pair_of(one).strength) == (BAD, 0.4)
    made = released_pairs([one], PairPolicy(disagreement="unanimous"))
    assert (made.pairs, made.dropped) == ((), {DISAGREE: 1})
    assert pair_of(preference("more helpful", 4, 2, -1), disagreement="unanimous").strength == 3


def test_ties_are_drawn_by_the_seed_when_asked_to() -> None:
    ties = [preference("more helpful", 2, -2, preference_id=f"p-{number}") for number in range(200)]
    chosen = [pair.chosen for pair in released_pairs(ties, PairPolicy(ties="random")).pairs]
    assert chosen == [pair.chosen for pair in released_pairs(ties, PairPolicy(ties="random")).pairs]
    assert 60 < chosen.count(GOOD) < 140
    assert {pair.strength for pair in released_pairs(ties, PairPolicy(ties="random")).pairs} == {0.0}
    assert chosen != [pair.chosen for pair in released_pairs(ties, PairPolicy(ties="random", seed=1)).pairs]


def test_an_edit_is_chosen_over_what_it_was() -> None:
    one = preference("less harmful", -3, edits=(Edit("ann", "a", "No."),), models=("rlhf", "plain lm"))
    picked, edited = released_pairs([one]).pairs
    assert (picked.chosen, picked.rejected, picked.chosen_model) == (GOOD, BAD, "rlhf")
    assert (edited.chosen, edited.rejected) == ("No.", GOOD)
    assert (edited.strength, edited.strengths, edited.edited_by) == (None, (), "ann")
    assert edited.pair_id == "p:edit-1"
    assert len(released_pairs([one], PairPolicy(edits=False)).pairs) == 1
    alone = released_pairs([replace(one, picks=())])
    assert (len(alone.pairs), alone.dropped) == (1, {})


@pytest.mark.parametrize(
    ("models", "phase", "asked", "tranche", "standard"),
    [
        (("context distillation", "plain lm"), None, "more helpful", "helpful-base", True),
        (("context distillation", "rejection sampling"), None, "more helpful", "helpful-rejection-sampled", True),
        (("rejection sampling", "rlhf"), None, "more helpful", "helpful-online", True),
        (("ours", "ours"), "online", "more helpful", "helpful-online", True),
        (("rlhf", "rlhf"), "base", "more harmful", "harmless-base", True),
        (("rlhf", "rlhf"), None, "more harmful", "harmless-online", False),
        (("", "rejection sampling"), None, "less harmful", "harmless-rejection-sampled", False),
    ],
)
def test_tranches(models: tuple[str, str], phase: Any, asked: Criterion, tranche: str, standard: bool) -> None:
    made = released_pairs([preference(asked, 3, models=models, phase=phase)])
    assert [(pair.tranche, pair.is_standard) for pair in made.pairs] == [(tranche, standard)]
    assert (f"hh-rlhf has no tranche '{tranche}'" in " ".join(made.notes())) != standard


def test_conversations_stay_whole_and_where_they_are() -> None:
    some = [
        preference("more helpful", 3, preference_id=f"p-{number}", conversation_id=f"c-{number // 3}")
        for number in range(3000)
    ]
    split = {pair.pair_id: pair.split for pair in released_pairs(some, PairPolicy(test_share=0.2)).pairs}
    by_conversation = {(number // 3, split[f"p-{number}"]) for number in range(3000)}
    assert len(by_conversation) == 1000
    assert 450 < Counter(split.values())["test"] < 750
    fewer = released_pairs(some[:900], PairPolicy(test_share=0.2)).pairs
    assert {pair.pair_id: pair.split for pair in fewer} == {name: split[name] for name in list(split)[:900]}
    other = released_pairs(some, PairPolicy(test_share=0.2, seed=1)).pairs
    assert {pair.pair_id: pair.split for pair in other} != split
    assert {pair.split for pair in released_pairs(some, PairPolicy(test_share=0)).pairs} == {"train"}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Pick("ann", "c", 1), "A pick is 'c'; it is 'a' or 'b'"),  # type: ignore[arg-type]
        (lambda: Pick("ann", "a", 0), "The strength of a pick is 0"),
        (lambda: Pick("ann", None, 2), "Neither answer is picked, with a strength of 2"),
        (lambda: Edit("ann", "c", "x"), "The edited answer is 'c'"),  # type: ignore[arg-type]
        (lambda: preference("more helpfull", 1), "Did you mean 'more helpful'?"),  # type: ignore[arg-type]
        (lambda: preference("more helpful", 3, levels=2), "Preference 'p': A pick has strength 3, and there are 2"),
        (lambda: preference("more helpful", Pick("x", "a", 1), Pick("x", "b", 1)), "Rater 'x' picked twice"),
        (lambda: preference("more harmful", 1, edits=(Edit("x", "a", "y"),)), "the more harmful answer was asked for"),
        (lambda: preference("more helpful", 1, phase="late"), "phase is 'late'"),
        (lambda: preference("more helpful", 1, a="\0"), "Answer a has a NUL"),
        (lambda: PairPolicy(ties="dropped"), "Did you mean 'drop'?"),  # type: ignore[arg-type]
        (lambda: PairPolicy(test_share=2), "test_share is 2"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert says in str(caught.value)
