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
FIRST_ROOM: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRating:
    """One item as one rater rated it."""

    assignment_id: str  # Which one: the same one again takes the place of the earlier one
    rater_id: str  # Who, and the name of the item
    item: str
    answers: Mapping[str, Answer]  # Those that hold, by question
    time_ms: int  # How long it took
    at: datetime  # When it was submitted last


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionScales:
    """The questions whose answers are counted."""

    questions: Mapping[str, tuple[str, ...]]  # Those that raters answer, each with its scale
    # What is made of them, each with the places of its parts among the questions
    overalls: Mapping[str, tuple[int, ...]]
    counted: str | None  # The one that agreement is measured by; None where no question has a scale
    steps: bool = False  # True if its answers are steps, whose distance counts
    cut: int | None = None  # Place of the first step that counts as yes; None where no two classes are told apart

    @property
    def all(self) -> dict[str, tuple[str, ...]]:
        """Questions and overalls, each with its scale."""
        scales = list(self.questions.values())
        return {**self.questions, **{name: scales[parts[0]] for name, parts in self.overalls.items()}}


def read_scales(questionnaire: Questionnaire) -> QuestionScales:
    """Return what is counted: the overall of everything where there is one, else the first question that counts.

    Examples
    --------
    >>> from dissensus.schema.questionnaire.shipped import load_questionnaire
    >>> read_scales(load_questionnaire("dices-350")).counted
    'Q_overall'
    """
    scaled = [one for one in questionnaire.questions if one.kind in ("single", "likert") and one.scale]
    names = [one.name for one in scaled]
    categories = {one.category for one in questionnaire.questions}
    whole = next((name for name in questionnaire.overalls if name not in categories), None)
    first = next((one for one in scaled if one.counts), None)
    steps = whole is None and first is not None and first.kind == "likert"
    return QuestionScales(
        questions={one.name: one.scale for one in scaled},
        overalls={name: tuple(map(names.index, parts)) for name, parts in questionnaire.overalls.items()},
        counted=whole or (None if first is None else first.name),
        steps=steps,
        cut=first.scale.index(first.cut) if steps and first is not None and first.cut is not None else None,
    )


class MonitorState:
    """Finished ratings, by their assignments: the same one again takes the place of the earlier one.

    What is made of them does not depend on the order in which they came, nor on how often.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from datetime import UTC, datetime
    >>> kept = MonitorState(QuestionScales(questions={"Q": ("No", "Yes")}, overalls={}, counted="Q"))
    >>> at = datetime(2026, 1, 1, tzinfo=UTC)
    >>> rating = FinishedRating(assignment_id="a", rater_id="r", item="1", answers={"Q": "No"}, time_ms=9, at=at)
    >>> kept.add([rating])
    >>> kept.add([replace(rating, answers={"Q": "Yes"})])
    >>> len(kept), kept.answers("Q").tolist()
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
        self._given = np.zeros((len(self._questions), FIRST_ROOM), np.int16)
        # Rater, item, milliseconds and seconds since 1970 of each row; no rater where the row is free.
        self._known = np.full((4, FIRST_ROOM), -1, np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, ratings: Iterable[FinishedRating]) -> None:
        """Take ratings in."""
        batch = {one.assignment_id: one for one in ratings}
        if not batch:
            return
        rows = [self._row(name) for name in batch]
        self._known[:, rows] = np.array([self._about(one) for one in batch.values()], np.int64).T
        self._given[:, rows] = self._answers(list(batch.values()))

    def drop(self, assignment_ids: Collection[str]) -> None:
        """Take ratings out; one that is not there is none."""
        rows = [self._rows.pop(name) for name in set(assignment_ids) if name in self._rows]
        self._known[0, rows] = -1
        self._free += rows

    def drop_raters(self, rater_ids: Collection[str]) -> None:
        """Take everything of some raters out."""
        codes = {self._rater_codes.pop(name) for name in set(rater_ids) if name in self._rater_codes}
        self.drop([name for name, row in self._rows.items() if self._known[0, row] in codes] if codes else ())

    def raters(self, rater_ids: Sequence[str]) -> Codes:
        """Return the place of each rating's rater among these, shape (N,), -1 where they are none of them."""
        return _index_names(self._rater_codes, rater_ids)[self._column(0)]

    def items(self, names: Sequence[str]) -> Codes:
        """Return the place of each rating's item among these, shape (N,), -1 where it is none of them."""
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
        """Return the code of each rating's answer, shape (N,), -1 where there is none of the scale."""
        given: Codes = self._given[list(self._questions).index(question), self._taken]
        return given

    @property
    def _taken(self) -> npt.NDArray[np.bool_]:
        taken: npt.NDArray[np.bool_] = self._known[0] >= 0
        return taken

    def _column(self, place: int) -> Codes:
        column: Codes = self._known[place, self._taken]
        return column

    def _row(self, assignment_id: str) -> int:
        known = self._rows.get(assignment_id)
        if known is not None:
            return known
        row = self._free.pop() if self._free else len(self._rows)
        if row >= self._known.shape[1]:
            self._known = np.concatenate([self._known, np.full_like(self._known, -1)], axis=1)
            self._given = np.concatenate([self._given, np.zeros_like(self._given)], axis=1)
        self._rows[assignment_id] = row
        return row

    def _about(self, one: FinishedRating) -> tuple[int, int, int, int]:
        rater = self._rater_codes.setdefault(one.rater_id, _next_code(self._rater_codes))
        item = self._item_codes.setdefault(one.item, _next_code(self._item_codes))
        return rater, item, one.time_ms, int(one.at.timestamp())

    def _answers(self, batch: Sequence[FinishedRating]) -> npt.NDArray[np.int16]:
        given = [[codes.get(_answer_text(one, name), -1) for one in batch] for name, codes in self._codes.items()]
        own = np.array(given, np.int16).reshape(len(given), len(batch))
        made = [
            _take_worst(own[list(parts)], len(self._questions[name])) for name, parts in self.scales.overalls.items()
        ]
        return np.concatenate([own, *(row[None] for row in made)])


def _answer_text(one: FinishedRating, question: str) -> str:
    answer = one.answers.get(question)
    return answer if isinstance(answer, str) else ""


def _next_code(codes: dict[str, int]) -> int:
    # The last code is the largest. One of a rater who left may be given again: no row has it any more.
    return next(reversed(codes.values()), -1) + 1


def _take_worst(parts: npt.NDArray[np.int16], n_categories: int) -> npt.NDArray[np.int16]:
    """Return the last answer on the scale, as `dissensus.schema.questionnaire.scale.worst_answer` has it."""
    highest = parts.max(axis=0)
    return np.where((parts >= 0).all(axis=0) | (highest == n_categories - 1), highest, -1).astype(np.int16)


def _index_names(codes: Mapping[str, int], names: Sequence[str]) -> npt.NDArray[np.int64]:
    places = np.full(max(codes.values(), default=-1) + 1, -1, np.int64)
    known = [(codes[name], place) for place, name in enumerate(names) if name in codes]
    if known:
        code, place = np.array(known).T
        places[code] = place
    return places
