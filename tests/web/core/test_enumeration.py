"""Responses to guessed campaigns, keys and identities look the same."""

import re
from collections.abc import Iterator
from string import ascii_letters, digits
from uuid import uuid4

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW, definition, items
from tests.support.live_site import LiveSite
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import QUEUE, address, note, open_paying_campaign
from tests.support.pilot_study import CODES
from tests.support.prolific_server import Prolific
from tests.support.prolific_study import DEMOGRAPHICS, ONE_OLD_SEAT
from tests.support.recruited_raters import PAYING, add_submission
from tests.support.staff_site import StaffSite, send

from dissensus.errors import NotAllowed
from dissensus.recruit.entry import RecruitEntry
from dissensus.workflows.campaign import campaigns, pay
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.invite_links import load_entry_links

SIGNS = f"{digits}{ascii_letters}-_"
IDS = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
BY_CELLS = {"quota": {**ONE_OLD_SEAT, "source": "recruiter"}, "demographics": DEMOGRAPHICS}


def alter_text(text: str) -> Iterator[str]:
    """Yield the text with each character changed, one character missing, and one added."""
    for index, sign in enumerate(text):
        if sign in SIGNS:
            yield text[:index] + SIGNS[(SIGNS.index(sign) + 7) % len(SIGNS)] + text[index + 1 :]
    yield text[:-1]
    yield f"{text}A"


def visible_response(answer: httpx.Response, *secrets: str) -> tuple[int, str]:
    """Status and text of a response, without the values that the client sent."""
    text = answer.text
    for secret in secrets:
        text = text.replace(secret, "MINE")
    return answer.status_code, " ".join(re.sub(r"<[^>]+>", " ", text).split())


