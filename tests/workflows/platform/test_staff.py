"""Owners: links that work once, sessions that end, numbers of campaigns."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.campaigns import AGREED, NOW, definition, items, open_campaign

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.store.staff import LoginLinkTable, SessionTable
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating
from dissensus.workflows.rater.enrolment import Arrival

LATER = NOW + timedelta(minutes=16)


def test_a_link_signs_in_once(platform: Platform) -> None:
    link = staff.create_sign_in_link(platform, " ada ", now=NOW)
    assert (link.staff.name, link.new) == ("ada", True)
    staff.check_sign_in_link(platform, link.key, now=NOW)
    staff.check_sign_in_link(platform, link.key, now=NOW)
    session = staff.sign_in_with_link(platform, link.key, now=NOW)
    assert staff.staff_of_session(platform, session, now=NOW) == link.staff
    for use in (staff.check_sign_in_link, staff.sign_in_with_link):
        with pytest.raises(NotAllowed, match="This link was used, is older than 15 minutes, or is not whole"):
            use(platform, link.key, now=NOW)


def test_of_many_who_use_a_link_at_once_one_gets_in(platform: Platform) -> None:
    key, inside = staff.create_sign_in_link(platform, "ada", now=NOW).key, []

    def enter() -> None:
        try:
            inside.append(staff.sign_in_with_link(platform, key, now=NOW))
        except NotAllowed:
            return

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 1


@pytest.mark.parametrize("key", ["", "guess", "\udc80", "é" * 500])
def test_a_key_that_is_none_signs_nobody_in(platform: Platform, key: str) -> None:
    with pytest.raises(NotAllowed):
        staff.sign_in_with_link(platform, key, now=NOW)
    assert staff.staff_of_session(platform, key, now=NOW) is None


def test_links_and_sessions_end_by_themselves(platform: Platform) -> None:
    link = staff.create_sign_in_link(platform, "ada", now=NOW)
    with pytest.raises(NotAllowed):
        staff.sign_in_with_link(platform, link.key, now=LATER)
    again = staff.create_sign_in_link(platform, "ada", now=NOW)
    assert (again.staff, again.new) == (link.staff, False)
    session = staff.sign_in_with_link(platform, again.key, now=NOW)
    assert staff.staff_of_session(platform, session, now=NOW + timedelta(hours=11)) is not None
    assert staff.staff_of_session(platform, session, now=NOW + timedelta(hours=13)) is None


def test_signing_out_ends_one_session_or_all_and_the_links(platform: Platform) -> None:
    keys = [staff.create_sign_in_link(platform, "ada", now=NOW).key for _ in range(4)]
    other = staff.sign_in_with_link(platform, staff.create_sign_in_link(platform, "bob", now=NOW).key, now=NOW)
    sessions = [staff.sign_in_with_link(platform, key, now=NOW) for key in keys[:3]]
    staff.sign_out(platform, sessions[0])
    assert [staff.staff_of_session(platform, one, now=NOW) is not None for one in sessions] == [False, True, True]
    assert staff.sign_out_everywhere(platform, "ada") == 2
    assert not any(staff.staff_of_session(platform, one, now=NOW) for one in sessions)
    with pytest.raises(NotAllowed):
        staff.sign_in_with_link(platform, keys[3], now=NOW)
    assert staff.staff_of_session(platform, other, now=NOW) is not None
    with pytest.raises(NotFound, match="There is nobody called 'eve'; there are 'ada', 'bob'"):
        staff.sign_out_everywhere(platform, "eve")


def test_keys_are_not_kept(platform: Platform) -> None:
    key = staff.create_sign_in_link(platform, "ada", now=NOW).key
    session = staff.sign_in_with_link(platform, key, now=NOW)
    with platform.database.reading() as tx:
        kept = [*tx.scalars(select(LoginLinkTable.key_hash)), *tx.scalars(select(SessionTable.key_hash))]
    assert all(len(one) == 64 for one in kept)
    assert not {key, session} & set(kept)


def test_what_ended_is_forgotten_with_the_next_link(platform: Platform) -> None:
    staff.sign_in_with_link(platform, staff.create_sign_in_link(platform, "ada", now=NOW).key, now=NOW)
    staff.create_sign_in_link(platform, "ada", now=NOW)
    later = NOW + timedelta(hours=13)
    staff.create_sign_in_link(platform, "ada", now=later)
    with platform.database.reading() as tx:
        assert list(tx.scalars(select(LoginLinkTable.expires_at))) == [later + staff.LINK_LIFETIME]
        assert list(tx.scalars(select(SessionTable.expires_at))) == []


def test_a_rater_is_no_owner_and_an_owner_no_rater(platform: Platform) -> None:
    kept = open_campaign(platform)
    _, raters_key = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    owners_key = staff.sign_in_with_link(platform, staff.create_sign_in_link(platform, "ada", now=NOW).key, now=NOW)
    assert staff.staff_of_session(platform, raters_key, now=NOW) is None
    assert enrolment.rater_of_session(platform, owners_key, now=NOW) is None
    staff.sign_out(platform, raters_key)
    assert enrolment.rater_of_session(platform, raters_key, now=NOW) is not None


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101, "a\x1b[2J"])
def test_names_that_cannot_be(platform: Platform, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be the name of somebody\. Give 1 to 100 characters"):
        staff.create_sign_in_link(platform, name, now=NOW)


def test_without_a_name_the_only_owner_is_meant(platform: Platform) -> None:
    made = staff.find_or_create_owner(platform, None, now=NOW)
    assert made.name == "owner"
    assert (
        staff.find_or_create_owner(platform, None, now=NOW)
        == staff.find_or_create_owner(platform, "owner", now=NOW)
        == made
    )
    with pytest.raises(InvalidInput, match=r"nobody called 'ada'; there are 'owner'. Make one: dissensus sign-in"):
        staff.find_or_create_owner(platform, "ada", now=NOW)
    staff.create_sign_in_link(platform, "ada", now=NOW)
    with pytest.raises(InvalidInput, match=r"There are several people: 'ada', 'owner'. Name one"):
        staff.find_or_create_owner(platform, None, now=NOW)
    assert staff.find_or_create_owner(platform, "ada", now=NOW).name == "ada"


def rate(platform: Platform, key: str, n: int, *, rehearsal: bool = False) -> None:
    """Let somebody rate some items, and need help at the last."""
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en"), AGREED, rehearsal=rehearsal, now=NOW)
    step = journey.next_state(platform, rater, now=NOW)
    for i in range(n):
        assert step.assignment is not None
        given = AnswerSave(revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
        step = rating.submit_answers(platform, rater, step.assignment.id, f"{rater.id[-20:]}-{i}", given, now=NOW)
    assert step.assignment is not None
    rating.report_item(platform, rater, "help", "It stays with me.", assignment_id=step.assignment.id, now=NOW)


def test_an_overview_counts_what_raters_did(platform: Platform) -> None:
    kept = open_campaign(platform, 3, replication=3)
    campaigns.create_invitations(platform, "pilot", 5, staff_id=kept.staff_id, now=NOW)
    rate(platform, str(kept.key), 2)
    rate(platform, str(kept.key), 1)
    rate(platform, "", 1, rehearsal=True)
    found = overview.load_overview(platform, "pilot", staff_id=kept.staff_id)
    numbers = found.numbers
    assert (numbers.n_items, numbers.n_rehearsals, numbers.n_invited, numbers.n_entered) == (3, 1, 5, 0)
    assert numbers.raters == {"rating": 2, "finished": 0, "stopped": 0, "withdrawn": 0}
    assert numbers.assignments["done"] == 3
    assert sum(n for _, n in numbers.loads) == 3
    assert found.moves == ("paused", "closed")
    assert found.sample == items(3)
    (line,) = overview.list_all_campaigns(platform)
    assert (line.campaign_row.name, line.owners, line.numbers) == ("pilot", ("owner",), numbers)
    tally = overview.count_platform(platform)
    assert (tally.n_saves, tally.raters["rating"]) == (4, 2)


def test_notices_stay_until_they_are_dealt_with(platform: Platform) -> None:
    kept = open_campaign(platform, 3)
    other = staff.create_sign_in_link(platform, "other", now=NOW).staff
    campaigns.create_campaign(platform, definition("another"), items(1), staff_id=other.id, now=NOW)
    rate(platform, str(kept.key), 1)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=kept.staff_id).notices
    assert (notice.kind, notice.text, notice.at) == ("help", "It stays with me.", NOW)
    assert notice.item in {"item-0", "item-1", "item-2"}
    with pytest.raises(NotFound, match="another has no such notice"):
        overview.settle_notice(platform, "another", notice.id, staff_id=other.id, now=NOW)
    assert overview.load_overview(platform, "pilot", staff_id=kept.staff_id).notices == (notice,)
    overview.settle_notice(platform, "pilot", notice.id, staff_id=kept.staff_id, now=NOW)
    assert overview.load_overview(platform, "pilot", staff_id=kept.staff_id).notices == ()


def test_what_is_somebody_elses_is_as_if_it_were_not_there(platform: Platform) -> None:
    open_campaign(platform)
    other = staff.create_sign_in_link(platform, "other", now=NOW).staff
    told = []
    for name in ("pilot", "nothing"):
        with pytest.raises(NotFound) as caught:
            overview.load_overview(platform, name, staff_id=other.id)
        told.append(str(caught.value).replace(name, "NAME"))
        with pytest.raises(NotFound):
            overview.settle_notice(platform, name, "x", staff_id=other.id, now=NOW)
    assert told[0] == told[1]
    assert overview.list_campaigns_of(platform, other) == ()
