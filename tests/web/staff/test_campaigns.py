"""Pages of owners: sign-in, and campaigns from the draft to the close."""

import csv
import io
import json
import re
import socket
import tempfile
from datetime import timedelta
from html import unescape

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import QUOTA
from tests.support.campaigns import ABOUT_YOU, AGREED, CHECKS, NOW, definition
from tests.support.live_site import hidden
from tests.support.pilot_study import CODES
from tests.support.staff_site import PASTED, TOML, StaffSite, create_draft, send, token_of

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.schema.campaign.definition import write_campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import load_campaign_toml
from dissensus.store import notices
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival

POSTS = ("state", "revise", "clone", "invite", "rehearse", "settle", "items", "items/remove", "dry-run")


@sqlite_only
def test_opening_a_sign_in_link_does_not_use_it_up(staff_site: StaffSite) -> None:
    browser, path = (
        staff_site.stranger(),
        f"/sign-in/{sign_in_links.create_sign_in_link(staff_site.platform, 'ada', now=NOW).key}",
    )
    pages = [staff_site.stranger().get(path) for _ in range(3)]
    assert {page.status_code for page in pages} == {200}
    assert not any(page.cookies for page in pages)
    assert browser.post(path, data={"form_token": "0" * 64}).status_code == 403
    signed_in = browser.post(path, data={"form_token": token_of(pages[0])})
    assert "max-age=43200;" in signed_in.headers["set-cookie"].lower(), "twelve hours"
    assert browser.get("/campaigns").status_code == 200
    for reused in (
        staff_site.stranger().get(path),
        staff_site.stranger().post(path, data={"form_token": token_of(pages[0])}),
    ):
        assert reused.status_code == 403
        assert "Get a new one: dissensus sign-in NAME" in reused.text


@sqlite_only
def test_links_and_sessions_expire(staff_site: StaffSite) -> None:
    browser, path = (
        staff_site.owner(),
        f"/sign-in/{sign_in_links.create_sign_in_link(staff_site.platform, 'ada', now=NOW).key}",
    )
    staff_site.live.clock.forward(minutes=16)
    assert staff_site.stranger().get(path).status_code == 403
    assert browser.get("/campaigns").status_code == 200
    staff_site.live.clock.forward(hours=13)
    assert browser.get("/campaigns").status_code == 403


