"""The way of a rater over HTTP, by forms alone."""

import gzip
import re
from typing import Any

import pytest
from tests.support.campaigns import ABOUT_YOU, NOW, definition, open_campaign
from tests.support.live_site import Live, Visitor, assignment, hidden
from tests.support.rating_pages import shown

from dissensus.campaign.answer_drafts import merge_saves
from dissensus.schema.campaign.definition import CampaignState
from dissensus.store.answer_drafts import SaveTable, load_saves
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import DeclarationTable, RaterTable
from dissensus.workflows.campaign import campaigns

BUDGET = 15_000  # bytes: of the first page compressed, and of the next item


def link(page: Any, start: str) -> str:
    found = re.search(rf'href="({start}[^"]+)"', page.text)
    assert found, page.text
    return found.group(1)


@pytest.fixture
def key(live: Live) -> str:
    """The key of a campaign of two questions about three items, and one about the rater."""
    return str(open_campaign(live.platform, 3, demographics=ABOUT_YOU, help="Call us.", thanks="Well done.").key)


def test_from_the_warning_to_the_thanks_and_out_again(live: Live, key: str) -> None:
    visitor = live.visitor()
    warning = visitor.get("/c/pilot", params={"key": key})
    assert "Some of it is cruel." in shown(warning)
    assert "Call us." in shown(warning)
    page = visitor.enter(key)
    seen = []
    for number in range(3):
        assert f"{number} of 3 rated" in shown(page)
        seen += re.findall(r"Answer \d", re.sub(r"<script.*?</script>", "", page.text, flags=re.DOTALL))
        page = visitor.rate(page, Q_safe="Unsure", Why="I do not know.")
    assert sorted(seen) == ["Answer 0", "Answer 1", "Answer 2"]
    assert "How old?" in shown(page)
    end = visitor.send("/about-you", form_token=hidden(page)["form_token"], rater_age="Prefer not to say")
    assert "Well done." in shown(end)
    assert "Conversations rated 3" in shown(end)
    asking = visitor.get(link(end, "/withdraw/"))
    assert "all your answers (conversations: 3)" in shown(asking)
    assert visitor.get("/rate").status_code == 200
    assert "Your answers were deleted" in shown(visitor.send(link(end, "/withdraw/")))
    assert visitor.get("/rate").status_code == 403
    with live.platform.database.reading() as tx:
        assert tx.execute(SaveTable.__table__.select()).all() == []
        assert tx.execute(DeclarationTable.__table__.select()).all() == []


def test_what_is_missing_is_asked_for_and_nothing_written_is_lost(live: Live, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    again = visitor.rate(page, Why="Because of <b>this</b>.")
    assert again.status_code == 422
    assert assignment(again) == assignment(page)
    assert "Please answer this question." in shown(again)
    assert re.search(r"<textarea[^>]*>Because of &lt;b&gt;this&lt;/b&gt;.</textarea>", again.text)
    assert "1 of 3 rated" in shown(visitor.rate(again, Q_safe="Yes", Why="Because of <b>this</b>."))


def test_what_raters_do_not_say_about_themselves_is_asked_for(live: Live, key: str) -> None:
    visitor = live.visitor()
    token = hidden(visitor.enter(key))["form_token"]
    about = visitor.send("/stop", form_token=token)
    again = visitor.send("/about-you", form_token=token)
    assert "How old?" in shown(about)
    assert (again.status_code, "Please answer this question." in shown(again)) == (422, True)
    assert "You have stopped" in shown(visitor.send("/about-you", form_token=token, rater_age="old"))


def test_one_may_stop_and_go_on(live: Live) -> None:
    kept = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(kept.key)), Q_safe="No")
    stopped = visitor.send("/stop", form_token=hidden(page)["form_token"])
    assert "You have stopped" in shown(stopped)
    assert "Conversations rated 1" in shown(stopped)
    assert "1 of 3 rated" in shown(visitor.send("/go-on", form_token=hidden(page)["form_token"]))


