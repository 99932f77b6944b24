"""Raters from Prolific over HTTP: from its address to its code, and what it tells of them."""

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

import httpx
import pytest
from tests.recruit import fake_prolific
from tests.recruit.fake_prolific import Prolific
from tests.recruit.studies import CODES
from tests.support.campaigns import open_campaign
from tests.support.live_site import Live, hidden, serving
from tests.support.prolific_study import (
    ONE_OLD,
    SECRET,
    YOU,
    Somebody,
    Study,
    brought,
    code_in,
    published,
    published_by_cells,
    rows,
)
from tests.support.recruited_raters import PAY

from dissensus.recruit.prolific import Outcome
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.export import ratings


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url, prolific_secret=SECRET) as site:
        yield site


@pytest.fixture(scope="module")
def running() -> Iterator[Prolific]:
    with fake_prolific.serving() as state:
        yield state


@pytest.fixture
def prolific(running: Prolific, monkeypatch: pytest.MonkeyPatch) -> Prolific:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running.forget()
    return running


def test_from_the_address_to_the_code_and_back(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    somebody = study.somebody()
    assert code_in(somebody.arrive()) == CODES["no_consent"]
    page = somebody.agree()
    assert "complete?cc=" not in page.text
    assert study.tell() == [True, True]
    assert study.kept_of(somebody.submission).status == "ACTIVE"
    end = somebody.rate_all(page)
    assert code_in(end) == CODES["completed"]
    somebody.goes_back(end)
    assert study.tell() == [True, True]
    assert study.kept_of(somebody.submission).status == "APPROVED"
    over = somebody.visitor.get("/rate")
    assert "complete?cc=" not in over.text
    assert "On Prolific this visit has ended." in over.text


def test_ids_of_prolific_are_in_one_table_and_go_with_the_answers(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    before = rows(live)
    somebody = study.somebody()
    person = prolific.submissions[somebody.submission]["participant_id"]
    page = somebody.arrive()
    somebody.visitor.send("/c/pilot", **brought(page))
    assert rows(live) == before, "nothing is kept of who has not agreed"
    end = somebody.rate_all(somebody.agree())
    for known in (person, somebody.submission):
        assert [name for name, kept in rows(live).items() if known in kept] == ["recruit"]
    owner_page = export_of(live, study)
    assert person not in owner_page
    assert somebody.submission not in owner_page
    (withdrawal,) = set(re.findall(r'href="(/withdraw/[^"]+)"', end.text))
    done = somebody.visitor.send(unescape(withdrawal))
    assert code_in(done) == CODES["no_consent"]
    assert [name for name, kept in rows(live).items() if person in kept or somebody.submission in kept] == []
    assert not study.tell()[-1], "of a visit that nobody knows any more nothing is kept"


def test_no_log_and_no_refusal_has_an_id_of_prolific(
    live: Live, prolific: Prolific, caplog: pytest.LogCaptureFixture
) -> None:
    study = published(live, prolific)
    somebody, stranger = study.somebody(), study.somebody()
    ids = [somebody.submission, stranger.submission]
    ids += [prolific.submissions[one]["participant_id"] for one in ids]
    with caplog.at_level(logging.DEBUG):
        somebody.visitor.rate(somebody.agree(), Q_safe="No")
        refused = [
            replace(stranger, address=stranger.address.replace(*change)).arrive()
            for change in (("key=", "key=x"), ("STUDY_ID=", "STUDY_ID=x"), ("/c/pilot", "/c/nothing"), ("/c/", "/d/"))
        ]
        assert any(study.tell())
        study.deliver({"event_type": "submission.status.change", "resource_id": ids[0], "status": "something new"})
    assert [one.status_code for one in refused] == [403, 422, 403, 404]
    said = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert {record.name for record in said} >= {"dissensus.access", "dissensus.events"}
    assert not [record for record in said for known in ids if known in f"{record.getMessage()} {record.__dict__}"]
    assert not [one.url for one in refused for known in ids if known in one.text]


def export_of(live: Live, study: Study) -> str:
    asked, staff_id = ratings.ExportOptions(purposes=("rating",)), study.kept.staff_id
    parts = ratings.stream_ratings_csv(live.platform, "pilot", staff_id=staff_id, asked=asked, now=live.clock())
    text = b"".join(parts).decode()
    assert "item-0" in text
    return text


def test_the_same_submission_goes_on_in_another_browser(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    somebody = study.somebody()
    somebody.visitor.rate(somebody.agree(), Q_safe="No")
    elsewhere = live.visitor()
    page = somebody.arrive(elsewhere)
    assert page.url.path == "/rate"
    assert elsewhere.rate(page, Q_safe="No").text.count("<dd>2</dd>") == 1


def test_a_second_submission_of_one_person_is_refused_and_counted(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    first, second = study.somebody(), study.somebody()
    pids = [prolific.submissions[one.submission]["participant_id"] for one in (first, second)]
    again = replace(second, address=second.address.replace(pids[1], pids[0]))
    first.agree()
    # Whoever had the second address open before the first one agreed learns it at the last step.
    page = again.arrive()
    assert "You came here before" in page.text
    assert "return this submission" in page.text
    assert "That you came again was counted, and nothing more" in page.text
    assert "complete?cc=" not in page.text
    assert (study.kept_of(first.submission).n_repeat_visits, study.kept_of(second.submission)) == (1, None)
    assert [line.numbers.raters["rating"] for line in lines(live)] == [1]


def lines(live: Live) -> Any:
    return overview.list_all_campaigns(live.platform)


def test_two_submissions_that_race_make_one_rater(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    first, second = study.somebody(), study.somebody()
    pids = [prolific.submissions[one.submission]["participant_id"] for one in (first, second)]
    again = replace(second, address=second.address.replace(pids[1], pids[0]))
    consents = []
    for one in (first, again):
        one.visitor.send("/c/pilot", **brought(one.arrive()))
        consents.append(one.visitor.get("/c/pilot/consent"))
    ends = [
        one.visitor.send("/c/pilot/consent", purpose="rating", read=brought(page)["read"])
        for one, page in zip((first, again), consents, strict=True)
    ]
    assert "/rate/" in ends[0].text
    assert "You came here before" in ends[1].text
    assert [line.numbers.raters["rating"] for line in lines(live)] == [1]


def test_whom_a_recruiter_sends_is_not_taken_for_who_used_the_browser_before(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    first, second = study.somebody(), study.somebody()
    first.agree()
    page = second.arrive(first.visitor)
    assert "What you may see" in page.text


def test_who_does_not_agree_goes_back_with_a_code(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    somebody = study.somebody()
    page = somebody.visitor.send("/c/pilot", **brought(somebody.arrive()))
    declined = somebody.visitor.get(unescape(re.findall(r'href="(/declined[^"]*)"', page.text)[0]))
    assert code_in(declined) == CODES["no_consent"]
    somebody.goes_back(declined)
    assert not any(study.tell())
    assert study.kept_of(somebody.submission) is None


def test_who_finds_no_seat_is_paid_for_coming_and_not_asked_again(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific, demographics=YOU, quota=ONE_OLD)
    ends = []
    for age in ("old", "old"):
        somebody = study.somebody()
        page = somebody.agree()
        ends.append(somebody.visitor.send("/about-you", **hidden(page), rater_age=age))
    assert "/rate/" in ends[0].text
    assert code_in(ends[1]) == CODES["quota_full"]
    assert "kept, apart from everything else" in ends[1].text
    kept = study.kept_of(somebody.submission)
    assert (kept.rater_id, kept.n_repeat_visits) == (None, 0)
    # Another browser, and perhaps other answers: they are known.
    for _ in range(2):
        again = somebody.arrive(live.visitor())
        assert code_in(again) == CODES["quota_full"]
    somebody.goes_back(ends[1])
    study.tell()
    assert study.kept_of(somebody.submission).status == "SCREENED OUT"


def test_who_comes_after_somebody_turned_away_in_one_browser_is_asked(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific, demographics=YOU, quota=ONE_OLD)
    first, second, third = study.somebody(), study.somebody(), study.somebody()
    first.visitor.send("/about-you", **hidden(first.agree()), rater_age="old")
    away = second.visitor.send("/about-you", **hidden(second.agree()), rater_age="old")
    assert code_in(away) == CODES["quota_full"]
    assert "What you may see" in third.arrive(second.visitor).text
    assert code_in(second.arrive()) == CODES["quota_full"]


def test_a_return_frees_the_seat_and_ends_the_visit(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific, demographics=YOU, quota=ONE_OLD)
    leaves, comes = study.somebody(), study.somebody()
    page = leaves.agree()
    leaves.visitor.rate(leaves.visitor.send("/about-you", **hidden(page), rater_age="old"), Q_safe="No")
    assert study.seats() == ["held"]
    prolific.move(leaves.submission, "RETURNED")
    study.tell()
    assert study.seats() == ["free"]
    over = leaves.visitor.get("/rate")
    assert "On Prolific this visit has ended." in over.text
    assert "Go on rating" not in over.text
    refused = leaves.visitor.send("/go-on", **hidden(over))
    assert (refused.status_code, "nobody would pay you" in refused.text) == (409, True)
    page = comes.agree()
    page = comes.visitor.send("/about-you", **hidden(page), rater_age="old")
    assert code_in(comes.rate_all(page)) == CODES["completed"]
    assert study.seats() == ["taken"]


@pytest.mark.parametrize("pays", [True, False])
def test_who_stops_reads_what_is_seen_of_them_and_what_to_do(live: Live, prolific: Prolific, pays: bool) -> None:
    study = published(live, prolific, pay=PAY if pays else None)
    somebody = study.somebody()
    rest = somebody.visitor.send("/stop", **hidden(somebody.agree()))
    assert "please return your submission on Prolific" in rest.text
    assert ("see how long you worked" in rest.text) == pays, "without pay nobody is shown it"
    assert "need not do anything more" not in rest.text


def test_who_signed_out_reads_what_their_own_link_still_does(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    somebody = study.somebody()
    rest = somebody.visitor.send("/stop", **hidden(somebody.agree()))
    left = somebody.visitor.send("/leave", **hidden(rest))
    assert "from Prolific, that link signs you in again" in left.text
    assert somebody.arrive().url.path == "/rate"


def test_who_was_paid_already_is_given_nothing_more_to_rate(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    somebody = study.somebody()
    somebody.visitor.rate(somebody.agree(), Q_safe="No")
    for told in ("AWAITING REVIEW", "APPROVED"):
        prolific.move(somebody.submission, told)
    study.tell()
    over = somebody.arrive()
    assert "On Prolific this visit has ended." in over.text
    assert "/rate/" not in over.text


def test_who_ran_out_of_time_may_go_on_while_there_is_a_seat(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific, demographics=YOU, quota=ONE_OLD)
    slow = study.somebody()
    page = slow.agree()
    slow.visitor.send("/about-you", **hidden(page), rater_age="old")
    prolific.move(slow.submission, "TIMED-OUT")
    study.tell()
    assert study.seats() == ["free"]
    rest = slow.visitor.get("/rate")
    assert "return your submission on Prolific" in rest.text
    end = slow.rate_all(slow.visitor.send("/go-on", **hidden(rest)))
    assert code_in(end) == CODES["completed"]
    assert study.seats() == ["taken"]


@pytest.mark.parametrize(("state", "code"), [("closed", "quota_full"), ("paused", None)])
def test_a_campaign_that_lets_nobody_in_sends_back(live: Live, prolific: Prolific, state: Any, code: Any) -> None:
    study = published(live, prolific)
    campaigns.change_state(live.platform, "pilot", state, staff_id=study.kept.staff_id, now=live.clock())
    page = study.somebody().arrive()
    assert ("complete?cc=" in page.text) == (code is not None)
    assert code is None or code_in(page) == CODES[code]


def test_who_would_have_to_wait_can_end_their_visit(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific, n_items=1, replication=1)
    first, second = study.somebody(), study.somebody()
    first.agree()
    rest = second.agree()
    assert "Nothing to rate right now" in rest.text
    assert "you can end your visit here" in rest.text
    assert code_in(rest) == CODES["quota_full"]


@pytest.mark.parametrize("why", ["enough", "paused"])
def test_who_has_worked_and_must_wait_is_decided_on_by_a_person(live: Live, prolific: Prolific, why: str) -> None:
    study = published(live, prolific, most_a_day=1 if why == "enough" else 100)
    worked, began = study.somebody(), study.somebody()
    worked.visitor.rate(worked.agree(), Q_safe="No")
    began.agree()
    if why == "paused":
        campaigns.change_state(live.platform, "pilot", "paused", staff_id=study.kept.staff_id, now=live.clock())
    rest = worked.visitor.get("/rate")
    assert "you can end your visit here" in rest.text
    assert code_in(rest) == CODES["screened_out"]
    assert "complete?cc=" not in began.visitor.get("/rate").text


@pytest.mark.parametrize("pays", [True, False])
def test_who_withdraws_after_work_that_is_paid_is_not_asked_to_return_it(
    live: Live, prolific: Prolific, pays: bool
) -> None:
    study = published(live, prolific, pay=PAY if pays else None)
    worked, began = study.somebody(), study.somebody()
    page = worked.visitor.rate(worked.agree(), Q_safe="No")
    codes = []
    for one, shown in ((worked, page), (began, began.agree())):
        (withdrawal,) = set(re.findall(r'href="(/withdraw/[^"]+)"', one.visitor.get("/agreed").text))
        assert "/rate/" in shown.text
        codes.append(code_in(one.visitor.send(unescape(withdrawal))))
    assert codes == [CODES["screened_out" if pays else "no_consent"], CODES["no_consent"]]


def test_who_worked_when_the_campaign_was_closed_has_completed(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    worked, began = study.somebody(), study.somebody()
    worked.visitor.rate(worked.agree(), Q_safe="No")
    began.agree()
    campaigns.change_state(live.platform, "pilot", "closed", staff_id=study.kept.staff_id, now=live.clock())
    assert code_in(worked.visitor.get("/rate")) == CODES["completed"]
    assert code_in(began.visitor.get("/rate")) == CODES["quota_full"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("SESSION_ID", "SESSION"), "SESSION_ID is missing"),
        (("PROLIFIC_PID=", "PROLIFIC_PID=<b>"), "PROLIFIC_PID is not right"),
        (("STUDY_ID=", "STUDY_ID=%00"), None),
        (("STUDY_ID=", "STUDY_ID=%F0%9F%98%80"), "STUDY_ID is not right"),
    ],
)
def test_an_address_without_the_ids_lets_nobody_in(
    live: Live, prolific: Prolific, change: tuple[str, str], told: str | None
) -> None:
    study = published(live, prolific)
    somebody = study.somebody()
    page = replace(somebody, address=somebody.address.replace(*change)).arrive()
    assert page.status_code == 422
    assert told is None or (told in page.text and "Open the study again on Prolific" in page.text)
    assert "<b>" not in page.text


def test_a_personal_link_needs_no_ids(live: Live, prolific: Prolific) -> None:
    study = published(live, prolific)
    (key,) = campaigns.create_invitations(live.platform, "pilot", 1, staff_id=study.kept.staff_id, now=live.clock())
    visitor = live.visitor()
    page = visitor.enter(key)
    while "/rate/" in page.text:
        page = visitor.rate(page, Q_safe="No")
    assert "<h1>Thank you</h1>" in page.text
    assert "Prolific" not in page.text


def test_ids_are_not_kept_where_nobody_is_sent(live: Live) -> None:
    kept = open_campaign(live.platform, 1)
    visitor = live.visitor()
    ids = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
    page = visitor.get("/c/pilot", params={"key": str(kept.key), **ids})
    page = visitor.send("/c/pilot", **brought(page))
    assert "Prolific" not in page.text
    visitor.send("/c/pilot/consent", purpose="rating", read=brought(page)["read"])
    assert [name for name, kept in rows(live).items() if "a" * 24 in kept] == []


def test_cells_of_a_recruiter_have_addresses_of_their_own(live: Live, prolific: Prolific) -> None:
    by_cells = {**ONE_OLD, "source": "recruiter"}
    study = published_by_cells(live, prolific, quota=by_cells, demographics=YOU)
    somebody = study.somebody()
    end = somebody.rate_all(somebody.agree())
    assert "rater_age" in end.text
    end = somebody.visitor.send("/about-you", **hidden(end), rater_age="old")
    assert code_in(end) == CODES["completed"]
    late = study.somebody()
    assert code_in(late.arrive()) == CODES["quota_full"]


CHECKS = [
    {"name": "rules", "kind": "comprehension", "text": "What do you judge?", "scale": ["A", "B"], "right": ["A"]},
    *(
        {"name": f"choose{n}", "kind": "instruction", "text": "Choose B.", "scale": ["A", "B"], "right": ["B"]}
        | {"after": n}
        for n in (1, 2)
    ),
]


def answers(somebody: Somebody, page: httpx.Response, *given: str) -> httpx.Response:
    """Rate, and answer the checks in between."""
    for answer in given:
        if "/rate/" in page.text:
            page = somebody.visitor.rate(page, Q_safe="No")
        page = somebody.visitor.send("/check", **brought(page), answer=answer)
    return page


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("A", "B", "B"), "completed"),
        (("B", "A", "A", "B"), "completed"),
        (("A", "A", "A"), "failed_attention"),
        (("B", "B"), "screened_out"),
    ],
)
def test_how_checks_end_a_visit(live: Live, prolific: Prolific, given: tuple[str, ...], code: Outcome) -> None:
    study = published(live, prolific, checks=CHECKS, minutes=20)
    somebody = study.somebody()
    end = answers(somebody, somebody.agree(), *given)
    assert code_in(end) == CODES[code]
    if code == "screened_out":
        refused = somebody.visitor.send("/go-on", **hidden(end))
        assert (refused.status_code, "Your visit has ended" in refused.text) == (409, True)


@pytest.fixture
def known(live: Live, prolific: Prolific) -> tuple[Study, dict[str, Any]]:
    """A visit that is under way, and an event of it."""
    study = published(live, prolific)
    somebody = study.somebody()
    somebody.agree()
    study.tell()
    event = {"event_type": "submission.status.change", "resource_id": somebody.submission, "status": "AWAITING REVIEW"}
    return study, event


def status(study: Study, event: dict[str, Any]) -> str:
    return str(study.kept_of(event["resource_id"]).status)


def test_events_that_come_again_or_out_of_order_change_nothing(known: tuple[Study, dict[str, Any]]) -> None:
    study, event = known
    assert study.deliver(event)
    assert not study.deliver(event)
    assert study.deliver({**event, "status": "APPROVED"})
    for earlier in ("RESERVED", "ACTIVE", "AWAITING REVIEW", "RETURNED", "something new", None, 7):
        assert not study.deliver({**event, "status": earlier})
    assert status(study, event) == "APPROVED"
    assert not study.deliver({**event, "resource_id": "9" * 24})
    assert not study.deliver({**event, "event_type": "study.status.change"})
    assert not study.deliver({"event_type": "something new"})


@pytest.mark.parametrize(
    ("sent", "expected"),
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
def test_events_that_are_forged_late_or_broken_are_refused(
    known: tuple[Study, dict[str, Any]], sent: dict[str, Any], expected: int
) -> None:
    study, event = known
    before, sent = rows(study.live), dict(sent)
    payload = sent.pop("payload", {**event, "status": "RETURNED"})
    if "late" in sent:
        sent["at"] = study.live.clock() - sent.pop("late")
    assert study.post(payload, **sent).status_code == expected
    assert rows(study.live) == before


def test_an_event_without_a_signature_is_refused(known: tuple[Study, dict[str, Any]]) -> None:
    study, event = known
    assert httpx.post(f"{study.live.url}/prolific/events", json=event).status_code == 403


def test_a_site_without_the_secret_takes_no_events(database_url: str) -> None:
    with serving(database_url) as live:
        refused = httpx.post(f"{live.url}/prolific/events", json={}, headers={"accept": "application/json"})
    assert (refused.status_code, "Set prolific_secret" in refused.text) == (404, True)
