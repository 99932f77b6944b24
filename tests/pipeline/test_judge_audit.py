"""Audits of a judge from hand-made records: who and what enters each statistic."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from tests.support.judged_items import SCALE, make_questionnaire

from dissensus.errors import InvalidInput
from dissensus.pipeline.judge.audit.audit import audit_judge
from dissensus.pipeline.judge.audit.result import JudgeAudit
from dissensus.pipeline.judge.audit.rows import AuditRow
from dissensus.pipeline.judge.records import JudgeRecord, JudgeResponses
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.parser import parse_questionnaire
from dissensus.schema.ratings.table import Ratings

PERSONA = "rater_group=first"
NAMES = ("Q1_harm", "Q2_rude")


def record(
    item: int, step: int, *, order: Sequence[str] = NAMES, probe: str | None = None, persona: str | None = None
) -> JudgeRecord:
    return JudgeRecord(
        item_id=f"i{item}",
        number=1,
        probe=probe,
        persona=persona,
        questions=tuple(order),
        is_reversed=False,
        outcome="answered",
        answers=dict.fromkeys(order, SCALE[step]),
    )


def audit(
    records: Sequence[JudgeRecord],
    rows: Sequence[tuple[int, str, str, int]],
    questionnaire: Questionnaire | None = None,
    **options: Any,
) -> JudgeAudit:
    """Audit records beside ratings given as item, rater, group and step."""
    people = pl.DataFrame(
        [(f"i{item}", rater, group, SCALE[step]) for item, rater, group, step in rows],
        schema=["item_id", "rater_id", "rater_group", "Q_overall"],
        orient="row",
    )
    responses = JudgeResponses(
        judge="tern", questionnaire=questionnaire or make_questionnaire(), records=tuple(records)
    )
    ratings = Ratings.from_frame(people, categories=SCALE) if rows else None
    return audit_judge(responses, ratings, **options)


def pick(result: JudgeAudit, metric: str, group: str | None) -> AuditRow:
    (row,) = [row for row in result.rows if row.metric == metric and row.group == group]
    return row


def test_raters_who_do_not_enter_an_estimate_do_not_count() -> None:
    """Of six raters of the first group, three rated common items, and three an item each that no other rater has."""
    common = [(item, f"{group}{r}", group, r % 3) for group in ("first", "second") for r in range(3) for item in (0, 1)]
    alone = [(2 + r, f"first{3 + r}", "first", 0) for r in range(3)]
    more = [(item, f"second{r}", "second", 1) for r in range(3, 7) for item in (0, 1)]
    records = [record(item, 1) for item in range(5)]
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"suppress_below": 5, "min_raters": 1}, "withheld: fewer than 5 raters"),
        ({"min_raters": 5}, "fewer than 5 raters"),
    )
    for options, reason in cases:
        result = audit(records, [*common, *alone, *more], by="group", **options)
        for metric in ("agreement", "nearer_share"):
            row = pick(result, metric, "first")
            assert (row.estimate, row.n_raters) == (None, 0)
            assert (row.reason or "").startswith(reason)
        assert pick(result, "agreement", None).n_raters == 10


def test_a_persona_is_compared_on_the_items_of_both_sides() -> None:
    """The label moves the judge on items of the others alone, which says nothing of its own group."""
    first = [(item, f"first{r}", "first", (item + r) % 3) for r in range(8) for item in range(10) if (item + r) % 8 < 1]
    second = [(item, f"second{r}", "second", 2) for r in range(8) for item in range(20)]
    plain = [record(item, 0) for item in range(20)]
    acted = [record(item, 2 if item >= 10 else 0, persona=PERSONA) for item in range(20)]
    acted[0] = replace(acted[0], model="tern-2")
    plain[0] = replace(plain[0], model="tern-1")
    result = audit([*plain, *acted], [*first, *second], min_raters=0)
    assert "The server reported 2 models, which are audited as one judge: 'tern-1', 'tern-2'." in result.notes
    assert pick(result, "toward_others", "first").estimate == 0.5
    more = pick(result, "toward_group_more", "first")
    assert (more.estimate, more.n_items, more.n_raters, more.n_answers) == (0, 10, 16, 90)


def test_a_question_that_stays_at_its_place_has_no_shift() -> None:
    names = ("Q1", "Q2", "Q3")
    questionnaire = parse_questionnaire(
        {
            "name": "three",
            "languages": ["en"],
            "title": "Three",
            "scale": list(SCALE),
            "questions": [{"name": name, "text": "Harm?"} for name in names],
        }
    )
    plain = [record(item, 0, order=names) for item in range(4)]
    turned = [record(item, 1, order=names[::-1], probe="questions") for item in range(4)]
    middle, last = (
        next(row for row in audit([*plain, *turned], [], questionnaire, question=name).rows if row.metric == "shift")
        for name in ("Q2", "Q3")
    )
    assert middle.estimate is None
    assert "same place" in (middle.reason or "")
    assert last.estimate == -0.5


def test_options_and_questionnaires_that_allow_no_audit_are_refused() -> None:
    with pytest.raises(InvalidInput, match="min_raters is -1"):
        audit([record(0, 0)], [], min_raters=-1)
    questionnaire = parse_questionnaire(
        {
            "name": "kinds",
            "languages": ["en"],
            "title": "Kinds",
            "questions": [{"name": "Q1", "text": "Which?", "kind": "multiple", "scale": ["rude", "wrong"]}],
        }
    )
    with pytest.raises(InvalidInput, match="may give several answers to each question"):
        audit([record(0, 0, order=("Q1",))], [], questionnaire)
