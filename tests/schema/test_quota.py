"""Quotas: every rater has a cell, and what nobody could fill is refused."""

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
"""Three ages by four races, ten of each, as DICES-350 wanted them."""


def with_quota(demographics: str = "demographics-dices", *, replication: int | None = None, **changes: Any) -> Campaign:
    asked = pilot(demographics=demographics, replication=replication)
    return parse_campaign({**asked, "quota": {**deepcopy(DICES), **changes}})


def quota_of(**changes: Any) -> Quota:
    found = with_quota(**changes).quota
    assert found is not None
    return found


def test_twelve_cells_of_ten_and_the_rest() -> None:
    quota = quota_of()
    assert len(quota.targets) == 13
    assert quota.targets["White × gen z"] == 10
    assert list(quota.targets)[-1] == REST
    assert sum(quota.targets.values()) == 140


def test_a_cell_may_have_seats_of_its_own() -> None:
    groups = {"rater_age": "gen z", "rater_race": "White"}
    assert quota_of(cells=[{"groups": groups, "seats": 3}]).targets["White × gen z"] == 3


def test_the_margin_is_rounded_up_and_not_by_a_rounding_error() -> None:
    assert set(quota_of(margin_percent=10).places.values()) == {11, 22}
    assert set(quota_of(margin_percent=18).places.values()) == {12, 24}


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
def test_who_is_in_no_group_has_a_cell_too(age: str, race: str, cell: str) -> None:
    assert quota_of().cell_of({"rater_age": age, "rater_race": race}) == cell


def test_who_gives_several_answers_is_in_a_group_that_has_all_of_them() -> None:
    quota = Quota(axes={"rater_x": {"both": ("a", "b"), "c": ("c",)}}, seats=1, rest=1)
    assert quota.cell_of({"rater_x": ("a", "b")}) == "both"
    assert quota.cell_of({"rater_x": ("a", "c")}) == REST
    assert quota.cell_of({"rater_x": ()}) == REST
    assert quota.cell_of({}) == REST


def test_every_answer_to_the_screener_has_a_cell_with_seats() -> None:
    campaign = with_quota()
    assert campaign.screener is not None
    assert campaign.quota is not None
    asked = campaign.screener.questions
    assert {question.name for question in asked} == {"rater_age", "rater_race"}
    for answers in product(*(question.answers for question in asked)):
        said = dict(zip((question.name for question in asked), answers, strict=True))
        assert campaign.quota.targets[campaign.quota.cell_of(said)] > 0


def test_who_comes_from_a_recruiter_is_not_screened() -> None:
    assert with_quota(source="recruiter").screener is None


@quick
@given(
    st.integers(1, 200),
    st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any),
    st.integers(0, 30),
)
def test_shares_add_up_and_are_never_one_off(replication: int, seats: list[int], rest: int) -> None:
    axes = {"rater_x": {str(place): (str(place),) for place in range(len(seats))}}
    cells = tuple(QuotaCell(groups={"rater_x": str(place)}, seats=n) for place, n in enumerate(seats))
    quota = Quota(axes=axes, seats=1, rest=rest, cells=cells)
    shares, targets = quota.shares(replication), quota.targets
    assert sum(shares.values()) == replication
    for name, n in shares.items():
        assert abs(n - replication * targets[name] / sum(targets.values())) < 1


def test_it_comes_back_as_it_was() -> None:
    found = with_quota(
        cells=[{"groups": {"rater_age": "gen z", "rater_race": "White"}, "seats": 3}],
        margin_percent=15,
        hold_minutes=30,
        source="recruiter",
    )
    again = parse_campaign(found.as_mapping())
    assert again == found
    assert again.digest == found.digest


def test_cells_have_the_order_of_the_questions_however_they_are_written() -> None:
    axes = {
        name: dict(sorted(groups.items(), reverse=True)) for name, groups in sorted(DICES["axes"].items(), reverse=True)
    }
    assert list(quota_of(axes=axes).targets) == list(quota_of().targets)
    assert next(iter(quota_of().targets)) == "Asian × gen z"


def test_a_campaign_without_a_quota_has_the_digest_that_it_had() -> None:
    assert "quota" not in parse_campaign(pilot()).as_mapping()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"axes": {}}, "quota.axes: There is none"),
        ({"axes": {"rater_agge": {"x": ["gen z"]}}}, "It is not asked. Did you mean 'rater_age'?"),
        ({"axes": {"rater_age": {}}}, "It has no group"),
        ({"axes": {"rater_age": {"young": []}}}, "It has 0 texts. Write 1 to 4"),
        ({"axes": {"rater_age": {"young": ["gen y"]}}}, "'gen y' is no answer. Did you mean 'gen z'?"),
        ({"axes": {"rater_age": {"a": ["gen z"], "b": ["gen z", "gen x+"]}}}, "'gen z' stands in two groups"),
        ({"axes": {"rater_age": {"rest": ["gen z"]}}}, "the name of whoever is in no group"),
        ({"seats": 0, "rest": 0}, "There is not one seat in all"),
        ({"rest": 0}, "to decline is no ground to leave somebody out"),
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
            "White × gen z stands there twice",
        ),
    ],
)
def test_what_nobody_could_fill_is_refused_with_its_place(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        with_quota(**changes)
    assert words in str(error.value)
    assert "quota" in str(error.value)


def test_two_cells_with_one_name_are_refused() -> None:
    axes = {
        "rater_race": {"a": ["White"], "a × b": ["Multiracial"]},
        "rater_age": {"b × c": ["gen z"], "c": ["millenial"]},
    }
    with pytest.raises(InvalidInput, match="Two cells have one name"):
        with_quota(axes=axes)


def test_items_that_need_more_raters_than_there_are_seats() -> None:
    with pytest.raises(InvalidInput, match="There are 140 in all, and each item needs 141 raters"):
        with_quota(replication=141)


def test_who_is_told_to_come_back_tomorrow_has_a_seat_tomorrow() -> None:
    asked = {**pilot(demographics="demographics-dices", most_a_day=10), "quota": deepcopy(DICES)}
    with pytest.raises(InvalidInput, match=r"quota.hold_minutes: With most_a_day raters .* Write 2,880 or more"):
        parse_campaign(asked)
    asked["quota"]["hold_minutes"] = 2880
    parse_campaign(asked)


def test_an_axis_that_cannot_be_declined_is_refused() -> None:
    about = load_questionnaire("demographics-dices").as_mapping()
    age = about["questions"][2]
    del age["labels"][age.pop("decline")]
    with pytest.raises(InvalidInput, match="It cannot be declined"):
        with_quota(about)  # type: ignore[arg-type]


def test_without_questions_about_raters_there_is_no_quota() -> None:
    with pytest.raises(InvalidInput, match="There is no questionnaire about raters"):
        parse_campaign({**pilot(), "quota": deepcopy(DICES)})


def test_a_question_that_not_everybody_answers_is_no_axis() -> None:
    about = load_questionnaire("demographics-dices").as_mapping()
    about["questions"][0]["required"] = False
    with pytest.raises(InvalidInput, match="Not everybody chooses an answer"):
        with_quota(about, axes={"rater_gender": {"men": ["Man"]}})  # type: ignore[arg-type]
