"""Quotas: cells, shares, and rejection of quotas that cannot be filled."""

import tracemalloc
from copy import deepcopy
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.campaign_definitions import pilot

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.quota import REST, Quota, QuotaCell
from dissensus.schema.questionnaire.shipped import load_questionnaire

RACES = ("Asian/Asian subcontinent", "Black/African American", "LatinX, Latino, Hispanic or Spanish Origin", "White")
DICES: dict[str, Any] = {
    "axes": {
        "rater_age": {"gen z": ["gen z"], "millenial": ["millenial"], "gen x+": ["gen x+"]},
        "rater_race": {race.partition("/")[0].partition(",")[0]: [race] for race in RACES},
    },
    "seats": 10,
    "rest": 20,
}
"""Three ages by four races with ten seats each, as in DICES-350."""


def with_quota(demographics: str = "demographics-dices", *, replication: int | None = None, **changes: Any) -> Campaign:
    mapping = pilot(demographics=demographics, replication=replication)
    return parse_campaign({**mapping, "quota": {**deepcopy(DICES), **changes}})


def quota_of(**changes: Any) -> Quota:
    quota = with_quota(**changes).quota
    assert quota is not None
    return quota


def test_crossed_axes_make_cells_and_a_rest() -> None:
    quota = quota_of()
    assert len(quota.targets) == 13
    assert quota.targets["White × gen z"] == 10
    assert list(quota.targets)[-1] == REST
    assert sum(quota.targets.values()) == 140


def test_a_cell_may_override_the_seats() -> None:
    groups = {"rater_age": "gen z", "rater_race": "White"}
    assert quota_of(cells=[{"groups": groups, "seats": 3}]).targets["White × gen z"] == 3


def test_the_margin_is_rounded_up_exactly() -> None:
    assert set(quota_of(margin_percent=10).capacities.values()) == {11, 22}
    assert set(quota_of(margin_percent=18).capacities.values()) == {12, 24}


@pytest.mark.parametrize(
    ("age", "race", "cell"),
    [
        ("gen z", "White", "White × gen z"),
        ("Prefer not to answer", "White", REST),
        ("gen z", "Prefer not to answer", REST),
        ("gen z", "Multiracial", REST),
        ("gen z", "Self-described", REST),
    ],
)
def test_raters_outside_all_groups_are_in_the_rest(age: str, race: str, cell: str) -> None:
    assert quota_of().cell_of({"rater_age": age, "rater_race": race}) == cell


def test_several_answers_are_in_a_group_that_has_all_of_them() -> None:
    quota = Quota(axes={"rater_x": {"both": ("a", "b"), "c": ("c",)}}, seats=1, rest=1)
    assert quota.cell_of({"rater_x": ("a", "b")}) == "both"
    assert quota.cell_of({"rater_x": ("a", "c")}) == REST
    assert quota.cell_of({"rater_x": ()}) == REST
    assert quota.cell_of({}) == REST


def test_every_answer_to_the_screener_has_a_cell_with_seats() -> None:
    campaign = with_quota()
    assert campaign.screener is not None
    assert campaign.quota is not None
    questions = campaign.screener.questions
    assert {question.name for question in questions} == {"rater_age", "rater_race"}
    for answers in product(*(question.answers for question in questions)):
        by_name = dict(zip((question.name for question in questions), answers, strict=True))
        assert campaign.quota.targets[campaign.quota.cell_of(by_name)] > 0


def test_raters_from_a_recruiter_are_not_screened() -> None:
    assert with_quota(source="recruiter").screener is None


@quick
@given(
    st.integers(1, 200),
    st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any),
    st.integers(0, 30),
)
def test_shares_add_up_and_differ_from_quotients_by_less_than_one(
    replication: int, seats: list[int], remainder: int
) -> None:
    axes = {"rater_x": {str(i): (str(i),) for i in range(len(seats))}}
    cells = tuple(QuotaCell(groups={"rater_x": str(i)}, seats=n) for i, n in enumerate(seats))
    quota = Quota(axes=axes, seats=1, rest=remainder, cells=cells)
    shares, targets = quota.shares(replication), quota.targets
    assert sum(shares.values()) == replication
    for name, n in shares.items():
        assert abs(n - replication * targets[name] / sum(targets.values())) < 1


def test_a_quota_survives_serialisation() -> None:
    campaign = with_quota(
        cells=[{"groups": {"rater_age": "gen z", "rater_race": "White"}, "seats": 3}],
        margin_percent=15,
        hold_minutes=30,
        source="recruiter",
    )
    reparsed = parse_campaign(campaign.as_mapping())
    assert reparsed == campaign
    assert reparsed.digest == campaign.digest


def test_cells_are_in_the_order_of_the_questions() -> None:
    axes = {
        name: dict(sorted(groups.items(), reverse=True)) for name, groups in sorted(DICES["axes"].items(), reverse=True)
    }
    assert list(quota_of(axes=axes).targets) == list(quota_of().targets)
    assert next(iter(quota_of().targets)) == "Asian × gen z"


