"""Well-being surveys over HTTP: the page of the rater, and that of the contact."""

import re
from html import unescape
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import definition
from tests.support.live_site import Visitor, hidden
from tests.support.staff_members import join_pilot, open_pilot
from tests.support.staff_site import StaffSite, send

from dissensus.web.core.renderer import create_renderer

CARE: dict[str, Any] = {"survey_every": 1, "contact": "<b>Mia</b>, who listens"}
CONTACT = "<script>alert(1)</script>, evenings"


def enter_survey(staff_site: StaffSite, **changes: Any) -> tuple[Visitor, httpx.Response, str]:
    """Let a rater rate one item; return them, their page and the key of the link."""
    key = str(open_pilot(staff_site, **{"care": CARE, **changes}).key)
    return (*rate_one_item(staff_site, key), key)


def rate_one_item(staff_site: StaffSite, key: str) -> tuple[Visitor, httpx.Response]:
    visitor = staff_site.live.visitor()
    return visitor, visitor.rate(visitor.enter(key), Q_safe="No")


def number(page: httpx.Response) -> dict[str, str]:
    return {**hidden(page), **dict(re.findall(r'name="(number)" value="(\d+)"', page.text))}


@sqlite_only
def test_the_survey_works_without_scripts(staff_site: StaffSite) -> None:
    visitor, page, _ = enter_survey(staff_site)
    assert "<h1>How do you feel?</h1>" in page.text
    assert "&lt;b&gt;Mia&lt;/b&gt;, who listens may know how I feel." in page.text
    assert "(optional)" in page.text
    page = visitor.send("/survey", **number(page), rater_upset="3", notify="yes", contact_info=CONTACT)
    assert "Item" not in page.text
    assert "<h1>Two questions</h1>" in page.text
    mia = join_pilot(staff_site, "mia", "carer")
    text = mia.get("/campaigns/pilot/care").text
    assert "Upset <strong>3</strong>" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;, evenings" in text
    assert "No question was answered" not in text


@sqlite_only
def test_faults_are_shown_and_input_is_kept(staff_site: StaffSite) -> None:
    visitor, page, _ = enter_survey(staff_site)
    long = "ä" * 501
    refused = visitor.send(
        "/survey", **number(page), rater_upset="3", rater_afraid="9", notify="yes", contact_info=long
    )
    assert refused.status_code == 422
    assert long in refused.text
    assert 'name="notify" value="yes" checked' in refused.text
    assert re.search(r'name="rater_upset" value="3" checked', refused.text)
    assert "This text is too long" in refused.text
    assert "This is not one of the answers" in refused.text
    # Invalid survey numbers change nothing.
    for wrong in ("7", "-1", "x", "9" * 30):
        page = visitor.send("/survey", **{**number(refused), "number": wrong}, rater_upset="3")
        assert "<h1>How do you feel?</h1>" in page.text


@sqlite_only
def test_only_the_carer_sees_surveys(staff_site: StaffSite) -> None:
    visitor, page, key = enter_survey(staff_site)
    visitor.send("/survey", **number(page), rater_upset="3", notify="yes", contact_info="at home")
    quiet, page = rate_one_item(staff_site, key)
    quiet.send("/survey", **number(page), rater_upset="4", contact_info="nowhere")
    owner = staff_site.owner()
    assert "<dd>wellbeing survey after every item; &lt;b&gt;Mia&lt;/b&gt;, who listens can be notified</dd>" in (
        owner.get("/campaigns/pilot").text
    )
    browsers = {role: join_pilot(staff_site, f"a {role}", role) for role in ("analyst", "expert", "reviewer")}
    mia = join_pilot(staff_site, "mia", "carer")
    for browser in (owner, *browsers.values()):
        assert browser.get("/campaigns/pilot/care").status_code == 403
        assert send(browser, "/campaigns/pilot/care", rater="x", number="0").status_code == 403
        assert "/campaigns/pilot/care" not in browser.get("/campaigns/pilot").text
    assert "at home" in mia.get("/campaigns/pilot/care").text
    # Raters who declined are not listed, not even for the contact.
    assert "nowhere" not in mia.get("/campaigns/pilot/care").text
    for path in ("/campaigns/pilot/monitoring", "/campaigns/pilot/export.csv", "/campaigns/pilot/notices"):
        assert mia.get(path).status_code == 403, path


