"""Gold labels of an item: labels still missing, disagreements, and the settled label of each part."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, TypeVar

from dissensus.schema.campaign.gold import (
    COLUMNS,
    MOTIVATION,
    PARTS,
    REASON,
    TOPIC_SEPARATOR,
    Gold,
    GoldItemState,
    GoldPart,
    GoldPartState,
)
from dissensus.schema.questionnaire.question import Answer

GoldAnswers: TypeAlias = Mapping[str, Answer]
"""Answers to the questions of one part."""
QUESTIONS: Final[Mapping[GoldPart, tuple[str, ...]]] = {
    "safety": ("safety", "reasons", "motivation"),
    "degree": ("degree",),
    "topics": ("topics",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldLabel:
    """An expert's label for one part of an item."""

    staff_id: str
    name: str  # of the expert
    part: GoldPart
    position: int  # order of experts: 0 for the first, whose label others verify
    revision: int  # from 1, one more for each correction
    answers: GoldAnswers
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldDecision:
    """An adjudication of one part of an item on which experts disagreed."""

    staff_id: str
    name: str  # of the person who decided
    part: GoldPart
    revision: int  # from 1; the last one is in force
    answers: GoldAnswers
    reason: str
    at: datetime


Entry = TypeVar("Entry", GoldLabel, GoldDecision)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProgress:
    """Labelling progress of one part of an item."""

    part: GoldPart
    n_needed: int  # number of labels
    file_label: str | None  # label in the item file, if any
    labels: tuple[GoldLabel, ...]  # latest one of each expert, in order of position
    history: tuple[GoldLabel, ...]  # all revisions, by expert
    decisions: tuple[GoldDecision, ...]  # in order
    state: GoldPartState

    @property
    def contested(self) -> bool:
        """True for parts that need a decision, or have one."""
        return self.state in ("disputed", "decided")

    @property
    def settled(self) -> GoldAnswers | None:
        """The label in force; None if experts settled nothing.

        Reasons and motivation are those of the first expert, or of the decision.
        """
        if self.state == "agreed":
            return self.labels[0].answers
        if self.state != "decided":
            return None
        last = self.decisions[-1]
        return {**last.answers, "motivation": last.reason} if self.part == "safety" else last.answers

    def label_by(self, staff_id: str) -> GoldLabel | None:
        """Return the latest label of an expert."""
        return next((label for label in self.labels if label.staff_id == staff_id), None)


ItemProgress: TypeAlias = Mapping[GoldPart, PartProgress]


def compute_item_progress(
    gold: Gold, file_labels: Mapping[str, str], labels: Sequence[GoldLabel], decisions: Sequence[GoldDecision]
) -> ItemProgress:
    """Return the progress of each part of an item."""
    ordered = sorted(labels, key=lambda label: (label.position, label.revision))
    return {
        part: _part_progress(gold, part, file_labels, _select_part(part, ordered), _select_part(part, decisions))
        for part in PARTS
    }


def _select_part(part: GoldPart, entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.part == part]


def _part_progress(
    gold: Gold,
    part: GoldPart,
    file_labels: Mapping[str, str],
    history: Sequence[GoldLabel],
    decisions: Sequence[GoldDecision],
) -> PartProgress:
    labels, n_needed = tuple({label.position: label for label in history}.values()), gold.needed(part)
    if COLUMNS[part] in file_labels:
        state: GoldPartState = "file"
    elif len(labels) < n_needed:
        state = "open"
    elif len({label.answers[part] for label in labels}) == 1:
        state = "agreed"
    else:
        state = "decided" if decisions else "disputed"
    return PartProgress(
        part=part,
        n_needed=n_needed,
        file_label=file_labels.get(COLUMNS[part]),
        labels=labels,
        history=tuple(history),
        decisions=tuple(decisions),
        state=state,
    )


def list_open_parts(progress: ItemProgress) -> tuple[GoldPart, ...]:
    """Return the parts that need more experts."""
    return tuple(part for part, state in progress.items() if state.state == "open")


def count_missing_labels(progress: ItemProgress) -> dict[GoldPart, int]:
    """Return the number of labels that each part still needs."""
    return {
        part: state.n_needed - len(state.labels) if state.state == "open" else 0 for part, state in progress.items()
    }


def list_contested_parts(progress: ItemProgress) -> tuple[GoldPart, ...]:
    """Return the parts with a decision, or in need of one; empty before all labels are in."""
    return () if list_open_parts(progress) else tuple(part for part, state in progress.items() if state.contested)


def list_labellers(progress: ItemProgress) -> Collection[str]:
    """Return the ids of the experts who labelled any part of an item."""
    return {label.staff_id for state in progress.values() for label in state.labels}


def count_labels(progress: ItemProgress) -> dict[str, dict[str, int]]:
    """Return the number of labels, corrections included, by id of the expert and by part."""
    counts: dict[str, dict[str, int]] = {}
    for part, state in progress.items():
        for staff_id, n in Counter(label.staff_id for label in state.history).items():
            counts.setdefault(staff_id, {})[part] = n
    return counts


def is_first(progress: ItemProgress, staff_id: str) -> bool:
    """Return whether an expert gave, or would give, the first label of safety."""
    labels = progress["safety"].labels
    return not labels or labels[0].staff_id == staff_id


def item_state(progress: ItemProgress) -> GoldItemState:
    """Return the labelling state of an item."""
    if list_open_parts(progress):
        return "in_progress" if list_labellers(progress) else "unlabelled"
    return "disputed" if any(state.state == "disputed" for state in progress.values()) else "settled"


def split_by_part(answers: GoldAnswers, parts: Collection[GoldPart]) -> dict[GoldPart, GoldAnswers]:
    """Divide answers by part; a part without its label is left out."""
    by_part = {part: {name: answers[name] for name in QUESTIONS[part] if name in answers} for part in parts}
    return {part: part_answers for part, part_answers in by_part.items() if part in part_answers}


def to_attributes(progress: ItemProgress) -> dict[str, str]:
    """Return the settled labels of experts as item attributes: topics separated by commas, reasons as a JSON list."""
    result = {}
    for part, state in progress.items():
        answers = state.settled
        if answers is None:
            continue
        value = answers[part]
        result[COLUMNS[part]] = value if isinstance(value, str) else TOPIC_SEPARATOR.join(value)
        if part == "safety":
            result[REASON] = json.dumps(list(answers.get("reasons", ())), ensure_ascii=False)
            result |= {MOTIVATION: str(answers["motivation"])} if answers.get("motivation") else {}
    return result
