"""Accumulated state of monitoring: finished ratings of each rater as columns of codes, to which more are added."""

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import numpy as np
import numpy.typing as npt

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Answer
from dissensus.stats.result import Int32Array, Int64Array, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRating:
    """A submitted rating; a later one replaces an earlier one of the same rater, item and showing."""

    assignment_id: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingCodes:
    """Ratings as columns of codes.

    Examples
    --------
    >>> codes = RatingCodes(
    ...     items=np.array([3, 7], np.int32), times=np.array([[9, 8], [60, 0]]), answers=np.array([[0, -1]], np.int16)
    ... )
    >>> RatingCodes.from_bytes(codes.to_bytes(), n_questions=1).answers.tolist()
    [[0, -1]]
    """

    items: Int32Array  # Shape (N,)
    times: Int64Array  # Answer times in milliseconds, and submission times in seconds since 1970, shape (2, N)
    answers: npt.NDArray[np.int16]  # Shape (Q, N), -1 without an answer on the scale

    def select(self, rows: Int64Array) -> "RatingCodes":
        """Return some ratings, in the order of their rows."""
        return RatingCodes(items=self.items[rows], times=self.times[:, rows], answers=self.answers[:, rows])

    def replace(self, later: "RatingCodes") -> "RatingCodes":
        """Return these ratings and later ones, which replace those of the same items, in the order of items."""
        both = RatingCodes(
            items=np.concatenate([later.items, self.items]),
            times=np.concatenate([later.times, self.times], axis=1),
            answers=np.concatenate([later.answers, self.answers], axis=1),
        )
        return both.select(np.unique(both.items, return_index=True)[1])

    def to_bytes(self) -> bytes:
        """Return the ratings in compressed bytes."""
        return zlib.compress(
            self.items.astype("<i4").tobytes()
            + self.times.astype("<i8").tobytes()
            + self.answers.astype("<i2").tobytes()
        )

    @classmethod
    def from_bytes(cls, content: bytes, *, n_questions: int) -> Self:
        """Return the ratings of `to_bytes`."""
        data = zlib.decompress(content)
        n = len(data) // (4 + 2 * 8 + 2 * n_questions)
        return cls(
            items=np.frombuffer(data, "<i4", n).astype(np.int32),
            times=np.frombuffer(data, "<i8", 2 * n, 4 * n).reshape(2, n).astype(np.int64),
            answers=np.frombuffer(data, "<i2", n_questions * n, 20 * n).reshape(n_questions, n).astype(np.int16),
        )


