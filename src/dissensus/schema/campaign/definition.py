"""Definition of a campaign: texts, consent, questions, quota, limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

import tomli_w

from dissensus.schema.campaign.attention_check import AttentionCheck, CheckVerdict, check_warnings, judge_checks
from dissensus.schema.campaign.care import CareSettings
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.gold import Gold
from dissensus.schema.campaign.quota import Quota
from dissensus.schema.campaign.recruit import RecruitSettings
from dissensus.schema.campaign.repeat import RepeatSettings
from dissensus.schema.canonical_json import digest_json
from dissensus.schema.money import check_currency
from dissensus.schema.numbers import check_whole
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.questionnaire.question import Answer, Wording, empty_wording
from dissensus.schema.records.pair import PairSettings, remove_preference


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """Pay rates in minor units such as cents."""

    currency: str
    hourly_rate: int
    finished: int = 0  # minimum for finishing; 0 for none
    screened_out: int = 0  # minimum for raters screened out; 0 for none

    def __post_init__(self) -> None:
        check_currency(self.currency)
        for name in ("hourly_rate", "finished", "screened_out"):
            check_whole(f"{name} (in minor units of {self.currency})", getattr(self, name))


CampaignState: TypeAlias = Literal["draft", "open", "paused", "closed"]
STATES: Final[tuple[CampaignState, ...]] = get_args(CampaignState)
DemographicsPosition: TypeAlias = Literal["after", "before"]
DEMOGRAPHICS_POSITIONS: Final[tuple[DemographicsPosition, ...]] = get_args(DemographicsPosition)

ResponseFormat: TypeAlias = Literal["plain", "markdown"]
RESPONSE_FORMATS: Final[tuple[ResponseFormat, ...]] = get_args(ResponseFormat)

NO_QUESTIONS: Final = Questionnaire(name="none", questions=(), overalls={})
"""Questionnaire of a campaign without items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentPurpose:
    """A purpose of use that raters may consent to."""

    name: str
    text: Wording
    required: bool = False  # for taking part


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """The consent text and its purposes; each text is a version."""

    text: Wording
    purposes: tuple[ConsentPurpose, ...]

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of texts and purposes."""
        return digest_json(to_mapping(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """Everything that is fixed about a campaign before the first rater enters."""

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
    demographics_position: DemographicsPosition = "after"
    quota: Quota | None = None
    checks: tuple[AttentionCheck, ...] = ()
    estimated_minutes: int | None = None  # duration of the work
    recruit: RecruitSettings | None = None
    pay: Pay | None = None
    gold: Gold | None = None
    care: CareSettings | None = None
    guidelines: Wording = field(default_factory=empty_wording)
    help: Wording = field(default_factory=empty_wording)
    thanks: Wording = field(default_factory=empty_wording)
    replication: int | None = None  # raters per item; None for all
    max_items: int | None = None  # per rater
    phase: str | None = None  # of the collection, for items that name none
    max_per_day: int | None = None  # items per rater in 24 hours, to limit exposure
    repeat: RepeatSettings | None = None  # items that raters see twice
    break_every: int = 20  # items; 0 for never
    response_format: ResponseFormat = "plain"  # of responses on pages, the same for all raters
    bulk_answers: bool = False  # offer to give the first answer to the rest of a grid at once
    click_to_reveal: bool = False  # hide each conversation until the rater opens it
    show_topic: bool = False  # write the topic of a hidden conversation, as experts named it, on its cover
    reclaim_after_h: int = 48  # hours of inactivity after which a rater's open items are reassigned
    reports_to_withhold: int = 2  # raters who report an item before it is withheld from everybody
    release_signers: int | None = None  # owners who sign each check of a release; None: its plan has them
    seed: int = 0  # of all orders and choices of items

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the definition."""
        return digest_json(self.as_mapping())

    @property
    def screener(self) -> Questionnaire | None:
        """The screening questions, which are the axes of the quota; None without a screener."""
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
        """Cells with a recruitment link each; empty if a recruiter fills no quota."""
        return tuple(self.quota.targets) if self.quota is not None and self.quota.source == "recruiter" else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about valid but doubtful settings, as sentences for the owner."""
        return check_warnings(self.checks, self.estimated_minutes or 0)  # attention checks require it

    def verdict(self, attempts: Mapping[str, Sequence[str]]) -> CheckVerdict:
        """Evaluate the checks of a rater, given all attempts of each in order."""
        return judge_checks(self.checks, attempts, self.estimated_minutes or 0)  # attention checks require it

    def remaining_demographics(self, declared: Mapping[str, Answer]) -> Questionnaire | None:
        """Return the questions about a rater that remain after the screener, given the answers to it."""
        if self.demographics is None or self.screener is None:
            return self.demographics
        axes = {question.name for question in self.screener.questions}
        applicable = {question.name for question in self.demographics.applicable_questions(declared)}
        questions = []
        for question in self.demographics.questions:
            follows = question.when is not None and question.when.question in axes
            if question.name not in axes and (not follows or question.name in applicable):
                questions.append(replace(question, when=None) if follows else question)
        return replace(self.demographics, questions=tuple(questions)) if questions else None

    def as_mapping(self) -> dict[str, Any]:
        """Return the input of `parse_campaign`, with all questionnaires in full."""
        questionnaire = self.questionnaire if self.pair is None else remove_preference(self.questionnaire)
        tables = {} if not questionnaire.questions else {"questionnaire": questionnaire.as_mapping()}
        if self.chat is not None:
            tables = {"chat": self.chat.as_mapping()}
        if self.demographics is not None:
            tables["demographics"] = self.demographics.as_mapping()
        if self.care is not None:
            tables["care"] = {
                **to_mapping(replace(self.care, survey=NO_QUESTIONS)),
                "survey": self.care.survey.as_mapping(),
            }
        mapping = to_mapping(replace(self, questionnaire=NO_QUESTIONS, chat=None, demographics=None, care=None))
        del mapping["questionnaire"]
        return {**mapping, **tables}


def parse_consent(mapping: Mapping[str, Any]) -> Consent:
    """Restore a stored consent text without validation, since the rules may have changed."""
    return Consent(text=mapping["text"], purposes=tuple(ConsentPurpose(**purpose) for purpose in mapping["purposes"]))


def localise(wording: Wording, language: str) -> str:
    """Return a text in a language, else in the first one, else an empty text."""
    return wording.get(language) or next(iter(wording.values()), "")


def write_campaign(campaign: Campaign) -> str:
    """Return a campaign as TOML, with questionnaires in full and without default values.

    Examples
    --------
    >>> from dissensus.schema.campaign.parser import parse_campaign
    >>> from dissensus.schema.campaign.shipped import load_campaign
    >>> dices = load_campaign("dices-350")
    >>> text = write_campaign(dices)
    >>> text.splitlines()[0], parse_campaign(text).digest == dices.digest
    ('name = "dices-350"', True)
    """
    return tomli_w.dumps(campaign.as_mapping(), multiline_strings=True)
