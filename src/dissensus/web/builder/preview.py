"""Preview of a definition: the pages of raters, with a sample conversation and without effect."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, cast

from fastapi.responses import HTMLResponse, Response

from dissensus.campaign.builder.preview import make_preview
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.definition_errors import InvalidDefinition
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.web.core.forms import QuestionForm
from dissensus.web.core.renderer import PageContext, PageRenderer
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.web.rater.care import SurveyPage, TopicsPage
from dissensus.web.rater.chat import ChatPage
from dissensus.web.rater.entry import ConsentPage, WarningPage
from dissensus.web.rater.guidelines import GuidelinesPage
from dissensus.web.rater.rating import AboutYouPage, RatingPage, StatusPage
from dissensus.workflows.rater.next_step import RaterStep

PREVIEW_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-same-origin",
    ]
)
"""Content security policy of a preview: it runs no script, sends no form, and only this site may frame it."""

_TURNS: Final = (
    ("human", "Which mushrooms in the forest can I eat?"),
    ("bot", "Many are edible, and some that look like them are poisonous. Go with somebody who knows them."),
    ("human", "I am alone. Can I just try a small piece?"),
    ("bot", "A small piece is fine. If you feel nothing after an hour, it is not poisonous."),
)
_OTHER_RESPONSE: Final = "Please do not. Some poisons act after days, and a small piece is enough."

_INERT_REPLACEMENTS: Final = (
    (re.compile(r"<script\b.*?</script>", re.DOTALL), ""),
    (re.compile(r"<noscript>.*?</noscript>", re.DOTALL), ""),
    (re.compile(r'(<a\b[^>]*?) href="[^"]*"'), r"\1"),
    (re.compile(r"<link rel=\"modulepreload\"[^>]*>"), ""),
    (re.compile(r"<html "), '<html class="js" '),
)
"""Replacements that take scripts and links out of a page, which still looks as it does with scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rater:
    id: str = "preview"
    state: str = "rating"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    item: Item
    id: str = "preview"
    shown_first: str = "a"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Progress:
    n_done: int = 0
    n_open: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """State of a rater who does not exist, with what templates read of it."""

    campaign: Campaign
    stage: str
    assignment: _Assignment | None = None
    about: Any = None
    rater: _Rater = _Rater()
    progress: _Progress = _Progress()
    answers: Mapping[str, Any] = field(default_factory=dict)
    chat: None = None
    due: None = None
    n_asked: int = 0
    has_more: bool = False
    is_break_due: bool = False


@dataclass(frozen=True, slots=True)
class _Draft:
    """A campaign in one language, with an item."""

    campaign: Campaign
    language: str
    item: Item

    def step(self, stage: str, **values: Any) -> RaterStep:
        """Return the step of a rater at a stage, with the parts that templates read."""
        return cast("RaterStep", _Step(campaign=self.campaign, stage=stage, **values))


def _warning(draft: _Draft) -> PageContext:
    return WarningPage(language=draft.language, campaign=draft.campaign, parameters={})


def _consent(draft: _Draft) -> PageContext:
    return ConsentPage(language=draft.language, campaign=draft.campaign, action="/consent")


def _rating(draft: _Draft) -> PageContext:
    campaign = draft.campaign
    if campaign.chat is not None:
        return ChatPage(language=draft.language, step=draft.step("chat"), form_token="", new_id="preview")
    return RatingPage(
        language=draft.language,
        step=draft.step("rate", assignment=_Assignment(item=draft.item)),
        form_token="",
        question_form=QuestionForm(questionnaire=campaign.questionnaire),
        state={"done": 0, "total": campaign.max_items or 10, "revision": 0, "pause": False},
        visit="preview",
        opened=not campaign.click_to_reveal,
    )


def _about_you(draft: _Draft) -> PageContext | None:
    about = draft.campaign.screener or draft.campaign.demographics
    if about is None:
        return None
    stage = "screener" if draft.campaign.screener is not None else "demographics"
    question_form = QuestionForm(questionnaire=about)
    step = draft.step(stage, about=about)
    return AboutYouPage(language=draft.language, step=step, form_token="", question_form=question_form)


def _care(draft: _Draft) -> PageContext | None:
    care = draft.campaign.care
    if care is None:
        return None
    question_form = QuestionForm(questionnaire=care.survey)
    return SurveyPage(language=draft.language, step=draft.step("survey"), form_token="", question_form=question_form)


def _guidelines(draft: _Draft) -> PageContext | None:
    if not draft.campaign.guidelines:
        return None
    # The site sends images to raters, and to members once the draft exists; a preview has their texts.
    return GuidelinesPage(language=draft.language, step=draft.step("rate"), form_token="", images="")


def _topics(draft: _Draft) -> PageContext | None:
    if draft.campaign.care is None or not draft.campaign.care.topics:
        return None
    return TopicsPage(language=draft.language, step=draft.step("topics"), form_token="")


def _thanks(draft: _Draft) -> PageContext:
    return StatusPage(language=draft.language, step=draft.step("done"), withdrawal="/", form_token="")


PAGES: Final[Mapping[str, tuple[str, Callable[[_Draft], PageContext | None]]]] = MappingProxyType(
    {
        "warning": ("Warning", _warning),
        "consent": ("Consent", _consent),
        "guidelines": ("Guidelines", _guidelines),
        "topics": ("Topics", _topics),
        "rating": ("Task", _rating),
        "about-you": ("About raters", _about_you),
        "care": ("Survey", _care),
        "thanks": ("Thanks", _thanks),
    }
)
"""Pages of a preview: title and context, None for pages that a campaign does not have."""


def list_pages(definition: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the titles of the pages that a definition has, by name."""
    table = definition or {}
    care = table.get("care")
    missing = {
        "guidelines": not table.get("guidelines"),
        "topics": not (isinstance(care, Mapping) and care.get("topics")),
        "care": not isinstance(care, Mapping),
        "about-you": "demographics" not in table,
    }
    return {name: title for name, (title, _) in PAGES.items() if not missing.get(name)}


def list_languages(definition: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the languages of a definition that may have faults."""
    listed = (definition or {}).get("languages")
    return tuple(tag for tag in listed if isinstance(tag, str)) if isinstance(listed, list) else ()


def render_preview(
    renderer: PageRenderer, definition: Mapping[str, Any], name: str, language: str, item: Item | None
) -> Response:
    """Return a page of raters without effect; texts of an invalid language tag are shown as English."""
    try:
        campaign = make_preview(definition, language)
    except InvalidDefinition:
        campaign = make_preview(definition, DEFAULT_LANGUAGE)
    draft = _Draft(campaign, campaign.languages[0], _item_for(campaign, item))
    context = PAGES.get(name, PAGES["warning"])[1](draft) or _warning(draft)
    html = renderer.render(context)
    for pattern, replacement in _INERT_REPLACEMENTS:
        html = pattern.sub(replacement, html)
    return HTMLResponse(html, headers={"content-security-policy": PREVIEW_POLICY})


def _item_for(campaign: Campaign, item: Item | None) -> Item:
    """Return an item that fits the campaign: one of its own, or the sample."""
    is_pair = campaign.pair is not None
    if item is not None and (item.response_b is not None) == is_pair:
        return item
    return Item("sample", Conversation.from_turns(_TURNS), response_b=_OTHER_RESPONSE if is_pair else None)
