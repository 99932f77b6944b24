"""Accumulated state of monitoring: finished ratings as columns of codes, updated rating by rating."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Answer

Codes = npt.NDArray[np.integer[Any]]
INITIAL_CAPACITY: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRating:
    """A submitted rating."""

    assignment_id: str  # A later rating replaces an earlier one of the same assignment
    rater_id: str
    item: str
    showing: int = 1  # 2 if the rater saw the item a second time
    answers: Mapping[str, Answer]  # Valid answers, by question
    time_ms: int  # Answer time before the first submission
    at: datetime  # Time of the first submission


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionScales:
    """Questions and overalls with their scales."""

    questions: Mapping[str, tuple[str, ...]]  # Scales of the questions
    overalls: Mapping[str, tuple[int, ...]]  # Indices of the questions of each overall
    primary_question: str | None  # Question by which agreement is measured; None without scales
    steps: bool = False  # True if its scale is ordinal steps
    cut: int | None = None  # Index of the first step that counts as yes; None without two classes

    @property
    def all(self) -> dict[str, tuple[str, ...]]:
        """Questions and overalls, each with its scale."""
        scales = list(self.questions.values())
        return {**self.questions, **{name: scales[parts[0]] for name, parts in self.overalls.items()}}


def read_scales(questionnaire: Questionnaire) -> QuestionScales:
    """Return the scales; the primary question is the overall of all questions, else the first question that counts.

    Examples
    --------
    >>> from dissensus.schema.questionnaire.shipped import load_questionnaire
    >>> read_scales(load_questionnaire("dices-350")).primary_question
    'Q_overall'
    """
    scaled = [
        question for question in questionnaire.questions if question.kind in ("single", "likert") and question.scale
    ]
    names = [question.name for question in scaled]
    categories = {question.category for question in questionnaire.questions}
    overall = next((name for name in questionnaire.overalls if name not in categories), None)
    first = next((question for question in scaled if question.in_overall), None)
    steps = overall is None and first is not None and first.kind == "likert"
    return QuestionScales(
        questions={question.name: question.scale for question in scaled},
        overalls={name: tuple(map(names.index, parts)) for name, parts in questionnaire.overalls.items()},
        primary_question=overall or (None if first is None else first.name),
        steps=steps,
        cut=first.scale.index(first.threshold) if steps and first is not None and first.threshold is not None else None,
    )


class MonitorState:
    """Finished ratings by assignment, of which the last one counts.

    Figures do not depend on the order of ratings, nor on repetitions.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from datetime import UTC, datetime
    >>> state = MonitorState(QuestionScales(questions={"Q": ("No", "Yes")}, overalls={}, primary_question="Q"))
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> rating = FinishedRating(assignment_id="a", rater_id="r", item="1", answers={"Q": "No"}, time_ms=9, at=at)
    >>> state.add([rating])
    >>> state.add([replace(rating, answers={"Q": "Yes"})])
    >>> len(state), state.answers("Q").tolist()
    (1, [1])
    """

    def __init__(self, scales: QuestionScales) -> None:
        self.scales = scales
        self._questions = scales.all
        self._codes = {
            name: {answer: code for code, answer in enumerate(scale)} for name, scale in scales.questions.items()
        }
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._rater_codes: dict[str, int] = {}
        self._item_codes: dict[str, int] = {}
        self._answer_codes = np.zeros((len(self._questions), INITIAL_CAPACITY), np.int16)
        # Rater, item, milliseconds and seconds since 1970 of each row; the rater of a free row is -1.
        self._columns = np.full((4, INITIAL_CAPACITY), -1, np.int64)
        self._changed: set[int] = set()  # Codes of items

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, ratings: Iterable[FinishedRating]) -> None:
        """Add ratings, or replace those of the same assignments."""
        batch = {rating.assignment_id: rating for rating in ratings}
        if not batch:
            return
        rows = [self._find_row(name) for name in batch]
        self._columns[:, rows] = np.array([self._encode(rating) for rating in batch.values()], np.int64).T
        self._changed.update(self._columns[1, rows].tolist())
        self._answer_codes[:, rows] = self._encode_answers(list(batch.values()))

    def drop(self, assignment_ids: Collection[str]) -> None:
        """Remove ratings; unknown assignments are ignored."""
        rows = [self._rows.pop(name) for name in set(assignment_ids) if name in self._rows]
        self._changed.update(self._columns[1, rows].tolist())
        self._columns[0, rows] = -1
        self._free += rows

    def drop_raters(self, rater_ids: Collection[str]) -> None:
        """Remove all ratings of some raters."""
        codes = {self._rater_codes.pop(name) for name in set(rater_ids) if name in self._rater_codes}
        self.drop([name for name, row in self._rows.items() if self._columns[0, row] in codes] if codes else ())

    def mark_raters(self, rater_ids: Collection[str]) -> None:
        """Mark the items of raters, whose groups changed, as changed."""
        codes = [self._rater_codes[name] for name in rater_ids if name in self._rater_codes]
        if codes:
            self._changed.update(self._columns[1, np.isin(self._columns[0], codes)].tolist())

    def take_changed_items(self) -> list[str]:
        """Return the items whose ratings, or groups of raters, changed since the last call."""
        names = list(self._item_codes)  # In the order of codes
        changed = [names[code] for code in sorted(self._changed)]
        self._changed = set()
        return changed

    def raters(self, rater_ids: Sequence[str]) -> Codes:
        """Return the index of each rating's rater among these, shape (N,), -1 for other raters."""
        return _index_names(self._rater_codes, rater_ids)[self._column(0)]

    def items(self, names: Sequence[str]) -> Codes:
        """Return the index of each rating's item among these, shape (N,), -1 for other items."""
        return _index_names(self._item_codes, names)[self._column(1)]

    @property
    def times_ms(self) -> Codes:
        """Duration of each rating in milliseconds, shape (N,)."""
        return self._column(2)

    @property
    def seconds(self) -> Codes:
        """Submission time of each rating, in whole seconds since 1970, shape (N,)."""
        return self._column(3)

    def answers(self, question: str) -> Codes:
        """Return the code of each rating's answer, shape (N,), -1 without an answer on the scale."""
        codes: Codes = self._answer_codes[list(self._questions).index(question), self._in_use]
        return codes

    @property
    def _in_use(self) -> npt.NDArray[np.bool_]:
        occupied: npt.NDArray[np.bool_] = self._columns[0] >= 0
        return occupied

    def _column(self, index: int) -> Codes:
        column: Codes = self._columns[index, self._in_use]
        return column

    def _find_row(self, assignment_id: str) -> int:
        """Return the row of an assignment, a new one if it has none."""
        if assignment_id in self._rows:
            return self._rows[assignment_id]
        row = self._free.pop() if self._free else len(self._rows)
        if row >= self._columns.shape[1]:
            self._columns = np.concatenate([self._columns, np.full_like(self._columns, -1)], axis=1)
            self._answer_codes = np.concatenate([self._answer_codes, np.zeros_like(self._answer_codes)], axis=1)
        self._rows[assignment_id] = row
        return row

    def _encode(self, rating: FinishedRating) -> tuple[int, int, int, int]:
        rater = self._rater_codes.setdefault(rating.rater_id, _next_code(self._rater_codes))
        item = self._item_codes.setdefault(rating.item, _next_code(self._item_codes))
        return rater, item, rating.time_ms, int(rating.at.timestamp())

    def _encode_answers(self, batch: Sequence[FinishedRating]) -> npt.NDArray[np.int16]:
        rows = [[codes.get(_answer_text(one, name), -1) for one in batch] for name, codes in self._codes.items()]
        answers = np.array(rows, np.int16).reshape(len(rows), len(batch))
        overalls = [
            _take_worst(answers[list(parts)], len(self._questions[name]))
            for name, parts in self.scales.overalls.items()
        ]
        return np.concatenate([answers, *(row[None] for row in overalls)])


