"""Staff: single-use links, sessions and overviews of campaigns."""

import threading
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import select
from tests.support.campaigns import AGREED, NOW, definition, items, open_campaign

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import InvalidInput, NotAllowed, NotFound
from dissensus.store.staff import SessionTable, SignInLinkTable
from dissensus.workflows.campaign import campaigns, notices, overview
from dissensus.workflows.platform import staff
from dissensus.workflows.platform.mail_delivery import SIGN_IN_LINK_LIFETIME
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating
from dissensus.workflows.rater.enrolment import Arrival

LATER = NOW + timedelta(minutes=16)


def test_a_link_signs_in_once(platform: Platform) -> None:
    link = staff.create_sign_in_link(platform, " ada ", now=NOW)
    assert (link.staff.name, link.new) == ("ada", True)
    staff.check_sign_in_link(platform, link.key, now=NOW)
    staff.check_sign_in_link(platform, link.key, now=NOW)
    session = staff.sign_in_with_link(platform, link.key, network=None, now=NOW)
    assert staff.staff_of_session(platform, session, now=NOW) == link.staff
    for use in (staff.check_sign_in_link, partial(staff.sign_in_with_link, network=None)):
        with pytest.raises(NotAllowed, match="This link was used, is older than 15 minutes, or is incomplete"):
            use(platform, link.key, now=NOW)


def test_concurrent_uses_of_a_link_open_one_session(platform: Platform) -> None:
    key, inside = staff.create_sign_in_link(platform, "ada", now=NOW).key, []

    def enter() -> None:
        try:
            inside.append(staff.sign_in_with_link(platform, key, network=None, now=NOW))
        except NotAllowed:
            return

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(inside) == 1


@pytest.mark.parametrize("key", ["", "guess", "\udc80", "é" * 500])
def test_invalid_keys_are_refused(platform: Platform, key: str) -> None:
    with pytest.raises(NotAllowed):
        staff.sign_in_with_link(platform, key, network=None, now=NOW)
    assert staff.staff_of_session(platform, key, now=NOW) is None


def test_links_and_sessions_expire(platform: Platform) -> None:
    link = staff.create_sign_in_link(platform, "ada", now=NOW)
    with pytest.raises(NotAllowed):
        staff.sign_in_with_link(platform, link.key, network=None, now=LATER)
    again = staff.create_sign_in_link(platform, "ada", now=NOW)
    assert (again.staff, again.new) == (link.staff, False)
    session = staff.sign_in_with_link(platform, again.key, network=None, now=NOW)
    for minutes in range(0, 12 * 60, 59):
        assert staff.staff_of_session(platform, session, now=NOW + timedelta(minutes=minutes)) is not None
    assert staff.staff_of_session(platform, session, now=NOW + timedelta(hours=12)) is None


def test_idle_sessions_end(platform: Platform) -> None:
    link = staff.create_sign_in_link(platform, "ada", now=NOW)
    session = staff.sign_in_with_link(platform, link.key, network=None, now=NOW)
    assert staff.staff_of_session(platform, session, now=NOW + timedelta(minutes=40)) is not None
    assert staff.staff_of_session(platform, session, now=NOW + timedelta(minutes=99)) is not None
    assert len(staff.list_sessions(platform, link.staff, now=NOW + timedelta(minutes=150))) == 1
    assert staff.staff_of_session(platform, session, now=NOW + timedelta(minutes=160)) is None
    assert staff.list_sessions(platform, link.staff, now=NOW + timedelta(minutes=160)) == ()
    strict = replace(platform, session_idle=timedelta(minutes=5))
    session = staff.sign_in_with_link(
        strict, staff.create_sign_in_link(strict, "ada", now=NOW).key, network=None, now=NOW
    )
    assert staff.staff_of_session(strict, session, now=NOW + timedelta(minutes=5)) is None


def test_signing_out_ends_one_session_or_all_and_the_links(platform: Platform) -> None:
    keys = [staff.create_sign_in_link(platform, "ada", now=NOW).key for _ in range(4)]
    other = staff.sign_in_with_link(
        platform, staff.create_sign_in_link(platform, "bob", now=NOW).key, network=None, now=NOW
    )
    sessions = [staff.sign_in_with_link(platform, key, network=None, now=NOW) for key in keys[:3]]
    staff.sign_out(platform, sessions[0])
    assert [staff.staff_of_session(platform, one, now=NOW) is not None for one in sessions] == [False, True, True]
    assert staff.sign_out_everywhere(platform, "ada", now=NOW) == 2
    assert not any(staff.staff_of_session(platform, one, now=NOW) for one in sessions)
    with pytest.raises(NotAllowed):
        staff.sign_in_with_link(platform, keys[3], network=None, now=NOW)
    assert staff.staff_of_session(platform, other, now=NOW) is not None
    with pytest.raises(NotFound, match="There is no person called 'eve'; there are 'ada', 'bob'"):
        staff.sign_out_everywhere(platform, "eve", now=NOW)


def test_keys_are_not_stored(platform: Platform) -> None:
    key = staff.create_sign_in_link(platform, "ada", now=NOW).key
    session = staff.sign_in_with_link(platform, key, network=None, now=NOW)
    with platform.database.reading() as tx:
        stored = [*tx.scalars(select(SignInLinkTable.key_hash)), *tx.scalars(select(SessionTable.key_hash))]
    assert all(len(one) == 64 for one in stored)
    assert not {key, session} & set(stored)


