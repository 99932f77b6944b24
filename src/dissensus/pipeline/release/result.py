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
    """Strength of one rater's preference for the chosen answer; below 0 for the rejected one."""

    rater_id: str
    strength: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedPair:
    """Two answers to one conversation, of which the chosen one is the better.

    Parameters
    ----------
    pair_id, conversation_id
        Id of the preference, with a suffix for an edit, and of the conversation.
    context
        The turns before.
    chosen, rejected
        The better answer, more helpful or less harmful, and the other.
    purpose
        ``helpful`` or ``harmless``, according to the question.
    phase
        ``base``, ``rejection-sampled`` or ``online``.
    split
        ``train`` or ``test``, the same for all pairs of a conversation.
    criterion
        The criterion in the question.
    strength
        Mean strength of the picks that count, in favour of the chosen answer; None for an edit.
    strengths
        Strengths of all raters, including those that do not count.
    edited_by
        Rater who edited the chosen answer; None if both are responses of a chatbot.
    chosen_model, rejected_model
        Types of the models.
    chosen_ranked_by, rejected_ranked_by
        Versions of the preference model that chose each among several, if any.
    """

    pair_id: str
    conversation_id: str
    context: tuple[Turn, ...]
    chosen: str
    rejected: str
    purpose: Purpose
    phase: Phase
    split: Split
    criterion: Criterion
    strength: float | None
    strengths: tuple[RaterStrength, ...]
    edited_by: str | None
    chosen_model: str
    rejected_model: str
    chosen_ranked_by: str | None = None
    rejected_ranked_by: str | None = None

    @property
    def tranche(self) -> str:
        """Folder of the pair, such as ``harmless-base``."""
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
        Number of preferences and edits that yielded no pair, by reason.
    policy
        The policy applied.
    """

    pairs: tuple[ReleasedPair, ...]
    dropped: Mapping[str, int]
    policy: PairPolicy

    def notes(self) -> Iterator[str]:
        """Yield notes on dropped preferences, by reason, and on tranches that hh-rlhf does not have."""
        for reason, count in self.dropped.items():
            yield f"{count:,} left out: {reason}."
        extra = sorted({pair.tranche for pair in self.pairs if not pair.is_standard})
        if extra:
            yield f"hh-rlhf has no tranche {format_list(extra)}, so these pairs are in a separate folder."
