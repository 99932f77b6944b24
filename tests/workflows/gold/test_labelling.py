"""Experts label items: one first, others blind, and where they differ somebody decides."""

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.support.campaigns import NOW, definition, items
from tests.support.gold_campaigns import NO, SMALL, YES, disputed, said, staffed
from tests.support.raters import enter, rate_all

from dissensus.campaign.export_table import export_form
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.records.item import Item
from dissensus.store.core.database import connect
from dissensus.store.gold import GoldLabelTable
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign import members as members_workflow
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export import ratings
from dissensus.workflows.gold import adjudication, queue
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.platform import Platform

THREADS = 16


@pytest.fixture
def crowded(database_url: str) -> Iterator[Platform]:
    """A platform with a connection for each thread."""
    platform = Platform(connect(database_url, pool_size=THREADS))
    yield platform
    platform.close()


def decided(platform: Platform, who: str, answers: dict[str, Any], *, why: str = "I looked.", seen: int = 0) -> None:
    given = {**answers, "why": why}
    adjudication.decide_gold(platform, "pilot", 0, given, seen=seen, staff_id=who, now=NOW + timedelta(hours=seen))


def columns(platform: Platform, who: str, item: str = "item-0") -> dict[str, str]:
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, "pilot", who)
        return gold_columns_by_item(tx, platform.definitions.of(tx, kept), kept)[item]


def state(platform: Platform, who: str, position: int = 0) -> str:
    return queue.list_labels(platform, "pilot", staff_id=who)[position].state


def rows(platform: Platform) -> int:
    with platform.database.reading() as tx:
        return len(tx.execute(select(GoldLabelTable.id)).all())


def test_all_who_agree_make_it_gold(platform: Platform) -> None:
    _, experts = staffed(platform)
    assert state(platform, experts[0]) == "unlabelled"
    assert said(platform, experts[0], YES) == "first"
    assert columns(platform, experts[0]) == {}
    assert said(platform, experts[1], {**YES, "reasons": ["Other"], "motivation": ""}) == "further"
    assert columns(platform, experts[0]) == {"degree_of_harm": "Extreme", "harm_type": "Health,Racial"}
    assert said(platform, experts[2], {"safety": "Yes", "reasons": ["Other"]}) == "further"
    assert columns(platform, experts[0]) == {
        "safety_gold": "Yes",
        "safety_gold_reason": '["Unfair bias"]',
        "safety_gold_motivation": "It belittles people.",
        "degree_of_harm": "Extreme",
        "harm_type": "Health,Racial",
    }
    assert state(platform, experts[0]) == "settled"


def test_what_is_safe_has_no_reasons(platform: Platform) -> None:
    _, experts = staffed(platform)
    for expert in experts:
        said(platform, expert, NO)
    assert columns(platform, experts[0])["safety_gold_reason"] == "[]"


def test_one_alone_settles_where_nobody_verifies(platform: Platform) -> None:
    _, experts = staffed(platform, gold={"verifiers": 0, "checkers": 0})
    said(platform, experts[0], YES)
    assert state(platform, experts[0]) == "settled"


def test_nobody_sees_what_others_said_until_all_have(platform: Platform) -> None:
    owner, experts = staffed(platform)
    said(platform, experts[0], YES)
    for who in (experts[1], owner):
        task = queue.load_gold_task(platform, "pilot", 0, staff_id=who)
        assert (task.told, task.answers, task.deciding) == (False, {}, None)
    mine = queue.load_gold_task(platform, "pilot", 0, staff_id=experts[0])
    assert (mine.told, mine.answers["safety"], mine.seen) == (False, "Yes", 3)


def test_the_first_expert_says_why_and_others_may(platform: Platform) -> None:
    _, experts = staffed(platform)
    with pytest.raises(InvalidInput, match="motivation"):
        said(platform, experts[0], {**YES, "motivation": " "})
    said(platform, experts[0], YES)
    said(platform, experts[1], {**YES, "motivation": ""})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"safety": "yes"}, "Did you mean 'Yes'"),
        ({"safety": None}, "safety"),
        ({"reasons": []}, "reasons"),
        ({"reasons": ["Because"]}, "'Because'"),
        ({"degree": "Extreme harm"}, "degree"),
        ({"topics": []}, "topics"),
        ({"topics": ["Weather"]}, "'Weather'"),
        ({"motivation": "x" * 2001}, "2,001"),
        ({"motivation": "\0"}, "motivation"),
        ({"notes": "Hm"}, "notes"),
    ],
)
def test_what_cannot_be_a_label_is_refused(platform: Platform, changes: dict[str, Any], told: str) -> None:
    _, experts = staffed(platform)
    with pytest.raises(InvalidInput, match=re.escape(told)):
        said(platform, experts[0], {**YES, **changes})
    assert rows(platform) == 0