def test_a_campaign_without_a_quota_has_no_key_for_it() -> None:
    assert "quota" not in parse_campaign(pilot()).as_mapping()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"axes": {}}, "quota.axes: There is none"),
        ({"axes": {"rater_agge": {"x": ["gen z"]}}}, "It is not asked. Did you mean 'rater_age'?"),
        ({"axes": {"rater_age": {}}}, "It has no group"),
        ({"axes": {"rater_age": {"young": []}}}, "It has 0 texts. Write 1 to 4"),
        ({"axes": {"rater_age": {"young": ["gen y"]}}}, "'gen y' is not an answer. Did you mean 'gen z'?"),
        ({"axes": {"rater_age": {"a": ["gen z"], "b": ["gen z", "gen x+"]}}}, "'gen z' is in two groups"),
        ({"axes": {"rater_age": {"rest": ["gen z"]}}}, "the name of the cell of raters in no group"),
        ({"seats": 0, "rest": 0}, "There are no seats"),
        ({"rest": 0}, "declining must not exclude a rater"),
        ({"seats": -1}, "Write a whole number from 0"),
        ({"sits": 3}, "There is no key 'sits'. Did you mean 'seats'?"),
        ({"source": "luck"}, "Allowed are"),
        ({"balanced": True}, "Set replication"),
        ({"balanced": True, "replication": 2}, "would have none. Raise replication"),
        ({"cells": [{"groups": {"rater_age": "gen z"}, "seats": 3}]}, "Name one group on each axis"),
        ({"cells": [{"groups": {"rater_age": "gen z", "rater_race": "White"}}]}, "Write how many raters"),
        ({"cells": [{"groups": {"rater_age": "gen y", "rater_race": "White"}, "seats": 3}]}, "It is 'gen y'"),
        (
            {"cells": [{"groups": {"rater_age": "gen z", "rater_race": "White"}, "seats": n} for n in (3, 4)]},
            "White × gen z is listed twice",
        ),
    ],
)
def test_an_invalid_quota_is_rejected_with_its_path(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        with_quota(**changes)
    assert message in str(error.value)
    assert "quota" in str(error.value)


def test_two_cells_with_one_name_are_rejected() -> None:
    axes = {
        "rater_race": {"a": ["White"], "a × b": ["Multiracial"]},
        "rater_age": {"b × c": ["gen z"], "c": ["millenial"]},
    }
    with pytest.raises(InvalidInput, match="Two cells have one name"):
        with_quota(axes=axes)


def test_cells_are_counted_before_they_are_listed() -> None:
    answers = [str(number) for number in range(50)]
    question = {"scale": answers, "decline": "No answer", "labels": {"No answer": "No answer"}}
    names = [f"rater_{letter}" for letter in "abcd"]
    questions = [{"name": name, "text": "Which?", **question} for name in names]
    demographics = {"name": "many", "about": "rater", "languages": ["en"], "title": "You", "questions": questions}
    axes = {name: {answer: [answer] for answer in answers} for name in names}
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match="They make 6,250,000 cells, and 500 are possible"):
            with_quota(demographics, axes=axes)  # type: ignore[arg-type]
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def test_the_replication_cannot_exceed_the_seats() -> None:
    assert with_quota(replication=140).replication == 140
    with pytest.raises(InvalidInput, match="There are 140 in all, and each item needs 141 raters"):
        with_quota(replication=141)


def test_seats_are_held_longer_than_a_daily_limit_lasts() -> None:
    mapping = {**pilot(demographics="demographics-dices", max_per_day=10), "quota": deepcopy(DICES)}
    with pytest.raises(InvalidInput, match=r"quota.hold_minutes: With max_per_day raters .* Write 2,880 or more"):
        parse_campaign(mapping)
    mapping["quota"]["hold_minutes"] = 2880
    parse_campaign(mapping)


def test_an_axis_that_cannot_be_declined_is_rejected() -> None:
    demographics = load_questionnaire("demographics-dices").as_mapping()
    age = demographics["questions"][2]
    del age["labels"][age.pop("decline")]
    with pytest.raises(InvalidInput, match="It cannot be declined"):
        with_quota(demographics)  # type: ignore[arg-type]


def test_a_quota_needs_questions_about_raters() -> None:
    with pytest.raises(InvalidInput, match="There is no questionnaire about raters"):
        parse_campaign({**pilot(), "quota": deepcopy(DICES)})


def test_an_optional_question_cannot_be_an_axis() -> None:
    demographics = load_questionnaire("demographics-dices").as_mapping()
    demographics["questions"][0]["required"] = False
    with pytest.raises(InvalidInput, match="Not everybody chooses an answer"):
        with_quota(demographics, axes={"rater_gender": {"men": ["Man"]}})  # type: ignore[arg-type]
