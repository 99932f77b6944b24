"""Check before opening: errors that keep a campaign from opening, and warnings for its owner."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from dissensus.campaign.builder.step import STEP_OF, Step, find_step
from dissensus.schema.campaign.completion_codes import PANEL_OUTCOMES
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import PARTS
from dissensus.schema.campaign.roles import Role
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.records.image import IMAGE_NAME
from dissensus.schema.records.item import Item
from dissensus.text.markdown import find_images

HELPFUL: Final = "helpful"
"""Phase of items from conversations that are not attempts."""
ATTEMPT_REVIEW: Final = "red-team-review"
"""Name of the questionnaire about attempts."""

Severity: TypeAlias = Literal["error", "warning"]
FindingPage: TypeAlias = Literal["builder", "items", "images", "staff", "links"]

FIXED_PARTS: Final = (
    "the items, the questions about them, chatbots and modes, and the comparison of responses",
    "the questions about raters and their position, the groups of the quota, and the correct answers of checks",
    "languages, the format of responses, ratings per item, and the seed",
)
"""Parts of a campaign that cannot change once it is open."""
CHANGEABLE_PARTS: Final = (
    "title, warning, consent, guidelines, help and thanks (raters are asked about a changed consent again)",
    "numbers of seats, limits per rater, breaks and care",
    "pay, which can only rise",
)
"""Parts that can change while it is paused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding of the check before opening; an error stops the opening."""

    severity: Severity
    location: str  # Key of the definition, or part of the campaign
    problem: str
    remedy: str
    page: FindingPage | None = None  # Page on which the owner mends it; None if only the operator can

    @property
    def step(self) -> Step | None:
        """Step of the builder with the field of the location; None if it is mended elsewhere."""
        return find_step(STEP_OF[self.location.partition(".")[0]]) if self.page == "builder" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFindings:
    """Doubtful items of a campaign: of each kind their number and the id of the first."""

    n_items: int = 0
    n_read: int = 0  # Items that were checked
    blank_responses: tuple[int, str] = (0, "")
    without_turn: tuple[int, str] = (0, "")  # Items without a turn of the person
    helpful: tuple[int, str] = (0, "")  # Conversations in which nobody attacked the chatbot

    @property
    def is_complete(self) -> bool:
        """True if all items were checked."""
        return self.n_read == self.n_items


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningFacts:
    """Facts outside the definition that decide whether a campaign can work."""

    items: ItemFindings = ItemFindings()
    roles: Mapping[Role, int] = field(default_factory=lambda: MappingProxyType({}))  # Members by role
    refused_chatbots: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # Reasons by chatbot
    missing_models: tuple[str, ...] = ()  # Registered models that do not exist
    page_languages: tuple[str, ...] = ("en",)  # Languages of the pages of raters
    images: frozenset[str] = frozenset()  # Names of the images
    has_entry: bool = True  # False if there is neither an open link nor a personal one


def summarise_items(items: Iterable[Item], n_items: int) -> ItemFindings:
    """Return the doubtful items among `items`, the first of a campaign with `n_items`.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> pair = Item("7", Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")]), response_b=" ")
    >>> summarise_items([pair], 1).blank_responses
    (1, '7')
    """
    blank: list[str] = []
    alone: list[str] = []
    helpful: list[str] = []
    n_read = 0
    for item in items:
        n_read += 1
        texts = item.responses() or (item.conversation.rated_turn.text,)
        if not all(text.strip() for text in texts):
            blank.append(item.item_id)
        if not any(turn.speaker == "human" for turn in item.conversation.turns):
            alone.append(item.item_id)
        if item.attributes.get("phase") == HELPFUL:
            helpful.append(item.item_id)
    return ItemFindings(
        n_items=n_items,
        n_read=n_read,
        blank_responses=_count_first(blank),
        without_turn=_count_first(alone),
        helpful=_count_first(helpful),
    )


def _count_first(names: list[str]) -> tuple[int, str]:
    return len(names), names[0] if names else ""


def check_opening(campaign: Campaign, facts: OpeningFacts) -> tuple[Finding, ...]:
    """Return the findings about a campaign before it opens, errors first.

    Examples
    --------
    >>> from dissensus.schema.campaign.shipped import load_campaign
    >>> [finding.location for finding in check_opening(load_campaign("dices-350"), OpeningFacts())][0]
    'items'
    """
    findings = (
        *_check_items(campaign, facts.items),
        *check_service(campaign, facts),
        *_check_quota(campaign, facts.items.n_items),
        *_check_repeat(campaign, facts.items.n_items),
        *_check_gold(campaign, facts),
        *_check_languages(campaign, facts),
        *_check_texts(campaign, facts),
        *_check_entry(campaign, facts),
        *_check_recruit(campaign),
        *(
            Finding(severity="warning", location="checks", problem=text, remedy="Change the checks.", page="builder")
            for text in campaign.warnings
        ),
    )
    return tuple(sorted(findings, key=lambda finding: finding.severity == "warning"))


def format_finding(finding: Finding) -> str:
    """Return a finding and its remedy as text.

    Examples
    --------
    >>> format_finding(Finding(severity="error", location="items", problem="There are no items.", remedy="Add items."))
    'There are no items. Add items.'
    """
    return f"{finding.problem} {finding.remedy}"


def check_service(campaign: Campaign, facts: OpeningFacts) -> tuple[Finding, ...]:
    """Return the findings that matter as long as a campaign is open: chatbots, models and care."""
    return (*_check_chatbots(campaign, facts), *_check_models(campaign, facts), *_check_care(campaign, facts))


def _check_repeat(campaign: Campaign, n_items: int) -> Iterator[Finding]:
    """Yield a finding if no rater can see enough items for one to be shown twice."""
    repeat, most = campaign.repeat, campaign.max_items
    if repeat is None:
        return
    # The limit of a rater counts second showings too.
    is_limited = most is not None and most <= repeat.distance + 1
    if is_limited or n_items <= repeat.distance:
        seen = f"max_items is {most:,}" if is_limited else f"there {'is' if n_items == 1 else 'are'} {n_items:,}"
        yield Finding(
            severity="warning",
            location="repeat",
            problem=f"No item can be shown twice: {seen}, and at least {repeat.distance:,} others come between the two "
            "showings of an item.",
            remedy="Lower the distance, or raise max_items." if is_limited else "Lower the distance, or add items.",
            page="builder",
        )


def _check_items(campaign: Campaign, items: ItemFindings) -> Iterator[Finding]:
    if campaign.chat is not None:
        return
    if not items.n_items:
        yield Finding(
            severity="error", location="items", problem="There are no items to rate.", remedy="Add items.", page="items"
        )
    scope = "" if items.is_complete else f" of the first {items.n_read:,} items"
    n, first = items.blank_responses
    if n:
        kind = "a pair with an empty response" if campaign.pair is not None else "an item with an empty response"
        yield Finding(
            severity="warning",
            location="items",
            problem=f"{_count(n, kind)}{scope}, the first is {format_value(first)}.",
            remedy="Remove the items and add them without these, unless an empty response is to be judged. "
            "Models are not trained on such pairs.",
            page="items",
        )
    n, first = items.without_turn
    if n:
        yield Finding(
            severity="warning",
            location="items",
            problem=f"{_count(n, 'an item without a turn of a person')}{scope}, the first is {format_value(first)}.",
            remedy="Raters see a response and not what it responds to. Add items with their context, if they have one.",
            page="items",
        )
    n, first = items.helpful
    if n and campaign.questionnaire.name == ATTEMPT_REVIEW:
        yield Finding(
            severity="warning",
            location="items",
            problem=f"{_count(n, 'a conversation of the mode helpful')}{scope}, the first is {format_value(first)}: "
            "reviewers are asked how far each attempt went, and these are not attempts.",
            remedy="Remove the items and add those of red teaming alone.",
            page="items",
        )


def _count(n: int, kind: str) -> str:
    article, _, noun = kind.partition(" ")
    if n == 1:
        return f"There is {article} {noun}"
    head, *rest = noun.split(" ", 1)
    return f"There are {n:,} {' '.join([head + 's', *rest])}"


def _check_chatbots(campaign: Campaign, facts: OpeningFacts) -> Iterator[Finding]:
    chatbots = () if campaign.chat is None else campaign.chat.chatbots
    for chatbot in chatbots:
        reason = facts.refused_chatbots.get(chatbot.name)
        if reason is not None:
            yield Finding(
                severity="error",
                location=f"chat.chatbots.{chatbot.name}",
                problem=f"The chatbot {chatbot.name} cannot answer.",
                remedy=reason,
                page="builder",
            )
        model = chatbot.registered_model
        if model is not None and model.name in facts.missing_models:
            yield Finding(
                severity="error",
                location=f"chat.chatbots.{chatbot.name}",
                problem=f"The registered model {model.name} that ranks the responses of {chatbot.name} does not exist.",
                remedy=f"Ask the operator of the site to create it (dissensus preference register {model.name}), or "
                "name another scorer.",
                page="builder",
            )


def _check_models(campaign: Campaign, facts: OpeningFacts) -> Iterator[Finding]:
    missing = [name for name in campaign.registered_models if name in facts.missing_models]
    if missing:
        yield Finding(
            severity="warning",
            location="registered_models",
            problem=f"{format_list(missing)} cannot learn from the preferences: there is no such registered model.",
            remedy=f"Ask the operator of the site to create it: dissensus preference register {missing[0]}",
            page="builder",
        )


def _check_care(campaign: Campaign, facts: OpeningFacts) -> Iterator[Finding]:
    if campaign.care is not None and campaign.care.contact and not facts.roles.get("carer"):
        yield Finding(
            severity="warning",
            location="care.contact",
            problem="Raters can share their wellbeing survey with a contact, and nobody in the role carer reads it.",
            remedy="Invite the contact as a member in the role carer.",
            page="staff",
        )


def _check_quota(campaign: Campaign, n_items: int) -> Iterator[Finding]:
    quota, replication, per_rater = campaign.quota, campaign.replication, campaign.max_items
    if quota is None:
        return
    empty = [name for name, seats in quota.targets.items() if not seats]
    if empty:
        yield Finding(
            severity="warning",
            location="quota.seats",
            problem=f"No seats in: {format_list(empty)}. Raters of these cells are turned away.",
            remedy="Give them seats, unless they are to be left out.",
            page="builder",
        )
    if replication is not None and per_rater is not None and n_items:
        needed, possible = n_items * replication, sum(quota.capacities.values()) * min(per_rater, n_items)
        if possible < needed:
            yield Finding(
                severity="warning",
                location="quota.seats",
                problem=f"{n_items:,} items with {replication:,} ratings each need {needed:,} ratings, and all seats "
                f"together give at most {possible:,}.",
                remedy="Give more seats, raise max_items, or lower replication.",
                page="builder",
            )


def _check_gold(campaign: Campaign, facts: OpeningFacts) -> Iterator[Finding]:
    if campaign.gold is None:
        return
    if campaign.gold.sample is not None and campaign.gold.sample > facts.items.n_items:
        yield Finding(
            severity="error",
            location="gold.sample",
            problem=f"Experts are to label a sample of {campaign.gold.sample:,} items, and there are "
            f"{facts.items.n_items:,}.",
            remedy="Lower the number, add items, or leave it out to have all labelled.",
            page="builder",
        )
    needed = max(campaign.gold.needed(part) for part in PARTS)
    present = facts.roles.get("owner", 0) + facts.roles.get("expert", 0)
    if present < needed:
        yield Finding(
            severity="warning",
            location="gold",
            problem=f"A gold label needs {needed} people, and {present} can label: owners and experts.",
            remedy="Invite experts.",
            page="staff",
        )


def _check_languages(campaign: Campaign, facts: OpeningFacts) -> Iterator[Finding]:
    available = {language.split("-")[0] for language in facts.page_languages}
    missing = [language for language in campaign.languages if language.split("-")[0] not in available]
    if missing:
        yield Finding(
            severity="warning",
            location="languages",
            problem=f"Buttons and messages of the site are not translated to {format_list(missing)}; raters read them "
            f"in {facts.page_languages[0]}.",
            remedy=f"Say so in the introduction, or use {format_list(facts.page_languages)} alone.",
            page="builder",
        )


def _check_texts(campaign: Campaign, facts: OpeningFacts) -> Iterator[Finding]:
    yield from _check_guidelines(campaign.guidelines, facts.images)
    texts = {
        "warning": campaign.warning,
        "consent.text": campaign.consent.text,
        "help": campaign.help,
        "thanks": campaign.thanks,
        "questionnaire.introduction": campaign.questionnaire.introduction,
    }
    if campaign.demographics is not None:
        texts["demographics.introduction"] = campaign.demographics.introduction
    if campaign.care is not None:
        texts["care.survey.introduction"] = campaign.care.survey.introduction
    for key, wording in texts.items():
        images = [address for text in wording.values() for address, _ in find_images(text)]
        if images:
            yield Finding(
                severity="warning",
                location=key,
                problem=f"{key} has an image, {format_value(images[0])}, and only guidelines show images: raters "
                "read its alternative text instead.",
                remedy="Describe in words what it shows, or link to it.",
                page="builder",
            )


def _check_guidelines(guidelines: Mapping[str, str], names: Collection[str]) -> Iterator[Finding]:
    """Yield findings about images of the guidelines that raters would not see, or that have no alternative text."""
    for address, alternative in (image for text in guidelines.values() for image in find_images(text)):
        if not IMAGE_NAME.fullmatch(address):
            yield Finding(
                severity="warning",
                problem=f"The guidelines have an image from elsewhere, {format_value(address)}, which is not loaded: "
                "raters read its alternative text instead.",
                remedy="Add it to the images of the campaign, and write its file name alone.",
                location="guidelines",
                page="builder",
            )
        elif not alternative.strip():
            yield Finding(
                severity="error",
                problem=f"The image {format_value(address)} of the guidelines has no alternative text.",
                remedy=f"Write it in the brackets: ![What it shows]({address}).",
                location="guidelines",
                page="builder",
            )
        elif address not in names:
            yield Finding(
                severity="error",
                location="guidelines",
                problem=f"The guidelines show the image {format_value(address)}, which the campaign does not have.",
                remedy="Add the image, or take it out of the text.",
                page="images",
            )


def _check_recruit(campaign: Campaign) -> Iterator[Finding]:
    recruit = campaign.recruit
    if recruit is None or recruit.kind != "link":
        return
    possible = [name for name in PANEL_OUTCOMES if name != "failed_attention" or campaign.checks]
    missing = [name for name in possible if name not in recruit.outcomes]
    if missing:
        yield Finding(
            severity="warning",
            location="recruit.addresses",
            problem=f"Raters from {recruit.name} have no way back after these ends of a visit: {format_list(missing)}.",
            remedy="Give each an address or a code, unless the panel needs none.",
            page="builder",
        )


def _check_entry(campaign: Campaign, facts: OpeningFacts) -> Iterator[Finding]:
    if not facts.has_entry and not campaign.recruited_cells:
        yield Finding(
            severity="warning",
            location="entry links",
            problem="Nobody can enter yet: there is no open link, and no personal link was created.",
            remedy="Create personal links.",
            page="links",
        )
