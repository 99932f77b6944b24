"""How raters feel, over HTTP: the page of the rater, and that of the contact alone."""

import re
from html import unescape
from typing import Any

import httpx
import pytest
from tests.support.live_site import Visitor, hidden
from tests.support.staff_browsers import House, send
from tests.support.staff_members import member, opened

CARE: dict[str, Any] = {"every": 1, "contact": "<b>Mia</b>, who listens"}
REACH = "<script>alert(1)</script>, evenings"


def asked(house: House, **changes: Any) -> tuple[Visitor, httpx.Response, str]:
    """Somebody who has rated one item, the page that they are at, and the link of the campaign."""
    key = str(opened(house, **{"care": CARE, **changes}).key)
    return (*arrived(house, key), key)


def arrived(house: House, key: str) -> tuple[Visitor, httpx.Response]:
    visitor = house.live.visitor()
    return visitor, visitor.rate(visitor.enter(key), Q_safe="No")


def number(page: httpx.Response) -> dict[str, str]:
    return {**hidden(page), **dict(re.findall(r'name="(number)" value="(\d+)"', page.text))}


def test_a_rater_says_how_they_feel_by_a_form_alone(house: House) -> None:
    visitor, page, _ = asked(house)
    assert "<h1>How do you feel?</h1>" in page.text
    assert "&lt;b&gt;Mia&lt;/b&gt;, who listens may know how I feel." in page.text
    assert "(optional)" in page.text
    page = visitor.send("/feelings", **number(page), rater_upset="3", told="yes", reach=REACH)
    assert "Item" not in page.text
    assert "<h1>Two questions</h1>" in page.text
    mia = member(house, "mia", "carer")
    seen = mia.get("/campaigns/pilot/care").text
    assert "Upset <strong>3</strong>" in seen
    assert "&lt;script&gt;alert(1)&lt;/script&gt;, evenings" in seen
    assert "They left all questions out" not in seen


def test_what_is_wrong_is_told_and_nothing_typed_is_lost(house: House) -> None:
    visitor, page, _ = asked(house)
    long = "ä" * 501
    again = visitor.send("/feelings", **number(page), rater_upset="3", rater_afraid="9", told="yes", reach=long)
    assert again.status_code == 422
    assert long in again.text
    assert 'name="told" value="yes" checked' in again.text
    assert re.search(r'name="rater_upset" value="3" checked', again.text)
    assert "This text is too long" in again.text
    assert "This is none of the answers" in again.text
    # What is not of now changes nothing.
    for wrong in ("7", "-1", "x", "9" * 30):
        page = visitor.send("/feelings", **{**number(again), "number": wrong}, rater_upset="3")
        assert "<h1>How do you feel?</h1>" in page.text


def test_nobody_else_sees_it(house: House) -> None:
    visitor, page, key = asked(house)
    visitor.send("/feelings", **number(page), rater_upset="3", told="yes", reach="at home")
    quiet, page = arrived(house, key)
    quiet.send("/feelings", **number(page), rater_upset="4", reach="nowhere")
    owner = house.owner()
    assert "<dd>asked how they feel every 1 items; &lt;b&gt;Mia&lt;/b&gt;, who listens is told if they like</dd>" in (
        owner.get("/campaigns/pilot").text
    )
    others = {role: member(house, f"a {role}", role) for role in ("analyst", "expert", "reviewer")}
    mia = member(house, "mia", "carer")
    for browser in (owner, *others.values()):
        assert browser.get("/campaigns/pilot/care").status_code == 403
        assert send(browser, "/campaigns/pilot/care", rater="x", number="0").status_code == 403
        assert "/campaigns/pilot/care" not in browser.get("/campaigns/pilot").text
    assert "at home" in mia.get("/campaigns/pilot/care").text
    # Who does not want it to be known is not there, not even for the contact.
    assert "nowhere" not in mia.get("/campaigns/pilot/care").text
    for path in ("/campaigns/pilot/watch", "/campaigns/pilot/export.csv", "/campaigns/pilot/notices"):
        assert mia.get(path).status_code in (403, 404)


def test_the_contact_deals_with_it_once(house: House) -> None:
    visitor, page, _ = asked(house)
    visitor.send("/feelings", **number(page), told="yes")
    mia = member(house, "mia", "carer")
    seen = mia.get("/campaigns/pilot/care").text
    assert "They left all questions out." in seen
    assert "They do not say how they can be reached." in seen
    found = re.search(r'name="rater" value="([^"]+)"', seen)
    assert found
    done = send(mia, "/campaigns/pilot/care", rater=found[1], number="0")
    assert done.headers["location"] == "/campaigns/pilot/care"
    assert "dealt with" in mia.get("/campaigns/pilot/care").text
    again = send(mia, "/campaigns/pilot/care", rater=found[1], number="0")
    assert (again.status_code, "Nothing of this is open" in unescape(again.text)) == (404, True)
    for wrong in ("", "x", "-1", "9" * 40):
        assert send(mia, "/campaigns/pilot/care", rater=found[1], number=wrong).status_code == 422


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_without_a_contact_nobody_is_told(house: House) -> None:
    visitor, page, _ = asked(house, care={"every": 1})
    assert 'name="told"' not in page.text
    visitor.send("/feelings", **number(page), rater_upset="4", told="yes", reach="here")
    seen = member(house, "mia", "carer").get("/campaigns/pilot/care").text
    assert "Nobody so far." in seen
    assert "here</span>" not in seen


def test_a_rater_leaves_topics_out_by_a_form_alone(house: House) -> None:
    topics = {"topics": {"x": "the <b>letter</b>", "Weapons": "weapons"}}
    visitor = house.live.visitor()
    page = visitor.enter(str(opened(house, care=topics).key))
    assert "<h1>What would you rather not meet?</h1>" in page.text
    assert "the &lt;b&gt;letter&lt;/b&gt;" in page.text
    wrong = visitor.send("/topics", **hidden(page), topic="y")
    assert (wrong.status_code, "There is no topic" in unescape(wrong.text)) == (422, True)
    # All items of the pilot are about x.
    page = visitor.send("/topics", **hidden(page), topic="x")
    assert "Thank you" in page.text


def test_a_survey_of_ones_own_is_read_back_in_words(house: House) -> None:
    questions = [
        {"name": "rater_which", "text": "Which?", "kind": "multiple", "scale": ["tired", "sad"]},
        {"name": "rater_words", "text": "In words?", "kind": "text"},
    ]
    survey = {"name": "mine", "about": "rater", "languages": ["en"], "title": "You", "questions": questions}
    visitor, page, _ = asked(house, care={**CARE, "survey": survey})
    sent = {**number(page), "rater_which": ["tired", "sad"], "rater_words": "<i>so so</i>", "told": "yes"}
    assert "<h1>Two questions</h1>" in visitor.send("/feelings", **sent).text
    seen = member(house, "mia", "carer").get("/campaigns/pilot/care").text
    assert "Which? <strong>tired, sad</strong>" in seen
    assert "&lt;i&gt;so so&lt;/i&gt;" in seen