def test_the_first_expert_does_not_verify(platform: Platform) -> None:
    _, experts = staffed(platform)
    said(platform, experts[0], YES)
    with pytest.raises(
        Conflict, match="You were the first to label item 'item-0', and nobody verifies their own label"
    ):
        said(platform, experts[0], NO)
    said(platform, experts[1], {"safety": "No", "degree": "Benign", "topics": ["Health"]})
    with pytest.raises(Conflict, match="nobody does so twice"):
        said(platform, experts[1], YES)
    assert rows(platform) == 6


def test_the_same_form_twice_is_one_label(platform: Platform) -> None:
    _, experts = staffed(platform)
    assert said(platform, experts[0], YES) == said(platform, experts[0], YES) == "first"
    checked = {"safety": "Yes", "reasons": ["Other"], "degree": "Extreme", "topics": ["Health"]}
    assert said(platform, experts[1], checked) == said(platform, experts[1], checked) == "further"
    assert said(platform, experts[2], {"safety": "No"}) == said(platform, experts[2], {"safety": "No"}) == "further"
    assert rows(platform) == 7


def test_a_label_can_be_corrected_until_all_are_in_and_its_history_stays(platform: Platform) -> None:
    _, experts = staffed(platform)
    said(platform, experts[0], NO)
    assert said(platform, experts[0], {**NO, "degree": "Debatable"}, seen=3) == "first"
    with pytest.raises(Conflict, match="nobody verifies their own"):
        said(platform, experts[0], YES, seen=3)
    (first, *_) = queue.list_labels(platform, "pilot", staff_id=experts[0])
    assert [label.answers["degree"] for label in first.standings["degree"].history] == ["Benign", "Debatable"]
    assert first.standings["degree"].labels[0].answers["degree"] == "Debatable"
    assert len(first.standings["safety"].history) == 1


def test_who_comes_late_is_told(platform: Platform) -> None:
    _, experts = staffed(platform, 5)
    for expert in experts[:3]:
        said(platform, expert, NO)
    with pytest.raises(Conflict, match="has all the labels that it needs, and yours was not kept"):
        said(platform, experts[3], YES)


def test_who_comes_late_with_a_part_keeps_the_rest(platform: Platform) -> None:
    _, experts = staffed(platform)
    said(platform, experts[0], YES)
    said(platform, experts[1], YES)
    assert said(platform, experts[2], NO) == "partly"
    (first, *_) = queue.list_labels(platform, "pilot", staff_id=experts[0])
    assert [len(one.labels) for one in first.standings.values()] == [3, 2, 2]


def test_a_difference_waits_for_somebody_who_did_not_label(platform: Platform) -> None:
    owner, experts = disputed(platform)
    assert state(platform, owner) == "disputed"
    assert "safety_gold" not in columns(platform, owner)
    with pytest.raises(NotAllowed, match="whoever labelled an item does not decide on it"):
        decided(platform, experts[2], {"safety": "No"})
    decided(platform, owner, {"safety": "Yes", "reasons": ["Misinformation"]}, why="It is false.")
    assert state(platform, owner) == "settled"
    assert columns(platform, owner) == {
        "safety_gold": "Yes",
        "safety_gold_reason": '["Misinformation"]',
        "safety_gold_motivation": "It is false.",
        "degree_of_harm": "Extreme",
        "harm_type": "Health,Racial",
    }


def test_a_decision_says_why_and_decides_all_that_differs(platform: Platform) -> None:
    owner, experts = staffed(platform)
    said(platform, experts[0], YES)
    said(platform, experts[1], NO)
    said(platform, experts[2], {"safety": "Yes", "reasons": ["Other"]})
    with pytest.raises(InvalidInput, match=r"why(.|\n)*topics|topics(.|\n)*why"):
        decided(platform, owner, {"safety": "No", "degree": "Benign"}, why="")
    decided(platform, owner, {"safety": "No", "degree": "Benign", "topics": ["Legal"]})
    assert columns(platform, owner)["harm_type"] == "Legal"


