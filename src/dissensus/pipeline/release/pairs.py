"""Chosen and rejected pairs from the picks of raters."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dissensus.pipeline.release.policy import PairPolicy
from dissensus.schema.hints import format_list
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import SIDES, Criterion, Edit, Phase, Preference, Side

Purpose: TypeAlias = Literal["helpful", "harmless"]
Split: TypeAlias = Literal["train", "test"]
NOBODY: Final = "nobody picked"
WEAKEST: Final = "every pick is of the weakest strength, or of neither answer"
TIE: Final = "a tie"
DISAGREE: Final = "raters disagree"
SAME: Final = "both answers are the same"
UNCHANGED: Final = "an edit that changes nothing"


@dataclass(frozen=True, slots=True)
class RaterStrength:
    """Strength of one rater's preference for the chosen answer; below 0 for the rejected one."""

    rater_id: str
    strength: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedPair:
    """A chosen and a rejected answer to the same conversation; the chosen one is the better.

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


def released_pairs(preferences: Iterable[Preference], policy: PairPolicy | None = None) -> ReleasedPairs:
    """Return chosen and rejected pairs from preferences.

    The chosen answer is always the better one: the more helpful or the less harmful. If raters were asked for the more
    harmful answer, the one they picked is therefore rejected.

    Parameters
    ----------
    preferences
        Comparisons with the picks of raters.
    policy
        Rules for several raters, ties and weak picks; the defaults of `PairPolicy` if omitted.

    Returns
    -------
    ReleasedPairs
        A pair for each preference that the policy keeps and for each edit, and counts of the others by reason.

    Notes
    -----
    A pair has the phase of its preference. Without one, an answer of a model of the type ``rlhf`` makes it ``online``,
    else one of ``rejection sampling`` makes it ``rejection-sampled``, else it is ``base``.

    A conversation is in the test split if a hash of the seed and its id is small enough, so that it keeps its split
    while more are collected.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> from dissensus.schema.records.preference import Pick
    >>> preference = Preference(
    ...     preference_id="p-1", conversation_id="c-1", context=(Turn("human", "Be rude."),), a="No, thank you.",
    ...     b="Go away.", criterion="more harmful",
    ...     picks=(Pick("ann", "b", 3), Pick("ben", "a", 2), Pick("cho", "a", 1)),
    ... )
    >>> (pair,) = released_pairs([preference]).pairs
    >>> pair.chosen, pair.rejected, pair.strength, pair.tranche
    ('No, thank you.', 'Go away.', 0.5, 'harmless-base')
    >>> [(rater.rater_id, rater.strength) for rater in pair.strengths]
    [('ann', 3), ('ben', -2), ('cho', -1)]
    """
    policy = policy or PairPolicy()
    dropped: Counter[str] = Counter()
    pairs = tuple(pair for preference in preferences for pair in _pairs(preference, policy, dropped))
    return ReleasedPairs(pairs=pairs, dropped=dict(+dropped), policy=policy)


def _pairs(preference: Preference, policy: PairPolicy, dropped: Counter[str]) -> Iterator[ReleasedPair]:
    if preference.a == preference.b:
        dropped[SAME] += 1
    elif isinstance(choice := _choose_better(preference, policy), str):
        # an edit without picks is not a dropped preference
        dropped[choice] += not (choice == NOBODY and preference.edits)
    else:
        yield _build_pair(preference, policy, *choice)
    for number, edit in enumerate(preference.edits if policy.edits else (), start=1):
        if edit.text == preference.response(edit.side):
            dropped[UNCHANGED] += 1
        else:
            yield _build_edited_pair(preference, policy, edit, number)


def _choose_better(preference: Preference, policy: PairPolicy) -> tuple[Side, float] | str:
    """Return the better answer and the mean strength, or the reason without one."""
    if not preference.picks:
        return NOBODY
    least = policy.least(preference.levels)
    strengths = [preference.towards_b(pick) for pick in preference.picks if pick.strength >= least]
    if not strengths:
        return WEAKEST
    if policy.disagreement == "unanimous" and min(strengths) < 0 < max(strengths):
        return DISAGREE
    mean = sum(strengths) / len(strengths)
    if mean:
        return ("b" if mean > 0 else "a"), abs(mean)
    if policy.ties == "drop":
        return TIE
    return ("a" if _hash_to_unit(policy.seed, preference.preference_id) < 0.5 else "b"), 0.0


def _build_pair(preference: Preference, policy: PairPolicy, better: Side, strength: float) -> ReleasedPair:
    sign = 1 if better == "b" else -1
    chosen, rejected = (1, 0) if better == "b" else (0, 1)
    return ReleasedPair(
        pair_id=preference.preference_id,
        conversation_id=preference.conversation_id,
        context=preference.context,
        chosen=preference.response(better),
        rejected=preference.response("a" if better == "b" else "b"),
        purpose=_purpose(preference),
        phase=_phase(preference, preference.models),
        split=_split(preference, policy),
        criterion=preference.criterion,
        strength=strength,
        strengths=tuple(RaterStrength(pick.rater_id, sign * preference.towards_b(pick)) for pick in preference.picks),
        edited_by=None,
        chosen_model=preference.models[chosen],
        rejected_model=preference.models[rejected],
        chosen_ranked_by=preference.ranked_by[chosen],
        rejected_ranked_by=preference.ranked_by[rejected],
    )


def _build_edited_pair(preference: Preference, policy: PairPolicy, edit: Edit, number: int) -> ReleasedPair:
    index = SIDES.index(edit.side)
    model = preference.models[index]
    return ReleasedPair(
        pair_id=f"{preference.preference_id}:edit-{number}",
        conversation_id=preference.conversation_id,
        context=preference.context,
        chosen=edit.text,
        rejected=preference.response(edit.side),
        purpose=_purpose(preference),
        phase=_phase(preference, (model,)),
        split=_split(preference, policy),
        criterion=preference.criterion,
        strength=None,
        strengths=(),
        edited_by=edit.rater_id,
        chosen_model=model,
        rejected_model=model,
        rejected_ranked_by=preference.ranked_by[index],
    )


def _purpose(preference: Preference) -> Purpose:
    return "helpful" if preference.criterion == "more helpful" else "harmless"


def _phase(preference: Preference, models: tuple[str, ...]) -> Phase:
    if preference.phase is not None:
        return preference.phase
    if "rlhf" in models:
        return "online"
    return "rejection-sampled" if "rejection sampling" in models else "base"


def _split(preference: Preference, policy: PairPolicy) -> Split:
    return "test" if _hash_to_unit(policy.seed, preference.conversation_id) < policy.test_share else "train"


def _hash_to_unit(seed: int, name: str) -> float:
    """Return a number from 0 to 1 determined by seed and name."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{name}".encode()).digest()[:6], "big") / 2**48
