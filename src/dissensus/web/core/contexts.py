"""What each page shows: one frozen dataclass a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from dissensus.campaign.attention_checks import Due
from dissensus.pipeline.collect.chat import Moment, moment
from dissensus.schema.campaign.care import LONGEST_REACH
from dissensus.schema.campaign.chat import STRONGEST, Mode
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.questionnaire.definition import Heading, Questionnaire
from dissensus.schema.questionnaire.question import Answer, Question
from dissensus.workflows.rater.journey import Step

if TYPE_CHECKING:
    from dissensus.store.raters import Said
    from dissensus.workflows.rater.invite_links import Admission
    from dissensus.workflows.rater.recruitment import Visit, WayBack

CHECK_ANSWER: Final = "answer"
"""The field of the answer to a check, whose own name could be that of another field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something went wrong; a reference where nothing of it is told, by which it stands in the log."""

    template: ClassVar[str] = "trouble.html"

    language: str
    status: int
    text: str
    reference: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """The first page of a rater: what they may see."""

    template: ClassVar[str] = "warning.html"

    language: str
    campaign: Campaign
    brought: Mapping[str, str]
    back: "WayBack | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotOpen:
    """Nobody is let in now: the campaign is a draft, paused or closed, or has no seat left."""

    template: ClassVar[str] = "not-open.html"

    language: str
    campaign: Campaign
    brought: Mapping[str, str]
    state: "Admission"
    back: "WayBack | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a rater is asked to agree to, first or again; once they are signed in, they can withdraw instead."""

    template: ClassVar[str] = "consent.html"

    language: str
    campaign: Campaign
    action: str
    sent: bool = False
    form_token: str | None = None
    withdrawal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """Somebody did not agree."""

    template: ClassVar[str] = "declined.html"

    language: str
    back: "WayBack | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """What a rater agreed to and what not, to read again, the latest text first."""

    template: ClassVar[str] = "agreed.html"

    language: str
    step: Step
    said: tuple["Said", ...]
    form_token: str
    withdrawal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Questions with the answers so far."""

    questionnaire: Questionnaire
    answers: Mapping[str, Answer | list[str]] = field(default_factory=dict)  # What was answered, by name
    # What is wrong with an answer, by name: the check that it did not pass
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[tuple[Heading | None, tuple[Question, ...]], ...]:
        """The questions in their order, with the heading that neighbours share."""
        headings = self.questionnaire.headings
        together = groupby(self.questionnaire.questions, key=lambda question: question.heading)
        return tuple((headings.get(name or ""), tuple(questions)) for name, questions in together)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """An item and the questions about it."""

    template: ClassVar[str] = "rate.html"

    language: str
    step: Step
    form_token: str
    asked: Asked
    state: Mapping[str, Any]  # What scripts start from, as `dissensus.web.rater.step_json.of_step` gives it
    visit: str  # Names this showing of the item; a form that is sent twice is kept once
    noted: bool = False  # Whether a message for help or a report was just kept


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutYou:
    """What a rater is asked about themselves."""

    template: ClassVar[str] = "about-you.html"

    language: str
    step: Step
    form_token: str
    asked: Asked
    noted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """What somebody does not want to meet."""

    template: ClassVar[str] = "topics.html"

    language: str
    step: Step
    form_token: str
    noted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeling:
    """How somebody feels."""

    template: ClassVar[str] = "feelings.html"
    longest: ClassVar[int] = LONGEST_REACH

    language: str
    step: Step
    form_token: str
    asked: Asked  # The survey, none of whose questions must be answered
    # Whether the contact of the campaign is to know, and how the rater can be reached, as it was typed
    told: bool = False
    reach: str = ""
    fault: str | None = None  # What is wrong with that; None for nothing
    noted: bool = False  # Whether a message for help was just kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """A check, which looks like every other question."""

    template: ClassVar[str] = "check.html"

    language: str
    step: Step
    form_token: str
    due: Due  # The check, and which try it is
    fault: str | None = None  # What is wrong with what was sent, as `Asked` names it; None for nothing
    noted: bool = False  # Whether a message for help was just kept

    @property
    def asked(self) -> Asked:
        """The check as a question."""
        check = self.due.check
        question = Question(name=CHECK_ANSWER, text=check.text, scale=check.scale, labels=check.labels)
        alone = Questionnaire(name=check.name, questions=(question,), overalls={})
        return Asked(questionnaire=alone, faults={} if self.fault is None else {CHECK_ANSWER: self.fault})


@dataclass(frozen=True, slots=True, kw_only=True)
class Chatting:
    """A conversation with chatbots: before it, in it, or at a response to pick."""

    template: ClassVar[str] = "chat.html"

    language: str
    step: Step
    form_token: str
    fresh: str  # The id of what is sent next; a form that is sent twice is kept once
    failed: bool = False  # Whether a response did not come
    typed: Mapping[str, str] = field(default_factory=dict)  # What was typed and could not be taken, with the fault
    noted: bool = False  # Whether a message for help was just kept

    @property
    def moment(self) -> Moment | Literal["begin"]:
        """What comes next."""
        talk, chat = self.step.chat, self.step.campaign.chat
        return "begin" if talk is None or chat is None or talk.done else moment(chat, talk.exchanges)

    @property
    def mode(self) -> Mode | None:
        """The mode that holds."""
        talk, chat = self.step.chat, self.step.campaign.chat
        return None if talk is None or chat is None else chat.mode(talk.last_mode)

    @property
    def asks_success(self) -> bool:
        """Whether the end is asked how well it went."""
        talk, chat = self.step.chat, self.step.campaign.chat
        modes = [] if talk is None or chat is None else [chat.mode(one.mode) for one in talk.exchanges]
        return any(mode is not None and mode.success for mode in modes)

    @property
    def strengths(self) -> tuple[int, ...]:
        """What can be said of two responses, from much more for A to much more for B."""
        equal = self.step.campaign.chat is not None and self.step.campaign.chat.equal
        return tuple(one for one in range(-STRONGEST, STRONGEST + 1) if one or equal)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedAway:
    """There was no seat for somebody; nothing is kept of them, but that a recruiter sent them."""

    template: ClassVar[str] = "turned-away.html"

    language: str
    campaign: Campaign
    sent: bool = False
    back: "WayBack | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Nothing to rate now: no seat, enough for a day, paused, closed, unfit, done or withdrawn."""

    template: ClassVar[str] = "rest.html"

    language: str
    step: Step
    withdrawal: str | None
    form_token: str
    noted: bool = False
    visit: "Visit | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A rater is signed out on this device, which forgets them."""

    template: ClassVar[str] = "left.html"

    language: str
    rater_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """What will be deleted, or was."""

    template: ClassVar[str] = "withdraw.html"

    language: str
    token: str
    rater_id: str
    n_rated: int
    paid: bool = False
    done: bool = False
    back: "WayBack | None" = None
