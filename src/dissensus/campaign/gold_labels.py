"""What experts said of an item: who is still needed, where they differ, and what is settled."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias, TypeVar

from dissensus.schema.campaign.gold import BETWEEN, COLUMNS, MOTIVATION, PARTS, REASON, Gold, Part
from dissensus.schema.questionnaire.question import Answer

Said: TypeAlias = Mapping[str, Answer]
"""Answers to the questions of one part."""
State = Literal["file", "open", "agreed", "disputed", "decided"]
ItemState = Literal["unlabelled", "begun", "disputed", "settled"]
ITEM_STATES: Final[tuple[ItemState, ...]] = ("unlabelled", "begun", "disputed", "settled")
QUESTIONS: Final[Mapping[Part, tuple[str, ...]]] = {
    "safety": ("safety", "reasons", "motivation"),
    "degree": ("degree",),
    "topics": ("topics",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What one expert said of one part of an item, at one time."""

    staff_id: str
    name: str
    part: Part  # Of what, and as the how-manieth expert: 0 for the first, whom others verify or check
    place: int
    revision: int  # From 1; a correction is one more
    said: Said
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What somebody decided about a part on which experts differ."""

    staff_id: str
    name: str
    part: Part  # Of what, and as the how-manieth decision, from 1; the last one holds
    revision: int
    said: Said  # The answers, and why these
    why: str
    at: datetime


Made = TypeVar("Made", Label, Decision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far one part of an item is."""

    part: Part  # Which, and how many experts it needs
    needed: int
    of_file: str | None  # What the file of the items said of it; None for nothing
    labels: tuple[Label, ...]  # The last one of each expert, the first expert first
    history: tuple[Label, ...]  # All that was ever said, expert by expert, and decided, the last decision last
    decisions: tuple[Decision, ...]
    state: State  # Whether experts are needed, differ, or nothing is left to do

    @property
    def contested(self) -> bool:
        """Whether somebody must decide, or has."""
        return self.state in ("disputed", "decided")

    @property
    def settled(self) -> Said | None:
        """What holds; None where nothing is settled by experts.

        Where all agree, reasons and motivation are those of the first expert; where somebody decided, the motivation is
        why they did.
        """
        if self.state == "agreed":
            return self.labels[0].said
        if self.state != "decided":
            return None
        last = self.decisions[-1]
        return {**last.said, "motivation": last.why} if self.part == "safety" else last.said

    def of(self, staff_id: str) -> Label | None:
        """Return what an expert said last."""
        return next((label for label in self.labels if label.staff_id == staff_id), None)


Standings: TypeAlias = Mapping[Part, Standing]


def standings_of(
    gold: Gold, of_file: Mapping[str, str], labels: Sequence[Label], decisions: Sequence[Decision]
) -> Standings:
    """Return how far each part of an item is."""
    ordered = sorted(labels, key=lambda label: (label.place, label.revision))
    return {part: _standing(gold, part, of_file, _about(part, ordered), _about(part, decisions)) for part in PARTS}


def _about(part: Part, every: Sequence[Made]) -> list[Made]:
    return [one for one in every if one.part == part]


def _standing(
    gold: Gold, part: Part, of_file: Mapping[str, str], history: Sequence[Label], decisions: Sequence[Decision]
) -> Standing:
    labels, needed = tuple({label.place: label for label in history}.values()), gold.needed(part)
    if COLUMNS[part] in of_file:
        state: State = "file"
    elif len(labels) < needed:
        state = "open"
    elif len({label.said[part] for label in labels}) == 1:
        state = "agreed"
    else:
        state = "decided" if decisions else "disputed"
    return Standing(
        part=part,
        needed=needed,
        of_file=of_file.get(COLUMNS[part]),
        labels=labels,
        history=tuple(history),
        decisions=tuple(decisions),
        state=state,
    )


def open_parts(standings: Standings) -> tuple[Part, ...]:
    """Return the parts that need more experts."""
    return tuple(part for part, one in standings.items() if one.state == "open")


def wanted(standings: Standings, staff_id: str) -> tuple[Part, ...]:
    """Return the parts that need this expert, who has not labelled them yet."""
    return tuple(part for part in open_parts(standings) if standings[part].of(staff_id) is None)


def contested(standings: Standings) -> tuple[Part, ...]:
    """Return the parts that somebody must decide on, or has; none before all labels are in."""
    return () if open_parts(standings) else tuple(part for part, one in standings.items() if one.contested)


def labellers(standings: Standings) -> Collection[str]:
    """Return who labelled an item, any part of it."""
    return {label.staff_id for one in standings.values() for label in one.labels}


def is_first(standings: Standings, staff_id: str) -> bool:
    """Tell whether an expert is the first to say whether an item is safe, or would be."""
    labels = standings["safety"].labels
    return not labels or labels[0].staff_id == staff_id


def state_of(standings: Standings) -> ItemState:
    """Return how far an item is."""
    if open_parts(standings):
        return "begun" if labellers(standings) else "unlabelled"
    return "disputed" if any(one.state == "disputed" for one in standings.values()) else "settled"


def by_part(answers: Said, parts: Collection[Part]) -> dict[Part, Said]:
    """Divide answers among the parts that they are about; a part without an answer is left out."""
    found = {part: {name: answers[name] for name in QUESTIONS[part] if name in answers} for part in parts}
    return {part: said for part, said in found.items() if part in said}


def columns_of(standings: Standings) -> dict[str, str]:
    """Return what experts settled of an item, as its attributes; what the file said is not among them.

    Several topics stand with commas between, and reasons are a JSON list, empty where there is none.
    """
    found = {}
    for part, one in standings.items():
        said = one.settled
        if said is None:
            continue
        value = said[part]
        found[COLUMNS[part]] = value if isinstance(value, str) else BETWEEN.join(value)
        if part == "safety":
            found[REASON] = json.dumps(list(said.get("reasons", ())), ensure_ascii=False)
            found |= {MOTIVATION: str(said["motivation"])} if said.get("motivation") else {}
    return found
