"""Labels of experts: first label, blind verification and adjudication."""

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.support.campaigns import NOW, definition, items
from tests.support.gold_campaigns import NO, SMALL, YES, create_disputed_item, create_gold_campaign, label_item
from tests.support.raters import enter, rate_all

from dissensus.campaign.export_table import export_form
from dissensus.campaign.filters.item_filter import ItemFilter
from dissensus.campaign.gold_labels import list_open_parts
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.sampler import curate
from dissensus.schema.campaign.gold import ITEM_STATES
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.records.item import Item
from dissensus.store.core.database import connect
from dissensus.store.gold import GoldDecisionTable, GoldLabelTable, GoldProgressTable
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import campaigns, tasks
from dissensus.workflows.campaign import items as items_workflow
from dissensus.workflows.campaign import members as members_workflow
from dissensus.workflows.campaign.audit import audit_campaign, link_pending_events
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.opening import SiteServices, refuse_errors
from dissensus.workflows.export import ratings
from dissensus.workflows.gold import adjudication, queue
from dissensus.workflows.gold.labelling import gold_columns_by_item, gold_settings_of, list_labelled_items
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform

THREADS = 16


@pytest.fixture
def crowded(database_url: str) -> Iterator[Platform]:
    """A platform with a connection for each thread."""
    platform = Platform(connect(database_url, pool_size=THREADS))
    yield platform
    platform.close()


def decide(
    platform: Platform, staff_id: str, answers: dict[str, Any], *, reason: str = "I looked.", revision: int = 0
) -> None:
    answers_and_reason = {**answers, "reason": reason}
    at = NOW + timedelta(hours=revision)
    adjudication.decide_gold(platform, "pilot", 0, answers_and_reason, revision=revision, staff_id=staff_id, now=at)


def load_columns(platform: Platform, staff_id: str, item: str = "item-0") -> dict[str, str]:
    with platform.database.reading() as tx:
        campaign, _ = campaign_for_member(tx, "pilot", staff_id)
        return gold_columns_by_item(tx, platform.definitions.load(tx, campaign), campaign)[item]


def load_state(platform: Platform, staff_id: str, position: int = 0) -> str:
    return queue.list_labels(platform, "pilot", most=9, staff_id=staff_id)[position].state


def count_labels(platform: Platform) -> int:
    with platform.database.reading() as tx:
        return len(tx.execute(select(GoldLabelTable.id)).all())


