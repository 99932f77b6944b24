"""Plan files: what a campaign takes from them, and what is refused."""

import json
from typing import Any

import pytest

from dissensus.campaign.planning import apply_plan, read_plan
from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.comparison import ComparisonSettings, plan_comparison
from dissensus.pipeline.plan.groups import plan_groups
from dissensus.pipeline.plan.pool import PoolSettings, plan_pool
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.pipeline.plan.shipped_presets import load_pilot
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import load_campaign

DICES = load_campaign("dices-350")
GENDER = {"rater_gender": {"Man": 0.49, "Woman": 0.5}}


def test_a_pool_sets_the_quota_and_the_replication() -> None:
    plan = plan_pool(PoolSettings(axes=GENDER, seats=50, removal=0.154, per_item=60))
    campaign = apply_plan(DICES, read_plan(plan.to_json()))
    assert campaign.replication == 60
    assert campaign.quota is not None
    assert campaign.quota.targets == {"Man": 50, "Woman": 50, "rest": 1}
    assert campaign.quota.capacities["Man"] == plan.cells[0].seats


def test_cells_with_other_removal_have_their_own_seats() -> None:
    """No margin of the cell that needs most is given to all; men of DICES-350 were removed three times as often."""
    rates = {"Man": 14 / 61, "Woman": 5 / 62}
    plan = plan_pool(PoolSettings(axes=GENDER, seats=10, group_removal=rates))
    file = read_plan(plan.to_json())
    quota = apply_plan(DICES, file).quota
    assert quota is not None
    assert quota.capacities == {"Man": 17, "Woman": 13, "rest": 1}
    assert plan.confidence >= 0.9
    assert file.as_event()["cells"] == {"Man": 17}


def test_groups_of_several_answers_keep_them() -> None:
    ages = DICES.demographics.questions  # type: ignore[union-attr]
    age = next(question for question in ages if question.name == "rater_age")
    groups = {"young": list(age.scale[:1]), "others": list(age.scale[1:])}
    mapping = {**DICES.as_mapping(), "quota": {"axes": {"rater_age": groups}, "seats": 5, "rest": 1}}
    plan = plan_pool(PoolSettings(axes={"rater_age": {"young": 0.3, "others": 0.6}}, seats=20))
    quota = apply_plan(parse_campaign(mapping), read_plan(plan.to_json())).quota
    assert quota is not None
    assert quota.seats == 20
    assert quota.axes["rater_age"]["others"] == tuple(groups["others"])


def test_raters_of_a_group_fill_a_quota_of_one_axis() -> None:
    plan = plan_groups(load_pilot("dices-350"), GroupPlanSettings(difference=0.15, simulations=0))
    groups = read_plan(plan.to_json())
    with pytest.raises(InvalidInput, match="the campaign has no quota of one axis"):
        apply_plan(DICES, groups)
    with_quota = apply_plan(DICES, read_plan(plan_pool(PoolSettings(axes=GENDER)).to_json()))
    quota = apply_plan(with_quota, groups).quota
    assert quota is not None
    assert quota.targets["Woman"] == plan.smallest


def test_a_comparison_sets_ratings_of_an_item_and_items_of_a_rater() -> None:
    settings = ComparisonSettings(n_ratings=200, per_item=(2,), simulations=100, load=10)
    plan = read_plan(plan_comparison(load_pilot("dices-350"), settings).to_json())
    campaign = apply_plan(DICES, plan)
    assert (campaign.replication, campaign.max_items) == (2, 10)
    assert plan.as_event() == {"question": "comparison", "sha256": plan.sha256, "replication": 2, "max_items": 10}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", "is not JSON"),
        ("[1]", "has no numbers for a campaign"),
        ({"question": "precision"}, "has no numbers for a campaign"),
        ({"campaign": {}}, "has no numbers for a campaign"),
        ({"campaign": "quota"}, "has no numbers for a campaign"),
        ({"campaign": {"title": "x"}}, "sets 'title'; it may set"),
        ({"campaign": {"quota": 5}}, "sets 'quota'"),
        ({"campaign": {"quota": {"axes": ["rater_age"]}}}, "axes of the quota in the plan have no groups"),
        ({"campaign": {"quota": {"axes": {"rater_age": 5}}}}, "axes of the quota in the plan have no groups"),
        ({"campaign": {"quota": {"axes": {}}}}, "axes of the quota in the plan have no groups"),
        ("[" * 200_000, "is not JSON"),
        (" " * 1_000_001, "more than 1,000,000 characters"),
    ],
)
def test_other_files_are_refused(content: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_plan(content if isinstance(content, str) else json.dumps(content))


def test_numbers_of_a_plan_are_checked_like_those_of_a_definition() -> None:
    plan = read_plan(json.dumps({"campaign": {"replication": -3}}))
    with pytest.raises(InvalidInput, match="replication"):
        apply_plan(DICES, plan)