def create_campaign(staff_site: StaffSite, name: str, **changes: object) -> str:
    """Open a campaign of ada and return its key."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition(name, **changes), items(1), staff_id=owner_id, now=NOW)
    return str(campaigns.change_state(staff_site.platform, name, "open", staff_id=owner_id, now=NOW).key)


@pytest.mark.parametrize("ids", [{}, IDS, {"PROLIFIC_PID": "x"}, {"lang": "de"}])
def test_strangers_cannot_enumerate_campaigns(staff_site: StaffSite, ids: dict[str, str]) -> None:
    create_campaign(staff_site, "plain")
    create_campaign(staff_site, "by-prolific", recruit={"kind": "prolific", "codes": CODES})
    create_campaign(staff_site, "celled", recruit={"kind": "prolific", "codes": CODES}, **BY_CELLS)
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition("in-draft"), items(1), staff_id=owner_id, now=NOW)
    names, browser = ("plain", "by-prolific", "celled", "in-draft", "never-was"), staff_site.stranger()
    for key in ("", "x", "k" * 32):
        pages = {visible_response(browser.get(f"/c/{name}", params={"key": key, **ids}), name) for name in names}
        forms = {
            visible_response(browser.post(f"/c/{name}", data={"key": key, "language": "en", **ids}), name)
            for name in names
        }
        assert len(pages) == len(forms) == 1, key
        # The form requires the field `key`.
        assert [status for status, _ in (*pages, *forms)] == [403, 403 if key else 422]
    assert len({visible_response(browser.get(f"/c/{name}/consent"), name) for name in names}) == 1
    assert len({visible_response(browser.post(f"/c/{name}/consent"), name) for name in names}) == 1


@sqlite_only
def test_altered_links_admit_nobody(staff_site: StaffSite) -> None:
    by_link = create_campaign(staff_site, "plain")
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    (personal,) = campaigns.create_invitations(staff_site.platform, "plain", 1, staff_id=owner_id, now=NOW)
    create_campaign(staff_site, "celled", **BY_CELLS)
    links = load_entry_links(staff_site.platform, "celled", "", staff_id=owner_id).cells
    (by_cell,) = re.findall(r"key=(\w+)", links["old"])
    browser = staff_site.stranger()
    for name, key in (("plain", by_link), ("plain", personal), ("celled", by_cell)):
        assert browser.get(f"/c/{name}", params={"key": key}).status_code == 200
        assert {browser.get(f"/c/{name}", params={"key": one}).status_code for one in alter_text(key)} == {403}
        assert browser.get("/c/celled" if name == "plain" else "/c/plain", params={"key": key}).status_code == 403


@sqlite_only
def test_altered_withdrawal_links_are_rejected(staff_site: StaffSite) -> None:
    rater, _ = enrolment.enrol_rater(
        staff_site.platform, Arrival("plain", create_campaign(staff_site, "plain"), "en"), AGREED, now=NOW
    )
    tokens, browser = staff_site.live.site.tokens, staff_site.stranger()
    token = tokens.sign_withdrawal(rater.id)
    assert browser.get(f"/withdraw/{token}").status_code == 200
    # The last character of a signature has two unused bits.
    wrong = [one for one in alter_text(token) if one[:-1] != token[:-1]]
    assert {visible_response(browser.get(f"/withdraw/{one}")) for one in wrong} == {
        visible_response(browser.get("/withdraw/x"))
    }
    assert {browser.post(f"/withdraw/{one}").status_code for one in wrong} == {403}
    for other in (
        tokens.sign_turned_away(rater.id),
        tokens.sign_arrival(Arrival("plain", "k", "en", rater.id), now=NOW),
        rater.id,
    ):
        assert browser.post(f"/withdraw/{other}").status_code == 403


@sqlite_only
def test_altered_tokens_are_rejected(live: LiveSite) -> None:
    tokens = live.site.tokens
    entry = RecruitEntry(person="a" * 24, submission="c" * 24, query={"PROLIFIC_PID": "a" * 24})
    arrival = Arrival("pilot", "k", "en", enrolment.new_entry_id(NOW), entry)
    away, token = tokens.sign_turned_away("one"), tokens.sign_arrival(arrival, now=NOW)
    assert tokens.read_arrival(token, now=NOW) == arrival
    for changed in alter_text(token):
        if changed[:-1] != token[:-1]:
            with pytest.raises(NotAllowed):
                tokens.read_arrival(changed, now=NOW)
    assert tokens.is_turned_away(away, "one")
    assert not any(tokens.is_turned_away(changed, "one") for changed in alter_text(away) if changed[:-1] != away[:-1])
    assert not tokens.is_turned_away(away, "other")
    assert not tokens.is_turned_away(tokens.sign_withdrawal("one"), "one")


@sqlite_only
def test_altered_sessions_are_rejected(staff_site: StaffSite) -> None:
    _, session = enrolment.enrol_rater(
        staff_site.platform, Arrival("plain", create_campaign(staff_site, "plain"), "en"), AGREED, now=NOW
    )
    owner = staff_site.owner()
    for path, cookie, key in (
        ("/rate", "dissensus_rater", session),
        ("/campaigns", "dissensus_staff", owner.cookies["dissensus_staff"]),
    ):
        browser = staff_site.stranger()
        assert browser.get(path, headers={"cookie": f"{cookie}={key}"}).status_code == 200
        expected = visible_response(browser.get(path))
        assert expected[0] == 403
        assert {
            visible_response(browser.get(path, headers={"cookie": f"{cookie}={one}"})) for one in alter_text(key)
        } == {expected}


@sqlite_only
def test_ids_of_other_campaigns_look_like_unknown_ids(staff_site: StaffSite, prolific: Prolific) -> None:
    campaign = open_paying_campaign(staff_site)
    rater = worker(staff_site.platform, campaign.key, HOUR)
    submission = add_submission(staff_site.platform, prolific, campaign.id, rater.id)
    ada, bob, payment_id = staff_site.owner(), staff_site.owner("bob"), str(uuid4())
    assert note(ada, rater, "1", payment_id).status_code == 303
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "bob", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition("bobs", **PAYING), items(1), staff_id=owner_id, now=NOW)
    for path, other_id, never in (
        ("/campaigns/bobs/pay/raters/{}", rater.id, str(uuid4())),
        ("/campaigns/bobs/pay/submissions/{}", submission, "9" * 24),
    ):
        for fields in ({}, {"amount": "1", "payment": payment_id, "decision": "approve"}):
            known, unknown = (
                send(bob, url, **fields) if fields else bob.get(url)
                for url in (path.format(other_id), path.format(never))
            )
            assert visible_response(known, other_id) == visible_response(unknown, never)
            assert known.status_code == 404
    assert send(bob, f"/campaigns/bobs/pay/raters/{rater.id}/reverse", payment=payment_id).status_code == 404
    for path in (address(rater), f"{QUEUE}/{submission}"):
        answer, response = bob.get(path), bob.get(path.replace("/pilot/", "/never-was/"))
        assert visible_response(answer, "pilot") == visible_response(response, "never-was")
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    kept_payments = pay.load_history(staff_site.platform, "pilot", rater.id, staff_id=owner_id).payments
    assert [one.amount for one in kept_payments] == [100]
