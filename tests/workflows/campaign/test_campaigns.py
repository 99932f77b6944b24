"""A campaign from draft to close."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func, select, update
from tests.databases import sqlite_only
from tests.support.campaigns import ABOUT_YOU, NOW, TWO_QUESTIONS, definition, items, open_campaign, owner
from tests.support.pair_campaigns import pair_definition, pairs
from tests.support.plan_statistics import count_planned_rows
from tests.support.prolific_server import Prolific
from tests.support.raters import enter
from tests.support.recruited_raters import CODES, add_submission

from dissensus.campaign.filters.item_filter import ItemFilter
from dissensus.campaign.planning import read_plan
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.campaign.shipped import load_campaign, rename_campaign
from dissensus.schema.records.item import Item
from dissensus.store import audit_log, overview
from dissensus.store import campaigns as store
from dissensus.store import items as items_store
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import audit, campaigns, submissions
from dissensus.workflows.campaign import items as items_workflow
from dissensus.workflows.campaign.rehearsal import run_rehearsal
from dissensus.workflows.platform.platform import Platform


def test_a_draft_stores_its_definition_and_items(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaign = campaigns.create_campaign(
        platform, definition(demographics=ABOUT_YOU), items(5), staff_id=staff_id, now=NOW
    )
    assert (campaign.state, campaign.name, campaign.n_raters) == ("draft", "pilot", 0)
    with platform.database.reading() as tx:
        assert Platform(platform.database).definitions.load(tx, campaign) == definition(demographics=ABOUT_YOU)
        assert tuple(items_store.iterate_items(tx, campaign.id)) == items(5)
        assert [one.name for one in store.list_member_campaigns(tx, staff_id)] == ["pilot"]


def test_a_draft_made_from_a_plan_logs_its_numbers_and_digest(platform: Platform) -> None:
    plan = read_plan('{"question": "pool", "campaign": {"replication": 3, "quota": {"seats": 10}}}')
    staff_id = owner(platform.database)
    campaign = campaigns.create_campaign(platform, definition(), items(1), staff_id=staff_id, plan=plan, now=NOW)
    with platform.database.reading() as tx:
        (event,) = audit_log.iterate_events(tx, campaign.id, "planned")
    assert event.content == {"question": "pool", "sha256": plan.sha256, "replication": 3, "seats": 10}


def test_duplicate_names_and_item_ids_are_refused(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="There is a campaign called pilot"):
        campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="There is an item 'item-0' already, and nothing was added"):
        campaigns.add_items(platform, "pilot", items(1), staff_id=staff_id, now=NOW)


def test_items_of_a_draft_are_added_in_order_all_or_none(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaign = campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    assert campaigns.add_items(platform, "pilot", items(5)[2:], staff_id=staff_id, now=NOW) == 5
    for duplicates in ((*items(7)[5:], *items(1)), items(7)[5:] * 2):
        with pytest.raises(Conflict, match="already, and nothing was added"):
            campaigns.add_items(platform, "pilot", duplicates, staff_id=staff_id, now=NOW)
    with platform.database.reading() as tx:
        assert tuple(items_store.iterate_items(tx, campaign.id)) == items(5)


def test_removing_items_of_a_draft_removes_the_ratings_of_previews(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition("other"), items(2), staff_id=staff_id, now=NOW)
    campaign = campaigns.create_campaign(platform, definition(), items(3), staff_id=staff_id, now=NOW)
    run_rehearsal(platform, "pilot", 2, staff_id=staff_id, now=NOW)
    run_rehearsal(platform, "other", 1, staff_id=staff_id, now=NOW)
    assert campaigns.remove_items(platform, "pilot", staff_id=staff_id, now=NOW) == 3
    assert campaigns.remove_items(platform, "pilot", staff_id=staff_id, now=NOW) == 0
    with platform.database.reading() as tx:
        assert overview.load_campaign_numbers(tx, campaign.id).n_rehearsals == 2
        assert tx.scalar(select(func.count()).select_from(SaveTable)) == 2
        assert tx.scalar(select(func.count()).select_from(AnswerTable))
    assert campaigns.add_items(platform, "pilot", items(1), staff_id=staff_id, now=NOW) == 1
    assert run_rehearsal(platform, "pilot", 1, staff_id=staff_id, now=NOW) == 1
    campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="pilot is open, and its items cannot change now"):
        campaigns.remove_items(platform, "pilot", staff_id=staff_id, now=NOW)


def test_a_campaign_never_returns_to_draft(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(), (), staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="pilot has no items to rate"):
        campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    assert campaigns.add_items(platform, "pilot", items(2), staff_id=staff_id, now=NOW) == 2
    for state in ("open", "paused", "open", "closed", "paused"):
        assert campaigns.change_state(platform, "pilot", state, staff_id=staff_id, now=NOW).state == state
    with pytest.raises(Conflict, match="that is paused cannot become draft; it can become open or closed"):
        campaigns.change_state(platform, "pilot", "draft", staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="pilot is paused, and its items cannot change now"):
        campaigns.add_items(platform, "pilot", items(3)[2:], staff_id=staff_id, now=NOW)


def test_texts_can_change_after_raters_came_and_the_design_cannot(platform: Platform) -> None:
    campaign = open_campaign(platform)
    by = {"staff_id": campaign.staff_id, "now": NOW + timedelta(hours=1)}
    with pytest.raises(Conflict, match="pilot is open, and cannot be changed now"):
        campaigns.revise_campaign(platform, "pilot", definition(warning="Worse."), **by)  # type: ignore[arg-type]
    campaigns.change_state(platform, "pilot", "paused", **by)  # type: ignore[arg-type]
    with pytest.raises(Conflict, match="replication and seed cannot change after raters entered"):
        campaigns.revise_campaign(platform, "pilot", definition(replication=3, seed=4), **by)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"is of kitchen, and this campaign is pilot\. Write name = pilot, or clone"):
        campaigns.revise_campaign(platform, "pilot", definition(name="kitchen"), **by)  # type: ignore[arg-type]
    worse = definition(warning="Worse.", release_signers=2)
    revised = campaigns.revise_campaign(platform, "pilot", worse, **by)  # type: ignore[arg-type]
    with platform.database.reading() as tx:
        assert platform.definitions.load(tx, revised).warning["en"] == "Worse."
    for changes in ({}, {"release_signers": 1}):
        with pytest.raises(Conflict, match="release_signers is 2, and can only grow"):
            campaigns.revise_campaign(platform, "pilot", definition(**changes), **by)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("questionnaire", {"questionnaire": {**TWO_QUESTIONS, "title": "Other questions"}}),
        ("demographics", {"demographics": {**ABOUT_YOU, "title": "About all of you"}}),
        ("demographics_position", {"demographics_position": "before"}),
        ("response_format", {"response_format": "markdown"}),
        ("replication", {"replication": 3}),
        ("seed", {"seed": 4}),
    ],
)
@sqlite_only
def test_the_design_is_frozen_from_the_opening_on(platform: Platform, field: str, changes: dict[str, Any]) -> None:
    campaign = open_campaign(platform, demographics=ABOUT_YOU)
    by: dict[str, Any] = {"staff_id": campaign.staff_id, "now": NOW}
    campaigns.change_state(platform, "pilot", "paused", **by)
    with pytest.raises(Conflict, match=f"^{field} cannot change after raters entered"):
        campaigns.revise_campaign(platform, "pilot", definition(**{"demographics": ABOUT_YOU, **changes}), **by)
    limits = definition(demographics=ABOUT_YOU, max_items=2, max_per_day=1, reclaim_after_h=3, break_every=7)
    assert campaigns.revise_campaign(platform, "pilot", limits, **by).digest == limits.digest


def test_a_recruiter_stays_until_its_ids_are_erased(platform: Platform) -> None:
    campaign = open_campaign(platform, recruit=CODES)
    add_submission(platform, Prolific(), campaign.id, enter(platform, campaign.key).id, "ACTIVE")
    codes: Any = CODES["codes"]
    by: dict[str, Any] = {"staff_id": campaign.staff_id, "now": NOW}

    def revise(**changes: Any) -> CampaignRow:
        return campaigns.revise_campaign(platform, "pilot", definition(**changes), **by)

    campaigns.change_state(platform, "pilot", "paused", **by)
    panel = {"kind": "link", "name": "Panel", "parameter": "person", "codes": codes}
    changes: tuple[dict[str, Any], ...] = ({}, {"recruit": panel})
    for removed in changes:
        with pytest.raises(Conflict, match=r"while ids of Prolific are stored, now of 1 participant\. Close the"):
            revise(**removed)
    revise(recruit={**CODES, "codes": {name: f"{code}X" for name, code in codes.items()}})
    campaigns.change_state(platform, "pilot", "closed", **by)
    assert submissions.erase_recruiter_ids(platform, "pilot", **by) == 1
    campaigns.change_state(platform, "pilot", "paused", **by)
    assert revise().digest == definition().digest


def test_a_clone_is_a_draft_without_raters(platform: Platform) -> None:
    campaign = open_campaign(platform)
    clone = campaigns.clone_campaign(platform, "pilot", "again", staff_id=campaign.staff_id, now=NOW)
    assert (clone.state, clone.name, clone.n_raters) == ("draft", "again", 0)
    assert clone.key not in (None, campaign.key)
    with platform.database.reading() as tx:
        assert tuple(items_store.iterate_items(tx, clone.id)) == items(3)


def test_strangers_cannot_act_on_a_campaign(platform: Platform) -> None:
    open_campaign(platform)
    stranger_id = owner(platform.database, "other")
    for action in (
        lambda: campaigns.change_state(platform, "pilot", "closed", staff_id=stranger_id, now=NOW),
        lambda: campaigns.clone_campaign(platform, "pilot", "mine", staff_id=stranger_id, now=NOW),
        lambda: campaigns.create_invitations(platform, "pilot", 1, staff_id=stranger_id, now=NOW),
        lambda: campaigns.revise_campaign(platform, "pilot", definition(), staff_id=stranger_id, now=NOW),
        lambda: campaigns.add_items(platform, "pilot", items(5)[3:], staff_id=stranger_id, now=NOW),
        lambda: campaigns.remove_items(platform, "pilot", staff_id=stranger_id, now=NOW),
        lambda: campaigns.load_draft_definition(platform, "pilot", staff_id=stranger_id),
    ):
        with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
            action()
    with pytest.raises(NotFound, match="There is no campaign 'nothing'"):
        campaigns.create_invitations(platform, "nothing", 1, staff_id=stranger_id, now=NOW)


def test_invitations_are_all_different_and_limited(platform: Platform) -> None:
    campaign = open_campaign(platform)
    keys = campaigns.create_invitations(platform, "pilot", 50, staff_id=campaign.staff_id, now=NOW)
    assert len(set(keys)) == 50
    for n in (0, 10_001):
        with pytest.raises(InvalidInput, match=f"{n:,} invitations were requested"):
            campaigns.create_invitations(platform, "pilot", n, staff_id=campaign.staff_id, now=NOW)


def test_the_database_samples_items_after_a_large_load(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "LARGE_LOAD", 5)
    staff_id = owner(platform.database)
    before = count_planned_rows(platform.database, "item")
    campaigns.create_campaign(platform, definition(), items(4), staff_id=staff_id, now=NOW)
    assert count_planned_rows(platform.database, "item") == before
    campaigns.create_campaign(platform, definition("large"), items(6), staff_id=staff_id, now=NOW)
    assert count_planned_rows(platform.database, "item") == 10


def test_a_clone_leaves_out_withheld_and_erased_items(platform: Platform) -> None:
    campaign = open_campaign(platform)
    with platform.database.writing() as tx:
        (erased_id,) = tx.scalars(select(ItemTable.id).where(ItemTable.position == 1))
        items_store.erase_item(tx, erased_id)
        tx.execute(update(ItemTable).where(ItemTable.position == 2).values(withheld=True))
    clone = campaigns.clone_campaign(platform, "pilot", "again", staff_id=campaign.staff_id, now=NOW)
    with platform.database.reading() as tx:
        assert [item.item_id for item in items_store.iterate_items(tx, clone.id)] == ["item-0"]
    assert audit.audit_campaign(platform, "again").holds


def test_a_filter_by_an_answer_needs_a_question_with_a_scale(platform: Platform) -> None:
    questions = {**TWO_QUESTIONS, "questions": [{"name": "Why", "text": "Why?", "kind": "text"}]}
    campaign = open_campaign(platform, questionnaire=questions)
    load = partial(items_workflow.list_items, platform, "pilot", after=None, staff_id=campaign.staff_id, most=5)
    with pytest.raises(InvalidInput, match="have no scale, so items cannot be listed by an answer"):
        load(ItemFilter(answer=0))
    with pytest.raises(InvalidInput, match=r"'Q_safe' is not a question with a scale. The campaign has none."):
        load(ItemFilter(question="Q_safe"))


def test_an_answer_beyond_the_scale_of_a_question_is_refused(platform: Platform) -> None:
    campaign = open_campaign(platform)
    load = partial(items_workflow.list_items, platform, "pilot", after=None, staff_id=campaign.staff_id, most=5)
    with pytest.raises(InvalidInput, match=r"3 is not the number of an answer\. Q_safe has 0 to 2"):
        load(ItemFilter(answer=3))
    assert load(ItemFilter(answer=2)).items == ()


def test_at_most_fifty_items_are_withheld_at_once(platform: Platform) -> None:
    campaign = open_campaign(platform)
    withhold = partial(
        items_workflow.withhold_items, platform, "pilot", withheld=True, staff_id=campaign.staff_id, now=NOW
    )
    for positions, message in ((range(0), "No item is selected"), (range(51), "51 items are selected, and at most 50")):
        with pytest.raises(InvalidInput, match=message):
            withhold(positions)
    assert withhold(range(50)) == 3


def test_a_campaign_with_chats_takes_no_items(platform: Platform) -> None:
    staff_id = owner(platform.database)
    chats = rename_campaign(load_campaign("red-team"), "red")
    with pytest.raises(InvalidInput, match="In red raters talk with chatbots and rate no items"):
        campaigns.create_campaign(platform, chats, items(1), staff_id=staff_id, now=NOW)
    campaigns.create_campaign(platform, chats, (), staff_id=staff_id, now=NOW)
    with pytest.raises(InvalidInput, match="In red raters talk with chatbots and rate no items"):
        campaigns.add_items(platform, "red", items(1), staff_id=staff_id, now=NOW)


def test_items_must_match_the_kind_of_campaign(platform: Platform) -> None:
    staff_id = owner(platform.database)
    single = tuple(Item(one.item_id, one.conversation) for one in pairs(3))
    with pytest.raises(InvalidInput, match=r"Item 'pair-1', number 2, has one response, and with \[pair\] two"):
        campaigns.create_campaign(platform, pair_definition(), (pairs(1)[0], *single[1:]), staff_id=staff_id, now=NOW)
    rating = pair_definition(pair=None, questionnaire=TWO_QUESTIONS)
    with pytest.raises(InvalidInput, match=r"Item 'pair-0', number 1, has two responses.*2 more such items"):
        campaigns.create_campaign(platform, rating, pairs(3), staff_id=staff_id, now=NOW)
    campaigns.create_campaign(platform, pair_definition(), pairs(3), staff_id=staff_id, now=NOW)
    with pytest.raises(InvalidInput, match="'pair-0', number 1, has one response"):
        campaigns.add_items(platform, "pilot", single, staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="pair cannot be added or removed while pilot has items"):
        campaigns.revise_campaign(platform, "pilot", rating, staff_id=staff_id, now=NOW)
    other = pair_definition(pair={"criterion": "more harmful"})
    campaigns.revise_campaign(platform, "pilot", other, staff_id=staff_id, now=NOW)
    assert run_rehearsal(platform, "pilot", 2, staff_id=staff_id, now=NOW) == 6
    campaigns.clone_campaign(platform, "pilot", "second", staff_id=staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="questionnaire and pair cannot change"):
        campaigns.revise_campaign(platform, "pilot", pair_definition(), staff_id=staff_id, now=NOW)