def test_skipping_brings_the_next_one(live: Live, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    after = visitor.send(f"/rate/{assignment(page)}/skip", form_token=hidden(page)["form_token"])
    assert assignment(after) != assignment(page)
    assert "0 of 2 rated" in shown(after)


def test_a_form_that_is_sent_twice_is_kept_once(live: Live, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    assert "1 of 3 rated" in shown(visitor.rate(page, Q_safe="No"))
    assert "1 of 3 rated" in shown(visitor.rate(page, Q_safe="No"))
    with live.platform.database.reading() as tx:
        assert len(tx.execute(SaveTable.__table__.select()).all()) == 1


def test_going_back_and_sending_other_answers_corrects_them(live: Live, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    visitor.rate(page, Q_safe="No")
    assert "1 of 3 rated" in shown(visitor.rate(page, Q_safe="Yes"))
    with live.platform.database.reading() as tx:
        (theirs,) = load_saves(tx, [assignment(page)]).values()
    assert merge_saves(theirs)["Q_safe"].value == "Yes"


def test_who_comes_by_the_open_link_again_goes_on(live: Live, key: str) -> None:
    visitor = live.visitor()
    visitor.rate(visitor.enter(key), Q_safe="No")
    assert "1 of 3 rated" in shown(visitor.get("/c/pilot", params={"key": key}))
    with live.platform.database.reading() as tx:
        assert len(tx.execute(RaterTable.__table__.select()).all()) == 1


def test_one_can_sign_out_where_others_use_the_device_too(live: Live, key: str) -> None:
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(key), Q_safe="No")
    end = visitor.send("/stop", form_token=hidden(page)["form_token"])
    cookie = visitor.http.cookies["dissensus_rater"]
    left = visitor.send("/leave", form_token=hidden(end)["form_token"])
    assert "<h1>You are signed out</h1>" in left.text
    assert visitor.get("/rate").status_code == 403
    visitor.http.cookies.set("dissensus_rater", cookie)
    assert visitor.get("/rate").status_code == 403
    assert "Nothing about you is kept" in visitor.get("/c/pilot", params={"key": key}).text


def test_what_was_saved_is_there_when_one_comes_back(live: Live, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    assert visitor.save(page, {"Q_safe": "Unsure", "Why": "A word"}, revision=4).json() == {"revision": 4}
    back = visitor.get("/rate")
    assert re.search(r'value="Unsure" checked', back.text)
    assert ">A word</textarea>" in back.text
    assert hidden(back)["revision"] == "5"


def test_a_final_save_brings_what_comes_next_in_one_answer(live: Live, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    sent = {"final": True, "key": "6f1f2a55-6b6c-4d8e-9d53-0f6f3b1d0a01"}
    first = visitor.save(page, {"Q_safe": "Yes"}, **sent).json()
    assert (first["place"], first["done"], first["all"]) == ("rate", 1, 3)
    assert first["item"]["assignment"] != first["following"]["assignment"]
    assert "This answer is what you judge" in first["item"]["html"]
    assert visitor.save(page, {"Q_safe": "Yes"}, **sent).json() == first


def test_pages_are_small(live: Live) -> None:
    kept = open_campaign(live.platform, 3, questionnaire="dices-350")
    visitor = live.visitor()
    page = visitor.enter(str(kept.key))
    assert len(gzip.compress(page.content)) <= BUDGET
    assert len(page.content) <= 3 * BUDGET
    skipped = visitor.http.post(
        f"/rate/{assignment(page)}/skip",
        headers={"accept": "application/json", "x-form-token": hidden(page)["form_token"]},
    )
    assert skipped.json()["place"] == "rate"
    assert len(skipped.content) <= BUDGET


@pytest.mark.parametrize(("kind", "open_after"), [("help", 3), ("illegal", 2)])
def test_messages_are_kept_and_what_is_illegal_is_left_out(live: Live, key: str, kind: str, open_after: int) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    fields = {"kind": kind, "text": "It is bad.", "assignment": assignment(page)}
    noted = visitor.send("/notice", form_token=hidden(page)["form_token"], **fields)
    assert "Your message was kept." in shown(noted)
    assert f"0 of {open_after} rated" in shown(noted)
    with live.platform.database.reading() as tx:
        (notice,) = tx.execute(NoticeTable.__table__.select()).all()
    assert (notice.kind, notice.text, notice.assignment_id) == (kind, "It is bad.", assignment(page))


@pytest.mark.parametrize(("state", "told"), [("paused", "The campaign pauses"), ("closed", "The campaign is closed")])
def test_a_campaign_that_rests_says_so(live: Live, state: CampaignState, told: str) -> None:
    kept = open_campaign(live.platform, 2)
    visitor = live.visitor()
    visitor.enter(str(kept.key))
    campaigns.change_state(live.platform, "pilot", state, staff_id=kept.staff_id, now=NOW)
    page = visitor.get("/rate")
    assert told in shown(page)
    assert "/withdraw/" in page.text


def test_enough_for_a_day_goes_on_the_day_after(live: Live) -> None:
    kept = open_campaign(live.platform, 3, most_a_day=1)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(kept.key)), Q_safe="No")
    assert "Enough for today" in shown(page)
    live.clock.forward(hours=25)
    assert "1 of 3 rated" in shown(visitor.get("/rate"))


def test_a_break_is_offered_now_and_then(live: Live) -> None:
    kept = open_campaign(live.platform, 4, break_every=2)
    visitor = live.visitor()
    pages = [visitor.enter(str(kept.key))]
    for _ in range(3):
        pages.append(visitor.rate(pages[-1], Q_safe="No"))
    assert [bool(re.search(r'<dialog id="pause"[^>]* open', page.text)) for page in pages] == [
        False,
        False,
        True,
        False,
    ]


def test_a_conversation_stays_covered_where_that_was_chosen(live: Live) -> None:
    kept = open_campaign(live.platform, 2, preview=True)
    page = live.visitor().enter(str(kept.key))
    assert "Topic: x" in shown(page)
    assert re.search(r'<details class="cover">.*<ol class="turns">.*</details>', page.text, flags=re.DOTALL)


def test_what_was_agreed_to_can_be_read_again(live: Live, key: str) -> None:
    visitor = live.visitor()
    visitor.enter(key)
    page = visitor.get("/agreed")
    assert "We keep your answers." in shown(page)
    assert "My answers may be published." in shown(page)
    assert "/withdraw/" in page.text


def test_a_new_consent_text_is_asked_about_before_going_on(live: Live) -> None:
    kept = open_campaign(live.platform, 2)
    visitor = live.visitor()
    visitor.enter(str(kept.key))
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=kept.staff_id, now=NOW)
    purposes = [{"name": "rating", "text": "My answers may be analysed.", "required": True}]
    changed = definition(consent={"text": "We keep them longer.", "purposes": purposes})
    campaigns.revise_campaign(live.platform, "pilot", changed, staff_id=kept.staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=kept.staff_id, now=NOW)
    asked = visitor.get("/rate")
    assert "We keep them longer." in shown(asked)
    assert "withdraw all your answers" in shown(asked)
    after = visitor.send("/consent", form_token=hidden(asked)["form_token"], purpose="rating")
    assert "0 of 2 rated" in shown(after)


def test_a_personal_link_leads_back_from_any_device(live: Live) -> None:
    kept = open_campaign(live.platform, 3)
    (personal,) = campaigns.create_invitations(live.platform, "pilot", 1, staff_id=kept.staff_id, now=NOW)
    first: Visitor = live.visitor()
    first.rate(first.enter(personal), Q_safe="No")
    assert "1 of 3 rated" in shown(live.visitor().get("/c/pilot", params={"key": personal}))


def test_raters_may_say_who_they_are_before(live: Live) -> None:
    kept = open_campaign(live.platform, 3, demographics=ABOUT_YOU, demographics_placed="before")
    visitor = live.visitor()
    page = visitor.enter(str(kept.key))
    assert "How old?" in shown(page)
    assert "0 of 3 rated" in shown(visitor.send("/about-you", form_token=hidden(page)["form_token"], rater_age="young"))


@pytest.mark.parametrize(("most", "told"), [(None, " 0 rated"), (5, "0 of 5 rated")])
def test_no_number_of_items_is_promised_where_others_rate_them_too(live: Live, most: int | None, told: str) -> None:
    limits = {} if most is None else {"most_items": most}
    kept = open_campaign(live.platform, 30, replication=1, **limits)
    assert told in shown(live.visitor().enter(str(kept.key)))


def test_withdrawing_speaks_the_language_of_the_rater(live: Live) -> None:
    kept = open_campaign(live.platform, 3)
    visitor = live.visitor(**{"accept-language": "de"})
    stopped = visitor.send("/stop", form_token=hidden(visitor.enter(str(kept.key)))["form_token"])
    asking = visitor.get(link(stopped, "/withdraw/"))
    assert '<html lang="en"' in asking.text
    assert '<html lang="en"' in visitor.send(link_of_form(asking)).text


def link_of_form(page: Any) -> str:
    return str(re.findall(r'<form method="post" action="([^"]+)"', page.text)[0])