@pytest.mark.parametrize(("every", "interval"), [(1, "after every item"), (10, "every 10 items")])
def test_facts_of_a_campaign_name_the_interval_of_surveys(every: int, interval: str) -> None:
    campaign = definition(care={"survey_every": every}, max_items=every)
    facts = create_renderer().environment.get_template("staff/parts.html").module.campaign_facts(campaign)  # type: ignore[attr-defined]
    assert f"<dd>wellbeing survey {interval}</dd>" in facts
    assert ("1 item, no daily limit" in facts) == (every == 1)


def test_a_contact_request_is_settled_once(staff_site: StaffSite) -> None:
    visitor, page, _ = enter_survey(staff_site)
    visitor.send("/survey", **number(page), notify="yes")
    mia = join_pilot(staff_site, "mia", "carer")
    text = mia.get("/campaigns/pilot/care").text
    assert "No question was answered." in text
    assert "No contact information." in text
    match = re.search(r'name="rater" value="([^"]+)"', text)
    assert match
    done = send(mia, "/campaigns/pilot/care", rater=match[1], number="0")
    assert done.headers["location"] == "/campaigns/pilot/care"
    assert ">settled<" in mia.get("/campaigns/pilot/care").text
    repeated = send(mia, "/campaigns/pilot/care", rater=match[1], number="0")
    assert (repeated.status_code, "This request is not open" in unescape(repeated.text)) == (404, True)
    for wrong in ("", "x", "-1", "9" * 40):
        assert send(mia, "/campaigns/pilot/care", rater=match[1], number=wrong).status_code == 422


@sqlite_only
def test_without_a_contact_nothing_is_shared(staff_site: StaffSite) -> None:
    visitor, page, _ = enter_survey(staff_site, care={"survey_every": 1})
    assert 'name="notify"' not in page.text
    visitor.send("/survey", **number(page), rater_upset="4", notify="yes", contact_info="here")
    text = join_pilot(staff_site, "mia", "carer").get("/campaigns/pilot/care").text
    assert "No requests yet." in text
    assert "here</span>" not in text


@sqlite_only
def test_the_topics_form_works_without_scripts(staff_site: StaffSite) -> None:
    topics = {"topics": {"x": "the <b>letter</b>", "Weapons": "weapons"}}
    visitor = staff_site.live.visitor()
    page = visitor.enter(str(open_pilot(staff_site, care=topics).key))
    assert "<h1>Which topics would you rather avoid?</h1>" in page.text
    assert "the &lt;b&gt;letter&lt;/b&gt;" in page.text
    wrong = visitor.send("/topics", **hidden(page), topic="y")
    assert (wrong.status_code, "There is no topic" in unescape(wrong.text)) == (422, True)
    # All items of the pilot are about x.
    page = visitor.send("/topics", **hidden(page), topic="x")
    assert "Thank you" in page.text


@sqlite_only
def test_answers_to_a_custom_survey_are_shown_with_labels(staff_site: StaffSite) -> None:
    questions = [
        {"name": "rater_which", "text": "Which?", "kind": "multiple", "scale": ["tired", "sad"]},
        {"name": "rater_words", "text": "In words?", "kind": "text"},
    ]
    survey = {"name": "mine", "about": "rater", "languages": ["en"], "title": "You", "questions": questions}
    visitor, page, _ = enter_survey(staff_site, care={**CARE, "survey": survey})
    fields = {**number(page), "rater_which": ["tired", "sad"], "rater_words": "<i>so so</i>", "notify": "yes"}
    assert "<h1>Two questions</h1>" in visitor.send("/survey", **fields).text
    text = join_pilot(staff_site, "mia", "carer").get("/campaigns/pilot/care").text
    assert "Which? <strong>tired, sad</strong>" in text
    assert "&lt;i&gt;so so&lt;/i&gt;" in text
