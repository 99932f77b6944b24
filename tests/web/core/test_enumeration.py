"""Nobody finds out by trying: what is there, what opens it, and who is whom look the same to who guesses."""

import re
from collections.abc import Iterator
from string import ascii_letters, digits
from uuid import uuid4

import httpx
import pytest
from tests.recruit.fake_prolific import Prolific
from tests.recruit.studies import CODES
from tests.support.campaigns import AGREED, NOW, definition, items
from tests.support.live_site import Live
from tests.support.pay import HOUR, worker
from tests.support.pay_pages import QUEUE, address, note, opened
from tests.support.prolific_study import ONE_OLD, YOU
from tests.support.recruited_raters import PAYING, arrived
from tests.support.staff_browsers import House, send

from dissensus.errors import NotAllowed
from dissensus.recruit.prolific import ProlificEntry
from dissensus.workflows.campaign import campaigns, pay
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.invite_links import load_entry_links

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SIGNS = f"{digits}{ascii_letters}-_"
IDS = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
BY_CELLS = {"quota": {**ONE_OLD, "source": "recruiter"}, "demographics": YOU}


def altered(text: str) -> Iterator[str]:
    """A text with one sign that is another one, at every place, and with one too few and too many."""
    for place, sign in enumerate(text):
        if sign in SIGNS:
            yield text[:place] + SIGNS[(SIGNS.index(sign) + 7) % len(SIGNS)] + text[place + 1 :]
    yield text[:-1]
    yield f"{text}A"


def told(answer: httpx.Response, *mine: str) -> tuple[int, str]:
    """What somebody is told, without what they brought themselves."""
    text = answer.text
    for one in mine:
        text = text.replace(one, "MINE")
    return answer.status_code, " ".join(re.sub(r"<[^>]+>", " ", text).split())


def made(house: House, name: str, **changes: object) -> str:
    """An open campaign of ada's; return its key."""
    owner_id = staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(house.platform, definition(name, **changes), items(1), staff_id=owner_id, now=NOW)
    return str(campaigns.change_state(house.platform, name, "open", staff_id=owner_id, now=NOW).key)


@pytest.mark.parametrize("brought", [{}, IDS, {"PROLIFIC_PID": "x"}, {"lang": "de"}])
def test_strangers_cannot_tell_which_campaigns_there_are(house: House, brought: dict[str, str]) -> None:
    made(house, "plain")
    made(house, "by-prolific", prolific={"codes": CODES})
    made(house, "celled", prolific={"codes": CODES}, **BY_CELLS)
    owner_id = staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(house.platform, definition("in-draft"), items(1), staff_id=owner_id, now=NOW)
    names, browser = ("plain", "by-prolific", "celled", "in-draft", "never-was"), house.stranger()
    for key in ("", "x", "k" * 32):
        asked = {told(browser.get(f"/c/{name}", params={"key": key, **brought}), name) for name in names}
        sent = {
            told(browser.post(f"/c/{name}", data={"key": key, "language": "en", **brought}), name) for name in names
        }
        assert len(asked) == len(sent) == 1, key
        # A form without a key is none of ours.
        assert [status for status, _ in (*asked, *sent)] == [403, 403 if key else 422]
    assert len({told(browser.get(f"/c/{name}/consent"), name) for name in names}) == 1
    assert len({told(browser.post(f"/c/{name}/consent"), name) for name in names}) == 1


@one_kind
def test_links_that_differ_by_one_sign_open_nothing(house: House) -> None:
    by_link = made(house, "plain")
    owner_id = staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id
    (personal,) = campaigns.create_invitations(house.platform, "plain", 1, staff_id=owner_id, now=NOW)
    made(house, "celled", **BY_CELLS)
    links = load_entry_links(house.platform, "celled", "", staff_id=owner_id).cells
    (by_cell,) = re.findall(r"key=(\w+)", links["old"])
    browser = house.stranger()
    for name, key in (("plain", by_link), ("plain", personal), ("celled", by_cell)):
        assert browser.get(f"/c/{name}", params={"key": key}).status_code == 200
        assert {browser.get(f"/c/{name}", params={"key": one}).status_code for one in altered(key)} == {403}
        assert browser.get("/c/celled" if name == "plain" else "/c/plain", params={"key": key}).status_code == 403


