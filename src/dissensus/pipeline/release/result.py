"""Released pairs, with the fields that the published files lose."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dissensus.pipeline.release.policy import PairPolicy
from dissensus.schema.hints import format_list
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import Criterion, Phase

Purpose: TypeAlias = Literal["helpful", "harmless"]
Split: TypeAlias = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class RaterStrength:
    """By how much one rater said that the chosen answer is the better one; below 0 where they said the contrary."""

    rater_id: str
    strength: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedPair:
    """Two answers to one conversation, of which the chosen one is the better.

    Parameters
    ----------
    pair_id, conversation_id
        Id of the preference that it was made of, with an ending for an edit, and of the conversation.
    context
        The turns before.
    chosen, rejected
        The better answer, more helpful or less harmful, and the other.
    purpose
        ``helpful`` or ``harmless``, as what was asked.
    phase
        ``base``, ``rejection-sampled`` or ``online``.
    split
        ``train`` or ``test``, the same for all pairs of a conversation.
    asked
        What raters were asked for.
    strength
        The mean over the picks that count, of how much better the chosen answer is; None for an edit.
    strengths
        What each rater said, those that do not count among them.
    edited_by
        Who edited the chosen answer; None where both are of a chatbot.
    chosen_model, rejected_model
        Types of the models.
    chosen_ranked_by, rejected_ranked_by
        Versions of a preference model that chose them among several; None where none did.
    """

    pair_id: str
    conversation_id: str
    context: tuple[Turn, ...]
    chosen: str
    rejected: str
    purpose: Purpose
    phase: Phase
    split: Split
    asked: Criterion
    strength: float | None
    strengths: tuple[RaterStrength, ...]
    edited_by: str | None
    chosen_model: str
    rejected_model: str
    chosen_ranked_by: str | None = None
    rejected_ranked_by: str | None = None

    @property
    def tranche(self) -> str:
        """The folder that it belongs to, such as ``harmless-base``."""
        return f"{self.purpose}-{self.phase}"

    @property
    def is_standard(self) -> bool:
        """True for the tranches that hh-rlhf has; harmless pairs have the base tranche only."""
        return self.purpose == "helpful" or self.phase == "base"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedPairs:
    """Pairs in the order of their preferences.

    Parameters
    ----------
    pairs
        All of them.
    dropped
        How many preferences, or edits, made no pair, by reason.
    policy
        By which they were made.
    """

    pairs: tuple[ReleasedPair, ...]
    dropped: Mapping[str, int]
    policy: PairPolicy

    def notes(self) -> Iterator[str]:
        """Say what was left out and why, and what hh-rlhf has no place for."""
        for why, count in self.dropped.items():
            yield f"{count:,} left out: {why}."
        other = sorted({pair.tranche for pair in self.pairs if not pair.is_standard})
        if other:
            yield f"hh-rlhf has no tranche {format_list(other)}, so these pairs are in a folder of their own."
