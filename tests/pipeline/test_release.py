"""Released pairs from picks: direction, strength, ties, weak picks, edits, tranches and splits."""

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


def preference(criterion: Criterion, *picks: int | Pick, **changes: Any) -> Preference:
    """Return a preference with a pick of each rater: a below 0, b above 0, a tie at 0."""
    records = [
        pick
        if isinstance(pick, Pick)
        else Pick(f"rater-{index}", None if pick == 0 else "b" if pick > 0 else "a", abs(pick))
        for index, pick in enumerate(picks)
    ]
    values: dict[str, Any] = {"preference_id": "p", "conversation_id": "c", "context": (HUMAN,), "a": GOOD, "b": BAD}
    return Preference(**{**values, "criterion": criterion, "picks": tuple(records), **changes})


def pair_of(preference: Preference, **policy: Any) -> ReleasedPair:
    (pair,) = released_pairs([preference], PairPolicy(**policy)).pairs
    return pair


@pytest.mark.parametrize(
    ("criterion", "pick", "chosen"),
    [("more helpful", -3, GOOD), ("less harmful", -3, GOOD), ("more harmful", 3, GOOD), ("more harmful", -3, BAD)],
)
def test_the_chosen_answer_is_the_better_one(criterion: Criterion, pick: int, chosen: str) -> None:
    pair = pair_of(preference(criterion, pick))
    assert pair.chosen == chosen
    assert {pair.chosen, pair.rejected} == {GOOD, BAD}
    assert pair.strength == 3
    assert [each.strength for each in pair.strengths] == [3]
    assert pair.criterion == criterion
    assert pair.purpose == ("helpful" if criterion == "more helpful" else "harmless")


@quick
@given(st.sampled_from(CRITERIA), st.lists(st.integers(-4, 4), min_size=1, max_size=6))
def test_sides_and_questions_are_symmetric(criterion: Criterion, picks: list[int]) -> None:
    released = released_pairs([preference(criterion, *picks)])
    swapped = released_pairs([preference(criterion, *(-pick for pick in picks), a=BAD, b=GOOD)])
    assert released.pairs == swapped.pairs
    assert released.dropped == swapped.dropped
    contrary = {"more harmful": "less harmful", "less harmful": "more harmful"}.get(criterion)
    if contrary is not None:
        mirrored = released_pairs([preference(contrary, *(-pick for pick in picks))])  # type: ignore[arg-type]
        assert [replace(pair, criterion=criterion) for pair in mirrored.pairs] == list(released.pairs)
    for pair in released.pairs:
        assert pair.strength is not None
        assert pair.strength > 0
        assert sum(each.strength for each in pair.strengths if abs(each.strength) > 1) > 0


def test_preferences_without_a_pair_are_dropped_and_counted() -> None:
    released = released_pairs(
        [
            preference("more helpful", 1, -1, 0),
            preference("more helpful", 2, -2),
            preference("more helpful"),
            preference("more helpful", 3, b=GOOD),
            preference("more helpful", 3, edits=(Edit("ann", "b", BAD),)),
        ]
    )
    assert released.dropped == {WEAKEST: 1, TIE: 1, NOBODY: 1, SAME: 1, UNCHANGED: 1}
    assert len(released.pairs) == 1
    assert "1 left out: a tie." in list(released.notes())


def test_weak_picks_stay_beside_the_pair_and_count_when_asked_to() -> None:
    comparison = preference("more helpful", 3, -1, -1, 0)
    assert pair_of(comparison).strength == 3
    assert [each.strength for each in pair_of(comparison).strengths] == [3, -1, -1, 0]
    assert pair_of(comparison, keep_weakest=True).strength == 0.25
    assert pair_of(preference("more helpful", 1, levels=1)).strength == 1


def test_the_sum_of_strengths_decides_and_disagreement_can_be_dropped() -> None:
    comparison = preference("more helpful", 4, 4, -2, -2, -2)
    assert (pair_of(comparison).chosen, pair_of(comparison).strength) == (BAD, 0.4)
    released = released_pairs([comparison], PairPolicy(disagreement="unanimous"))
    assert (released.pairs, released.dropped) == ((), {DISAGREE: 1})
    assert pair_of(preference("more helpful", 4, 2, -1), disagreement="unanimous").strength == 3


