"""A campaign from draft to close."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import ABOUT_YOU, NOW, definition, items, open_campaign, owner

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.store import campaigns as store
from dissensus.store import items as items_store
from dissensus.store import overview
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.rehearsal import run_rehearsal
from dissensus.workflows.platform.platform import Platform


def test_a_draft_is_kept_whole(platform: Platform) -> None:
    staff_id = owner(platform.database)
    made = campaigns.create_campaign(platform, definition(demographics=ABOUT_YOU), items(5), staff_id=staff_id, now=NOW)
    assert (made.state, made.name, made.n_raters) == ("draft", "pilot", 0)
    with platform.database.reading() as tx:
        assert Platform(platform.database).definitions.of(tx, made) == definition(demographics=ABOUT_YOU)
        assert tuple(items_store.iterate_items(tx, made.id)) == items(5)
        assert [one.name for one in store.list_member_campaigns(tx, staff_id)] == ["pilot"]


def test_names_and_ids_are_taken_once(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="There is a campaign called pilot"):
        campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="There is an item 'item-0' already, and nothing was added"):
        campaigns.add_items(platform, "pilot", items(1), staff_id=staff_id, now=NOW)


def test_items_of_a_draft_are_added_in_order_all_or_none(platform: Platform) -> None:
    staff_id = owner(platform.database)
    made = campaigns.create_campaign(platform, definition(), items(2), staff_id=staff_id, now=NOW)
    assert campaigns.add_items(platform, "pilot", items(5)[2:], staff_id=staff_id, now=NOW) == 5
    for wrong in ((*items(7)[5:], *items(1)), items(7)[5:] * 2):
        with pytest.raises(Conflict, match="already, and nothing was added"):
            campaigns.add_items(platform, "pilot", wrong, staff_id=staff_id, now=NOW)
    with platform.database.reading() as tx:
        assert tuple(items_store.iterate_items(tx, made.id)) == items(5)


def test_items_of_a_draft_are_removed_with_what_previews_made_of_them(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition("other"), items(2), staff_id=staff_id, now=NOW)
    made = campaigns.create_campaign(platform, definition(), items(3), staff_id=staff_id, now=NOW)
    run_rehearsal(platform, "pilot", 2, staff_id=staff_id, now=NOW)
    run_rehearsal(platform, "other", 1, staff_id=staff_id, now=NOW)
    assert campaigns.remove_items(platform, "pilot", staff_id=staff_id, now=NOW) == 3
    assert campaigns.remove_items(platform, "pilot", staff_id=staff_id, now=NOW) == 0
    with platform.database.reading() as tx:
        assert overview.load_campaign_numbers(tx, made.id).n_rehearsals == 2
        assert tx.scalar(select(func.count()).select_from(SaveTable)) == 2
        assert tx.scalar(select(func.count()).select_from(AnswerTable))
    assert campaigns.add_items(platform, "pilot", items(1), staff_id=staff_id, now=NOW) == 1
    assert run_rehearsal(platform, "pilot", 1, staff_id=staff_id, now=NOW) == 1
    campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    with pytest.raises(Conflict, match="pilot is open, and its items cannot change now"):
        campaigns.remove_items(platform, "pilot", staff_id=staff_id, now=NOW)


def test_it_goes_from_draft_to_open_to_closed_and_not_back(platform: Platform) -> None:
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


def test_what_raters_answered_cannot_change_and_what_they_read_can(platform: Platform) -> None:
    kept = open_campaign(platform)
    change = {"staff_id": kept.staff_id, "now": NOW + timedelta(hours=1)}
    with pytest.raises(Conflict, match="pilot is open, and cannot be changed now"):
        campaigns.revise_campaign(platform, "pilot", definition(warning="Worse."), **change)  # type: ignore[arg-type]
    campaigns.change_state(platform, "pilot", "paused", **change)  # type: ignore[arg-type]
    with pytest.raises(Conflict, match="replication and seed cannot change after raters came"):
        campaigns.revise_campaign(platform, "pilot", definition(replication=3, seed=4), **change)  # type: ignore[arg-type]
    found = campaigns.revise_campaign(platform, "pilot", definition(warning="Worse."), **change)  # type: ignore[arg-type]
    with platform.database.reading() as tx:
        assert platform.definitions.of(tx, found).warning["en"] == "Worse."


def test_a_clone_is_a_draft_without_raters(platform: Platform) -> None:
    kept = open_campaign(platform)
    made = campaigns.clone_campaign(platform, "pilot", "again", staff_id=kept.staff_id, now=NOW)
    assert (made.state, made.name, made.n_raters) == ("draft", "again", 0)
    assert made.key not in (None, kept.key)
    with platform.database.reading() as tx:
        assert tuple(items_store.iterate_items(tx, made.id)) == items(3)


def test_nobody_touches_what_is_somebody_elses(platform: Platform) -> None:
    open_campaign(platform)
    other = owner(platform.database, "other")
    for act in (
        lambda: campaigns.change_state(platform, "pilot", "closed", staff_id=other, now=NOW),
        lambda: campaigns.clone_campaign(platform, "pilot", "mine", staff_id=other, now=NOW),
        lambda: campaigns.create_invitations(platform, "pilot", 1, staff_id=other, now=NOW),
        lambda: campaigns.revise_campaign(platform, "pilot", definition(), staff_id=other, now=NOW),
        lambda: campaigns.add_items(platform, "pilot", items(5)[3:], staff_id=other, now=NOW),
        lambda: campaigns.remove_items(platform, "pilot", staff_id=other, now=NOW),
        lambda: campaigns.load_draft_definition(platform, "pilot", staff_id=other),
    ):
        with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
            act()
    with pytest.raises(NotFound, match="There is no campaign 'nothing'"):
        campaigns.create_invitations(platform, "nothing", 1, staff_id=other, now=NOW)


def test_invitations_are_all_different_and_limited(platform: Platform) -> None:
    kept = open_campaign(platform)
    keys = campaigns.create_invitations(platform, "pilot", 50, staff_id=kept.staff_id, now=NOW)
    assert len(set(keys)) == 50
    for n in (0, 10_001):
        with pytest.raises(InvalidInput, match=f"{n:,} invitations were asked for"):
            campaigns.create_invitations(platform, "pilot", n, staff_id=kept.staff_id, now=NOW)
