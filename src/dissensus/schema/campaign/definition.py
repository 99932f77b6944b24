"""A campaign as data: what raters read, agree to and are asked, and how many of them rate what."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.schema.campaign.attention_check import Check, Verdict, verdict, warnings_about
from dissensus.schema.campaign.care import Care
from dissensus.schema.campaign.chat import Chat
from dissensus.schema.campaign.completion_codes import Prolific
from dissensus.schema.campaign.gold import Gold
from dissensus.schema.campaign.pay import Pay
from dissensus.schema.campaign.quota import Quota
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.questionnaire.question import Answer, Wording, empty_wording
from dissensus.schema.records.pair import Pair, without_preference

State: TypeAlias = Literal["draft", "open", "paused", "closed"]
STATES: Final[tuple[State, ...]] = get_args(State)
Placed: TypeAlias = Literal["after", "before"]
PLACES: Final[tuple[Placed, ...]] = get_args(Placed)

NO_QUESTIONS: Final = Questionnaire(name="none", questions=(), overalls={})
"""What is asked about items where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """One thing that answers may be used for, which raters agree to or not."""

    name: str  # Name that it is stored and filtered by
    text: Wording
    required: bool = False  # Whether one cannot take part without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What raters are asked to agree to; another text is another version."""

    text: Wording  # What is done with answers, by whom, and for how long
    purposes: tuple[Purpose, ...]  # Each agreed to on its own

    @property
    def digest(self) -> str:
        """SHA-256 of every word, in hexadecimal."""
        return _digest(to_mapping(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """All that is decided about a campaign before the first rater comes.

    Parameters
    ----------
    name
        Name in addresses and files.
    languages
        Languages of all that raters read, the first language first.
    title
        What raters see first.
    warning
        What the conversations may hold, told before anything else.
    consent
        What raters agree to.
    questionnaire
        What is asked about each item.
    chat
        How raters talk with chatbots, where they do and rate nothing.
    pair
        How they compare two responses, where items have two; the questionnaire has their preference as a question.
    lines
        Model lines that learn from what raters prefer.
    demographics
        What raters are asked about themselves; None for nothing.
    demographics_placed
        After the items, as in DICES, or before them.
    quota
        How many raters of each cell are let in; None for whoever comes.
    checks
        Questions between items whose right answers are known.
    minutes
        How long the work of one rater is said to take; None where nothing is said.
    prolific
        How raters come from Prolific; None where they do not.
    pay
        What raters are paid; None for nothing, or where that is settled elsewhere.
    gold
        How experts label the items; None where they do not.
    care
        How raters are asked how they feel, and who is told; None where they are not.
    help
        Where a rater finds help, shown on every page.
    thanks
        What raters read in the end.
    replication
        How many raters rate each item; None where everybody rates all.
    most_items
        How many items one rater may rate; None for no limit.
    most_a_day
        How many items one rater may rate in 24 hours, to limit exposure; None for no limit.
    break_every
        After how many items a break is offered; 0 for never.
    preview
        Whether each conversation stays covered, with its topic, until the rater asks for it.
    reclaim_after_h
        Hours without a sign of a rater after which items that are not begun go to others.
    seed
        Of all orders and choices of items.
    """

    name: str
    languages: tuple[str, ...]
    title: Wording
    warning: Wording
    consent: Consent
    questionnaire: Questionnaire
    chat: Chat | None = None
    pair: Pair | None = None
    lines: tuple[str, ...] = ()
    demographics: Questionnaire | None = None
    demographics_placed: Placed = "after"
    quota: Quota | None = None
    checks: tuple[Check, ...] = ()
    minutes: int | None = None
    prolific: Prolific | None = None
    pay: Pay | None = None
    gold: Gold | None = None
    care: Care | None = None
    help: Wording = field(default_factory=empty_wording)
    thanks: Wording = field(default_factory=empty_wording)
    replication: int | None = None
    most_items: int | None = None
    most_a_day: int | None = None
    break_every: int = 20
    preview: bool = False
    reclaim_after_h: int = 48
    seed: int = 0

    @property
    def digest(self) -> str:
        """SHA-256 of all of it, in hexadecimal."""
        return _digest(self.as_mapping())

    @property
    def screener(self) -> Questionnaire | None:
        """What raters are asked before they get a seat: the axes of the quota and nothing else; None for nothing."""
        if self.quota is None or self.quota.source != "screener" or self.demographics is None:
            return None
        axes = self.quota.axes
        return replace(
            self.demographics,
            questions=tuple(question for question in self.demographics.questions if question.name in axes),
            introduction=empty_wording(),
        )

    @property
    def recruited_cells(self) -> tuple[str, ...]:
        """Cells for which a recruiter sends raters by links of their own; none where nobody does."""
        return tuple(self.quota.targets) if self.quota is not None and self.quota.source == "recruiter" else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed and may not be meant, as sentences for the owner."""
        # Without minutes there is no check of attention, to which alone they matter.
        return warnings_about(self.checks, self.minutes or 0)

    def verdict(self, tries: Mapping[str, Sequence[str]]) -> Verdict:
        """Return how a rater did in the checks, by all tries of each, the first one first."""
        # Where the minutes are not said there is no check of attention, and they do not matter.
        return verdict(self.checks, tries, self.minutes or 0)

    def about(self, declared: Mapping[str, Answer]) -> Questionnaire | None:
        """Return what raters are asked about themselves after the screener, given their answers to it."""
        if self.demographics is None or self.screener is None:
            return self.demographics
        axes = {question.name for question in self.screener.questions}
        applying = {question.name for question in self.demographics.asked(declared)}
        left = []
        for question in self.demographics.questions:
            follows = question.when is not None and question.when.question in axes
            if question.name not in axes and (not follows or question.name in applying):
                left.append(replace(question, when=None) if follows else question)
        return replace(self.demographics, questions=tuple(left)) if left else None

    def as_mapping(self) -> dict[str, Any]:
        """Return what `parse_campaign` reads as this campaign, with all questionnaires whole."""
        further = self.questionnaire if self.pair is None else without_preference(self.questionnaire)
        asked = {} if not further.questions else {"questionnaire": further.as_mapping()}
        if self.chat is not None:
            asked = {"chat": self.chat.as_mapping()}
        if self.demographics is not None:
            asked["demographics"] = self.demographics.as_mapping()
        if self.care is not None:
            asked["care"] = {**to_mapping(replace(self.care, survey=NO_QUESTIONS)), "survey": self.care.survey.as_mapping()}
        kept = to_mapping(replace(self, questionnaire=NO_QUESTIONS, chat=None, demographics=None, care=None))
        return {**{key: value for key, value in kept.items() if key != "questionnaire"}, **asked}


def consent_from(mapping: Mapping[str, Any]) -> Consent:
    """Return a consent text as it was kept, word by word, under whatever rules it was checked then."""
    return Consent(text=mapping["text"], purposes=tuple(Purpose(**purpose) for purpose in mapping["purposes"]))


def worded(wording: Wording, language: str) -> str:
    """Return a text in a language, in the first one where it lacks, or nothing."""
    return wording.get(language) or next(iter(wording.values()), "")


def _digest(mapping: dict[str, Any]) -> str:
    text = json.dumps(mapping, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