def test_agreement_of_all_experts_settles_the_gold(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    assert load_state(platform, experts[0]) == "unlabelled"
    assert label_item(platform, experts[0], YES) == "first"
    assert load_columns(platform, experts[0]) == {}
    assert label_item(platform, experts[1], {**YES, "reasons": ["Other"], "motivation": ""}) == "further"
    assert load_columns(platform, experts[0]) == {"degree_of_harm": "Extreme", "harm_type": "Health,Racial"}
    assert label_item(platform, experts[2], {"safety": "Yes", "reasons": ["Other"]}) == "further"
    assert load_columns(platform, experts[0]) == {
        "safety_gold": "Yes",
        "safety_gold_reason": '["Unfair bias"]',
        "safety_gold_motivation": "It belittles people.",
        "degree_of_harm": "Extreme",
        "harm_type": "Health,Racial",
    }
    assert load_state(platform, experts[0]) == "settled"


def test_a_safe_label_has_no_reasons(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    for expert in experts:
        label_item(platform, expert, NO)
    assert load_columns(platform, experts[0])["safety_gold_reason"] == "[]"


def test_without_verifiers_one_label_settles(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform, gold={"verifiers": 0, "checkers": 0})
    label_item(platform, experts[0], YES)
    assert load_state(platform, experts[0]) == "settled"


def test_labels_of_others_are_hidden_until_all_are_in(platform: Platform) -> None:
    owner, experts = create_gold_campaign(platform)
    label_item(platform, experts[0], YES)
    for reader in (experts[1], owner):
        task = queue.load_gold_task(platform, "pilot", 0, staff_id=reader)
        assert (task.readable, task.answers, task.decision_form) == (False, {}, None)
    mine = queue.load_gold_task(platform, "pilot", 0, staff_id=experts[0])
    assert (mine.readable, mine.answers["safety"], mine.revision) == (False, "Yes", 3)


def test_only_the_first_label_requires_a_motivation(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    with pytest.raises(InvalidInput, match="motivation"):
        label_item(platform, experts[0], {**YES, "motivation": " "})
    label_item(platform, experts[0], YES)
    label_item(platform, experts[1], {**YES, "motivation": ""})


@pytest.mark.parametrize(
    ("changes", "message"),
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
def test_invalid_labels_are_refused(platform: Platform, changes: dict[str, Any], message: str) -> None:
    _, experts = create_gold_campaign(platform)
    with pytest.raises(InvalidInput, match=re.escape(message)):
        label_item(platform, experts[0], {**YES, **changes})
    assert count_labels(platform) == 0


def test_the_first_expert_does_not_verify(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    label_item(platform, experts[0], YES)
    with pytest.raises(
        Conflict, match="You were the first to label item 'item-0', and nobody verifies their own label"
    ):
        label_item(platform, experts[0], NO)
    label_item(platform, experts[1], {"safety": "No", "degree": "Benign", "topics": ["Health"]})
    with pytest.raises(Conflict, match="Reload it to correct your label"):
        label_item(platform, experts[1], YES)
    assert count_labels(platform) == 6


def test_the_same_form_twice_is_one_label(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    assert label_item(platform, experts[0], YES) == label_item(platform, experts[0], YES) == "first"
    checked = {"safety": "Yes", "reasons": ["Other"], "degree": "Extreme", "topics": ["Health"]}
    assert label_item(platform, experts[1], checked) == label_item(platform, experts[1], checked) == "further"
    assert (
        label_item(platform, experts[2], {"safety": "No"})
        == label_item(platform, experts[2], {"safety": "No"})
        == "further"
    )
    assert count_labels(platform) == 7


def test_a_label_can_be_corrected_until_all_are_in(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    label_item(platform, experts[0], NO)
    assert label_item(platform, experts[0], {**NO, "degree": "Debatable"}, revision=3) == "first"
    with pytest.raises(Conflict, match="nobody verifies their own"):
        label_item(platform, experts[0], YES, revision=3)
    (first, *_) = queue.list_labels(platform, "pilot", most=9, staff_id=experts[0])
    assert [label.answers["degree"] for label in first.progress["degree"].history] == ["Benign", "Debatable"]
    assert first.progress["degree"].labels[0].answers["degree"] == "Debatable"
    assert len(first.progress["safety"].history) == 1


def test_a_surplus_label_is_refused(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform, 5)
    for expert in experts[:3]:
        label_item(platform, expert, NO)
    with pytest.raises(Conflict, match="has all labels that it needs, so yours was not stored"):
        label_item(platform, experts[3], YES)


def test_a_late_label_is_stored_for_the_parts_that_need_it(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    label_item(platform, experts[0], YES)
    label_item(platform, experts[1], YES)
    assert label_item(platform, experts[2], NO) == "partly"
    (first, *_) = queue.list_labels(platform, "pilot", most=9, staff_id=experts[0])
    assert [len(one.labels) for one in first.progress.values()] == [3, 2, 2]


def test_a_disputed_item_is_decided_by_a_member_who_did_not_label_it(platform: Platform) -> None:
    owner, experts = create_disputed_item(platform)
    assert load_state(platform, owner) == "disputed"
    assert "safety_gold" not in load_columns(platform, owner)
    with pytest.raises(NotAllowed, match="experts cannot adjudicate their own labels"):
        decide(platform, experts[2], {"safety": "No"})
    decide(platform, owner, {"safety": "Yes", "reasons": ["Misinformation"]}, reason="It is false.")
    assert load_state(platform, owner) == "settled"
    assert load_columns(platform, owner) == {
        "safety_gold": "Yes",
        "safety_gold_reason": '["Misinformation"]',
        "safety_gold_motivation": "It is false.",
        "degree_of_harm": "Extreme",
        "harm_type": "Health,Racial",
    }
    assert audit_campaign(platform, "pilot").holds
    with platform.database.writing() as tx:
        tx.execute(update(GoldLabelTable).where(GoldLabelTable.part == "degree").values(answers={"degree": "Benign"}))
        tx.execute(update(GoldDecisionTable).values(reason="It is true."))
    faults = audit_campaign(platform, "pilot").faults
    assert sorted(fault.split()[1] for fault in faults) == ["decision", "label", "label"]


def test_a_decision_needs_a_reason_and_covers_all_disputed_parts(platform: Platform) -> None:
    owner, experts = create_gold_campaign(platform)
    label_item(platform, experts[0], YES)
    label_item(platform, experts[1], NO)
    label_item(platform, experts[2], {"safety": "Yes", "reasons": ["Other"]})
    with pytest.raises(InvalidInput, match=r"reason(.|\n)*topics|topics(.|\n)*reason"):
        decide(platform, owner, {"safety": "No", "degree": "Benign"}, reason="")
    decide(platform, owner, {"safety": "No", "degree": "Benign", "topics": ["Legal"]})
    assert load_columns(platform, owner)["harm_type"] == "Legal"


def test_a_second_decision_requires_having_seen_the_first(platform: Platform) -> None:
    owner, _ = create_disputed_item(platform)
    members_workflow.add_member(platform, "pilot", "grace", "expert", staff_id=owner, now=NOW)
    grace = sign_in_links.create_sign_in_link(platform, "grace", now=NOW).staff.id
    decide(platform, owner, {"safety": "No"})
    decide(platform, owner, {"safety": "No"})
    with pytest.raises(Conflict, match="ada decided on this item meanwhile"):
        decide(platform, grace, {"safety": "Yes", "reasons": ["Other"]})
    with pytest.raises(Conflict, match="ada already made this decision"):
        decide(platform, grace, {"safety": "No"}, reason="So do I.", revision=1)
    decide(platform, grace, {"safety": "Yes", "reasons": ["Other"]}, reason="Look again.", revision=1)
    (first, *_) = queue.list_labels(platform, "pilot", most=9, staff_id=owner)
    history = [(one.name, one.answers["safety"], one.reason) for one in first.progress["safety"].decisions]
    assert history == [("ada", "No", "I looked."), ("grace", "Yes", "Look again.")]
    assert load_columns(platform, owner)["safety_gold"] == "Yes"


def test_stored_states_follow_labels_and_decisions(platform: Platform) -> None:
    owner, experts = create_disputed_item(platform)

    def list_settled(label: str) -> list[str]:
        by_label = ItemFilter(gold=label)
        listing = items_workflow.list_items(platform, "pilot", by_label, after=None, staff_id=owner, most=9)
        return [item.name for item in listing.items]

    def count_disputes(staff_id: str) -> dict[str, int]:
        return tasks.count_tasks(platform, "pilot", frozenset({"adjudicate"}), staff_id=staff_id)

    # Who labelled the item may not decide.
    assert (count_disputes(owner), count_disputes(experts[0])) == ({"adjudicate": 1}, {})
    assert list_settled("No") == []
    decide(platform, owner, {"safety": "No"})
    assert (count_disputes(owner), list_settled("No"), list_settled("Yes")) == ({}, ["item-0"], [])
    assert audit_campaign(platform, "pilot").faults == ()
    with platform.database.reading() as tx:
        labellers = tx.scalar(select(GoldProgressTable.labellers))
    assert {staff_id: counts["safety"] for staff_id, counts in (labellers or {}).items()} == dict.fromkeys(experts, 1)
    for change in ({"safety": "Yes"}, {"safety": "No", "labellers": {experts[0]: {"safety": 1}}}):
        with platform.database.writing() as tx:
            tx.execute(update(GoldProgressTable).values(change))
        (fault,) = audit_campaign(platform, "pilot").faults
        assert fault == "The stored state of the labels of item item-0 does not match its labels."


def test_incomplete_and_agreeing_labels_cannot_be_decided(platform: Platform) -> None:
    owner, experts = create_gold_campaign(platform)
    label_item(platform, experts[0], YES)
    with pytest.raises(Conflict, match="not all labels are in"):
        decide(platform, owner, {"safety": "No"})
    for expert in experts[1:]:
        label_item(platform, expert, YES)
    with pytest.raises(Conflict, match="all experts agree"):
        decide(platform, owner, {"safety": "No"})


def test_labels_of_removed_members_stay(platform: Platform) -> None:
    owner, experts = create_disputed_item(platform)
    members_workflow.remove_member(platform, "pilot", "expert-0", staff_id=owner, now=NOW)
    with pytest.raises(NotFound, match="There is no campaign"):
        label_item(platform, experts[0], YES, 1)
    (first, *_) = queue.list_labels(platform, "pilot", most=9, staff_id=owner)
    assert [label.name for label in first.progress["safety"].labels] == ["expert-0", "expert-1", "expert-2"]


def test_parts_with_gold_in_the_file_need_no_label(platform: Platform) -> None:
    talk = items(1)[0].conversation
    attributes = {"safety_gold": "No", "harm_type": "Legal"}
    owner, experts = create_gold_campaign(platform, rated=(Item("item-0", talk, attributes), Item("item-1", talk)))
    task = queue.load_gold_task(platform, "pilot", 0, staff_id=experts[0])
    assert task.label_form is not None
    assert [question.name for question in task.label_form.questions] == ["degree"]
    for expert in experts[:2]:
        label_item(platform, expert, {"degree": "Extreme"})
    assert load_columns(platform, owner) == {"degree_of_harm": "Extreme"}
    assert load_state(platform, owner) == "settled"


def test_settled_gold_is_exported_beside_gold_of_the_file(platform: Platform, tmp_path: Path) -> None:
    talk = items(1)[0].conversation
    owner, experts = create_gold_campaign(
        platform, rated=(Item("theirs", talk, {"safety_gold": "Unsure"}), Item("ours", talk))
    )
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=owner, now=NOW)
    rate_all(platform, enter(platform, campaign.key))
    for expert in experts:
        label_item(platform, expert, NO, 1)
    done = ratings.export_ratings(platform, "pilot", tmp_path / "out.csv", now=NOW)
    exported = read_frame(tmp_path / "out.csv").sort("item_id")
    assert exported.select("item_id", "safety_gold", "safety_gold_reason", "degree_of_harm", "harm_type").rows() == [
        ("ours", "No", "[]", "Benign", "Health"),
        ("theirs", "Unsure", None, None, None),
    ]
    assert "Gold:       items with labels that experts settled: 1\n" in done.readme.read_text()


def test_the_columns_of_dices_include_gold() -> None:
    form = export_form(load_campaign("dices-350"), ["safety_gold", "safety_gold_reason", "safety_gold_motivation"])
    assert form.left_out[-1] == "safety_gold_motivation"
    assert {"safety_gold", "safety_gold_reason"} <= {*form.columns}


def test_a_queue_offers_the_item_nearest_to_completion(platform: Platform) -> None:
    owner, experts = create_gold_campaign(platform)
    assert queue.load_gold_queue(platform, "pilot", staff_id=experts[0]).next == 0
    label_item(platform, experts[0], YES, 1)
    mine, theirs = (queue.load_gold_queue(platform, "pilot", staff_id=expert) for expert in experts[:2])
    assert (mine.next, mine.n_first, mine.n_verify, mine.n_check) == (0, 2, 0, 0)
    assert (theirs.next, theirs.n_first, theirs.n_verify, theirs.n_check) == (1, 2, 1, 1)
    assert [label.target.name for label in mine.correctable] == ["item-1"]
    label_item(platform, experts[1], NO, 1)
    label_item(platform, experts[2], {"safety": "No"}, 1)
    assert not queue.load_gold_queue(platform, "pilot", staff_id=experts[2]).to_decide
    (disputed_label,) = queue.load_gold_queue(platform, "pilot", staff_id=owner).to_decide
    assert (disputed_label.target.name, disputed_label.disputed_parts) == ("item-1", ("safety", "degree", "topics"))


def test_queues_and_lists_follow_from_the_labels_of_each_item(platform: Platform) -> None:
    """Counts and lists of stored states beside the progress that is computed from the labels of all items."""
    of_file = {"safety_gold": "No", "degree_of_harm": "Benign", "harm_type": "Health"}
    attributes = [of_file, {"safety_gold": "Yes"}, *({} for _ in range(10))]
    rated = tuple(replace(item, attributes=own) for item, own in zip(items(12), attributes, strict=True))
    owner, experts = create_gold_campaign(platform, 4, rated=rated)
    rng = Random(7)
    for _ in range(50):
        with suppress(Conflict, InvalidInput):
            parts = rng.choice((YES, NO, {"safety": "No"}))
            label_item(platform, rng.choice(experts), parts, rng.randrange(1, 10))
    with platform.database.writing() as tx:
        tx.execute(update(ItemTable).where(ItemTable.position.in_([3, 11])).values(withheld=True))
    with platform.database.reading() as tx:
        campaign, _ = campaign_for_member(tx, "pilot", owner)
        gold = gold_settings_of(platform.definitions.load(tx, campaign))
        everything = list_labelled_items(tx, campaign, gold)
    states = Counter(item.state for item in everything)
    assert min(states[state] for state in ITEM_STATES) > 0
    for state in (None, *ITEM_STATES):
        expected = [item.target.position for item in everything if state in (None, item.state)]
        listed = queue.list_labels(platform, "pilot", only=state, most=99, staff_id=owner)
        assert [item.target.position for item in listed] == expected
        last = queue.load_labels_page(platform, "pilot", only=state, page=99, size=2, staff_id=owner)
        assert (last.counts, last.pages) == (states, -(-len(expected) // 2))
        assert [item.target.position for item in last.items] == expected[2 * last.pages - 2 :]
    shown = [item for item in everything if not item.target.withheld]
    for expert in (*experts, owner):
        own = queue.load_gold_queue(platform, "pilot", staff_id=expert)
        wanted = {
            item.target.position: {
                part for part in list_open_parts(item.progress) if item.progress[part].label_by(expert) is None
            }
            for item in shown
        }
        begun = [item for item in shown if item.state == "in_progress"]
        assert (own.states, own.n_of_file, own.n_withheld) == (states, 1, 2)
        assert own.n_first == sum(item.state == "unlabelled" for item in shown)
        assert own.n_verify == sum("safety" in wanted[item.target.position] for item in begun)
        assert own.n_check == sum(bool({"degree", "topics"} & {*wanted[item.target.position]}) for item in begun)
        correctable = [
            item.target.position
            for item in begun
            if any(item.progress[part].label_by(expert) for part in list_open_parts(item.progress))
        ]
        decidable = [item.target.position for item in shown if item.state == "disputed" and item.may_decide(expert)]
        assert ([item.target.position for item in own.correctable], own.n_correctable) == (
            correctable,
            len(correctable),
        )
        assert ([item.target.position for item in own.to_decide], own.n_to_decide) == (decidable, len(decidable))


def test_reported_items_are_withheld_from_experts(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    with platform.database.writing() as tx:
        tx.execute(update(ItemTable).where(ItemTable.position == 0).values(withheld=True))
    gold_queue = queue.load_gold_queue(platform, "pilot", staff_id=experts[0])
    assert (gold_queue.next, gold_queue.n_withheld) == (1, 1)
    with pytest.raises(Conflict, match="This item is withheld from everybody"):
        queue.load_gold_task(platform, "pilot", 0, staff_id=experts[0])
    with pytest.raises(Conflict, match="This item is withheld from everybody"):
        label_item(platform, experts[0], YES)


def test_a_campaign_without_gold_has_no_queue(platform: Platform) -> None:
    staff_id = sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(platform, definition(), items(1), staff_id=staff_id, now=NOW)
    with pytest.raises(NotFound, match=r"its definition has no \[gold\]"):
        queue.load_gold_queue(platform, "pilot", staff_id=staff_id)


def test_an_unknown_position_is_not_found(platform: Platform) -> None:
    _, experts = create_gold_campaign(platform)
    with pytest.raises(NotFound, match="no item at this position"):
        queue.load_gold_task(platform, "pilot", 3, staff_id=experts[0])


def test_changes_of_the_campaign_cannot_remove_labels(platform: Platform) -> None:
    owner, experts = create_gold_campaign(platform)
    old = campaigns.load_definition(platform, "pilot", staff_id=owner)
    label_item(platform, experts[0], YES)
    with pytest.raises(Conflict, match="labels are never erased"):
        campaigns.remove_items(platform, "pilot", staff_id=owner, now=NOW)
    with pytest.raises(Conflict, match="gold cannot change"):
        campaigns.revise_campaign(
            platform, "pilot", definition(gold={**SMALL, "verifiers": 3}), staff_id=owner, now=NOW
        )
    with pytest.raises(Conflict, match="gold cannot change"):
        campaigns.revise_campaign(platform, "pilot", definition(), staff_id=owner, now=NOW)
    assert campaigns.load_definition(platform, "pilot", staff_id=owner) == old
    campaigns.revise_campaign(platform, "pilot", definition(gold=SMALL, estimated_minutes=5), staff_id=owner, now=NOW)


def test_experts_label_a_sample_that_the_log_records(platform: Platform) -> None:
    rated = tuple(replace(item, attributes={"topic": "xy"[number % 2]}) for number, item in enumerate(items(8)))
    settings = {**SMALL, "verifiers": 0, "checkers": 0, "sample": 4, "sample_by": ["topic"]}
    owner, experts = create_gold_campaign(platform, 1, rated=rated[:3], gold=settings)
    assert sample_of(platform, owner) == ["item-0", "item-1", "item-2"]
    services = SiteServices(chatbot_hosts=frozenset(), model_registry=Path("none"), languages=("en",))
    with pytest.raises(Conflict, match="label a sample of 4 items, and there are 3"):
        refuse_errors(platform, "pilot", services, staff_id=owner)
    campaigns.add_items(platform, "pilot", rated[3:], staff_id=owner, now=NOW)
    sample = sample_of(platform, owner)
    plan = SamplePlan(n=4, by="topic", seed=0)
    assert sample == [item.item_id for item in curate(rated, plan).sample]
    assert Counter(item.attributes["topic"] for item in rated if item.item_id in sample) == {"x": 2, "y": 2}
    for seed in range(1, 9):
        campaigns.revise_campaign(platform, "pilot", definition(gold=settings, seed=seed), staff_id=owner, now=NOW)
        assert sample_of(platform, owner) == [item.item_id for item in curate(rated, replace(plan, seed=seed)).sample]
    sample, before = sample_of(platform, owner), queue.load_gold_queue(platform, "pilot", staff_id=experts[0])
    assert (before.n_first, before.states["unlabelled"]) == (4, 4)
    outside = next(number for number, item in enumerate(rated) if item.item_id not in sample)
    with pytest.raises(Conflict, match=f"item-{outside}' is outside the sample"):
        label_item(platform, experts[0], YES, outside)
    while (position := queue.load_gold_queue(platform, "pilot", staff_id=experts[0]).next) is not None:
        label_item(platform, experts[0], YES, position)
    after = queue.load_gold_queue(platform, "pilot", staff_id=experts[0])
    assert (after.n_first, after.states["settled"], sum(after.states.values())) == (0, 4, 4)
    assert queue.list_labels(platform, "pilot", only="unlabelled", most=9, staff_id=owner) == ()
    with pytest.raises(Conflict, match="further items would change the sample"):
        campaigns.add_items(platform, "pilot", items(9)[8:], staff_id=owner, now=NOW)
    with pytest.raises(Conflict, match="gold cannot change"):
        campaigns.revise_campaign(platform, "pilot", definition(gold=settings, seed=9), staff_id=owner, now=NOW)
    campaigns.clone_campaign(platform, "pilot", "second", staff_id=owner, now=NOW)
    assert sample_of(platform, owner, "second") == sample
    link_pending_events(platform)
    assert audit_campaign(platform, "pilot").faults == audit_campaign(platform, "second").faults == ()
    with platform.database.writing() as tx:
        tx.execute(update(ItemTable).where(ItemTable.position == outside).values(in_gold_sample=True))
    assert audit_campaign(platform, "pilot").faults[-1].startswith("The sample of items that experts label is not")


def sample_of(platform: Platform, staff_id: str, name: str = "pilot") -> list[str]:
    return [item.target.name for item in queue.list_labels(platform, name, most=99, staff_id=staff_id)]


def test_a_sample_that_cannot_be_drawn_is_refused(platform: Platform) -> None:
    owner, _ = create_gold_campaign(platform, 0)
    lost = definition(gold={**SMALL, "sample": 2, "sample_by": ["harm"]})
    with pytest.raises(InvalidInput, match="The sample for gold labels cannot be drawn"):
        campaigns.revise_campaign(platform, "pilot", lost, staff_id=owner, now=NOW)
    for state in ("open", "paused"):
        campaigns.change_state(platform, "pilot", state, staff_id=owner, now=NOW)
    with pytest.raises(Conflict, match=r"gold.sample asks for 4 items, and pilot has 3"):
        campaigns.revise_campaign(platform, "pilot", definition(gold={"sample": 4}), staff_id=owner, now=NOW)
    campaigns.revise_campaign(platform, "pilot", definition(gold={"sample": 2}), staff_id=owner, now=NOW)
    assert len(sample_of(platform, owner)) == 2
    campaigns.revise_campaign(platform, "pilot", definition(gold={}), staff_id=owner, now=NOW)
    assert len(sample_of(platform, owner)) == 3


def test_concurrent_labels_fill_exactly_the_needed_ones(crowded: Platform) -> None:
    _, experts = create_gold_campaign(crowded, THREADS)

    def act(expert: str) -> str:
        try:
            return label_item(crowded, expert, YES)
        except Conflict as error:
            return "late" if "so yours was not stored" in str(error) else str(error)

    with ThreadPoolExecutor(THREADS) as threads:
        outcomes = Counter(threads.map(act, experts))
    assert outcomes == {"first": 1, "further": 1, "partly": 1, "late": 13}
    (first, *_) = queue.list_labels(crowded, "pilot", most=9, staff_id=experts[0])
    assert [label.position for label in first.progress["safety"].labels] == [0, 1, 2]
    assert [len(one.labels) for one in first.progress.values()] == [3, 2, 2]


def test_concurrent_decisions_store_one(crowded: Platform) -> None:
    owner, _ = create_disputed_item(crowded)
    names = [f"judge-{number}" for number in range(THREADS)]
    for name in names:
        members_workflow.add_member(crowded, "pilot", name, "expert", staff_id=owner, now=NOW)
    members = members_workflow.list_members(crowded, "pilot", staff_id=owner, now=NOW).members
    judges = [one.staff_id for one in members if one.name in names]

    def act(judge: str) -> str:
        try:
            decide(crowded, judge, {"safety": "No"}, reason=judge)
        except Conflict as error:
            return "late" if "already made this decision" in str(error) else str(error)
        return "decided"

    with ThreadPoolExecutor(THREADS) as threads:
        outcomes = Counter(threads.map(act, judges))
    assert outcomes == {"decided": 1, "late": THREADS - 1}


def test_a_revision_before_the_first_decision_is_a_conflict(platform: Platform) -> None:
    owner, _ = create_disputed_item(platform)
    with pytest.raises(Conflict, match="Nobody has decided on this item yet"):
        decide(platform, owner, {"safety": "No"}, revision=3)
