"""Job that makes reports: one at a time, in a process that ends with it."""

import io
import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.campaigns import ABOUT_YOU, NOW, open_campaign
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.raters import enter

from dissensus.campaign.report_request import ReportRequest
from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.report.builder import build
from dissensus.store.core.database import connect
from dissensus.store.lists import reports as store
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.report import report_job, report_process, reports
from dissensus.workflows.report.report_job import ReportJob
from dissensus.workflows.report.report_process import make_report

AXES = ("rater_age", "rater_gender")


def ask(platform: Platform, staff_id: str, seed: int) -> str:
    request = ReportRequest(seed=seed)
    return reports.request_report(platform, "pilot", request, with_raters=True, staff_id=staff_id, now=NOW)


def test_one_report_is_claimed_at_a_time(platform: Platform) -> None:
    staff_id = open_campaign(platform).staff_id
    ids = [ask(platform, staff_id, seed) for seed in range(2)]
    later = NOW + timedelta(minutes=1)
    with platform.database.writing() as tx:
        first = store.claim_report(tx, until=later, now=NOW)
        assert first is not None
        assert store.claim_report(tx, until=later, now=NOW) is None
        again = store.claim_report(tx, until=later + timedelta(minutes=1), now=later)
        assert again == replace(first, n_claims=2)
        store.fail_report(tx, first, "The process of the first claim still runs.")
        store.fail_report(tx, again, "It failed.")
        second = store.claim_report(tx, until=later, now=NOW)
    assert second is not None
    assert {first.id, second.id} == set(ids)


def test_at_most_three_reports_of_a_campaign_wait(platform: Platform) -> None:
    staff_id = open_campaign(platform).staff_id
    ids = [ask(platform, staff_id, seed) for seed in range(3)]
    with pytest.raises(InvalidInput, match=r"3 reports of pilot wait or are under way. Ask again when one is done"):
        ask(platform, staff_id, 3)
    assert ask(platform, staff_id, 1) == ids[1]


def test_concurrent_requests_for_a_report_make_one(platform: Platform) -> None:
    staff_id = open_campaign(platform).staff_id
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda _: ask(platform, staff_id, 0), range(4)))
    assert len(set(ids)) == 1


def test_the_process_ends_with_an_error_of_the_database(tmp_path: Path) -> None:
    job = tmp_path / "job.json"
    os.mkfifo(job)  # The process waits for its job until it is killed.
    broken = Platform(connect(f"sqlite:///{tmp_path / 'blank.db'}", pool_size=1))
    claimed = store.ClaimedReport(id="a", campaign="pilot", staff_id="b", request="{}", with_raters=True, n_claims=1)
    with pytest.raises(Exception, match="campaign_report"):
        ReportJob()._run(broken, claimed, job, lambda: NOW)
    broken.close()


def test_other_texts_that_the_process_prints_do_not_stop_the_reader_of_its_progress() -> None:
    progress = [0.0]
    report_job._read_progress(io.StringIO("0.25\na text of a library\n0.5\n"), progress)
    assert progress == [0.5]


def test_a_report_of_few_raters_is_refused_with_the_remedy(tmp_path: Path) -> None:
    source = tmp_path / "ratings.parquet"
    rows = [{"item_id": "1", "rater_id": f"r{n}", "Q_safe": "Yes", "rater_age": str(n % 2)} for n in range(8)]
    pl.DataFrame(rows).write_parquet(source)
    request = ReportRequest(axis="rater_age", group="1").to_json()
    job = {"request": request, "source": str(source), "reviews": None, "title": "pilot", "suppress_below": 5}
    with pytest.raises(InvalidInput, match=r"Fewer than 5 raters are left.*Choose fewer filters"):
        make_report(job)


