"""Raters from Prolific over HTTP: entry, completion codes and events."""

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import open_campaign
from tests.support.live_site import LiveSite, hidden, serving
from tests.support.pilot_study import CODES
from tests.support.prolific_server import Prolific
from tests.support.prolific_study import (
    DEMOGRAPHICS,
    ONE_OLD_SEAT,
    SECRET,
    Participant,
    Study,
    code_in,
    hidden_fields,
    publish_study,
    publish_study_by_cells,
    rows,
)
from tests.support.recruited_raters import PAY

from dissensus.recruit.prolific import Outcome
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.export import ratings


@pytest.fixture
def live(database_url: str) -> Iterator[LiveSite]:
    with serving(database_url, prolific_secret=SECRET) as site:
        yield site


@sqlite_only
def test_a_participant_enters_by_the_study_url_and_returns_with_a_code(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    participant = study.start_submission()
    assert code_in(participant.arrive()) == CODES["no_consent"]
    page = participant.agree()
    assert "complete?cc=" not in page.text
    assert study.deliver_events() == [True, True]
    assert study.find_recruit(participant.submission).status == "ACTIVE"
    end = participant.rate_all(page)
    assert code_in(end) == CODES["completed"]
    participant.return_to_prolific(end)
    assert study.deliver_events() == [True, True]
    assert study.find_recruit(participant.submission).status == "APPROVED"
    over = participant.visitor.get("/rate")
    assert "complete?cc=" not in over.text
    assert "This visit has ended on Prolific." in over.text


def test_prolific_ids_are_in_one_table_and_are_deleted_with_the_answers(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    before = rows(live)
    participant = study.start_submission()
    person = prolific.submissions[participant.submission]["participant_id"]
    page = participant.arrive()
    participant.visitor.send("/c/pilot", **hidden_fields(page))
    assert rows(live) == before, "nothing is kept of who has not agreed"
    end = participant.rate_all(participant.agree())
    for prolific_id in (person, participant.submission):
        assert [name for name, text in rows(live).items() if prolific_id in text] == ["recruit"]
    owner_page = export_of(live, study)
    assert person not in owner_page
    assert participant.submission not in owner_page
    (withdrawal,) = set(re.findall(r'href="(/withdraw/[^"]+)"', end.text))
    done = participant.visitor.send(unescape(withdrawal))
    assert code_in(done) == CODES["no_consent"]
    assert [name for name, text in rows(live).items() if person in text or participant.submission in text] == []
    assert not study.deliver_events()[-1], "of a visit that nobody knows any more nothing is kept"


@sqlite_only
def test_logs_and_errors_have_no_prolific_ids(
    live: LiveSite, prolific: Prolific, caplog: pytest.LogCaptureFixture
) -> None:
    study = publish_study(live, prolific)
    participant, stranger = study.start_submission(), study.start_submission()
    ids = [participant.submission, stranger.submission]
    ids += [prolific.submissions[one]["participant_id"] for one in ids]
    with caplog.at_level(logging.DEBUG):
        participant.visitor.rate(participant.agree(), Q_safe="No")
        refused = [
            replace(stranger, address=stranger.address.replace(*change)).arrive()
            for change in (("key=", "key=x"), ("STUDY_ID=", "STUDY_ID=x"), ("/c/pilot", "/c/nothing"), ("/c/", "/d/"))
        ]
        assert any(study.deliver_events())
        study.deliver({"event_type": "submission.status.change", "resource_id": ids[0], "status": "something new"})
    assert [one.status_code for one in refused] == [403, 422, 403, 404]
    records = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert {record.name for record in records} >= {"dissensus.access", "dissensus.events"}
    messages = [f"{record.getMessage()} {record.__dict__}" for record in records]
    assert not [message for message in messages for prolific_id in ids if prolific_id in message]
    assert not [page.url for page in refused for prolific_id in ids if prolific_id in page.text]


def export_of(live: LiveSite, study: Study) -> str:
    options, staff_id = ratings.ExportOptions(purposes=("rating",)), study.campaign.staff_id
    parts = ratings.stream_ratings_csv(live.platform, "pilot", staff_id=staff_id, options=options, now=live.clock())
    text = b"".join(parts).decode()
    assert "item-0" in text
    return text


@sqlite_only
def test_a_submission_continues_in_another_browser(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    participant = study.start_submission()
    participant.visitor.rate(participant.agree(), Q_safe="No")
    elsewhere = live.visitor()
    page = participant.arrive(elsewhere)
    assert page.url.path == "/rate"
    assert elsewhere.rate(page, Q_safe="No").text.count("<dd>2</dd>") == 1


def test_a_second_submission_of_one_person_is_refused_and_counted(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    first, second = study.start_submission(), study.start_submission()
    pids = [prolific.submissions[one.submission]["participant_id"] for one in (first, second)]
    duplicate = replace(second, address=second.address.replace(pids[1], pids[0]))
    first.agree()
    # A second address opened before the first consent is refused at the last step.
    page = duplicate.arrive()
    assert "You have been here before" in page.text
    assert "return this submission" in page.text
    assert "Your return visit was counted, and nothing more" in page.text
    assert "complete?cc=" not in page.text
    assert (study.find_recruit(first.submission).n_repeat_visits, study.find_recruit(second.submission)) == (1, None)
    assert [line.numbers.raters["rating"] for line in lines(live)] == [1]


def lines(live: LiveSite) -> Any:
    return overview.list_all_campaigns(live.platform)


def test_two_open_consent_forms_of_one_person_enrol_one_rater(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    first, second = study.start_submission(), study.start_submission()
    pids = [prolific.submissions[one.submission]["participant_id"] for one in (first, second)]
    duplicate = replace(second, address=second.address.replace(pids[1], pids[0]))
    consents = []
    for participant in (first, duplicate):
        participant.visitor.send("/c/pilot", **hidden_fields(participant.arrive()))
        consents.append(participant.visitor.get("/c/pilot/consent"))
    ends = [
        participant.visitor.send("/c/pilot/consent", purpose="rating", read=hidden_fields(page)["read"])
        for participant, page in zip((first, duplicate), consents, strict=True)
    ]
    assert "/rate/" in ends[0].text
    assert "You have been here before" in ends[1].text
    assert [line.numbers.raters["rating"] for line in lines(live)] == [1]


@sqlite_only
def test_a_recruited_visitor_is_not_the_previous_user_of_the_browser(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    first, second = study.start_submission(), study.start_submission()
    first.agree()
    page = second.arrive(first.visitor)
    assert "What you may see" in page.text


@sqlite_only
def test_declining_consent_returns_with_a_code(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    participant = study.start_submission()
    page = participant.visitor.send("/c/pilot", **hidden_fields(participant.arrive()))
    declined = participant.visitor.get(unescape(re.findall(r'href="(/declined[^"]*)"', page.text)[0]))
    assert code_in(declined) == CODES["no_consent"]
    participant.return_to_prolific(declined)
    assert not any(study.deliver_events())
    assert study.find_recruit(participant.submission) is None


@sqlite_only
def test_turned_away_participants_are_paid_and_not_screened_again(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific, demographics=DEMOGRAPHICS, quota=ONE_OLD_SEAT)
    ends = []
    for age in ("old", "old"):
        participant = study.start_submission()
        page = participant.agree()
        ends.append(participant.visitor.send("/about-you", **hidden(page), rater_age=age))
    assert "/rate/" in ends[0].text
    assert code_in(ends[1]) == CODES["quota_full"]
    assert "stored separately, so that you are paid" in ends[1].text
    recruit = study.find_recruit(participant.submission)
    assert (recruit.rater_id, recruit.n_repeat_visits) == (None, 0)
    # Another browser with other answers is recognised.
    for _ in range(2):
        revisit = participant.arrive(live.visitor())
        assert code_in(revisit) == CODES["quota_full"]
    participant.return_to_prolific(ends[1])
    study.deliver_events()
    assert study.find_recruit(participant.submission).status == "SCREENED OUT"


@sqlite_only
def test_the_next_participant_in_a_browser_is_screened(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific, demographics=DEMOGRAPHICS, quota=ONE_OLD_SEAT)
    first, second, third = study.start_submission(), study.start_submission(), study.start_submission()
    first.visitor.send("/about-you", **hidden(first.agree()), rater_age="old")
    away = second.visitor.send("/about-you", **hidden(second.agree()), rater_age="old")
    assert code_in(away) == CODES["quota_full"]
    assert "What you may see" in third.arrive(second.visitor).text
    assert code_in(second.arrive()) == CODES["quota_full"]


def test_a_return_frees_the_seat_and_ends_the_visit(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific, demographics=DEMOGRAPHICS, quota=ONE_OLD_SEAT)
    leaves, comes = study.start_submission(), study.start_submission()
    page = leaves.agree()
    leaves.visitor.rate(leaves.visitor.send("/about-you", **hidden(page), rater_age="old"), Q_safe="No")
    assert study.seats() == ["held"]
    prolific.move(leaves.submission, "RETURNED")
    study.deliver_events()
    assert study.seats() == ["free"]
    over = leaves.visitor.get("/rate")
    assert "This visit has ended on Prolific." in over.text
    assert "Continue rating" not in over.text
    refused = leaves.visitor.send("/resume", **hidden(over))
    assert (refused.status_code, "further work would not be paid" in refused.text) == (409, True)
    page = comes.agree()
    page = comes.visitor.send("/about-you", **hidden(page), rater_age="old")
    assert code_in(comes.rate_all(page)) == CODES["completed"]
    assert study.seats() == ["taken"]


@sqlite_only
@pytest.mark.parametrize("pays", [True, False])
def test_the_page_after_stopping_explains_return_and_pay(live: LiveSite, prolific: Prolific, pays: bool) -> None:
    study = publish_study(live, prolific, pay=PAY if pays else None)
    participant = study.start_submission()
    response = participant.visitor.send("/stop", **hidden(participant.agree()))
    assert "please return your submission on Prolific" in response.text
    assert ("see how long you worked" in response.text) == pays, "without pay nobody is shown it"
    assert "need not do anything more" not in response.text


@sqlite_only
def test_the_sign_out_page_warns_about_personal_links(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    participant = study.start_submission()
    response = participant.visitor.send("/stop", **hidden(participant.agree()))
    signed_out = participant.visitor.send("/leave", **hidden(response))
    assert "or from Prolific or another panel, that link signs you in again" in signed_out.text
    assert participant.arrive().url.path == "/rate"


@sqlite_only
def test_paid_participants_get_no_more_items(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    participant = study.start_submission()
    participant.visitor.rate(participant.agree(), Q_safe="No")
    for status in ("AWAITING REVIEW", "APPROVED"):
        prolific.move(participant.submission, status)
    study.deliver_events()
    over = participant.arrive()
    assert "This visit has ended on Prolific." in over.text
    assert "/rate/" not in over.text


@sqlite_only
def test_timed_out_participants_continue_while_there_is_a_seat(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific, demographics=DEMOGRAPHICS, quota=ONE_OLD_SEAT)
    slow = study.start_submission()
    page = slow.agree()
    slow.visitor.send("/about-you", **hidden(page), rater_age="old")
    prolific.move(slow.submission, "TIMED-OUT")
    study.deliver_events()
    assert study.seats() == ["free"]
    response = slow.visitor.get("/rate")
    assert "return your submission on Prolific" in response.text
    end = slow.rate_all(slow.visitor.send("/resume", **hidden(response)))
    assert code_in(end) == CODES["completed"]
    assert study.seats() == ["taken"]


@sqlite_only
@pytest.mark.parametrize(("state", "code"), [("closed", "quota_full"), ("paused", None)])
def test_a_closed_campaign_returns_participants(live: LiveSite, prolific: Prolific, state: Any, code: Any) -> None:
    study = publish_study(live, prolific)
    campaigns.change_state(live.platform, "pilot", state, staff_id=study.campaign.staff_id, now=live.clock())
    page = study.start_submission().arrive()
    assert ("complete?cc=" in page.text) == (code is not None)
    assert code is None or code_in(page) == CODES[code]


@sqlite_only
def test_waiting_participants_can_end_their_visit(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific, n_items=1, replication=1)
    first, second = study.start_submission(), study.start_submission()
    first.agree()
    waiting = second.agree()
    assert "Nothing to rate right now" in waiting.text
    assert "you can end your visit here" in waiting.text
    assert code_in(waiting) == CODES["quota_full"]


@sqlite_only
@pytest.mark.parametrize("why", ["enough", "paused"])
def test_waiting_participants_with_work_are_decided_manually(live: LiveSite, prolific: Prolific, why: str) -> None:
    study = publish_study(live, prolific, max_per_day=1 if why == "enough" else 100)
    worked, began = study.start_submission(), study.start_submission()
    worked.visitor.rate(worked.agree(), Q_safe="No")
    began.agree()
    if why == "paused":
        campaigns.change_state(live.platform, "pilot", "paused", staff_id=study.campaign.staff_id, now=live.clock())
    response = worked.visitor.get("/rate")
    assert "you can end your visit here" in response.text
    assert code_in(response) == CODES["screened_out"]
    assert "complete?cc=" not in began.visitor.get("/rate").text


@sqlite_only
@pytest.mark.parametrize("pays", [True, False])
def test_withdrawn_participants_with_paid_work_are_not_asked_to_return(
    live: LiveSite, prolific: Prolific, pays: bool
) -> None:
    study = publish_study(live, prolific, pay=PAY if pays else None)
    worked, began = study.start_submission(), study.start_submission()
    page = worked.visitor.rate(worked.agree(), Q_safe="No")
    codes = []
    for participant, rating_page in ((worked, page), (began, began.agree())):
        (withdrawal,) = set(re.findall(r'href="(/withdraw/[^"]+)"', participant.visitor.get("/consents").text))
        assert "/rate/" in rating_page.text
        codes.append(code_in(participant.visitor.send(unescape(withdrawal))))
    assert codes == [CODES["screened_out" if pays else "no_consent"], CODES["no_consent"]]


@sqlite_only
def test_participants_at_closing_have_completed(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    worked, began = study.start_submission(), study.start_submission()
    worked.visitor.rate(worked.agree(), Q_safe="No")
    began.agree()
    campaigns.change_state(live.platform, "pilot", "closed", staff_id=study.campaign.staff_id, now=live.clock())
    assert code_in(worked.visitor.get("/rate")) == CODES["completed"]
    assert code_in(began.visitor.get("/rate")) == CODES["quota_full"]


@sqlite_only
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("SESSION_ID", "SESSION"), "SESSION_ID is missing"),
        (("PROLIFIC_PID=", "PROLIFIC_PID=<b>"), "PROLIFIC_PID is not a valid id"),
        (("STUDY_ID=", "STUDY_ID=%00"), None),
        (("STUDY_ID=", "STUDY_ID=%F0%9F%98%80"), "STUDY_ID is not a valid id"),
    ],
)
def test_an_address_without_ids_admits_nobody(
    live: LiveSite, prolific: Prolific, change: tuple[str, str], message: str | None
) -> None:
    study = publish_study(live, prolific)
    participant = study.start_submission()
    page = replace(participant, address=participant.address.replace(*change)).arrive()
    assert page.status_code == 422
    assert message is None or (message in page.text and "Open the study again on Prolific" in page.text)
    assert "<b>" not in page.text


@sqlite_only
def test_a_personal_link_needs_no_ids(live: LiveSite, prolific: Prolific) -> None:
    study = publish_study(live, prolific)
    (key,) = campaigns.create_invitations(live.platform, "pilot", 1, staff_id=study.campaign.staff_id, now=live.clock())
    visitor = live.visitor()
    page = visitor.enter(key)
    while "/rate/" in page.text:
        page = visitor.rate(page, Q_safe="No")
    assert "<h1>Thank you</h1>" in page.text
    assert "Prolific" not in page.text


@sqlite_only
def test_ids_are_not_stored_without_a_recruiter(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 1)
    visitor = live.visitor()
    ids = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
    page = visitor.get("/c/pilot", params={"key": str(campaign.key), **ids})
    page = visitor.send("/c/pilot", **hidden_fields(page))
    assert "Prolific" not in page.text
    visitor.send("/c/pilot/consent", purpose="rating", read=hidden_fields(page)["read"])
    assert [name for name, text in rows(live).items() if "a" * 24 in text] == []


@sqlite_only
def test_recruited_cells_have_separate_links(live: LiveSite, prolific: Prolific) -> None:
    by_cells = {**ONE_OLD_SEAT, "source": "recruiter"}
    study = publish_study_by_cells(live, prolific, quota=by_cells, demographics=DEMOGRAPHICS)
    participant = study.start_submission()
    end = participant.rate_all(participant.agree())
    assert "rater_age" in end.text
    end = participant.visitor.send("/about-you", **hidden(end), rater_age="old")
    assert code_in(end) == CODES["completed"]
    late = study.start_submission()
    assert code_in(late.arrive()) == CODES["quota_full"]


CHECKS = [
    {
        "name": "rules",
        "kind": "comprehension",
        "text": "What do you judge?",
        "scale": ["A", "B"],
        "correct_answers": ["A"],
    },
    *(
        {
            "name": f"choose{n}",
            "kind": "instruction",
            "text": "Choose B.",
            "scale": ["A", "B"],
            "correct_answers": ["B"],
            "after": n,
        }
        for n in (1, 2)
    ),
]


def answers(participant: Participant, page: httpx.Response, *check_answers: str) -> httpx.Response:
    """Rate all items, and answer the checks in between."""
    for answer in check_answers:
        if "/rate/" in page.text:
            page = participant.visitor.rate(page, Q_safe="No")
        page = participant.visitor.send("/check", **hidden_fields(page), answer=answer)
    return page


@sqlite_only
@pytest.mark.parametrize(
    ("check_answers", "code"),
    [
        (("A", "B", "B"), "completed"),
        (("B", "A", "A", "B"), "completed"),
        (("A", "A", "A"), "failed_attention"),
        (("B", "B"), "screened_out"),
    ],
)
def test_checks_end_a_visit_with_a_code(
    live: LiveSite, prolific: Prolific, check_answers: tuple[str, ...], code: Outcome
) -> None:
    study = publish_study(live, prolific, checks=CHECKS, estimated_minutes=20)
    participant = study.start_submission()
    end = answers(participant, participant.agree(), *check_answers)
    assert code_in(end) == CODES[code]
    if code == "screened_out":
        refused = participant.visitor.send("/resume", **hidden(end))
        assert (refused.status_code, "Your visit has ended" in refused.text) == (409, True)


@pytest.fixture
def delivered_event(live: LiveSite, prolific: Prolific) -> tuple[Study, dict[str, Any]]:
    """A running submission, and an event of it."""
    study = publish_study(live, prolific)
    participant = study.start_submission()
    participant.agree()
    study.deliver_events()
    event = {
        "event_type": "submission.status.change",
        "resource_id": participant.submission,
        "status": "AWAITING REVIEW",
    }
    return study, event


def status(study: Study, event: dict[str, Any]) -> str:
    return str(study.find_recruit(event["resource_id"]).status)


@sqlite_only
def test_repeated_or_late_events_change_nothing(delivered_event: tuple[Study, dict[str, Any]]) -> None:
    study, event = delivered_event
    assert study.deliver(event)
    assert not study.deliver(event)
    assert study.deliver({**event, "status": "APPROVED"})
    for late_status in ("RESERVED", "ACTIVE", "AWAITING REVIEW", "RETURNED", "something new", None, 7):
        assert not study.deliver({**event, "status": late_status})
    assert status(study, event) == "APPROVED"
    assert not study.deliver({**event, "resource_id": "9" * 24})
    assert not study.deliver({**event, "event_type": "study.status.change"})
    assert not study.deliver({"event_type": "something new"})


@sqlite_only
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"secret": "another"}, 403),
        ({"late": timedelta(hours=26)}, 403),
        ({"late": timedelta(hours=-1)}, 403),
        ({"payload": b"not json"}, 422),
        ({"payload": [1]}, 422),
        ({"payload": {"event_type": "submission.status.change", "resource_id": "<b>", "status": "RETURNED"}}, 422),
        ({"payload": b"[" * 70_000}, 422),
    ],
)
def test_forged_expired_or_malformed_events_are_rejected(
    delivered_event: tuple[Study, dict[str, Any]], options: dict[str, Any], expected: int
) -> None:
    study, event = delivered_event
    before, options = rows(study.live), dict(options)
    payload = options.pop("payload", {**event, "status": "RETURNED"})
    if "late" in options:
        options["at"] = study.live.clock() - options.pop("late")
    assert study.post(payload, **options).status_code == expected
    assert rows(study.live) == before


@sqlite_only
def test_an_event_without_a_signature_is_refused(delivered_event: tuple[Study, dict[str, Any]]) -> None:
    study, event = delivered_event
    assert httpx.post(f"{study.live.url}/prolific/events", json=event).status_code == 403


@sqlite_only
def test_without_the_secret_events_are_rejected(database_url: str) -> None:
    with serving(database_url) as live:
        refused = httpx.post(f"{live.url}/prolific/events", json={}, headers={"accept": "application/json"})
    assert (refused.status_code, "Set prolific_secret" in refused.text) == (404, True)