class MonitorState:
    """Finished ratings by rater and item; the last one of each counts.

    Figures do not depend on the order of ratings, nor on repetitions. Items are coded by their index among the given
    ones, and others after these as they come.

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

    def __init__(self, scales: QuestionScales, items: Iterable[str] = ()) -> None:
        self.scales = scales
        self._questions = list(scales.all)
        self._item_codes = {name: code for code, name in enumerate(items)}
        self._codes: dict[str, RatingCodes] = {}  # By rater
        self._changed: set[int] = set()  # Codes of items

    def __len__(self) -> int:
        return sum(codes.items.size for codes in self._codes.values())

    def add(self, ratings: Iterable[FinishedRating]) -> None:
        """Add ratings, or replace those of the same raters and items."""
        batch = list({(rating.rater_id, rating.item): rating for rating in ratings}.values())
        if not batch:
            return
        items = [self._item_codes.setdefault(rating.item, len(self._item_codes)) for rating in batch]
        times = [(rating.time_ms, int(rating.at.timestamp())) for rating in batch]
        codes = RatingCodes(
            items=np.array(items, np.int32),
            times=np.array(times, np.int64).T,
            answers=_encode_answers(self.scales, batch),
        )
        rows: dict[str, list[int]] = {}
        for row, rating in enumerate(batch):
            rows.setdefault(rating.rater_id, []).append(row)
        for rater_id, of_rater in rows.items():
            later = codes.select(np.array(of_rater))
            self._codes[rater_id] = self._codes.get(rater_id, self._empty).replace(later)
        self._changed.update(items)

    def drop(self, keys: Iterable[tuple[str, str]]) -> set[str]:
        """Remove the ratings of some raters and items, and return the raters who had one."""
        raters = set()
        for rater_id, item in keys:
            code, codes = self._item_codes.get(item), self._codes.get(rater_id)
            if code is not None and codes is not None and code in codes.items:
                self._codes[rater_id] = codes.select(np.flatnonzero(codes.items != code))
                self._changed.add(code)
                raters.add(rater_id)
        return raters

    def drop_raters(self, rater_ids: Collection[str]) -> None:
        """Remove all ratings of some raters."""
        self.mark_raters(rater_ids)
        for name in rater_ids:
            self._codes.pop(name, None)

    def mark_raters(self, rater_ids: Iterable[str]) -> None:
        """Mark the items of raters, whose groups changed, as changed."""
        for name in rater_ids:
            if name in self._codes:
                self._changed.update(self._codes[name].items.tolist())

    def take_changed_items(self) -> list[str]:
        """Return the items whose ratings, or groups of raters, changed since the last call."""
        names = list(self._item_codes)  # In the order of codes
        changed = [names[code] for code in sorted(self._changed)]
        self._changed = set()
        return changed

    def dump(self, rater_id: str) -> bytes | None:
        """Return the ratings of a rater as bytes for a state of the same scales and items, None without any."""
        codes = self._codes.get(rater_id)
        return codes.to_bytes() if codes is not None and codes.items.size else None

    def restore(self, rater_id: str, content: bytes) -> None:
        """Replace the ratings of a rater by those that `dump` returned."""
        self._codes[rater_id] = RatingCodes.from_bytes(content, n_questions=len(self._questions))
        self.mark_raters([rater_id])

    def raters(self, rater_ids: Sequence[str]) -> IntArray:
        """Return the index of each rating's rater among these, shape (N,), -1 for other raters."""
        indices = {name: index for index, name in enumerate(rater_ids)}
        of_raters = np.array([indices.get(name, -1) for name in self._codes], np.int64)
        return np.repeat(of_raters, np.array([codes.items.size for codes in self._codes.values()], np.int64))

    def items(self, names: Sequence[str]) -> IntArray:
        """Return the index of each rating's item among these, shape (N,), -1 for other items."""
        indices = np.full(len(self._item_codes), -1, np.int64)
        pairs = [(self._item_codes[name], index) for index, name in enumerate(names) if name in self._item_codes]
        if pairs:
            codes, index = np.array(pairs).T
            indices[codes] = index
        return indices[self._column(lambda codes: codes.items)]

    @property
    def times_ms(self) -> IntArray:
        """Answer time of each rating in milliseconds, shape (N,)."""
        return self._column(lambda codes: codes.times[0])

    @property
    def seconds(self) -> IntArray:
        """Submission time of each rating, in whole seconds since 1970, shape (N,)."""
        return self._column(lambda codes: codes.times[1])

    def answers(self, question: str) -> IntArray:
        """Return the code of each rating's answer, shape (N,), -1 without an answer on the scale."""
        row = self._questions.index(question)
        return self._column(lambda codes: codes.answers[row])

    @property
    def _empty(self) -> RatingCodes:
        return RatingCodes(
            items=np.zeros(0, np.int32),
            times=np.zeros((2, 0), np.int64),
            answers=np.zeros((len(self._questions), 0), np.int16),
        )

    def _column(self, select: Callable[[RatingCodes], IntArray]) -> IntArray:
        return np.concatenate([select(codes) for codes in (self._empty, *self._codes.values())])


def encode_answers(scales: QuestionScales, ratings: Sequence[FinishedRating], question: str) -> dict[str, int]:
    """Return the index on the scale of each answer to a question or overall by assignment, without missing answers."""
    codes = _encode_answers(scales, ratings)[list(scales.all).index(question)].tolist()
    return {rating.assignment_id: code for rating, code in zip(ratings, codes, strict=True) if code >= 0}


def _encode_answers(scales: QuestionScales, batch: Sequence[FinishedRating]) -> npt.NDArray[np.int16]:
    """Return the codes of the answers to all questions and overalls, shape (Q, N)."""
    rows = []
    for name, scale in scales.questions.items():
        codes = {answer: code for code, answer in enumerate(scale)}
        rows.append([codes.get(_answer_text(rating, name), -1) for rating in batch])
    answers = np.array(rows, np.int16).reshape(len(rows), len(batch))
    overalls = [_take_worst(answers[list(parts)], len(scales.all[name])) for name, parts in scales.overalls.items()]
    return np.concatenate([answers, *(row[None] for row in overalls)])


def _answer_text(rating: FinishedRating, question: str) -> str:
    answer = rating.answers.get(question)
    return answer if isinstance(answer, str) else ""


def _take_worst(parts: npt.NDArray[np.int16], n_categories: int) -> npt.NDArray[np.int16]:
    """Return the last answer on the scale, like `dissensus.schema.questionnaire.scale.worst_answer`."""
    highest = parts.max(axis=0)
    return np.where((parts >= 0).all(axis=0) | (highest == n_categories - 1), highest, -1).astype(np.int16)
