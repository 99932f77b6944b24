"""Ratings table of a judge: a rater of kind ``model`` for each seed and persona."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dissensus.pipeline.judge.records import JudgeRecord
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.ratings.columns import ITEM_ID, MODEL, RATER_ID, RATER_KIND, RATER_MODEL, RATER_PERSONA


def tabulate_ratings(
    records: Sequence[JudgeRecord], questionnaire: Questionnaire, questions: Mapping[str, Question], name: str
) -> pl.DataFrame:
    """Return the answers without probes as a ratings table, with the overall columns of the questionnaire.

    The rater of each seed and persona has an id of its own: ``tern:1``, ``tern:1 rater_gender=Woman``.
    """
    rated = [record for record in records if record.probe is None and record.outcome == "answered"]
    answers = tabulate_answers(rated, questionnaire, questions)
    return pl.DataFrame(
        [
            pl.Series(ITEM_ID, [record.item_id for record in rated], dtype=pl.String),
            pl.Series(RATER_ID, [_name_rater(record, name) for record in rated], dtype=pl.String),
            pl.Series(RATER_KIND, [MODEL] * len(rated), dtype=pl.String),
            pl.Series(RATER_MODEL, [name] * len(rated), dtype=pl.String),
            pl.Series(RATER_PERSONA, [record.persona for record in rated], dtype=pl.String),
            *answers,
        ]
    )


def tabulate_answers(
    records: Sequence[JudgeRecord], questionnaire: Questionnaire, questions: Mapping[str, Question]
) -> pl.DataFrame:
    """Return the answers of each record to each question, and the overall ones; null where there is none."""
    frame = pl.DataFrame(
        [
            pl.Series(name, [_write_answer(record, question) for record in records], dtype=pl.String)
            for name, question in questions.items()
        ]
    )
    return frame.with_columns(
        take_worst(frame.select(pl.col(part).cast(pl.Enum(questions[part].scale), strict=False) for part in parts))
        .cast(pl.String)
        .alias(overall)
        for overall, parts in questionnaire.overalls.items()
    )


def _name_rater(record: JudgeRecord, name: str) -> str:
    return f"{name}:{record.number}" + (f" {record.persona}" if record.persona else "")


def _write_answer(record: JudgeRecord, question: Question) -> str | None:
    """Return an answer as exports write it: several as a JSON list, and none where the judge declined."""
    answer: Any = (record.answers or {}).get(question.name)
    if answer is None or answer == question.decline:
        return None
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