@one_kind
def test_withdrawals_that_differ_by_one_sign_are_of_nobody(house: House) -> None:
    rater, _ = enrolment.enrol_rater(house.platform, Arrival("plain", made(house, "plain"), "en"), AGREED, now=NOW)
    tokens, browser = house.live.site.tokens, house.stranger()
    token = tokens.withdrawal(rater.id)
    assert browser.get(f"/withdraw/{token}").status_code == 200
    # The last sign of a signature has two bits that say nothing.
    wrong = [one for one in altered(token) if one[:-1] != token[:-1]]
    assert {told(browser.get(f"/withdraw/{one}")) for one in wrong} == {told(browser.get("/withdraw/x"))}
    assert {browser.post(f"/withdraw/{one}").status_code for one in wrong} == {403}
    for other in (tokens.away(rater.id), tokens.arrival(Arrival("plain", "k", "en", rater.id), now=NOW), rater.id):
        assert browser.post(f"/withdraw/{other}").status_code == 403


@one_kind
def test_tokens_that_differ_by_one_sign_say_nothing_else(live: Live) -> None:
    tokens = live.site.tokens
    sent = ProlificEntry(pid="a" * 24, study="b" * 24, submission="c" * 24)
    arrival = Arrival("pilot", "k", "en", enrolment.new_entry_id(NOW), sent)
    away, token = tokens.away("one"), tokens.arrival(arrival, now=NOW)
    assert tokens.read_arrival(token, now=NOW) == arrival
    for one in altered(token):
        if one[:-1] != token[:-1]:
            with pytest.raises(NotAllowed):
                tokens.read_arrival(one, now=NOW)
    assert tokens.is_away(away, "one")
    assert not any(tokens.is_away(one, "one") for one in altered(away) if one[:-1] != away[:-1])
    assert not tokens.is_away(away, "other")
    assert not tokens.is_away(tokens.withdrawal("one"), "one")


@one_kind
def test_sessions_that_differ_by_one_sign_are_of_nobody(house: House) -> None:
    _, session = enrolment.enrol_rater(house.platform, Arrival("plain", made(house, "plain"), "en"), AGREED, now=NOW)
    owner = house.owner()
    for path, cookie, key in (
        ("/rate", "dissensus_rater", session),
        ("/campaigns", "dissensus_owner", owner.cookies["dissensus_owner"]),
    ):
        browser = house.stranger()
        assert browser.get(path, headers={"cookie": f"{cookie}={key}"}).status_code == 200
        nobody = told(browser.get(path))
        assert nobody[0] == 403
        assert {told(browser.get(path, headers={"cookie": f"{cookie}={one}"})) for one in altered(key)} == {nobody}


@one_kind
def test_ids_of_somebody_elses_campaign_are_as_if_they_never_were(house: House, prolific: Prolific) -> None:
    kept = opened(house)
    rater = worker(house.platform, kept.key, HOUR)
    submission = arrived(house.platform, prolific, kept.id, rater.id)
    ada, bob, payment_id = house.owner(), house.owner("bob"), str(uuid4())
    assert note(ada, rater, "1", payment_id).status_code == 303
    owner_id = staff.create_sign_in_link(house.platform, "bob", now=NOW).staff.id
    campaigns.create_campaign(house.platform, definition("bobs", **PAYING), items(1), staff_id=owner_id, now=NOW)
    for path, theirs, never in (
        ("/campaigns/bobs/pay/raters/{}", rater.id, str(uuid4())),
        ("/campaigns/bobs/pay/submissions/{}", submission, "9" * 24),
    ):
        for fields in ({}, {"amount": "1", "payment": payment_id, "do": "approve"}):
            ask = bob.get if not fields else lambda one: send(bob, one, **fields)  # noqa: B023 - asked at once
            assert told(ask(path.format(theirs)), theirs) == told(ask(path.format(never)), never)
            assert ask(path.format(theirs)).status_code == 404
    assert send(bob, f"/campaigns/bobs/pay/raters/{rater.id}/take-back", payment=payment_id).status_code == 404
    for path in (address(rater), f"{QUEUE}/{submission}"):
        there, gone = bob.get(path), bob.get(path.replace("/pilot/", "/never-was/"))
        assert told(there, "pilot") == told(gone, "never-was")
    owner_id = staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id
    kept_payments = pay.load_history(house.platform, "pilot", rater.id, staff_id=owner_id).payments
    assert [one.amount for one in kept_payments] == [100]
