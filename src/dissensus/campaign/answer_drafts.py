"""What a page saved, and which answers hold: nothing is overwritten, the latest revision counts.

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
class Given:
    """One answer as it was given."""

    value: Answer | None  # The answer, None where it was taken back
    first_ms: int = 0  # When it was first and last given, in milliseconds of the visible time of its visit
    last_ms: int = 0
    changes: int = 0  # How often it was changed after it was first given


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """What one page sent at once about one assignment."""

    revision: int  # Count of changes of the assignment
    visit: str  # Which showing of the item on which page
    visible_ms: int  # Of this visit so far: with the page in view, and of those without any input for a while
    idle_ms: int
    answers: Mapping[str, Given]


def turned(answers: Mapping[str, Given], first: Side | None) -> dict[str, Given]:
    """Return answers as they are kept from those by the sides that a rater sees, or these from those.

    Examples
    --------
    >>> turned({"Q_preference": Given(value="-3")}, "b")["Q_preference"].value
    '3'
    """
    given = answers.get(PREFERENCE)
    if first != "b" or given is None or not isinstance(given.value, str):
        return dict(answers)
    return {**answers, PREFERENCE: replace(given, value=pair.turned(given.value))}


def as_kept(save: Save, first: Side | None) -> Save:
    """Return a save as it is kept; see `turned`."""
    return replace(save, answers=turned(save.answers, first))


def digest_of(save: Save) -> str:
    """Return the SHA-256 of all that a save says, in hexadecimal; what is kept of it later must have the same."""
    given = save.answers.items()
    answers = {name: [one.value, one.first_ms, one.last_ms, one.changes] for name, one in given}
    said = [save.revision, save.visit, save.visible_ms, save.idle_ms, answers]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def current(saves: Iterable[Save]) -> dict[str, Given]:
    """Return the answers that hold, from saves in the order in which they came.

    Examples
    --------
    >>> def save(revision, answer):
    ...     return Save(revision=revision, visit="v", visible_ms=0, idle_ms=0, answers={"Q": Given(value=answer)})
    >>> current([save(1, "No"), save(3, "Yes"), save(2, "Unsure")])["Q"].value
    'Yes'
    """
    latest: dict[str, tuple[int, Given]] = {}
    for save in saves:
        for question, given in save.answers.items():
            if question not in latest or save.revision >= latest[question][0]:
                latest[question] = (save.revision, given)
    return {question: given for question, (_, given) in latest.items() if given.value is not None}


def submitted(finals: Iterable[Save]) -> dict[str, Given]:
    """Return the answers that were submitted, from the saves that ended an item, in the order in which they came.

    They are those of the last of them by revision, whole: what was drafted before or after was not submitted.
    """
    return current([max(enumerate(finals), key=lambda one: (one[1].revision, one[0]))[1]])


def answer_time_ms(saves: Iterable[Save]) -> int:
    """Return how long an item took: the visible time of all visits, as DICES gives one time for all questions.

    A visit counts once, with the longest time that it reported.
    """
    longest: dict[str, int] = {}
    for save in saves:
        longest[save.visit] = max(longest.get(save.visit, 0), save.visible_ms)
    return sum(longest.values())