def encode_answers(scales: QuestionScales, ratings: Sequence[FinishedRating], question: str) -> dict[str, int]:
    """Return the index on the scale of each answer to a question or overall by assignment, without missing answers."""
    state = MonitorState(scales)
    state.add(ratings)
    codes = zip((rating.assignment_id for rating in ratings), state.answers(question).tolist(), strict=True)
    return {assignment_id: code for assignment_id, code in codes if code >= 0}


def _answer_text(rating: FinishedRating, question: str) -> str:
    answer = rating.answers.get(question)
    return answer if isinstance(answer, str) else ""


def _next_code(codes: dict[str, int]) -> int:
    # The last code is the largest. The code of a removed rater may be reused, as no row has it.
    return next(reversed(codes.values()), -1) + 1


def _take_worst(parts: npt.NDArray[np.int16], n_categories: int) -> npt.NDArray[np.int16]:
    """Return the last answer on the scale, like `dissensus.schema.questionnaire.scale.worst_answer`."""
    highest = parts.max(axis=0)
    return np.where((parts >= 0).all(axis=0) | (highest == n_categories - 1), highest, -1).astype(np.int16)


def _index_names(codes: Mapping[str, int], names: Sequence[str]) -> npt.NDArray[np.int64]:
    indices = np.full(max(codes.values(), default=-1) + 1, -1, np.int64)
    pairs = [(codes[name], index) for index, name in enumerate(names) if name in codes]
    if pairs:
        code, index = np.array(pairs).T
        indices[code] = index
    return indices
