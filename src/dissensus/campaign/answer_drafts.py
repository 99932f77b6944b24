"""Answer saves of a page and their merge: the latest revision counts.

A page begins with the revision of the assignment that the site sends, and increments it with each change. A late
save, after a network failure or from another device, therefore never overrides a newer one, and the clocks of raters
do not matter. Of two saves with the same revision the later arrival counts.

Preferences are stored by response, A or B; pages show and send them by side, left or right.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dissensus.schema.canonical_json import digest_json
from dissensus.schema.questionnaire.question import Answer
from dissensus.schema.records import pair
from dissensus.schema.records.pair import PREFERENCE
from dissensus.schema.records.preference import Side


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAnswer:
    """An answer to one question, with its times."""

    value: Answer | None  # None if it was removed
    first_ms: int = 0  # visible time of the visit when the question was first answered, in milliseconds
    last_ms: int = 0  # the same for the last change
    changes: int = 0  # number of changes after the first answer
    bulk: bool = False  # True if it was given to the rest of a grid at once, and not changed since


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSave:
    """Answers to one assignment that a page sent in one request."""

    revision: int  # number of changes of the assignment
    visit: str  # id of one display of the item on one page
    visible_ms: int  # time of the visit so far with the page in view
    idle_ms: int  # part of it without input
    open_ms: int | None = None  # part of it with a covered conversation uncovered; None if it never was
    answers: Mapping[str, DraftAnswer]

    @property
    def length(self) -> int:
        """Number of characters of the answers."""
        return sum(len("".join(answer.value or ())) for answer in self.answers.values())


def swap_preference(answers: Mapping[str, DraftAnswer], first: Side | None) -> dict[str, DraftAnswer]:
    """Convert the preference among answers between responses (stored) and sides (shown), in both directions.

    Examples
    --------
    >>> swap_preference({"Q_preference": DraftAnswer(value="-3")}, "b")["Q_preference"].value
    '3'
    """
    preference = answers.get(PREFERENCE)
    if first != "b" or preference is None or not isinstance(preference.value, str):
        return dict(answers)
    return {**answers, PREFERENCE: replace(preference, value=pair.swap_preference(preference.value))}


def to_stored_save(save: AnswerSave, first: Side | None) -> AnswerSave:
    """Convert a save from the sides that a rater saw to responses."""
    return replace(save, answers=swap_preference(save.answers, first))


def digest_save(save: AnswerSave, shown_first: Side | None = None) -> str:
    """Return the hexadecimal SHA-256 of a save and, for a pair, of the response that was shown on the left."""
    answers = {
        name: [draft.value, draft.first_ms, draft.last_ms, draft.changes, *(["bulk"] if draft.bulk else [])]
        for name, draft in save.answers.items()
    }
    return digest_json([save.revision, save.visit, save.visible_ms, save.idle_ms, save.open_ms, answers, shown_first])


def merge_saves(saves: Iterable[AnswerSave]) -> dict[str, DraftAnswer]:
    """Return the current answers, given saves in order of arrival.

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
        for question, draft in save.answers.items():
            if question not in latest or save.revision >= latest[question][0]:
                latest[question] = (save.revision, draft)
    return {question: draft for question, (_, draft) in latest.items() if draft.value is not None}


def find_superseded(saves: Sequence[AnswerSave]) -> tuple[int, ...]:
    """Return the indices of redundant saves, given saves in order of arrival.

    The others have the current answers, the latest revision, and for each visit the longest visible time, working time
    and time uncovered. The last save to arrive is among them.

    Examples
    --------
    >>> def save(revision, question):
    ...     answers = {question: DraftAnswer(value="Yes")}
    ...     return AnswerSave(revision=revision, visit="v", visible_ms=revision, idle_ms=0, answers=answers)
    >>> find_superseded([save(1, "A"), save(2, "B"), save(3, "B"), save(4, "C")])
    (1,)
    """
    needed: dict[tuple[str, ...], tuple[int, int]] = {}
    for index, save in enumerate(saves):
        measures = {("revision",): save.revision, ("visible", save.visit): save.visible_ms}
        measures |= {("worked", save.visit): save.visible_ms - save.idle_ms}
        measures |= {("open", save.visit): save.open_ms} if save.open_ms is not None else {}
        measures |= {("answer", question): save.revision for question in save.answers}
        for key, measure in measures.items():
            if key not in needed or measure >= needed[key][0]:
                needed[key] = (measure, index)
    indices = {index for _, index in needed.values()} | {len(saves) - 1}
    return tuple(index for index in range(len(saves)) if index not in indices)


def select_submitted(finals: Iterable[AnswerSave]) -> dict[str, DraftAnswer]:
    """Return the answers of the final save with the latest revision, given saves in order of arrival."""
    _, latest = max(enumerate(finals), key=lambda final: (final[1].revision, final[0]))
    return merge_saves([latest])


def answer_time_ms(saves: Iterable[AnswerSave]) -> int:
    """Return the answer time of an item: the sum over visits of the longest visible time."""
    longest: dict[str, int] = {}
    for save in saves:
        longest[save.visit] = max(longest.get(save.visit, 0), save.visible_ms)
    return sum(longest.values())


def open_time_ms(saves: Iterable[AnswerSave]) -> int | None:
    """Return the time with the conversation uncovered: the sum over visits of the longest one; None if it never was."""
    longest: dict[str, int] = {}
    for save in saves:
        if save.open_ms is not None:
            longest[save.visit] = max(longest.get(save.visit, 0), save.open_ms)
    return sum(longest.values()) if longest else None