def write_sparse_ratings(path: Path, answers: Sequence[str] = ("0", "1", "2"), gold: Sequence[str] = ()) -> None:
    """Write ratings whose report lacks texts, topics and some of its axes, and gold labels unless they are given."""
    n_raters, n_items = 26, 12
    rows = [
        {"item_id": f"i{item}", "rater_id": f"r{rater:02}", "Q_safe": answers[(item * rater // 2) % len(answers)]}
        | ({"safety_gold": gold[item % len(gold)]} if gold else {})
        | {"rater_flagged": rater == 3, "rater_age": str(rater % 2), "rater_cohort": str(rater % 2)}
        | {"rater_town": str(rater % 13)}
        for rater in range(n_raters)
        for item in range(n_items)
        if (rater + item) % 3
    ]
    pl.DataFrame(rows).write_parquet(path)


def find_options(texts: str) -> list[str]:
    """The options of the command line and of Python that texts name."""
    return re.findall(r"--[a-z][\w-]*|\(?in Python", texts)


@pytest.mark.slow
@pytest.mark.parametrize("inference", [True, False])
def test_pages_of_a_report_name_places_of_the_site_and_no_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inference: bool
) -> None:
    monkeypatch.setattr(report_process, "REPLICATES", 39)
    source = tmp_path / "ratings.parquet"
    write_sparse_ratings(source)
    request = ReportRequest(inference=inference).to_json()
    job = {"request": request, "source": str(source), "reviews": None, "title": "pilot", "suppress_below": 0}
    content = json.dumps(make_report(job) | {"figures": []})
    assert find_options(content) == []
    expected = ["The texts of the items are not in the report", "leaves them out", "rater_town: 13 values are too many"]
    expected += ["it groups raters as rater_age does; choose it under"]
    expected += ["permutations were unrestricted"] if inference else ["There are no permutations; "]
    assert [text for text in expected if text not in content] == []
    ratings = read_ratings(source, questions="all")
    replicates = 39 if inference else 0
    command = build(ratings, permutations=replicates, bootstrap=replicates)
    reasons = " ".join([*command.notes, *(reason for section in command.sections for reason in section.absent)])
    options = {"--text-column", "--items", "--exclude-flagged", "--by"}
    assert set(re.findall(r"--[a-z][\w-]*", reasons)) >= options | {
        "--permute-within" if inference else "--permutations"
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "gold", "expected"),
    [
        (("Yes", "No", "Unsure"), (), 'Experts label items once \\"Gold labels of experts\\" is set'),
        (("No",), (), "Nobody answered 'Yes' to Q_safe. It is assumed that raters could have."),
        (("No", "Yes"), ("No", "Yes"), "It is assumed that no others were possible."),
        (("0", "1", "4"), (), "It is assumed that no others were possible."),
        (("Yes", "Unsure"), ("No", "Yes"), "Nobody answered 'No' to Q_safe. It is assumed that raters could have."),
    ],
)
def test_no_answers_make_a_report_of_the_site_name_options(
    tmp_path: Path, answers: Sequence[str], gold: Sequence[str], expected: str
) -> None:
    source = tmp_path / "ratings.parquet"
    write_sparse_ratings(source, answers, gold)
    request = ReportRequest(inference=False).to_json()
    job = {"request": request, "source": str(source), "reviews": None, "title": "pilot", "suppress_below": 0}
    content = json.dumps(make_report(job) | {"figures": []})
    assert find_options(content) == []
    assert expected in content


TWO_QUESTIONS = {"Q_a": ["No", "Yes"], "Q_b": ["No", "Yes"]}


@pytest.mark.parametrize(
    ("answers", "request_fields", "fault"),
    [
        ({"Q_safe": ["No", "Yes"]}, {"question": "Q_none"}, "Question 'Q_none' was not read."),
        ({"Q_safe": ["No", "Yes"]}, {"axes": ("rater_none",)}, "There is no axis 'rater_none'."),
        (TWO_QUESTIONS, {}, 'Several questions were read: Q_a, Q_b. Choose one under "Question"'),
        ({"Q_safe": [None, None]}, {}, "There are no answers in 'Q_safe'."),
        ({"Q_safe": ["low", "high"]}, {}, "The order of the answers to Q_safe is not known."),
        ({"comment": ["One.", "Two."]}, {}, "No column has a name like Q_overall"),
        (
            {"Q_safe": ["No", "Yes"], "item_number": [str(n) for n in range(30)]},
            {"attribute": "item_number", "value": "x"},
            "No rating has item_number = 'x'. There are '0', '1', '10', '11', '12', '13', '14', '15', '16', '17', "
            "'18', '19', '2', '20', '21', '22', '23', '24', '25', '26' and 10 more.",
        ),
    ],
)
def test_a_fault_of_a_report_is_told_in_the_words_of_the_site(
    tmp_path: Path, answers: dict[str, list[str]], request_fields: dict[str, Any], fault: str
) -> None:
    source, output = tmp_path / "ratings.parquet", tmp_path / "output.json"
    n = max(map(len, answers.values()))
    answers = {name: values * (n // len(values)) for name, values in answers.items()}
    ids = {"item_id": [str(number // 2) for number in range(n)], "rater_id": ["a", "b"] * (n // 2)}
    pl.DataFrame(ids | answers, schema_overrides=dict.fromkeys(answers, pl.String)).write_parquet(source)
    job = {"request": ReportRequest(**request_fields).to_json(), "source": str(source), "reviews": None}
    job_path = tmp_path / "job.json"
    job_path.write_text(json.dumps(job | {"title": "pilot", "suppress_below": 0, "output": str(output)}))
    report_process.main(job_path)
    told = json.loads(output.read_text())["fault"]
    assert told.startswith(fault)
    assert find_options(told) == []


def test_conversations_without_an_attempt_make_no_report(platform: Platform, tmp_path: Path) -> None:
    campaign = open_chat_campaign(platform)
    finish_chat(platform, enter(platform, campaign.key), ResponsePick(strength=3), "helpful")
    request = ReportRequest()
    by = {"with_raters": True, "staff_id": campaign.staff_id}
    report_id = reports.request_report(platform, "pilot", request, **by, now=NOW)  # type: ignore[arg-type]
    ReportJob()(platform, NOW)
    row, *_ = reports.load_report(platform, "pilot", report_id, **by)  # type: ignore[arg-type]
    assert (row.state, row.fault) == ("failed", "None of the conversations that were exported is a red-team attempt.")


@pytest.mark.parametrize("cross", ["rater_age", "rater_age*", "rater_age*rater_gender*rater_age"])
def test_axes_are_crossed_with_others(platform: Platform, cross: str) -> None:
    questions = [{"name": name, "text": "Which?", "scale": ["one", "other"]} for name in AXES]
    about = {**ABOUT_YOU, "questions": questions}
    staff_id = open_campaign(platform, demographics=about).staff_id
    with pytest.raises(InvalidInput, match="does not cross axes"):
        reports.request_report(
            platform, "pilot", ReportRequest(cross=(cross,)), with_raters=True, staff_id=staff_id, now=NOW
        )
