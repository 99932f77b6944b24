"""Rating over HTTP, by forms without scripts."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.databases import sqlite_only
from tests.support.campaigns import ABOUT_YOU, NOW, definition, open_campaign
from tests.support.live_site import LiveSite, Visitor, assignment, hidden
from tests.support.rating_pages import page_text

from dissensus.campaign.answer_drafts import merge_saves
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.vet import vet
from dissensus.schema.campaign.definition import CampaignState
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.store.answer_drafts import SaveTable, load_saves
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import DeclarationTable, RaterTable
from dissensus.workflows.campaign import campaigns, raters
from dissensus.workflows.campaign.audit import audit_campaign
from dissensus.workflows.export import ratings

BUDGET = 15_000  # bytes: of the first page compressed, and of the next item


def link(page: Any, start: str) -> str:
    match = re.search(rf'href="({start}[^"]+)"', page.text)
    assert match, page.text
    return match.group(1)


@pytest.fixture
def key(live: LiveSite) -> str:
    """The key of a campaign of two questions about three items, and one about the rater."""
    return str(open_campaign(live.platform, 3, demographics=ABOUT_YOU, help="Call us.", thanks="Well done.").key)


def test_a_rater_enters_rates_and_withdraws(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    warning = visitor.get("/c/pilot", params={"key": key})
    assert "Some of it is cruel." in page_text(warning)
    assert "Call us." in page_text(warning)
    page = visitor.enter(key)
    rows = []
    for number in range(3):
        assert f"{number} of 3 rated" in page_text(page)
        rows += re.findall(r"Answer \d", re.sub(r"<script.*?</script>", "", page.text, flags=re.DOTALL))
        page = visitor.rate(page, Q_safe="Unsure", Why="I do not know.")
    assert sorted(rows) == ["Answer 0", "Answer 1", "Answer 2"]
    assert "How old?" in page_text(page)
    end = visitor.send("/about-you", form_token=hidden(page)["form_token"], rater_age="Prefer not to say")
    assert "Well done." in page_text(end)
    assert "Conversations rated 3" in page_text(end)
    asking = visitor.get(link(end, "/withdraw/"))
    assert "all your answers (conversations: 3)" in page_text(asking)
    assert visitor.get("/rate").status_code == 200
    assert "Your answers were deleted" in page_text(visitor.send(link(end, "/withdraw/")))
    assert visitor.get("/rate").status_code == 403
    again = visitor.get(link(end, "/withdraw/"))
    assert "You withdrew earlier." in page_text(again)
    assert "Delete all my answers" not in page_text(again)
    with live.platform.database.reading() as tx:
        assert tx.execute(SaveTable.__table__.select()).all() == []
        assert tx.execute(DeclarationTable.__table__.select()).all() == []


@sqlite_only
def test_missing_answers_are_asked_for_and_input_is_kept(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    refused = visitor.rate(page, Why="Because of <b>this</b>.")
    assert refused.status_code == 422
    assert assignment(refused) == assignment(page)
    assert "Please answer this question." in page_text(refused)
    assert re.search(r"<textarea[^>]*>Because of &lt;b&gt;this&lt;/b&gt;.</textarea>", refused.text)
    assert "1 of 3 rated" in page_text(visitor.rate(refused, Q_safe="Yes", Why="Because of <b>this</b>."))


def test_submitted_answers_are_corrected_without_scripts(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    assert 'href="/answers"' not in visitor.enter(key).text
    assert visitor.get("/answers/last").url.path == "/answers"
    visitor.rate(visitor.get("/rate"), Q_safe="No", Why="First.")
    listed = visitor.get("/answers")
    assert "Submitted on 2026-03-01 12:00 UTC." in page_text(listed)
    address = link(listed, "/answers/")
    assert str(visitor.get("/answers/last").url).endswith(address)
    shown = visitor.get(address)
    assert re.search(r'value="No" checked', shown.text)
    fields = {name: hidden(shown)[name] for name in ("form_token", "visit", "revision")}
    refused = visitor.send(address, **fields)
    assert (refused.status_code, "Please answer this question." in page_text(refused)) == (422, True)
    live.clock.forward(minutes=5)
    corrected = visitor.send(address, **fields, Q_safe="Yes", Why="Second.")
    assert "Submitted on 2026-03-01 12:00 UTC. Corrected on 2026-03-01 12:05 UTC." in page_text(corrected)
    assert re.search(r'value="Yes" checked', visitor.get(address).text)
    assert "1 of 3 rated" in page_text(visitor.get("/rate"))


def test_whoever_stops_may_answer_demographic_questions(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    token = hidden(visitor.enter(key))["form_token"]
    assert "How old?" not in page_text(visitor.get("/about-you"))
    stopped = visitor.send("/stop", form_token=token)
    assert "You have stopped" in page_text(stopped)
    assert "How old?" not in page_text(stopped)
    assert "How old?" in page_text(visitor.get(link(stopped, "/about")))
    refused = visitor.send("/about-you", form_token=token)
    assert (refused.status_code, "Please answer this question." in page_text(refused)) == (422, True)
    told = visitor.send("/about-you", form_token=token, rater_age="old")
    assert "You have stopped" in page_text(told)
    assert "/about-you" not in told.text
    with live.platform.database.reading() as tx:
        assert tx.scalar(select(DeclarationTable.content)) == {"rater_age": "old"}


@sqlite_only
def test_a_rater_can_stop_and_resume(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(campaign.key)), Q_safe="No")
    stopped = visitor.send("/stop", form_token=hidden(page)["form_token"])
    assert "You have stopped" in page_text(stopped)
    assert "Conversations rated 1" in page_text(stopped)
    assert "1 of 3 rated" in page_text(visitor.send("/resume", form_token=hidden(page)["form_token"]))


@sqlite_only
def test_skipping_shows_the_next_item(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    after = visitor.send(f"/rate/{assignment(page)}/skip", form_token=hidden(page)["form_token"])
    assert assignment(after) != assignment(page)
    assert "0 of 2 rated" in page_text(after)


def test_a_form_sent_twice_is_stored_once(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    assert "1 of 3 rated" in page_text(visitor.rate(page, Q_safe="No"))
    assert "1 of 3 rated" in page_text(visitor.rate(page, Q_safe="No"))
    with live.platform.database.reading() as tx:
        assert len(tx.execute(SaveTable.__table__.select()).all()) == 1


@sqlite_only
def test_resubmitting_an_item_corrects_the_answers(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    visitor.rate(page, Q_safe="No")
    assert "1 of 3 rated" in page_text(visitor.rate(page, Q_safe="Yes"))
    with live.platform.database.reading() as tx:
        (saves,) = load_saves(tx, [assignment(page)]).values()
    assert merge_saves(saves)["Q_safe"].value == "Yes"


@sqlite_only
def test_returning_by_the_open_link_continues(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    visitor.rate(visitor.enter(key), Q_safe="No")
    assert "1 of 3 rated" in page_text(visitor.get("/c/pilot", params={"key": key}))
    with live.platform.database.reading() as tx:
        assert len(tx.execute(RaterTable.__table__.select()).all()) == 1


def test_a_rater_can_sign_out(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(key), Q_safe="No")
    end = visitor.send("/stop", form_token=hidden(page)["form_token"])
    cookie = visitor.http.cookies["dissensus_rater"]
    response = visitor.send("/leave", form_token=hidden(end)["form_token"])
    assert "<h1>You are signed out</h1>" in response.text
    assert visitor.get("/rate").status_code == 403
    # Whoever goes back to the form of consent is not this rater either.
    assert not visitor.http.cookies
    visitor.http.cookies.set("dissensus_rater", cookie)
    assert visitor.get("/rate").status_code == 403
    assert "Nothing about you is stored" in visitor.get("/c/pilot", params={"key": key}).text


@sqlite_only
def test_saved_answers_are_restored(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    assert visitor.save(page, {"Q_safe": "Unsure", "Why": "A word"}, revision=4).json() == {"revision": 4}
    back = visitor.get("/rate")
    assert re.search(r'value="Unsure" checked', back.text)
    assert ">A word</textarea>" in back.text
    assert hidden(back)["revision"] == "5"


@sqlite_only
def test_a_final_save_returns_the_next_items(live: LiveSite, key: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    fields = {"final": True, "key": "6f1f2a55-6b6c-4d8e-9d53-0f6f3b1d0a01"}
    first = visitor.save(page, {"Q_safe": "Yes"}, **fields).json()
    assert (first["stage"], first["done"], first["total"]) == ("rate", 1, 3)
    assert first["item"]["assignment"] != first["next_item"]["assignment"]
    assert "Rate this response" in first["item"]["html"]
    assert visitor.save(page, {"Q_safe": "Yes"}, **fields).json() == first


@sqlite_only
def test_pages_are_small(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3, questionnaire="dices-350")
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    assert len(gzip.compress(page.content)) <= BUDGET
    assert len(page.content) <= 3 * BUDGET
    skipped = visitor.http.post(
        f"/rate/{assignment(page)}/skip",
        headers={"accept": "application/json", "x-form-token": hidden(page)["form_token"]},
    )
    assert skipped.json()["stage"] == "rate"
    assert len(skipped.content) <= BUDGET


@sqlite_only
@pytest.mark.parametrize(("kind", "open_after"), [("help", 3), ("illegal", 2)])
def test_messages_are_stored_and_reported_items_withheld(live: LiveSite, key: str, kind: str, open_after: int) -> None:
    visitor = live.visitor()
    page = visitor.enter(key)
    fields = {"kind": kind, "text": "It is bad.", "assignment": assignment(page)}
    response = visitor.send("/notice", form_token=hidden(page)["form_token"], **fields)
    assert "Your message was saved." in page_text(response)
    assert f"0 of {open_after} rated" in page_text(response)
    with live.platform.database.reading() as tx:
        (notice,) = tx.execute(NoticeTable.__table__.select()).all()
    assert (notice.kind, notice.text, notice.assignment_id) == (kind, "It is bad.", assignment(page))


@sqlite_only
@pytest.mark.parametrize(
    ("state", "message"), [("paused", "The campaign is paused"), ("closed", "The campaign is closed")]
)
def test_paused_and_closed_campaigns_say_so(live: LiveSite, state: CampaignState, message: str) -> None:
    campaign = open_campaign(live.platform, 2)
    visitor = live.visitor()
    visitor.enter(str(campaign.key))
    campaigns.change_state(live.platform, "pilot", state, staff_id=campaign.staff_id, now=NOW)
    page = visitor.get("/rate")
    assert message in page_text(page)
    assert "/withdraw/" in page.text


@sqlite_only
def test_the_daily_limit_resets_the_next_day(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3, max_per_day=1)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(campaign.key)), Q_safe="No")
    assert "Enough for today" in page_text(page)
    live.clock.forward(hours=25)
    assert "1 of 3 rated" in page_text(visitor.get("/rate"))


@sqlite_only
def test_breaks_are_suggested_at_intervals(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 4, break_every=2)
    visitor = live.visitor()
    pages = [visitor.enter(str(campaign.key))]
    for _ in range(3):
        pages.append(visitor.rate(pages[-1], Q_safe="No"))
    assert [bool(re.search(r'<dialog id="pause"[^>]* open', page.text)) for page in pages] == [
        False,
        False,
        True,
        False,
    ]


@sqlite_only
def test_conversations_are_covered_until_clicked(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 2, click_to_reveal=True)
    page = live.visitor().enter(str(campaign.key))
    assert "Topic: x" not in page_text(page)
    assert re.search(r'<details class="cover scripted">.*<ol class="turns">.*</details>', page.text, flags=re.DOTALL)


@sqlite_only
def test_a_cover_shows_the_topic_if_the_owner_asks_for_it(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 2, click_to_reveal=True, show_topic=True)
    assert "Topic: x" in page_text(live.visitor().enter(str(campaign.key)))
    assert not load_campaign("dices-350").show_topic


def test_a_covered_conversation_is_opened_before_it_is_answered(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 2, click_to_reveal=True)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    page = visitor.rate(page, Q_safe="Yes")
    assert page.status_code == 422
    assert "The conversation is still hidden." in page_text(page)
    (link,) = re.findall(r'<noscript>.*?href="(/rate[?]opened=[^"]+)"', page.text)
    page = visitor.get(link)
    assert '<details class="cover" open>' in page.text
    page = visitor.rate(page, Q_safe="Yes")
    assert "1 of 2" in page_text(page)
    # The next conversation is covered again.
    assert '<details class="cover scripted">' in page.text
    assert visitor.save(page, {"Q_safe": "No"}).status_code == 200
    refused = visitor.save(page, {"Q_safe": "No"}, revision=2, final=True)
    assert refused.status_code == 422
    assert "Show it before you submit answers" in refused.text
    assert visitor.save(page, {"Q_safe": "No"}, revision=2, final=True, open_ms=700).status_code == 200
    with live.platform.database.reading() as tx:
        assert tx.scalars(select(SaveTable.open_ms).where(SaveTable.final).order_by(SaveTable.number)).all() == [0, 700]


def test_answers_in_bulk_are_marked_until_they_are_changed(live: LiveSite, tmp_path: Path) -> None:
    questions = [{"name": f"Q_{name}", "text": f"{name}?", "scale": ["No", "Yes"]} for name in "abcd"]
    grid = {"name": "grid", "languages": ["en"], "title": "Grid", "questions": questions}
    campaign = open_campaign(live.platform, 1, questionnaire=grid, bulk_answers=True)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    (first,) = re.findall(r'name="bulk" value="([^"]+)"[^>]*>Answer “No” to the rest<', page.text)
    page = visitor.rate(page, bulk=first, Q_a="Yes")
    assert "0 of 1 rated" in page_text(page)
    assert len(re.findall(r'value="No" checked', page.text)) == 3
    bulk_questions = re.findall(r'name="bulk_question" value="([^"]+)"', page.text)
    assert bulk_questions == ["Q_b", "Q_c", "Q_d"]
    fields = {**hidden(page), "bulk_question": bulk_questions}
    visitor.send(f"/rate/{assignment(page)}", **fields, Q_a="Yes", Q_b="No", Q_c="No", Q_d="Yes")
    with live.platform.database.reading() as tx:
        rater_id = tx.scalars(select(RaterTable.id).where(RaterTable.campaign_id == campaign.id)).one()
    view = raters.load_rater(live.platform, "pilot", rater_id, staff_id=campaign.staff_id, most=1)
    ratings.export_ratings(live.platform, "pilot", tmp_path / "out.csv", now=NOW)
    frame = read_frame(tmp_path / "out.csv")
    assert frame.select("bulk_questions", "bulk_share").row(0) == ('["Q_b", "Q_c"]', "0.5")
    vetting = vet(read_ratings(tmp_path / "out.csv", questions="all"), question="Q_a")
    assert (view.bulk_share, vetting.raters["bulk_share"].to_list()) == (0.5, [0.5])
    assert re.search(r"rater +ratings.* bulk\b", str(vetting))
    assert audit_campaign(live.platform, "pilot").holds
    assert not load_campaign("dices-350").bulk_answers


@sqlite_only
def test_a_changed_consent_text_is_asked_before_rating(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 2)
    visitor = live.visitor()
    visitor.enter(str(campaign.key))
    campaigns.change_state(live.platform, "pilot", "paused", staff_id=campaign.staff_id, now=NOW)
    purposes = [{"name": "rating", "text": "My answers may be analysed.", "required": True}]
    changed = definition(consent={"text": "We keep them longer.", "purposes": purposes})
    campaigns.revise_campaign(live.platform, "pilot", changed, staff_id=campaign.staff_id, now=NOW)
    campaigns.change_state(live.platform, "pilot", "open", staff_id=campaign.staff_id, now=NOW)
    response = visitor.get("/rate")
    assert "We keep them longer." in page_text(response)
    assert "withdraw all your answers" in page_text(response)
    after = visitor.send("/consent", form_token=hidden(response)["form_token"], purpose="rating")
    assert "0 of 2 rated" in page_text(after)


@sqlite_only
def test_a_personal_link_works_on_any_device(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    (personal,) = campaigns.create_invitations(live.platform, "pilot", 1, staff_id=campaign.staff_id, now=NOW)
    first: Visitor = live.visitor()
    first.rate(first.enter(personal), Q_safe="No")
    assert "1 of 3 rated" in page_text(live.visitor().get("/c/pilot", params={"key": personal}))


@sqlite_only
def test_demographics_can_be_asked_first(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3, demographics=ABOUT_YOU, demographics_position="before")
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    assert "How old?" in page_text(page)
    assert "0 of 3 rated" in page_text(
        visitor.send("/about-you", form_token=hidden(page)["form_token"], rater_age="young")
    )


@sqlite_only
@pytest.mark.parametrize(("most", "message"), [(None, " 0 rated"), (5, "0 of 5 rated")])
def test_the_total_is_unknown_with_replication(live: LiveSite, most: int | None, message: str) -> None:
    limits = {} if most is None else {"max_items": most}
    campaign = open_campaign(live.platform, 30, replication=1, **limits)
    assert message in page_text(live.visitor().enter(str(campaign.key)))


def test_the_withdrawal_page_uses_the_language_of_the_rater(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor(**{"accept-language": "de"})
    stopped = visitor.send("/stop", form_token=hidden(visitor.enter(str(campaign.key)))["form_token"])
    asking = visitor.get(link(stopped, "/withdraw/"))
    assert '<html lang="en"' in asking.text
    assert '<html lang="en"' in visitor.send(link_of_form(asking)).text


def link_of_form(page: Any) -> str:
    return str(re.findall(r'<form method="post" action="([^"]+)"', page.text)[0])
