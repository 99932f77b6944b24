"""Definition of a campaign: texts, consent, questions, quota, limits."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.attention_check import AttentionCheck, CheckVerdict, check_warnings, judge_checks
from dissensus.schema.campaign.care import CareSettings
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.completion_codes import ProlificSettings
from dissensus.schema.campaign.gold import Gold
from dissensus.schema.campaign.quota import Quota
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_whole
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.questionnaire.question import Answer, Wording, empty_wording
from dissensus.schema.records.pair import PairSettings, without_preference

CURRENCY: Final = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """Pay rates in minor units such as cents."""

    currency: str
    hour: int  # for an hour of work
    finished: int = 0  # minimum for finishing; 0 for none
    screened_out: int = 0  # minimum for raters screened out; 0 for none

    def __post_init__(self) -> None:
        if not CURRENCY.fullmatch(self.currency):
            raise InvalidInput(
                f"{format_value(self.currency)} is no currency. Give its code of three letters, such as 'GBP'."
            )
        for name in ("hour", "finished", "screened_out"):
            check_whole(f"{name} (in minor units of {self.currency})", getattr(self, name))


CampaignState: TypeAlias = Literal["draft", "open", "paused", "closed"]
STATES: Final[tuple[CampaignState, ...]] = get_args(CampaignState)
DemographicsPosition: TypeAlias = Literal["after", "before"]
DEMOGRAPHICS_POSITIONS: Final[tuple[DemographicsPosition, ...]] = get_args(DemographicsPosition)

NO_QUESTIONS: Final = Questionnaire(name="none", questions=(), overalls={})
"""What is asked about items where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentPurpose:
    """A purpose of use that raters consent to or not."""

    name: str
    text: Wording
    required: bool = False  # for taking part


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """The consent text and its purposes; another text is another version."""

    text: Wording
    purposes: tuple[ConsentPurpose, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of every word, in hexadecimal."""
        return _digest(to_mapping(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """Everything that is decided about a campaign before the first rater enters."""

    name: str
    languages: tuple[str, ...]
    title: Wording
    warning: Wording
    consent: Consent
    questionnaire: Questionnaire
    chat: ChatSettings | None = None
    pair: PairSettings | None = None  # comparison of two responses, for items that have two
    registered_models: tuple[str, ...] = ()  # models that learn from its preferences
    demographics: Questionnaire | None = None
    demographics_placed: DemographicsPosition = "after"
    quota: Quota | None = None
    checks: tuple[AttentionCheck, ...] = ()
    minutes: int | None = None  # stated duration of the work
    prolific: ProlificSettings | None = None
    pay: Pay | None = None
    gold: Gold | None = None
    care: CareSettings | None = None
    help: Wording = field(default_factory=empty_wording)
    thanks: Wording = field(default_factory=empty_wording)
    replication: int | None = None  # raters for each item; None for everybody
    most_items: int | None = None  # for each rater
    most_a_day: int | None = None  # items for each rater in 24 hours, to limit exposure
    break_every: int = 20  # items; 0 for never
    preview: bool = False  # cover each conversation until the rater asks for it
    reclaim_after_h: int = 48  # idle hours after which items that are not begun are reassigned
    seed: int = 0  # of all orders and choices of items

    @property
    def digest(self) -> str:
        """SHA-256 of all of it, in hexadecimal."""
        return _digest(self.as_mapping())

    @property
    def screener(self) -> Questionnaire | None:
        """The screening questions: the axes of the quota alone; None without a screener."""
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
        """Warnings about valid but doubtful settings, as sentences for the owner."""
        # Without minutes there is no check of attention, to which alone they matter.
        return check_warnings(self.checks, self.minutes or 0)

    def verdict(self, tries: Mapping[str, Sequence[str]]) -> CheckVerdict:
        """Evaluate the checks of a rater, given all tries of each, the first one first."""
        # Where the minutes are not said there is no check of attention, and they do not matter.
        return judge_checks(self.checks, tries, self.minutes or 0)

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
            asked["care"] = {
                **to_mapping(replace(self.care, survey=NO_QUESTIONS)),
                "survey": self.care.survey.as_mapping(),
            }
        kept = to_mapping(replace(self, questionnaire=NO_QUESTIONS, chat=None, demographics=None, care=None))
        return {**{key: value for key, value in kept.items() if key != "questionnaire"}, **asked}


def parse_consent(mapping: Mapping[str, Any]) -> Consent:
    """Restore a stored consent text without checking it against today's rules."""
    return Consent(text=mapping["text"], purposes=tuple(ConsentPurpose(**purpose) for purpose in mapping["purposes"]))


def localise(wording: Wording, language: str) -> str:
    """Return a text in a language, falling back to the first one, or an empty text."""
    return wording.get(language) or next(iter(wording.values()), "")


def _digest(mapping: dict[str, Any]) -> str:
    text = json.dumps(mapping, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
