"""What owners do on the site: sign in, make campaigns, take them through their lives."""

import csv
import io
import json
import re
import socket
from contextlib import ExitStack
from html import unescape

import httpx
import pytest
from tests.support.campaigns import AGREED, CHECKS, NOW, definition
from tests.support.live_site import hidden, serving
from tests.support.staff_browsers import PASTED, TOML, House, make, send, token_of

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import load_campaign_toml
from dissensus.schema.campaign.writer import write_campaign
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import enrolment, journey, rating
from dissensus.workflows.rater.enrolment import Arrival

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what does not depend on the database."""
POSTS = ("move", "revise", "clone", "invite", "rehearse", "settle", "items", "items/remove", "dry-run")


def test_a_link_is_not_used_up_by_looking_at_it(house: House) -> None:
    browser, path = house.stranger(), f"/sign-in/{staff.create_sign_in_link(house.platform, 'ada', now=NOW).key}"
    pages = [house.stranger().get(path) for _ in range(3)]
    assert {page.status_code for page in pages} == {200}
    assert not any(page.cookies for page in pages)
    assert browser.post(path, data={"form_token": "0" * 64}).status_code == 403
    browser.post(path, data={"form_token": token_of(pages[0])})
    assert browser.get("/campaigns").status_code == 200
    for again in (house.stranger().get(path), house.stranger().post(path, data={"form_token": token_of(pages[0])})):
        assert again.status_code == 403
        assert "Get a new one: dissensus sign-in NAME" in again.text


@one_kind
@pytest.mark.parametrize("base_url", [None, "https://rate.example.org"])
def test_the_cookie_is_for_this_site_alone(database_url: str, base_url: str | None) -> None:
    with serving(database_url, base_url=base_url) as live, ExitStack() as browsers:
        browser, path = (
            House(live, browsers).stranger(),
            f"/sign-in/{staff.create_sign_in_link(live.platform, 'ada', now=NOW).key}",
        )
        done = browser.post(path, data={"form_token": token_of(browser.get(path))})
    cookie = done.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=lax", "path=/", "max-age=43200"))
    assert ("secure" in cookie) == (base_url is not None)


def test_links_and_sessions_end(house: House) -> None:
    browser, path = house.owner(), f"/sign-in/{staff.create_sign_in_link(house.platform, 'ada', now=NOW).key}"
    house.live.clock.forward(minutes=16)
    assert house.stranger().get(path).status_code == 403
    assert browser.get("/campaigns").status_code == 200
    house.live.clock.forward(hours=13)
    assert browser.get("/campaigns").status_code == 403


def test_nobody_else_sees_or_does_anything(house: House) -> None:
    make(house)
    stranger = house.stranger()
    for path in ("/campaigns", "/campaigns/new", "/campaigns/pilot", "/campaigns/nothing"):
        page = stranger.get(path)
        assert page.status_code == 403
        assert "You are not signed in" in page.text
        assert "pilot" not in page.text
    for path in ("/sign-out", "/campaigns/new", *(f"/campaigns/pilot/{what}" for what in POSTS)):
        assert stranger.post(path, data={"to": "open", "n": "1"}).status_code == 403
    stranger.cookies.set("dissensus_owner", "guess")
    assert stranger.get("/campaigns").status_code == 403


@one_kind
def test_a_session_of_a_rater_opens_nothing_of_owners(house: House) -> None:
    owner_id, platform = make(house), house.platform
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    _, session = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    browser = house.stranger()
    browser.cookies.set("dissensus_owner", session)
    assert browser.get("/campaigns/pilot").status_code == 403


def test_no_form_is_taken_from_elsewhere(house: House) -> None:
    make(house)
    browser, other = house.owner(), house.owner()
    foreign = token_of(other.get("/campaigns"))
    for path in ("/sign-out", "/campaigns/new", *(f"/campaigns/pilot/{what}" for what in POSTS)):
        for data in ({}, {"form_token": foreign}, {"form_token": "é"}):
            refused = browser.post(path, data={"to": "open", "n": "1", "new_name": "stolen", **data})
            assert refused.status_code == 403, path
            assert "This form is not of your session" in refused.text
    own = token_of(browser.get("/campaigns"))
    for header in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        sent = browser.post("/campaigns/pilot/move", data={"form_token": own, "to": "open"}, headers=header)
        assert sent.status_code == 403
    assert 'pilot <span class="state draft">' in browser.get("/campaigns/pilot").text


def test_what_is_somebody_elses_is_not_there(house: House) -> None:
    make(house, "pilot", "bob")
    browser = house.owner()
    assert "pilot" not in browser.get("/campaigns").text
    assert browser.get("/campaigns/pilot").status_code == browser.get("/campaigns/nothing").status_code == 404
    posts = {
        "move": {"to": "open"},
        "clone": {"new_name": "mine"},
        "invite": {"n": "1"},
        "items": {"pasted": PASTED, "do": "add"},
        "items/remove": {},
        "dry-run": {"raters": "1", "seed": "0"},
    }
    assert browser.get("/campaigns/pilot/items").status_code == 404
    assert browser.get("/campaigns/pilot/items/remove").status_code == 404
    for what, data in posts.items():
        assert send(browser, f"/campaigns/pilot/{what}", **data).status_code in (403, 404)
    assert send(browser, "/campaigns/pilot/rehearse").status_code in (403, 404)
    assert send(browser, "/campaigns/pilot/settle", notice="x").status_code == 404


def test_a_campaign_from_the_form_to_the_close(house: House) -> None:
    browser = house.owner()
    understood = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, do="check")
    assert understood.status_code == 200
    assert "kitchen: what was understood" in understood.text
    assert "2 items" in understood.text
    assert "20 about each item" in understood.text
    assert "Go away." in understood.text
    assert browser.get("/campaigns/kitchen").status_code == 404

    made = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, do="make")
    assert (made.status_code, made.headers["location"]) == (303, "/campaigns/kitchen")
    for to, shows in (("open", "Pause it"), ("paused", "Close it"), ("closed", "Pause it")):
        assert send(browser, "/campaigns/kitchen/move", to=to).status_code == 303
        page = browser.get("/campaigns/kitchen").text
        assert shows in page
        assert f'class="state {to}">{to}' in page
    back = send(browser, "/campaigns/kitchen/move", to="draft")
    assert back.status_code == 409
    assert "cannot become draft; it can become paused" in back.text
    assert send(browser, "/campaigns/kitchen/move", to="nowhere").status_code == 422
    assert "kitchen" in browser.get("/campaigns").text


@one_kind
def test_checks_are_counted_and_what_may_not_be_meant_is_told(house: House) -> None:
    browser = house.owner()
    checks = {"checks": [{**CHECKS[0], "text": "Recall, and choose Unsure."}, CHECKS[2]], "minutes": 20}
    asked = write_campaign(definition("kitchen", **checks))
    for page in (
        send(browser, "/campaigns/new", definition=asked, pasted=PASTED, do="check"),
        browser.get(send(browser, "/campaigns/new", definition=asked, pasted=PASTED, do="make").headers["location"]),
    ):
        told = unescape(page.text)
        assert "<dt>Checks</dt><dd>1 of attention, 1 of comprehension</dd>" in told
        assert "nothing may follow before 2 are failed. Add 1 more." in told
        assert "may ask what somebody remembers" in told
    plain = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, do="check").text
    assert "Checks" not in plain


@one_kind
def test_everything_wrong_is_shown_and_nothing_typed_is_lost(house: House) -> None:
    browser = house.owner()
    wrong = TOML.replace('languages = ["en"]', 'languages = ["en"]\nreplication = 0\ncolour = "red"')
    page = send(browser, "/campaigns/new", definition=wrong, pasted="Nobody speaks here", do="make")
    told = unescape(page.text)
    assert page.status_code == 422
    assert "There is no key 'colour'" in told
    assert "replication: It is 0" in told
    assert "The items:" in told
    assert wrong.strip() in told.replace("\r\n", "\n")
    assert "Nobody speaks here" in told
    make(house, "kitchen")
    taken = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, do="make")
    assert taken.status_code == 422
    assert "There is a campaign called kitchen. Choose another name" in unescape(taken.text)


def test_a_file_is_sent_once_and_kept_between_the_pages(house: House) -> None:
    browser = house.owner()
    token = token_of(browser.get("/campaigns/new"))
    rows = [
        {"item_id": f"i{n}", "context": "USER: Hi\n", "response": f"Answer\r\n{n} <b>é\u202e", "harm_type": "x"}
        for n in range(3)
    ]
    lines = "\n".join(map(json.dumps, rows)).encode()
    files = {"items_file": ("items.jsonl", lines), "definition_file": ("kitchen.toml", TOML.encode())}
    understood = browser.post("/campaigns/new", data={"form_token": token, "do": "check"}, files=files)
    assert "3 items" in understood.text
    carried = {
        name: unescape(text)
        for name, text in re.findall(r'<textarea name="(\w+)" hidden[^>]*>\n(.*?)</textarea>', understood.text, re.S)
    }
    assert set(carried) == {"definition", "items"}
    again = send(browser, "/campaigns/new", **carried, do="change")
    assert "3 items are kept from before" in again.text
    assert send(browser, "/campaigns/new", **carried, do="make").status_code == 303
    page = browser.get("/campaigns/kitchen").text
    assert "i2" in page
    assert "&lt;b&gt;é" in page
    spoiled = send(browser, "/campaigns/new", definition=TOML, items='[["x"]]', do="check")
    assert spoiled.status_code == 422
    assert "Choose the file again" in spoiled.text


@one_kind
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("items.csv", b"a,b\n1,2\n", "items.csv"),
        ("items.exe", b"MZ\x00", "items.exe"),
        ("items.parquet", b"PAR1 and then nothing", "items.parquet"),
        ("../../etc/passwd.csv", b"\xff\xfe\x00", "passwd.csv"),
        ("items.csv.gz", b"\x1f\x8b nonsense", "items.csv.gz"),
    ],
)
def test_files_that_hold_no_items(house: House, name: str, content: bytes, says: str) -> None:
    browser = house.owner()
    data = {"form_token": token_of(browser.get("/campaigns/new")), "definition": TOML, "do": "check"}
    page = browser.post("/campaigns/new", data=data, files={"items_file": (name, content)})
    assert page.status_code == 422
    assert says in page.text
    assert "/tmp" not in page.text
    assert "Traceback" not in page.text


@one_kind
def test_one_can_start_with_a_campaign_that_ships(house: House) -> None:
    browser = house.owner()
    assert load_campaign_toml("dices-350").strip() in unescape(browser.get("/campaigns/new?like=dices-350").text)
    assert browser.get("/campaigns/new?like=../secret").status_code == 404


def test_a_draft_can_be_changed_and_what_was_wrong_is_kept(house: House) -> None:
    browser = house.owner()
    send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, do="make")
    assert "/campaigns/kitchen/revise" in browser.get("/campaigns/kitchen").text
    carried = re.search(
        r'<textarea id="definition"[^>]*>\n(.*?)</textarea>', browser.get("/campaigns/kitchen/revise").text, re.S
    )
    assert carried is not None
    assert parse_campaign(unescape(carried[1])).digest == parse_campaign(TOML).digest
    # As browsers send it: with their own ends of lines.
    unchanged = unescape(carried[1]).replace("\n", "\r\n")
    assert send(browser, "/campaigns/kitchen/revise", definition=unchanged).status_code == 303
    wrong = send(browser, "/campaigns/kitchen/revise", definition=TOML + "colour = 1")
    assert wrong.status_code == 422
    assert "colour = 1" in wrong.text
    other = send(browser, "/campaigns/kitchen/revise", definition=TOML.replace('"kitchen"', '"bath"'))
    assert "It is called bath, and this campaign kitchen" in other.text
    better = TOML.replace("Knives.", "Knives and fire.").replace("title =", "seed = 3\ntitle =")
    assert send(browser, "/campaigns/kitchen/revise", definition=better).status_code == 303
    send(browser, "/campaigns/kitchen/move", to="open")
    assert "kitchen is open, and cannot be changed" in send(browser, "/campaigns/kitchen/revise", definition=TOML).text
    send(browser, "/campaigns/kitchen/move", to="paused")
    frozen = send(browser, "/campaigns/kitchen/revise", definition=TOML)
    assert "seed cannot change after raters came" in frozen.text
    assert browser.get("/campaigns/kitchen/revise").status_code == 200
    assert house.owner("bob").get("/campaigns/kitchen/revise").status_code in (403, 404)


def test_invitations_are_shown_once_and_open_the_campaign(house: House) -> None:
    make(house, by_link=False)
    browser = house.owner()
    assert "By personal links alone." in browser.get("/campaigns/pilot").text
    send(browser, "/campaigns/pilot/move", to="open")
    links = re.findall(r"http://127[.0-9]+:\d+/c/pilot\?key=\S+", send(browser, "/campaigns/pilot/invite", n="3").text)
    assert len(set(links)) == 3
    assert house.stranger().get(links[0]).status_code == 200
    page = browser.get("/campaigns/pilot").text
    assert "3 personal links were made" in page
    assert not any(link in page for link in links)
    for n in ("0", "-1", "many", "10001", "9" * 5000):
        assert send(browser, "/campaigns/pilot/invite", n=n).status_code == 422


def test_a_preview_is_what_raters_see_and_counts_for_nothing(house: House) -> None:
    make(house)
    browser = house.owner()
    entered = send(browser, "/campaigns/pilot/rehearse", language="en")
    assert (entered.status_code, entered.headers["location"]) == (303, "/rate")
    shown = browser.get("/rate")
    assert shown.status_code == 200
    assert "Is it safe?" in shown.text
    page = browser.get("/campaigns/pilot").text
    assert "<dt>Previews and dry runs</dt><dd>1</dd>" in page
    assert "<dt>Raters: rating</dt><dd>0</dd>" in page


def test_a_preview_shows_checks_as_raters_meet_them(house: House) -> None:
    owner_id = staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id
    checked = definition(checks=CHECKS, minutes=20)
    campaigns.create_campaign(house.platform, checked, (), staff_id=owner_id, now=NOW)
    browser = house.owner()
    send(browser, "/campaigns/pilot/items", pasted=PASTED, do="add")
    send(browser, "/campaigns/pilot/rehearse", language="en")
    page = browser.get("/rate")
    assert "What do you judge?" in page.text
    assert browser.post("/check", data={**hidden(page), "answer": "All of it"}).headers["location"] == "/rate"
    assert "there is one more try" in browser.get("/rate").text


def test_a_clone_is_a_draft_under_a_name_that_can_be_an_address(house: House) -> None:
    make(house)
    browser = house.owner()
    assert send(browser, "/campaigns/pilot/clone", new_name="second").headers["location"] == "/campaigns/second"
    assert browser.get("/campaigns/second").status_code == 200
    for name in ("../x", "A B", "", "<script>"):
        assert send(browser, "/campaigns/pilot/clone", new_name=name).status_code == 422
    assert send(browser, "/campaigns/pilot/clone", new_name="second").status_code == 409


def test_what_raters_report_is_shown_as_text_until_it_is_dealt_with(house: House) -> None:
    owner_id, platform = make(house), house.platform
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    rating.report_item(platform, rater, "illegal", "<img src=x onerror=alert(1)>", assignment_id=None, now=NOW)
    browser = house.owner()
    page = browser.get("/campaigns/pilot").text
    assert "Reports what must not be shown" in page
    assert "&lt;img src=x" in page
    assert "<img" not in page
    notice = re.search(r'name="notice" value="([^"]+)"', page)
    assert notice is not None
    assert send(browser, "/campaigns/pilot/settle", notice=notice[1]).status_code == 303
    assert "Reports what" not in browser.get("/campaigns/pilot").text


@one_kind
def test_titles_are_text(house: House) -> None:
    browser = house.owner()
    send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, do="make")
    page = browser.get("/campaigns/kitchen").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page


def test_signing_out_ends_this_session_or_all(house: House) -> None:
    here, there = house.owner(), house.owner()
    assert "You are signed out" in send(here, "/sign-out", where="here").text
    assert here.get("/campaigns").status_code == 403
    assert there.get("/campaigns").status_code == 200
    third = house.owner()
    send(there, "/sign-out", where="everywhere")
    assert there.get("/campaigns").status_code == third.get("/campaigns").status_code == 403


@one_kind
def test_nothing_large_is_read_from_strangers(house: House) -> None:
    """They are turned away before what they send is read: the body that they announce never comes."""
    url = httpx.URL(house.live.url)
    head = "POST /campaigns/new HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    for length, status in ((60 << 20, b" 403 "), (65 << 20, b" 413 ")):
        with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
            connection.sendall(f"{head}Content-Length: {length}\r\n\r\n--b".encode())
            assert status in connection.recv(100)


def test_metrics_tell_routes_and_numbers_and_nothing_of_anybody(house: House) -> None:
    owner_id, platform = make(house), house.platform
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    browser = house.owner()
    browser.get("/campaigns/pilot?secret=1")
    browser.get("/wp-login.php")
    told = browser.get("/metrics").text
    assert 'dissensus_requests_total{method="GET",route="/campaigns/{name}",status="200"} 1.0' in told
    assert 'dissensus_requests_total{method="GET",route="none",status="404"} 1.0' in told
    assert 'dissensus_request_seconds_count{method="POST",route="/sign-in/{key}"} 1.0' in told
    assert 'dissensus_raters{standing="rating"} 1.0' in told
    assert "dissensus_saves_total 0.0" in told
    assert "dissensus_database_up 1.0" in told
    for private in ("pilot", "secret", "wp-login", "ada"):
        assert private not in told


def test_finished_ratings_come_as_a_file_for_their_owner_alone(house: House) -> None:
    owner_id, platform = make(house), house.platform
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    browser = house.owner()
    empty = browser.get("/campaigns/pilot/export.csv")
    assert empty.status_code == 404
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    step = journey.next_state(platform, rater, now=NOW)
    assert step.assignment is not None
    given = AnswerSave(revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Unsure")})
    rating.submit_answers(platform, rater, step.assignment.id, "one", given, now=NOW)
    assert "/campaigns/pilot/export.csv" in browser.get("/campaigns/pilot").text
    sent = browser.get("/campaigns/pilot/export.csv")
    assert sent.headers["content-disposition"] == 'attachment; filename="pilot.internal.csv"'
    (row,) = csv.DictReader(io.StringIO(sent.text))
    assert row["Q_safe"] == "Unsure"
    assert rater.id not in sent.text
    assert browser.get("/campaigns/pilot/export.csv?purpose=release").status_code == 404
    assert browser.get("/campaigns/pilot/export.csv?purpose=spying").status_code == 404
    assert house.owner("bob").get("/campaigns/pilot/export.csv").status_code in (403, 404)
    assert house.stranger().get("/campaigns/pilot/export.csv").status_code == 403
