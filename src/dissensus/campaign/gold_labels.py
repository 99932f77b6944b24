"""Gold labels of an item: experts still needed, disagreements, and the settled label of each part."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias, TypeVar

from dissensus.schema.campaign.gold import COLUMNS, MOTIVATION, PARTS, REASON, TOPIC_SEPARATOR, Gold, GoldPart
from dissensus.schema.questionnaire.question import Answer

GoldAnswers: TypeAlias = Mapping[str, Answer]
"""Answers to the questions of one part."""
State = Literal["file", "open", "agreed", "disputed", "decided"]
ItemState = Literal["unlabelled", "begun", "disputed", "settled"]
ITEM_STATES: Final[tuple[ItemState, ...]] = ("unlabelled", "begun", "disputed", "settled")
QUESTIONS: Final[Mapping[GoldPart, tuple[str, ...]]] = {
    "safety": ("safety", "reasons", "motivation"),
    "degree": ("degree",),
    "topics": ("topics",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldLabel:
    """A label of an expert for one part of an item."""

    staff_id: str
    name: str
    part: GoldPart  # Of what, and as the how-manieth expert: 0 for the first, whom others verify or check
    position: int
    revision: int  # From 1; a correction is one more
    answers: GoldAnswers
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldDecision:
    """A decision on a part on which experts differ."""

    staff_id: str
    name: str
    part: GoldPart  # Of what, and as the how-manieth decision, from 1; the last one holds
    revision: int
    answers: GoldAnswers  # The answers, and why these
    reason: str
    at: datetime


Made = TypeVar("Made", GoldLabel, GoldDecision)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProgress:
    """Labelling progress of one part of an item."""

    part: GoldPart  # Which, and how many experts it needs
    needed: int
    of_file: str | None  # What the file of the items said of it; None for nothing
    labels: tuple[GoldLabel, ...]  # The last one of each expert, the first expert first
    history: tuple[GoldLabel, ...]  # All that was ever said, expert by expert, and decided, the last decision last
    decisions: tuple[GoldDecision, ...]
    state: State  # Whether experts are needed, differ, or nothing is left to do

    @property
    def contested(self) -> bool:
        """True for parts that need a decision, or have one."""
        return self.state in ("disputed", "decided")

    @property
    def settled(self) -> GoldAnswers | None:
        """The label that holds; None if nothing is settled by experts.

        Where all agree, reasons and motivation are those of the first expert; where somebody decided, the motivation is
        why they did.
        """
        if self.state == "agreed":
            return self.labels[0].answers
        if self.state != "decided":
            return None
        last = self.decisions[-1]
        return {**last.answers, "motivation": last.reason} if self.part == "safety" else last.answers

    def of(self, staff_id: str) -> GoldLabel | None:
        """Return what an expert said last."""
        return next((label for label in self.labels if label.staff_id == staff_id), None)


ItemProgress: TypeAlias = Mapping[GoldPart, PartProgress]


def compute_item_progress(
    gold: Gold, of_file: Mapping[str, str], labels: Sequence[GoldLabel], decisions: Sequence[GoldDecision]
) -> ItemProgress:
    """Return how far each part of an item is."""
    ordered = sorted(labels, key=lambda label: (label.position, label.revision))
    return {
        part: _part_progress(gold, part, of_file, _select_part(part, ordered), _select_part(part, decisions))
        for part in PARTS
    }


def _select_part(part: GoldPart, every: Sequence[Made]) -> list[Made]:
    return [one for one in every if one.part == part]


def _part_progress(
    gold: Gold,
    part: GoldPart,
    of_file: Mapping[str, str],
    history: Sequence[GoldLabel],
    decisions: Sequence[GoldDecision],
) -> PartProgress:
    labels, needed = tuple({label.position: label for label in history}.values()), gold.needed(part)
    if COLUMNS[part] in of_file:
        state: State = "file"
    elif len(labels) < needed:
        state = "open"
    elif len({label.answers[part] for label in labels}) == 1:
        state = "agreed"
    else:
        state = "decided" if decisions else "disputed"
    return PartProgress(
        part=part,
        needed=needed,
        of_file=of_file.get(COLUMNS[part]),
        labels=labels,
        history=tuple(history),
        decisions=tuple(decisions),
        state=state,
    )


def list_open_parts(standings: ItemProgress) -> tuple[GoldPart, ...]:
    """Return the parts that need more experts."""
    return tuple(part for part, one in standings.items() if one.state == "open")


def list_wanted_parts(standings: ItemProgress, staff_id: str) -> tuple[GoldPart, ...]:
    """Return the parts that need this expert, who has not labelled them yet."""
    return tuple(part for part in list_open_parts(standings) if standings[part].of(staff_id) is None)


def list_contested_parts(standings: ItemProgress) -> tuple[GoldPart, ...]:
    """Return the parts that somebody must decide on, or has; none before all labels are in."""
    return () if list_open_parts(standings) else tuple(part for part, one in standings.items() if one.contested)


def list_labellers(standings: ItemProgress) -> Collection[str]:
    """Return who labelled an item, any part of it."""
    return {label.staff_id for one in standings.values() for label in one.labels}


def is_first(standings: ItemProgress, staff_id: str) -> bool:
    """Return whether an expert is the first to say whether an item is safe, or would be."""
    labels = standings["safety"].labels
    return not labels or labels[0].staff_id == staff_id


def item_state(standings: ItemProgress) -> ItemState:
    """Return how far an item is."""
    if list_open_parts(standings):
        return "begun" if list_labellers(standings) else "unlabelled"
    return "disputed" if any(one.state == "disputed" for one in standings.values()) else "settled"


def split_by_part(answers: GoldAnswers, parts: Collection[GoldPart]) -> dict[GoldPart, GoldAnswers]:
    """Divide answers among the parts that they are about; a part without an answer is left out."""
    result = {part: {name: answers[name] for name in QUESTIONS[part] if name in answers} for part in parts}
    return {part: said for part, said in result.items() if part in said}


def to_attributes(standings: ItemProgress) -> dict[str, str]:
    """Return what experts settled of an item, as its attributes; what the file said is not among them.

    Several topics stand with commas between, and reasons are a JSON list, empty where there is none.
    """
    result = {}
    for part, one in standings.items():
        answers = one.settled
        if answers is None:
            continue
        value = answers[part]
        result[COLUMNS[part]] = value if isinstance(value, str) else TOPIC_SEPARATOR.join(value)
        if part == "safety":
            result[REASON] = json.dumps(list(answers.get("reasons", ())), ensure_ascii=False)
            result |= {MOTIVATION: str(answers["motivation"])} if answers.get("motivation") else {}
    return result