def test_of_two_decisions_the_second_knows_of_the_first(platform: Platform) -> None:
    owner, _ = disputed(platform)
    members_workflow.add_member(platform, "pilot", "grace", "expert", staff_id=owner, now=NOW)
    grace = staff.create_sign_in_link(platform, "grace", now=NOW).staff.id
    decided(platform, owner, {"safety": "No"})
    decided(platform, owner, {"safety": "No"})
    with pytest.raises(Conflict, match="ada decided on this item meanwhile"):
        decided(platform, grace, {"safety": "Yes", "reasons": ["Other"]})
    with pytest.raises(Conflict, match="ada decided so already"):
        decided(platform, grace, {"safety": "No"}, why="So do I.", seen=1)
    decided(platform, grace, {"safety": "Yes", "reasons": ["Other"]}, why="Look again.", seen=1)
    (first, *_) = queue.list_labels(platform, "pilot", staff_id=owner)
    history = [(one.name, one.answers["safety"], one.reason) for one in first.standings["safety"].decisions]
    assert history == [("ada", "No", "I looked."), ("grace", "Yes", "Look again.")]
    assert columns(platform, owner)["safety_gold"] == "Yes"


def test_there_is_nothing_to_decide_while_labels_lack_or_agree(platform: Platform) -> None:
    owner, experts = staffed(platform)
    said(platform, experts[0], YES)
    with pytest.raises(Conflict, match="not all labels are in"):
        decided(platform, owner, {"safety": "No"})
    for expert in experts[1:]:
        said(platform, expert, YES)
    with pytest.raises(Conflict, match="all experts agree"):
        decided(platform, owner, {"safety": "No"})


def test_labels_of_who_left_stay(platform: Platform) -> None:
    owner, experts = disputed(platform)
    members_workflow.remove_member(platform, "pilot", "expert-0", staff_id=owner, now=NOW)
    with pytest.raises(NotFound, match="There is no campaign"):
        said(platform, experts[0], YES, 1)
    (first, *_) = queue.list_labels(platform, "pilot", staff_id=owner)
    assert [label.name for label in first.standings["safety"].labels] == ["expert-0", "expert-1", "expert-2"]


def test_what_the_file_says_needs_no_expert_and_stays(platform: Platform) -> None:
    talk = items(1)[0].conversation
    known = {"safety_gold": "No", "harm_type": "Legal"}
    owner, experts = staffed(platform, rated=(Item("item-0", talk, known), Item("item-1", talk)))
    task = queue.load_gold_task(platform, "pilot", 0, staff_id=experts[0])
    assert task.asked is not None
    assert [question.name for question in task.asked.questions] == ["degree"]
    for expert in experts[:2]:
        said(platform, expert, {"degree": "Extreme"})
    assert columns(platform, owner) == {"degree_of_harm": "Extreme"}
    assert state(platform, owner) == "settled"


def test_gold_is_exported_beside_what_the_file_says(platform: Platform, tmp_path: Path) -> None:
    talk = items(1)[0].conversation
    owner, experts = staffed(platform, rated=(Item("theirs", talk, {"safety_gold": "Unsure"}), Item("ours", talk)))
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=owner, now=NOW)
    rate_all(platform, enter(platform, kept.key))
    for expert in experts:
        said(platform, expert, NO, 1)
    done = ratings.export_ratings(platform, "pilot", tmp_path / "out.csv", now=NOW)
    found = read_frame(tmp_path / "out.csv").sort("item_id")
    assert found.select("item_id", "safety_gold", "safety_gold_reason", "degree_of_harm", "harm_type").rows() == [
        ("ours", "No", "[]", "Benign", "Health"),
        ("theirs", "Unsure", None, None, None),
    ]
    assert "Gold:       items with labels that experts settled: 1\n" in done.readme.read_text()


def test_the_columns_of_dices_have_room_for_gold() -> None:
    form = export_form(load_campaign("dices-350"), ["safety_gold", "safety_gold_reason", "safety_gold_motivation"])
    assert form.left_out[-1] == "safety_gold_motivation"
    assert {"safety_gold", "safety_gold_reason"} <= {*form.columns}


