"""Exports of ratings."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.campaigns import ABOUT_YOU, CHECKS, NOW, TWO_QUESTIONS, definition, open_campaign, owner
from tests.support.rated_campaigns import rated_campaign

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Conflict, InvalidInput, NotFound, Unavailable
from dissensus.files.ratings.reader import read_ratings, validate
from dissensus.files.raw.table_reader import read_frame
from dissensus.report import build
from dissensus.schema.campaign.shipped import load_campaign, rename_campaign
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store import export as store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.database import connect
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.export import ratings as ratings_workflow
from dissensus.workflows.export.ratings import ExportOptions
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import attention_checks, enrolment, next_step, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

BOTH = {"rating": True, "release": True}


def enter(platform: Platform, campaign: CampaignRow, purposes: dict[str, bool], *, rehearsal: bool = False) -> RaterRow:
    return enrolment.enrol_rater(
        platform, Arrival(campaign.name, str(campaign.key), "en"), purposes, rehearsal=rehearsal, now=NOW
    )[0]


def rate(platform: Platform, rater: RaterRow, *, answers: dict[str, Any], limit: int = 10_000) -> int:
    """Rate up to `limit` items, and return their number."""
    state, n = next_step.find_next_step(platform, rater, now=NOW), 0
    while state.assignment is not None and n < limit:
        drafts = {name: DraftAnswer(value=value) for name, value in answers.items()}
        assignment_id = state.assignment.id
        save = AnswerSave(revision=1, visit="v", visible_ms=1500, idle_ms=0, open_ms=900, answers=drafts)
        state = rating.submit_answers(
            platform, rater, assignment_id, assignment_id, save, now=NOW + timedelta(seconds=n)
        )
        n += 1
    return n


@pytest.fixture
def pilot(platform: Platform) -> CampaignRow:
    """A campaign with one rater of each kind."""
    campaign = open_campaign(platform, 3, demographics=ABOUT_YOU)
    rates = {"Q_safe": "No", "Why": "=cmd|' /C calc'!A0"}
    for purposes in (BOTH, {"rating": True, "release": False}):
        rater = enter(platform, campaign, purposes)
        rate(platform, rater, answers=rates)
        rating.declare_attributes(platform, rater, {"rater_age": "old"}, now=NOW)
    rate(platform, enter(platform, campaign, BOTH, rehearsal=True), answers=rates)
    leaving = enter(platform, campaign, BOTH)
    rate(platform, leaving, answers=rates)
    withdrawal.withdraw_rater(platform, leaving.id, now=NOW)
    rate(platform, enter(platform, campaign, BOTH), answers=rates, limit=1)
    begun = enter(platform, campaign, BOTH)
    assignment = next_step.find_next_step(platform, begun, now=NOW).assignment
    assert assignment is not None
    draft = AnswerSave(revision=1, visit="v", visible_ms=0, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Yes")})
    rating.save_answers(platform, begun, assignment.id, "draft", draft, now=NOW)
    return campaign


def test_an_export_holds_submitted_ratings_of_consenting_raters(
    platform: Platform, pilot: CampaignRow, tmp_path: Path
) -> None:
    path = tmp_path / "pilot.csv"
    done = ratings_workflow.export_ratings(platform, "pilot", path, now=NOW)
    counts = done.counts
    assert (counts.exported.ratings, counts.exported.raters) == (7, 3)
    assert (counts.rehearsal.ratings, counts.rehearsal.raters) == (3, 1)
    assert (counts.without_consent.ratings, counts.withdrawn, counts.unfinished) == (0, 1, 1)
    frame = read_frame(path)
    assert frame.columns == [
        *("item_id", "rater_id", "rater_age", "Q_safe", "answer_time_ms", "answer_timestamp"),
        *("context", "response", "item_topic"),
    ]
    assert frame["rater_age"].value_counts().sort("rater_age").rows() == [(None, 1), ("old", 6)]
    assert set(frame["Q_safe"]) == {"No"}
    assert set(frame["answer_time_ms"]) == {"1500"}
    first = frame.filter(pl.col("item_id") == "item-0").row(0, named=True)
    assert (first["context"], first["response"], first["item_topic"]) == ("USER: Question 0", "Answer 0", "x")
    ratings = read_ratings(path, questions="all")
    assert (ratings.items.height, ratings.raters.height) == (3, 3)


def test_an_export_can_be_limited_to_a_purpose(platform: Platform, pilot: CampaignRow, tmp_path: Path) -> None:
    done = ratings_workflow.export_ratings(
        platform, "pilot", tmp_path / "a.csv", options=ExportOptions(purposes=("release",)), now=NOW
    )
    assert (done.counts.exported.ratings, done.counts.without_consent.ratings) == (4, 3)
    omission = "3 ratings of raters who did not agree to rating and release (raters: 1) are left out."
    assert omission in done.readme.read_text()
    with pytest.raises(NotFound, match=r"'releases' is not a purpose of pilot. Did you mean 'release'\?"):
        ratings_workflow.export_ratings(
            platform, "pilot", tmp_path / "b.csv", options=ExportOptions(purposes=("releases",)), now=NOW
        )
    assert not (tmp_path / "b.csv").exists()


def test_the_last_consent_to_a_purpose_holds(platform: Platform, pilot: CampaignRow, tmp_path: Path) -> None:
    campaigns.change_state(platform, "pilot", "paused", staff_id=pilot.staff_id, now=NOW)
    changed = definition(
        demographics=ABOUT_YOU,
        consent={
            "text": "We changed our minds.",
            "purposes": [
                {"name": "rating", "text": "My answers may be analysed.", "required": True},
                {"name": "release", "text": "My answers may be published."},
            ],
        },
    )
    campaigns.revise_campaign(platform, "pilot", changed, staff_id=pilot.staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=pilot.staff_id, now=NOW)
    counted = ratings_workflow.export_ratings(
        platform, "pilot", tmp_path / "a.csv", options=ExportOptions(purposes=("release",)), now=NOW
    ).counts
    assert counted.exported.ratings == 4
    with platform.database.reading() as tx:
        (window,) = store.iterate_ratings(tx, pilot.id, ["release"])
    # Of the two raters, the one with three of the four ratings agrees no longer.
    ((rater_id, n), _) = Counter(row.rater_id for row in window).most_common()
    assert n == 3
    enrolment.renew_consent(platform, load_rater(platform, rater_id), {**BOTH, "release": False}, now=NOW)
    counted = ratings_workflow.export_ratings(
        platform, "pilot", tmp_path / "b.csv", options=ExportOptions(purposes=("release",)), now=NOW
    ).counts
    assert counted.exported.ratings == 1


def load_rater(platform: Platform, rater_id: str) -> RaterRow:
    from dissensus.store import raters

    with platform.database.reading() as tx:
        rater = raters.find_rater(tx, rater_id)
    assert rater is not None
    return rater


def test_rater_ids_differ_between_exports(platform: Platform, pilot: CampaignRow, tmp_path: Path) -> None:
    exports = []
    for name in ("a.csv", "b.csv"):
        ratings_workflow.export_ratings(platform, "pilot", tmp_path / name, now=NOW)
        exports.append(read_frame(tmp_path / name))
    assert exports[0].drop("rater_id").equals(exports[1].drop("rater_id"))
    assert not set(exports[0]["rater_id"]) & set(exports[1]["rater_id"])
    assert exports[0]["rater_id"].str.contains(r"^r[0-9a-f]{20}$").all()


def test_free_text_is_exported_on_request_and_guarded_in_csv(
    platform: Platform, pilot: CampaignRow, tmp_path: Path
) -> None:
    options = ExportOptions(with_text=True)
    done = ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", options=options, now=NOW)
    assert done.n_guarded == 7
    assert set(read_frame(tmp_path / "a.csv")["Why"]) == {"'=cmd|' /C calc'!A0"}
    ratings_workflow.export_ratings(
        platform, "pilot", tmp_path / "b.csv", options=ExportOptions(with_text=True, raw=True), now=NOW
    )
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "c.jsonl", options=options, now=NOW)
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "d.parquet", options=options, now=NOW)
    for name in ("b.csv", "c.jsonl", "d.parquet"):
        assert set(read_frame(tmp_path / name)["Why"]) == {"=cmd|' /C calc'!A0"}
    assert "an apostrophe before it" in (tmp_path / "a.csv.README.txt").read_text()
    assert "Texts are unchanged" in (tmp_path / "d.parquet.README.txt").read_text()
    assert (
        "Without a column: 'Why'."
        in ratings_workflow.export_ratings(platform, "pilot", tmp_path / "e.csv", now=NOW).readme.read_text()
    )


def test_all_file_formats_hold_the_same_table(platform: Platform, pilot: CampaignRow, tmp_path: Path) -> None:
    frames = {}
    for end in ("csv", "csv.gz", "jsonl", "jsonl.gz", "parquet"):
        ratings_workflow.export_ratings(platform, "pilot", tmp_path / f"a.{end}", now=NOW)
        frames[end] = read_frame(tmp_path / f"a.{end}").drop("rater_id").cast(pl.String)
    assert all(frame.equals(frames["csv"]) for frame in frames.values())
    assert pl.read_parquet_schema(tmp_path / "a.parquet")["Q_safe"] == pl.Enum(["No", "Unsure", "Yes"])


def test_the_readme_describes_the_export(platform: Platform, pilot: CampaignRow, tmp_path: Path) -> None:
    done = ratings_workflow.export_ratings(platform, "pilot", tmp_path / "pilot.csv", now=NOW)
    assert done.readme == tmp_path / "pilot.csv.README.txt"
    readme = done.readme.read_text()
    assert readme.startswith("pilot.csv is internal: it is not for publication.\n")
    for line in (
        "Written:    2026-03-01T12:00:00Z",
        "Campaign:   pilot (open)",
        f"Definition: SHA-256 {pilot.digest}",
        "Rows:       7 ratings by 3 raters",
        "3 ratings of previews and dry runs (raters: 1) are left out.",
        "Raters who withdrew, and whose data were erased: 1.",
        "1 items that were begun and not submitted are left out.",
    ):
        assert line in readme


def test_refused_exports_leave_no_file(platform: Platform, tmp_path: Path) -> None:
    campaign = open_campaign(platform, 2)
    with pytest.raises(NotFound, match="pilot has no rating to export yet"):
        ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", now=NOW)
    with pytest.raises(NotFound, match="There is no campaign 'pilots'"):
        ratings_workflow.export_ratings(platform, "pilots", tmp_path / "a.csv", now=NOW)
    rate(platform, enter(platform, campaign, BOTH), answers={"Q_safe": "No"})
    with pytest.raises(
        InvalidInput, match=r"name a file that ends in one of .csv, .csv.gz, .jsonl, .jsonl.gz, .parquet"
    ):
        ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.xlsx", now=NOW)
    with pytest.raises(Unavailable, match="cannot be written"):
        ratings_workflow.export_ratings(platform, "pilot", tmp_path / "no" / "a.csv", now=NOW)
    assert list(tmp_path.glob("a*")) == []
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", now=NOW)
    with pytest.raises(Conflict, match="is there already"):
        ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", now=NOW)
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", overwrite=True, now=NOW)


def test_the_streamed_csv_equals_the_file_and_is_for_the_owner(
    platform: Platform, pilot: CampaignRow, tmp_path: Path
) -> None:
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", now=NOW)
    (tmp_path / "b.csv").write_bytes(
        b"".join(ratings_workflow.stream_ratings_csv(platform, "pilot", staff_id=pilot.staff_id, now=NOW))
    )
    frames = [read_frame(tmp_path / name).drop("rater_id") for name in ("a.csv", "b.csv")]
    assert frames[0].equals(frames[1])
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        ratings_workflow.stream_ratings_csv(platform, "pilot", staff_id=owner(platform.database, "other"), now=NOW)


def test_an_export_is_consistent_while_raters_submit(platform: Platform, pilot: CampaignRow) -> None:
    with platform.database.reading() as tx:
        windows = store.iterate_ratings(tx, pilot.id, ["rating"], window=2)
        window_sizes = [len(next(windows))]
        rate(platform, enter(platform, pilot, BOTH), answers={"Q_safe": "Yes"})
        window_sizes += [len(window) for window in windows]
    assert window_sizes == [2, 2, 2, 1]


def test_corrections_times_and_multiple_answers(platform: Platform, tmp_path: Path) -> None:
    questionnaire = {
        **TWO_QUESTIONS,
        "questions": [
            {"name": "Q_safe", "text": "Safe?", "scale": ["No", "Yes"], "decline": "I do not say"},
            {"name": "Q_kinds", "text": "Which?", "kind": "multiple", "scale": ["a", "b, c", "d"]},
            {"name": "Q_who", "text": "Who?", "scale": ["me", "other"], "self_describe": "other"},
        ],
    }
    campaign = open_campaign(platform, 1, questionnaire=questionnaire)
    rater = enter(platform, campaign, BOTH)
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    first = {"Q_safe": "Yes", "Q_kinds": ("a", "b, c"), "Q_who": "other", "Q_who_text": "my boss"}
    for n, (visit, ms, answers) in enumerate((("v", 1000, first), ("w", 500, first | {"Q_safe": "I do not say"}))):
        drafts = {name: DraftAnswer(value=value) for name, value in answers.items()}  # type: ignore[arg-type]
        save = AnswerSave(revision=n, visit=visit, visible_ms=ms, idle_ms=0, answers=drafts)
        rating.submit_answers(platform, rater, assignment.id, f"{n}", save, now=NOW + timedelta(hours=n))
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", now=NOW)
    row = read_frame(tmp_path / "a.csv").row(0, named=True)
    assert row["Q_safe"] is None
    assert json.loads(row["Q_kinds"]) == ["a", "b, c"]
    assert "Q_who_text" not in row
    assert (row["answer_time_ms"], row["answer_timestamp"]) == ("1000", "2026-03-01T12:00:00.000Z")
    assert (row["correction_time_ms"], row["corrected_at"]) == ("500", "2026-03-01T13:00:00.000Z")
    options = ExportOptions(with_text=True)
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "b.csv", options=options, now=NOW)
    assert read_frame(tmp_path / "b.csv")["Q_who_text"].to_list() == ["my boss"]


def test_an_export_of_covered_conversations_says_how_long_they_were_open(platform: Platform, tmp_path: Path) -> None:
    rater = enter(platform, open_campaign(platform, 1, click_to_reveal=True), BOTH)
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    save = AnswerSave(revision=1, visit="v", visible_ms=900, idle_ms=0, answers={"Q_safe": DraftAnswer(value="Yes")})
    with pytest.raises(InvalidInput, match="still hidden"):
        rating.submit_answers(platform, rater, assignment.id, "a", save, now=NOW)
    rating.submit_answers(platform, rater, assignment.id, "b", replace(save, open_ms=640), now=NOW)
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "out.csv", now=NOW)
    frame = read_frame(tmp_path / "out.csv")
    assert (frame.columns[-1], frame["open_time_ms"].to_list()) == ("open_time_ms", ["640"])
    assert read_ratings(tmp_path / "out.csv").axes == ()
    assert audit.audit_campaign(platform, "pilot").holds


def test_counts_of_checks_are_neither_questions_nor_axes(platform: Platform, tmp_path: Path) -> None:
    campaign = open_campaign(platform, 3, demographics=ABOUT_YOU, checks=CHECKS, estimated_minutes=20)
    for answers, age in (({"rules": "All of it", "swim": "Agree"}, "old"), ({"rules": "The last answer"}, "young")):
        rater = enter(platform, campaign, BOTH)
        state = next_step.find_next_step(platform, rater, now=NOW)
        while state.stage in ("check", "rate"):
            if state.due is not None:
                check, attempt = state.due.check, state.due.attempt
                value = check.correct_answers[0] if attempt > 1 else answers.get(check.name, check.correct_answers[0])
                state = attention_checks.answer_check(platform, rater, check.name, value, attempt=attempt, now=NOW)
            elif state.progress.n_done == 2 and age == "old":
                break
            else:
                rate(platform, rater, answers={"Q_safe": "No"}, limit=1)
                state = next_step.find_next_step(platform, rater, now=NOW)
        rating.declare_attributes(platform, rater, {"rater_age": age}, now=NOW)
    path = tmp_path / "checked.parquet"
    ratings_workflow.export_ratings(platform, "pilot", path, now=NOW)
    frame = read_frame(path)
    assert frame.columns[2:6] == ["rater_age", "checks_passed", "checks_failed", "Q_safe"]
    numbers = frame.group_by("rater_age", "checks_passed", "checks_failed").len().sort("rater_age", descending=True)
    assert numbers.rows() == [("young", 3, 0, 3), ("old", 2, 1, 2)]
    validation = validate(path)
    assert (validation.ok, validation.axes, validation.findings) == (True, ("rater_age",), ())
    ratings = read_ratings(path)
    assert (ratings.questions, ratings.raters.columns) == (("Q_safe",), ["rater_id", "rater_age"])
    assert not [name for name in ratings.items.columns if "check" in name]


def test_the_columns_of_dices_leave_out_checks(platform: Platform, tmp_path: Path) -> None:
    campaign = open_campaign(platform, 1, questionnaire="dices-350", checks=CHECKS[2:])
    rater = enter(platform, campaign, BOTH)
    attention_checks.answer_check(platform, rater, "rules", "The last answer", attempt=1, now=NOW)
    rate(platform, rater, answers={one.name: one.scale[0] for one in load_questionnaire("dices-350").questions})
    done = ratings_workflow.export_ratings(platform, "pilot", tmp_path / "checked.csv", now=NOW)
    assert done.left_out[-2:] == ("checks_passed", "checks_failed")
    assert tuple(read_frame(tmp_path / "checked.csv").columns) == load_questionnaire("dices-350").columns


def test_drafts_are_not_exported(platform: Platform, tmp_path: Path) -> None:
    rater = enter(platform, open_campaign(platform, 1), BOTH)
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None

    def save(revision: int, **answers: str | None) -> AnswerSave:
        drafts = {name: DraftAnswer(value=value) for name, value in answers.items()}
        return AnswerSave(revision=revision, visit="v", visible_ms=9, idle_ms=0, answers=drafts)

    rating.save_answers(
        platform, rater, assignment.id, "draft", save(1, Q_safe="Yes", Why="my neighbour Jane"), now=NOW
    )
    rating.submit_answers(platform, rater, assignment.id, "final", save(2, Q_safe="No"), now=NOW)
    rating.save_answers(platform, rater, assignment.id, "another tab", save(3, Q_safe=None), now=NOW)
    options = ExportOptions(with_text=True)
    ratings_workflow.export_ratings(platform, "pilot", tmp_path / "a.csv", options=options, now=NOW)
    row = read_frame(tmp_path / "a.csv").row(0, named=True)
    assert (row["Q_safe"], row["Why"]) == ("No", None)


TALKS = [
    [("human", "Hi"), ("bot", "Hello!")],
    [("bot", "- no question")],
    [("human", "a\nLAMDA: b"), ("bot", "c")],
    [("human", ""), ("bot", "Ä\n\n\"quoted\", 'it' 😀\u2028")],
    [("human", "one"), ("human", "two"), ("bot", "=1+1")],
]


@pytest.fixture
def official(platform: Platform) -> CampaignRow:
    """Two raters of DICES-350 who rated some hostile conversations."""
    staff_id = owner(platform.database)
    attributes = {"degree_of_harm": "Benign", "harm_type": "a, b", "safety_gold": "No", "phase": "Phase3", "mine": "x"}
    rated_items = [
        Item(f"{n}", Conversation.from_turns(turns), attributes)  # type: ignore[arg-type]
        for n, turns in enumerate(TALKS)
    ]
    campaign = rename_campaign(load_campaign("dices-350"), "official")
    campaigns.create_campaign(platform, campaign, rated_items, staff_id=staff_id, now=NOW)
    opened = campaigns.change_state(platform, "official", "open", staff_id=staff_id, now=NOW)
    questions = campaign.questionnaire.questions
    agreed = {purpose.name: True for purpose in campaign.consent.purposes}
    about = {"rater_gender": "Woman", "rater_race": "White", "rater_age": "gen z", "rater_education": "Other"}
    for worst in ("No", "Unsure"):
        rater = enter(platform, opened, agreed)
        answers = {one.name: worst if one.in_overall else one.scale[0] for one in questions}
        answers["Q4_misinformation"] = "No"
        rate(platform, rater, answers=answers)
        rating.declare_attributes(platform, rater, about, now=NOW)
    return opened


def test_a_campaign_of_dices_exports_the_official_columns(
    platform: Platform, official: CampaignRow, tmp_path: Path
) -> None:
    path = tmp_path / "official.csv"
    done = ratings_workflow.export_ratings(platform, "official", path, options=ExportOptions(raw=True), now=NOW)
    assert done.official == "dices-350"
    assert "item_mine" in done.left_out
    frame = read_frame(path)
    assert tuple(frame.columns) == (*load_questionnaire("dices-350").columns, "open_time_ms")
    assert frame["id"].to_list() == [f"{n}" for n in range(10)]
    assert set(frame["rater_education"]) == {"Other"}
    assert frame["answer_timestamp"].str.contains(r"^\d{10}$").all()
    assert sorted(frame["Q_overall"]) == ["No"] * 5 + ["Unsure"] * 5
    assert frame["Q_overall"].equals(frame["Q2_harmful_content_overall"].alias("Q_overall"))
    by_item = {row["item_id"]: row for row in frame.iter_rows(named=True)}
    assert (by_item["0"]["context"], by_item["0"]["response"]) == ("USER: Hi", "Hello!")
    assert (by_item["1"]["context"], by_item["1"]["response"]) == (None, "- no question")
    assert json.loads(by_item["2"]["context"]) == [{"speaker": "human", "text": "a\nLAMDA: b"}]
    assert by_item["3"]["response"] == TALKS[3][1][1]
    assert by_item["4"]["context"] == "USER: one\nUSER: two"


def test_conversations_are_guarded_in_csv(platform: Platform, official: CampaignRow, tmp_path: Path) -> None:
    done = ratings_workflow.export_ratings(platform, "official", tmp_path / "a.csv", now=NOW)
    assert done.n_guarded == 4
    responses = set(read_frame(tmp_path / "a.csv")["response"])
    assert {"'=1+1", "'- no question"} <= responses


@pytest.mark.slow
def test_an_exported_campaign_validates_and_reports_without_findings(sqlite_template: Path, tmp_path: Path) -> None:
    shutil.copy(sqlite_template, tmp_path / "whole.db")
    platform = Platform(connect(f"sqlite:///{tmp_path / 'whole.db'}"))
    rated_campaign(platform, 120, 24)
    path = tmp_path / "whole.csv"
    ratings_workflow.export_ratings(platform, "crowded", path, now=NOW)
    platform.close()
    validation = validate(path, questions="all")
    assert (validation.ok, list(validation.findings)) == (True, [])
    ratings = read_ratings(path, questions="all")
    assert (ratings.items.height, ratings.raters.height, len(ratings.questions)) == (120, 24, 24)
    # Nobody of the crowd declined.
    (unused,) = ratings.notes
    assert unused.startswith("Nobody answered 'I am not familiar with the topic of the conversation'")
    report = build(ratings, permutations=0, bootstrap=0)
    assert report.notes == (unused,)
    # The raw race is the race, nothing was permuted, and nobody flagged.
    assert [section.name for section in report.sections if section.absent] == ["raters", "chance", "filter"]
