"""Answers of a judge to one question as codes, by item, seed, probe and persona."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.judge.ratings import tabulate_answers
from dissensus.pipeline.judge.records import JudgeRecord
from dissensus.pipeline.judge.request_plan import list_judged_questions
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.ratings.columns import ITEM_ID, OVERALL
from dissensus.schema.records.pair import PREFERENCE
from dissensus.stats.result import FloatArray, Int64Array

MATCH_KEYS = ("item", "number")
"""Columns by which an answer with a probe is matched with that without: the item, and the number of the seed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeAnswers:
    """Answers to one question."""

    question: str
    parts: tuple[str, ...]  # Questions from which an overall answer follows; else the question itself
    scale: tuple[str, ...]
    item_ids: tuple[str, ...]
    # One row per answer: index of the item, number of the seed, probe, persona, code of the answer, whether the scale
    # was reversed and the responses swapped, and position of the question.
    table: pl.DataFrame

    @property
    def personas(self) -> tuple[str, ...]:
        """Personas with answers."""
        return tuple(self.table["persona"].drop_nulls().unique(maintain_order=True))

    def count(self, persona: str | None = None) -> FloatArray:
        """Return the number of answers of each category to each item without probes, shape (I, K)."""
        own = self.table.filter(pl.col("probe").is_null(), pl.col("persona").eq_missing(pl.lit(persona)))
        cell = own["item"].to_numpy().astype(np.int64) * len(self.scale) + own["answer"].to_numpy()
        counts = np.bincount(cell, minlength=len(self.item_ids) * len(self.scale))
        return counts.reshape(len(self.item_ids), -1).astype(np.float64)

    def match_probe(self, probe: str) -> pl.DataFrame:
        """Return the answers to each item and seed without a probe and, as columns ``…_after``, with it."""
        plain = self.table.filter(pl.col("persona").is_null(), pl.col("probe").is_null())
        changed = self.table.filter(pl.col("persona").is_null(), pl.col("probe") == probe)
        return plain.join(changed, on=MATCH_KEYS, suffix="_after", maintain_order="left")


def read_answers(
    records: Sequence[JudgeRecord], questionnaire: Questionnaire, question: str | None = None
) -> JudgeAnswers:
    """Return the answers to a question; by default the overall one, else the only one."""
    questions = list_judged_questions(questionnaire)
    single = [name for name, asked in questions.items() if asked.kind != "multiple"]
    name = _choose_question([*single, *questionnaire.overalls], question)
    scale = questionnaire.scale(name) or ()
    answers = tabulate_answers(records, questionnaire, questions)[name].cast(pl.Enum(scale), strict=False)
    parts = tuple(questionnaire.overalls.get(name, (name,)))
    item_ids = tuple(dict.fromkeys(record.item_id for record in records))
    code = {item: number for number, item in enumerate(item_ids)}
    table = pl.DataFrame(
        {
            "item": [code[record.item_id] for record in records],
            "number": [record.number for record in records],
            "probe": pl.Series([record.probe for record in records], dtype=pl.String),
            "persona": pl.Series([record.persona for record in records], dtype=pl.String),
            "answer": answers.to_physical().cast(pl.Int64),
            # In the order of the scale as stored, which a preference between swapped responses turns.
            "is_reversed": [record.is_reversed != (record.is_swapped and name == PREFERENCE) for record in records],
            "is_swapped": [record.is_swapped for record in records],
            "position": [_find_position(record, parts) for record in records],
        }
    ).filter(pl.col("answer").is_not_null())
    if table.is_empty():
        raise InvalidInput(f"The judge gave no answer to {name}. Name another question.")
    return JudgeAnswers(question=name, parts=parts, scale=scale, item_ids=item_ids, table=table)


def align_ratings(answers: JudgeAnswers, item_ids: pl.Series, items: Int64Array) -> tuple[Int64Array, str | None]:
    """Return the item of each rating among those of the judge, -1 without its answer, and a note on the others."""
    code = {item: number for number, item in enumerate(answers.item_ids)}
    own = np.array([code.get(item, -1) for item in item_ids.to_list()], dtype=np.int64)
    if not (own >= 0).any():
        raise InvalidInput(
            f"No rated item was judged: items of the judge are {format_list(list(answers.item_ids), 3)}, and rated "
            f"ones {format_list(item_ids.head(3).to_list(), 3)}. The column {ITEM_ID} must have the same ids."
        )
    n_unjudged, n_unrated = int((own < 0).sum()), len(answers.item_ids) - int((own >= 0).sum())
    note = f"Only items both rated and judged count: {n_unjudged:,} were only rated, {n_unrated:,} only judged."
    return own[items], note if n_unjudged or n_unrated else None


def _choose_question(names: Sequence[str], question: str | None) -> str:
    if question is None:
        if OVERALL in names:
            return OVERALL
        if len(names) == 1:
            return names[0]
        if not names:
            raise InvalidInput(
                "The judge may give several answers to each question, and an audit compares single ones. Ask it a "
                "question of the kind single or likert."
            )
        raise InvalidInput(f"The judge answered several questions: {format_list(names)}. Name one: --question")
    if question not in names:
        raise NotFound(
            f"The judge was not asked {format_value(question)}, or may give several answers to it."
            f"{suggest(question, names)} There are {format_list(names)}."
        )
    return question


def _find_position(record: JudgeRecord, parts: Sequence[str]) -> float:
    """Return the mean position of a question, or of the parts of an overall one."""
    return float(np.mean([record.questions.index(part) for part in parts if part in record.questions] or [0]))