def test_expired_links_and_sessions_are_removed_with_the_next_link(platform: Platform) -> None:
    staff.sign_in_with_link(platform, staff.create_sign_in_link(platform, "ada", now=NOW).key, network=None, now=NOW)
    staff.create_sign_in_link(platform, "ada", now=NOW)
    later = NOW + timedelta(hours=13)
    staff.create_sign_in_link(platform, "ada", now=later)
    with platform.database.reading() as tx:
        assert list(tx.scalars(select(SignInLinkTable.expires_at))) == [later + SIGN_IN_LINK_LIFETIME]
        assert list(tx.scalars(select(SessionTable.expires_at))) == []


def test_sessions_of_raters_and_staff_are_separate(platform: Platform) -> None:
    campaign = open_campaign(platform)
    _, raters_key = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    owners_key = staff.sign_in_with_link(
        platform, staff.create_sign_in_link(platform, "ada", now=NOW).key, network=None, now=NOW
    )
    assert staff.staff_of_session(platform, raters_key, now=NOW) is None
    assert enrolment.rater_of_session(platform, owners_key, now=NOW) is None
    staff.sign_out(platform, raters_key)
    assert enrolment.rater_of_session(platform, raters_key, now=NOW) is not None


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101, "a\x1b[2J"])
def test_invalid_names_are_refused(platform: Platform, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not a valid name\. Give 1 to 100 characters"):
        staff.create_sign_in_link(platform, name, now=NOW)


def test_without_a_name_the_only_owner_is_used(platform: Platform) -> None:
    default_owner = staff.find_or_create_owner(platform, None, now=NOW)
    assert default_owner.name == "owner"
    assert (
        staff.find_or_create_owner(platform, None, now=NOW)
        == staff.find_or_create_owner(platform, "owner", now=NOW)
        == default_owner
    )
    with pytest.raises(InvalidInput, match=r"no person called 'ada'; there are 'owner'. Create one: dissensus sign-in"):
        staff.find_or_create_owner(platform, "ada", now=NOW)
    staff.create_sign_in_link(platform, "ada", now=NOW)
    with pytest.raises(InvalidInput, match=r"There are several people: 'ada', 'owner'. Name one"):
        staff.find_or_create_owner(platform, None, now=NOW)
    assert staff.find_or_create_owner(platform, "ada", now=NOW).name == "ada"


def rate_items(platform: Platform, key: str, n: int, *, rehearsal: bool = False) -> None:
    """Rate `n` items as a new rater, and ask for help at the next one."""
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en"), AGREED, rehearsal=rehearsal, now=NOW)
    step = journey.next_state(platform, rater, now=NOW)
    for i in range(n):
        assert step.assignment is not None
        save = AnswerSave(revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
        step = rating.submit_answers(platform, rater, step.assignment.id, f"{rater.id[-20:]}-{i}", save, now=NOW)
    assert step.assignment is not None
    rating.report_item(platform, rater, "help", "It stays with me.", assignment_id=step.assignment.id, now=NOW)


def test_an_overview_counts_raters_and_assignments(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, replication=3)
    campaigns.create_invitations(platform, "pilot", 5, staff_id=campaign.staff_id, now=NOW)
    rate_items(platform, str(campaign.key), 2)
    rate_items(platform, str(campaign.key), 1)
    rate_items(platform, "", 1, rehearsal=True)
    campaign_overview = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id)
    numbers = campaign_overview.numbers
    assert (numbers.n_items, numbers.n_rehearsals, numbers.n_invited, numbers.n_entered) == (3, 1, 5, 0)
    assert numbers.raters == {"rating": 2, "finished": 0, "stopped": 0, "withdrawn": 0}
    assert numbers.n_done == 3
    assert sum(n for _, n in numbers.loads) == 3
    assert campaign_overview.allowed_states == ("paused", "closed")
    assert campaign_overview.sample == items(3)
    (line,) = overview.list_all_campaigns(platform)
    assert (line.campaign_row.name, line.owners) == ("pilot", ("owner",))
    assert (line.numbers.n_items, line.numbers.n_done, line.numbers.raters) == (3, 3, numbers.raters)
    tally = overview.count_platform(platform)
    assert (tally.n_saves, tally.raters["rating"]) == (4, 2)


def test_notices_stay_until_they_are_settled(platform: Platform) -> None:
    campaign = open_campaign(platform, 3)
    other = staff.create_sign_in_link(platform, "other", now=NOW).staff
    campaigns.create_campaign(platform, definition("another"), items(1), staff_id=other.id, now=NOW)
    rate_items(platform, str(campaign.key), 1)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    assert (notice.kind, notice.text, notice.at) == ("help", "It stays with me.", NOW)
    assert notice.item in {"item-0", "item-1", "item-2"}
    with pytest.raises(NotFound, match="another has no such notice"):
        notices.settle_notice(platform, "another", notice.id, staff_id=other.id, now=NOW)
    assert overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices == (notice,)
    notices.settle_notice(platform, "pilot", notice.id, staff_id=campaign.staff_id, now=NOW)
    assert overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices == ()


def test_campaigns_of_others_look_absent(platform: Platform) -> None:
    open_campaign(platform)
    other = staff.create_sign_in_link(platform, "other", now=NOW).staff
    messages = []
    for name in ("pilot", "nothing"):
        with pytest.raises(NotFound) as caught:
            overview.load_overview(platform, name, staff_id=other.id)
        messages.append(str(caught.value).replace(name, "NAME"))
        with pytest.raises(NotFound):
            notices.settle_notice(platform, name, "x", staff_id=other.id, now=NOW)
    assert messages[0] == messages[1]
    assert overview.list_campaigns_of(platform, other) == ()