@sqlite_only
def test_other_staff_have_no_access(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    stranger = staff_site.stranger()
    for path in ("/campaigns", "/campaigns/new", "/campaigns/pilot", "/campaigns/nothing"):
        page = stranger.get(path)
        assert page.status_code == 403
        assert "You are not signed in" in page.text
        assert "pilot" not in page.text
    for path in ("/sign-out", "/campaigns/new", *(f"/campaigns/pilot/{what}" for what in POSTS)):
        assert stranger.post(path, data={"state": "open", "n": "1"}).status_code == 403
    stranger.cookies.set("dissensus_staff", "guess")
    assert stranger.get("/campaigns").status_code == 403


@sqlite_only
def test_a_rater_session_has_no_access_to_staff_pages(staff_site: StaffSite) -> None:
    owner_id, platform = create_draft(staff_site), staff_site.platform
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    _, session = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    browser = staff_site.stranger()
    browser.cookies.set("dissensus_staff", session)
    assert browser.get("/campaigns/pilot").status_code == 403


@sqlite_only
def test_forms_without_a_csrf_token_are_rejected(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser, other = staff_site.owner(), staff_site.owner()
    foreign = token_of(other.get("/campaigns"))
    for path in ("/sign-out", "/campaigns/new", *(f"/campaigns/pilot/{what}" for what in POSTS)):
        for data in ({}, {"form_token": foreign}, {"form_token": "é"}):
            refused = browser.post(path, data={"state": "open", "n": "1", "new_name": "stolen", **data})
            assert refused.status_code == 403, path
            assert "This form does not belong to your session" in refused.text
    csrf_token = token_of(browser.get("/campaigns"))
    for header in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        response = browser.post(
            "/campaigns/pilot/state", data={"form_token": csrf_token, "state": "open"}, headers=header
        )
        assert response.status_code == 403
    assert 'pilot <span class="state draft">' in browser.get("/campaigns/pilot").text


@sqlite_only
def test_campaigns_of_others_are_not_found(staff_site: StaffSite) -> None:
    create_draft(staff_site, "pilot", "bob")
    browser = staff_site.owner()
    assert "pilot" not in browser.get("/campaigns").text
    assert browser.get("/campaigns/pilot").status_code == browser.get("/campaigns/nothing").status_code == 404
    posts = {
        "state": {"state": "open"},
        "clone": {"new_name": "mine"},
        "invite": {"n": "1"},
        "items": {"pasted": PASTED, "action": "add"},
        "items/remove": {},
        "dry-run": {"raters": "1", "seed": "0"},
    }
    assert browser.get("/campaigns/pilot/items/add").status_code == 404
    assert browser.get("/campaigns/pilot/items/remove").status_code == 404
    for action, data in posts.items():
        assert send(browser, f"/campaigns/pilot/{action}", **data).status_code == 404, action
    assert send(browser, "/campaigns/pilot/rehearse").status_code == 404
    assert send(browser, "/campaigns/pilot/settle", notice="x").status_code == 404


@sqlite_only
def test_the_preview_names_quota_pay_care_and_consent(staff_site: StaffSite) -> None:
    campaign = definition(
        "kitchen",
        demographics=ABOUT_YOU,
        quota={**QUOTA, "margin_percent": 20},
        pay={"currency": "EUR", "hourly_rate": 1200, "finished": 150},
        care={"contact": "Mia Berg"},
    )
    form = {"definition": write_campaign(campaign), "pasted": PASTED, "action": "check"}
    text = " ".join(send(staff_site.owner(), "/campaigns/new", **form).text.split())
    facts = dict(re.findall(r"<dt>([^<]*)</dt> ?<dd>([^<]*)</dd>", text))
    assert facts["Quota"].startswith("13 raters in 3 cells of rater_age, 20 % more are admitted; a screener")
    assert "12.00 EUR an hour" in facts["Pay"]
    assert "1.50 EUR for finishing" in facts["Pay"]
    assert "Mia Berg can be notified" in facts["Care"]
    assert facts["Consent"] == "rating (required), release"
    without = send(staff_site.owner(), "/campaigns/new", definition=TOML, pasted=PASTED, action="check").text
    assert "<dt>Quota</dt>" not in without
    assert "<dt>Pay</dt><dd>none</dd>" in without


@sqlite_only
def test_a_campaign_from_the_form_to_the_close(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    understood = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, action="check")
    assert understood.status_code == 200
    assert "Preview of kitchen" in understood.text
    assert "2 items" in understood.text
    assert "20 about each item" in understood.text
    assert "Go away." in understood.text
    assert browser.get("/campaigns/kitchen").status_code == 404

    response = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, action="create")
    assert (response.status_code, response.headers["location"]) == (303, "/campaigns/kitchen")
    for state, shows in (
        ("open", "Pause campaign"),
        ("paused", "Close campaign"),
        ("closed", "Reopen, paused at first"),
    ):
        assert send(browser, "/campaigns/kitchen/state", state=state).status_code == 303
        page = browser.get("/campaigns/kitchen").text
        assert shows in page
        assert f'class="state {state}">{state}' in page
    back = send(browser, "/campaigns/kitchen/state", state="draft")
    assert back.status_code == 409
    assert "cannot become draft; it can become paused" in back.text
    assert send(browser, "/campaigns/kitchen/state", state="nowhere").status_code == 422
    assert "kitchen" in browser.get("/campaigns").text


@sqlite_only
def test_the_preview_counts_checks_and_shows_warnings(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    checks = {"checks": [{**CHECKS[0], "text": "Recall, and choose Unsure."}, CHECKS[2]], "estimated_minutes": 20}
    toml = write_campaign(definition("kitchen", **checks))
    for page in (
        send(browser, "/campaigns/new", definition=toml, pasted=PASTED, action="check"),
        browser.get(
            send(browser, "/campaigns/new", definition=toml, pasted=PASTED, action="create").headers["location"]
        ),
    ):
        text = unescape(page.text)
        assert "<dt>Checks</dt><dd>1 attention, 1 comprehension</dd>" in text
        assert "nothing may follow before 2 are failed. Add 1 more." in text
        assert "may test memory" in text
    plain = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, action="check").text
    assert "Checks" not in plain


@sqlite_only
def test_all_faults_are_shown_and_input_is_kept(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    wrong = TOML.replace('languages = ["en"]', 'languages = ["en"]\nreplication = 0\ncolour = "red"')
    page = send(browser, "/campaigns/new", definition=wrong, pasted="Nobody speaks here", action="create")
    text = unescape(page.text)
    assert page.status_code == 422
    assert "There is no key 'colour'" in text
    assert "replication: It is 0" in text
    assert "The items:" in text
    assert wrong.strip() in text.replace("\r\n", "\n")
    assert "Nobody speaks here" in text
    create_draft(staff_site, "kitchen")
    response = send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, action="create")
    assert response.status_code == 422
    assert "There is a campaign called kitchen. Choose another name" in unescape(response.text)


@sqlite_only
def test_an_uploaded_file_is_kept_between_pages(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
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
    changed = send(browser, "/campaigns/new", **carried, action="change")
    assert "3 items are kept from the last step" in changed.text
    assert send(browser, "/campaigns/new", **carried, action="create").status_code == 303
    page = browser.get("/campaigns/kitchen").text
    assert "i2" in page
    assert "&lt;b&gt;é" in page
    spoiled = send(browser, "/campaigns/new", definition=TOML, items='[["x"]]', action="check")
    assert spoiled.status_code == 422
    assert "Choose the file again" in spoiled.text


@sqlite_only
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
def test_files_without_items_are_rejected(staff_site: StaffSite, name: str, content: bytes, says: str) -> None:
    browser = staff_site.owner()
    data = {"form_token": token_of(browser.get("/campaigns/new")), "definition": TOML, "do": "check"}
    page = browser.post("/campaigns/new", data=data, files={"items_file": (name, content)})
    assert page.status_code == 422
    assert says in page.text
    assert tempfile.gettempdir() not in page.text
    assert "Traceback" not in page.text


@sqlite_only
def test_a_shipped_campaign_can_be_the_starting_point(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    assert load_campaign_toml("dices-350").strip() in unescape(browser.get("/campaigns/new?example=dices-350").text)
    assert browser.get("/campaigns/new?example=../secret").status_code == 404


@sqlite_only
def test_a_draft_can_be_revised_and_invalid_input_is_kept(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, action="create")
    assert "/campaigns/kitchen/revise" in browser.get("/campaigns/kitchen").text
    carried = re.search(
        r'<textarea id="definition"[^>]*>\n(.*?)</textarea>', browser.get("/campaigns/kitchen/revise").text, re.S
    )
    assert carried is not None
    assert parse_campaign(unescape(carried[1])).digest == parse_campaign(TOML).digest
    # Browsers send line ends as CR LF.
    unchanged = unescape(carried[1]).replace("\n", "\r\n")
    assert send(browser, "/campaigns/kitchen/revise", definition=unchanged).status_code == 303
    wrong = send(browser, "/campaigns/kitchen/revise", definition=TOML + "colour = 1")
    assert wrong.status_code == 422
    assert "colour = 1" in wrong.text
    empty = send(browser, "/campaigns/kitchen/revise", definition="name = 1")
    faults = re.findall(r"<li[^>]*>([^<]*)</li>", empty.text.split('class="faults"')[1].split("</section>")[0])
    assert "title: It is missing. Write what raters read." in faults
    assert not any(fault.startswith("-") for fault in faults)
    other = send(browser, "/campaigns/kitchen/revise", definition=TOML.replace('"kitchen"', '"bath"'))
    assert "The definition is of bath, and this campaign is kitchen" in other.text
    better = TOML.replace("Knives.", "Knives and fire.").replace("title =", "seed = 3\ntitle =")
    assert send(browser, "/campaigns/kitchen/revise", definition=better).status_code == 303
    send(browser, "/campaigns/kitchen/state", state="open")
    assert "kitchen is open, and cannot be changed" in send(browser, "/campaigns/kitchen/revise", definition=TOML).text
    send(browser, "/campaigns/kitchen/state", state="paused")
    frozen = send(browser, "/campaigns/kitchen/revise", definition=TOML)
    assert "seed cannot change after raters entered" in frozen.text
    assert browser.get("/campaigns/kitchen/revise").status_code == 200
    assert staff_site.owner("bob").get("/campaigns/kitchen/revise").status_code == 404


@sqlite_only
def test_personal_links_are_shown_once_and_admit_raters(staff_site: StaffSite) -> None:
    create_draft(staff_site, open_link=False)
    browser = staff_site.owner()
    assert "Personal links only." in browser.get("/campaigns/pilot").text
    send(browser, "/campaigns/pilot/state", state="open")
    links = re.findall(r"http://127[.0-9]+:\d+/c/pilot\?key=\S+", send(browser, "/campaigns/pilot/invite", n="3").text)
    assert len(set(links)) == 3
    assert staff_site.stranger().get(links[0]).status_code == 200
    page = browser.get("/campaigns/pilot").text
    assert "3 personal links, 0 used; links of raters who withdrew are deleted and do not count." in page
    assert not any(link in page for link in links)
    for n in ("0", "-1", "many", "10001", "9" * 5000):
        assert send(browser, "/campaigns/pilot/invite", n=n).status_code == 422


@sqlite_only
def test_a_preview_shows_rater_pages_and_does_not_count(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    entered = send(browser, "/campaigns/pilot/rehearse", language="en")
    assert (entered.status_code, entered.headers["location"]) == (303, "/rate")
    lifetime_s = int(enrolment.SESSION_LIFETIME.total_seconds())
    assert f"max-age={lifetime_s};" in entered.headers["set-cookie"].lower()
    response = browser.get("/rate")
    assert response.status_code == 200
    assert "Is it safe?" in response.text
    page = browser.get("/campaigns/pilot").text
    assert "<dt>Previews and dry runs</dt><dd>1</dd>" in page
    assert "<dt>Raters: rating</dt><dd>0</dd>" in page


@sqlite_only
def test_a_preview_shows_checks(staff_site: StaffSite) -> None:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    checked = definition(checks=CHECKS, estimated_minutes=20)
    campaigns.create_campaign(staff_site.platform, checked, (), staff_id=owner_id, now=NOW)
    browser = staff_site.owner()
    send(browser, "/campaigns/pilot/items", pasted=PASTED, action="add")
    send(browser, "/campaigns/pilot/rehearse", language="en")
    page = browser.get("/rate")
    assert "What do you judge?" in page.text
    assert browser.post("/check", data={**hidden(page), "answer": "All of it"}).headers["location"] == "/rate"
    assert "you have one more try" in browser.get("/rate").text


@sqlite_only
def test_a_clone_is_a_draft_with_a_valid_name(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    assert send(browser, "/campaigns/pilot/clone", new_name="second").headers["location"] == "/campaigns/second"
    assert browser.get("/campaigns/second").status_code == 200
    for name in ("../x", "A B", "", "<script>"):
        assert send(browser, "/campaigns/pilot/clone", new_name=name).status_code == 422
    assert send(browser, "/campaigns/pilot/clone", new_name="second").status_code == 409


@sqlite_only
def test_reports_are_shown_as_text_until_settled(staff_site: StaffSite) -> None:
    owner_id, platform = create_draft(staff_site), staff_site.platform
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    rating.report_item(platform, rater, "illegal", "<img src=x onerror=alert(1)>", assignment_id=None, now=NOW)
    browser = staff_site.owner()
    page = browser.get("/campaigns/pilot").text
    assert "Reports illegal content" in page
    assert "&lt;img src=x" in page
    assert "<img" not in page
    notice = re.search(r'name="notice" value="([^"]+)"', page)
    assert notice is not None
    assert send(browser, "/campaigns/pilot/settle", notice=notice[1]).status_code == 303
    assert "Reports illegal content" not in browser.get("/campaigns/pilot").text


@sqlite_only
def test_notices_have_pages(staff_site: StaffSite) -> None:
    owner_id, platform = create_draft(staff_site), staff_site.platform
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    with platform.database.writing() as tx:
        for n in range(120):
            at = NOW + timedelta(seconds=n)
            notices.add_notice(tx, rater.id, "help", f"Message {n}!", assignment_id=None, now=at)
    browser = staff_site.owner()
    page = browser.get("/campaigns/pilot").text
    assert (page.count("Needs help"), "All 120 messages" in page) == (5, True)
    pages = [browser.get(f"/campaigns/pilot/notices?page={number}").text for number in (1, 2, 3, 9)]
    assert [page.count("Needs help") for page in pages] == [50, 50, 20, 20]
    assert "Page 3 of 3" in pages[3]
    shown = [int(n) for page in pages[:3] for n in re.findall(r"Message (\d+)!", page)]
    assert shown == list(reversed(range(120))), "the latest first"
    notice = re.search(r'name="notice" value="([^"]+)"', pages[0])
    assert notice is not None
    response = send(browser, "/campaigns/pilot/settle", notice=notice[1], page="list")
    assert response.headers["location"] == "/campaigns/pilot/notices"
    assert "119 open messages" in browser.get("/campaigns/pilot/notices").text


@sqlite_only
def test_titles_are_escaped(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    send(browser, "/campaigns/new", definition=TOML, pasted=PASTED, action="create")
    page = browser.get("/campaigns/kitchen").text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>" not in page


@sqlite_only
def test_signing_out_ends_this_session_or_all(staff_site: StaffSite) -> None:
    first, second = staff_site.owner(), staff_site.owner()
    assert "You are signed out" in send(first, "/sign-out", sessions="current").text
    assert first.get("/campaigns").status_code == 403
    assert second.get("/campaigns").status_code == 200
    third = staff_site.owner()
    assert "Sign out everywhere" in second.get("/account").text
    send(second, "/sign-out", sessions="all")
    assert second.get("/campaigns").status_code == third.get("/campaigns").status_code == 403


@sqlite_only
def test_large_bodies_of_strangers_are_not_read(staff_site: StaffSite) -> None:
    """Rejected before the body is read: the announced body is never sent."""
    url = httpx.URL(staff_site.live.url)
    head = "POST /campaigns/new HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
    for length, status in ((60 << 20, b"HTTP/1.1 403"), (65 << 20, b"HTTP/1.1 413")):
        with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
            connection.sendall(f"{head}Content-Length: {length}\r\n\r\n--b".encode())
            assert connection.recv(12, socket.MSG_WAITALL) == status


@sqlite_only
def test_a_study_at_prolific_without_an_open_link_has_a_page(staff_site: StaffSite) -> None:
    create_draft(staff_site, open_link=False, recruit={"kind": "prolific", "codes": CODES})
    page = staff_site.owner().get("/campaigns/pilot")
    assert page.status_code == 200
    assert "Personal links only." in page.text


@sqlite_only
def test_metrics_have_no_personal_data(staff_site: StaffSite) -> None:
    owner_id, platform = create_draft(staff_site), staff_site.platform
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    browser = staff_site.owner()
    browser.get("/campaigns/pilot?secret=1")
    browser.get("/wp-login.php")
    text = browser.get("/metrics").text
    assert 'dissensus_requests_total{method="GET",route="/campaigns/{name}",status="200"} 1.0' in text
    assert 'dissensus_requests_total{method="GET",route="none",status="404"} 1.0' in text
    assert 'dissensus_request_seconds_count{method="POST",route="/sign-in/{key}"} 1.0' in text
    assert 'dissensus_raters{standing="rating"} 1.0' in text
    assert "dissensus_saves_total 0.0" in text
    assert "dissensus_database_up 1.0" in text
    for private in ("pilot", "secret", "wp-login", "ada"):
        assert private not in text


@sqlite_only
def test_only_owners_can_export_ratings(staff_site: StaffSite) -> None:
    owner_id, platform = create_draft(staff_site), staff_site.platform
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW)
    browser = staff_site.owner()
    empty = browser.get("/campaigns/pilot/export.csv")
    assert empty.status_code == 404
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    step = next_step.find_next_step(platform, rater, now=NOW)
    assert step.assignment is not None
    save = AnswerSave(revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Unsure")})
    rating.submit_answers(platform, rater, step.assignment.id, "one", save, now=NOW)
    assert "/campaigns/pilot/export.csv" in browser.get("/campaigns/pilot").text
    response = browser.get("/campaigns/pilot/export.csv")
    assert response.headers["content-disposition"] == 'attachment; filename="pilot.internal.csv"'
    (row,) = csv.DictReader(io.StringIO(response.text))
    assert row["Q_safe"] == "Unsure"
    assert rater.id not in response.text
    assert browser.get("/campaigns/pilot/export.csv?purpose=release").status_code == 404
    assert browser.get("/campaigns/pilot/export.csv?purpose=spying").status_code == 404
    assert staff_site.owner("bob").get("/campaigns/pilot/export.csv").status_code == 404
    assert staff_site.stranger().get("/campaigns/pilot/export.csv").status_code == 403