def test_a_queue_offers_what_lacks_least_and_counts_what_there_is(platform: Platform) -> None:
    owner, experts = staffed(platform)
    assert queue.load_gold_queue(platform, "pilot", staff_id=experts[0]).next == 0
    said(platform, experts[0], YES, 1)
    mine, others = (queue.load_gold_queue(platform, "pilot", staff_id=one) for one in experts[:2])
    assert (mine.next, mine.n_first, mine.n_verify, mine.n_check) == (0, 2, 0, 0)
    assert (others.next, others.n_first, others.n_verify, others.n_check) == (1, 2, 1, 1)
    assert [one.target.name for one in mine.correctable] == ["item-1"]
    said(platform, experts[1], NO, 1)
    said(platform, experts[2], {"safety": "No"}, 1)
    assert not queue.load_gold_queue(platform, "pilot", staff_id=experts[2]).to_decide
    (one,) = queue.load_gold_queue(platform, "pilot", staff_id=owner).to_decide
    assert (one.target.name, one.differing) == ("item-1", ("safety", "degree", "topics"))


def test_what_a_rater_reported_is_shown_to_no_expert(platform: Platform) -> None:
    _, experts = staffed(platform)
    with platform.database.writing() as tx:
        tx.execute(update(ItemTable).where(ItemTable.position == 0).values(withheld=True))
    found = queue.load_gold_queue(platform, "pilot", staff_id=experts[0])
    assert (found.next, found.n_withheld) == (1, 1)
    with pytest.raises(Conflict, match="A rater reported this item"):
        queue.load_gold_task(platform, "pilot", 0, staff_id=experts[0])
    with pytest.raises(Conflict, match="A rater reported this item"):
        said(platform, experts[0], YES)


def test_there_is_no_gold_where_none_was_asked_for(platform: Platform) -> None:
    staff_id = staff.create_sign_in_link(platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(platform, definition(), items(1), staff_id=staff_id, now=NOW)
    with pytest.raises(NotFound, match=r"its definition has no \[gold\]"):
        queue.load_gold_queue(platform, "pilot", staff_id=staff_id)


def test_no_item_is_at_a_place_that_there_is_not(platform: Platform) -> None:
    _, experts = staffed(platform)
    with pytest.raises(NotFound, match="no item at this place"):
        queue.load_gold_task(platform, "pilot", 3, staff_id=experts[0])


def test_labels_are_never_lost_by_changing_the_campaign(platform: Platform) -> None:
    owner, experts = staffed(platform)
    old = campaigns.load_definition(platform, "pilot", staff_id=owner)
    said(platform, experts[0], YES)
    with pytest.raises(Conflict, match="what they said is never erased"):
        campaigns.remove_items(platform, "pilot", staff_id=owner, now=NOW)
    with pytest.raises(Conflict, match="gold cannot change"):
        campaigns.revise_campaign(
            platform, "pilot", definition(gold={**SMALL, "verifiers": 3}), staff_id=owner, now=NOW
        )
    with pytest.raises(Conflict, match="gold cannot change"):
        campaigns.revise_campaign(platform, "pilot", definition(), staff_id=owner, now=NOW)
    assert campaigns.load_definition(platform, "pilot", staff_id=owner) == old
    campaigns.revise_campaign(platform, "pilot", definition(gold=SMALL, minutes=5), staff_id=owner, now=NOW)


def test_of_many_at_once_one_is_first_and_no_more_are_kept_than_needed(crowded: Platform) -> None:
    _, experts = staffed(crowded, THREADS)

    def act(expert: str) -> str:
        try:
            return said(crowded, expert, YES)
        except Conflict as error:
            return "late" if "others were sooner" in str(error) else str(error)

    with ThreadPoolExecutor(THREADS) as threads:
        outcomes = Counter(threads.map(act, experts))
    assert outcomes == {"first": 1, "further": 1, "partly": 1, "late": 13}
    (first, *_) = queue.list_labels(crowded, "pilot", staff_id=experts[0])
    assert [label.position for label in first.standings["safety"].labels] == [0, 1, 2]
    assert [len(one.labels) for one in first.standings.values()] == [3, 2, 2]


def test_of_many_who_decide_at_once_one_does(crowded: Platform) -> None:
    owner, _ = disputed(crowded)
    names = [f"judge-{number}" for number in range(THREADS)]
    for name in names:
        members_workflow.add_member(crowded, "pilot", name, "expert", staff_id=owner, now=NOW)
    members, _ = members_workflow.list_members(crowded, "pilot", staff_id=owner, now=NOW)
    judges = [one.staff_id for one in members if one.name in names]

    def act(judge: str) -> str:
        try:
            decided(crowded, judge, {"safety": "No"}, why=judge)
        except Conflict as error:
            return "late" if "decided so already" in str(error) else str(error)
        return "decided"

    with ThreadPoolExecutor(THREADS) as threads:
        outcomes = Counter(threads.map(act, judges))
    assert outcomes == {"decided": 1, "late": THREADS - 1}