def test_ties_are_drawn_by_the_seed_when_asked_to() -> None:
    ties = [preference("more helpful", 2, -2, preference_id=f"p-{number}") for number in range(200)]
    chosen = [pair.chosen for pair in released_pairs(ties, PairPolicy(ties="random")).pairs]
    assert chosen == [pair.chosen for pair in released_pairs(ties, PairPolicy(ties="random")).pairs]
    assert 60 < chosen.count(GOOD) < 140
    assert {pair.strength for pair in released_pairs(ties, PairPolicy(ties="random")).pairs} == {0.0}
    assert chosen != [pair.chosen for pair in released_pairs(ties, PairPolicy(ties="random", seed=1)).pairs]


def test_an_edit_is_chosen_over_its_original() -> None:
    comparison = preference("less harmful", -3, edits=(Edit("ann", "a", "No."),), models=("rlhf", "plain lm"))
    pair, edited = released_pairs([comparison]).pairs
    assert (pair.chosen, pair.rejected, pair.chosen_model) == (GOOD, BAD, "rlhf")
    assert (edited.chosen, edited.rejected) == ("No.", GOOD)
    assert (edited.strength, edited.strengths, edited.edited_by) == (None, (), "ann")
    assert edited.pair_id == "p:edit-1"
    assert len(released_pairs([comparison], PairPolicy(edits=False)).pairs) == 1
    unpicked = released_pairs([replace(comparison, picks=())])
    assert (len(unpicked.pairs), unpicked.dropped) == (1, {})


@pytest.mark.parametrize(
    ("models", "phase", "criterion", "tranche", "standard"),
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
def test_a_tranche_follows_from_models_phase_and_question(
    models: tuple[str, str], phase: Any, criterion: Criterion, tranche: str, standard: bool
) -> None:
    released = released_pairs([preference(criterion, 3, models=models, phase=phase)])
    assert [(pair.tranche, pair.is_standard) for pair in released.pairs] == [(tranche, standard)]
    assert (f"hh-rlhf has no tranche '{tranche}'" in " ".join(released.notes())) != standard


def test_a_conversation_keeps_its_split() -> None:
    some = [
        preference("more helpful", 3, preference_id=f"p-{number}", conversation_id=f"c-{number // 3}")
        for number in range(3000)
    ]
    split = {pair.pair_id: pair.split for pair in released_pairs(some, PairPolicy(test_share=0.2)).pairs}
    by_conversation = {(number // 3, split[f"p-{number}"]) for number in range(3000)}
    assert len(by_conversation) == 1000
    assert 450 < Counter(split.values())["test"] < 750
    subset = released_pairs(some[:900], PairPolicy(test_share=0.2)).pairs
    assert {pair.pair_id: pair.split for pair in subset} == {name: split[name] for name in list(split)[:900]}
    other_seed = released_pairs(some, PairPolicy(test_share=0.2, seed=1)).pairs
    assert {pair.pair_id: pair.split for pair in other_seed} != split
    assert {pair.split for pair in released_pairs(some, PairPolicy(test_share=0)).pairs} == {"train"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Pick("ann", "c", 1), "A pick is 'c'; it is 'a' or 'b'"),  # type: ignore[arg-type]
        (lambda: Pick("ann", "a", 0), "The strength of a pick is 0"),
        (lambda: Pick("ann", None, 2), "Neither answer is picked, with a strength of 2"),
        (lambda: Edit("ann", "c", "x"), "The edited answer is 'c'"),  # type: ignore[arg-type]
        (lambda: preference("more helpfull", 1), "Did you mean 'more helpful'?"),  # type: ignore[arg-type]
        (lambda: preference("more helpful", 3, levels=2), "Preference 'p': A pick has strength 3, and levels is 2"),
        (lambda: preference("more helpful", Pick("x", "a", 1), Pick("x", "b", 1)), "Rater 'x' picked twice"),
        (lambda: preference("more harmful", 1, edits=(Edit("x", "a", "y"),)), "the criterion is 'more harmful'"),
        (lambda: preference("more helpful", 1, phase="late"), "phase is 'late'"),
        (lambda: preference("more helpful", 1, a="\0"), "Response a has a NUL"),
        (lambda: PairPolicy(ties="dropped"), "Did you mean 'drop'?"),  # type: ignore[arg-type]
        (lambda: PairPolicy(test_share=2), "test_share is 2"),
    ],
)
def test_invalid_values_are_refused(build: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        build()
    assert message in str(caught.value)
