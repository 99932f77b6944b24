"""Answer saves of a page and their merge: nothing is overwritten, the latest revision counts.

A page takes the revision of an assignment when it opens it, and counts on from there with each change. A save that
comes late, from a network that was dead or from another device, therefore never takes the place of a later one, and no
clock of a rater matters. Of two saves with one revision the one that came later holds.

A preference is kept by the responses of the item, A and B; a page and what it sends have it by left and right.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dissensus.schema.questionnaire.question import Answer
from dissensus.schema.records import pair
from dissensus.schema.records.pair import PREFERENCE
from dissensus.schema.records.preference import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAnswer:
    """One answer as it was given."""

    value: Answer | None  # The answer, None if it was taken back
    first_ms: int = 0  # When it was first and last given, in milliseconds of the visible time of its visit
    last_ms: int = 0
    changes: int = 0  # How often it was changed after it was first given


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSave:
    """Answers to one assignment that a page sent at once."""

    revision: int  # Count of changes of the assignment
    visit: str  # Which showing of the item on which page
    visible_ms: int  # Of this visit so far: with the page in view, and of those without any input for a while
    idle_ms: int
    answers: Mapping[str, DraftAnswer]


def swap_preference(answers: Mapping[str, DraftAnswer], first: Side | None) -> dict[str, DraftAnswer]:
    """Return answers as they are kept from those by the sides that a rater sees, or these from those.

    Examples
    --------
    >>> swap_preference({"Q_preference": DraftAnswer(value="-3")}, "b")["Q_preference"].value
    '3'
    """
    values = answers.get(PREFERENCE)
    if first != "b" or values is None or not isinstance(values.value, str):
        return dict(answers)
    return {**answers, PREFERENCE: replace(values, value=pair.swap_preference(values.value))}


def to_stored_save(save: AnswerSave, first: Side | None) -> AnswerSave:
    """Return a save as it is kept; see `swap_preference`."""
    return replace(save, answers=swap_preference(save.answers, first))


def digest_save(save: AnswerSave) -> str:
    """Return the SHA-256 of all that a save says, in hexadecimal; what is kept of it later must have the same."""
    values = save.answers.items()
    answers = {name: [one.value, one.first_ms, one.last_ms, one.changes] for name, one in values}
    said = [save.revision, save.visit, save.visible_ms, save.idle_ms, answers]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def merge_saves(saves: Iterable[AnswerSave]) -> dict[str, DraftAnswer]:
    """Return the answers that hold, from saves in the order in which they came.

    Examples
    --------
    >>> def save(revision, answer):
    ...     answers = {"Q": DraftAnswer(value=answer)}
    ...     return AnswerSave(revision=revision, visit="v", visible_ms=0, idle_ms=0, answers=answers)
    >>> merge_saves([save(1, "No"), save(3, "Yes"), save(2, "Unsure")])["Q"].value
    'Yes'
    """
    latest: dict[str, tuple[int, DraftAnswer]] = {}
    for save in saves:
        for question, values in save.answers.items():
            if question not in latest or save.revision >= latest[question][0]:
                latest[question] = (save.revision, values)
    return {question: values for question, (_, values) in latest.items() if values.value is not None}


def select_submitted(finals: Iterable[AnswerSave]) -> dict[str, DraftAnswer]:
    """Return the answers that were submitted, from the saves that ended an item, in the order in which they came.

    They are those of the last of them by revision, whole: what was drafted before or after was not submitted.
    """
    return merge_saves([max(enumerate(finals), key=lambda one: (one[1].revision, one[0]))[1]])


def answer_time_ms(saves: Iterable[AnswerSave]) -> int:
    """Return how long an item took: the visible time of all visits, as DICES gives one time for all questions.

    A visit counts once, with the longest time that it reported.
    """
    longest: dict[str, int] = {}
    for save in saves:
        longest[save.visit] = max(longest.get(save.visit, 0), save.visible_ms)
    return sum(longest.values())
