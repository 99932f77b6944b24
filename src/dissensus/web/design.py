"""Design pages: colours, type and components of the site, for staff and for raters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar, Final, NamedTuple

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.parser import parse_questionnaire
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.web.core.forms import QuestionForm
from dissensus.web.core.responses import page
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.core.translations import DEFAULT_LANGUAGE

router = APIRouter(dependencies=[Depends(Public("look"))])

TEXT_COLOURS: Final = (
    *(("ink", "paper"), ("ink", "sheet"), ("ink", "tint"), ("ink", "human"), ("muted", "paper"), ("muted", "sheet")),
    *(("accent", "paper"), ("accent", "sheet"), ("accent", "tint"), ("on-accent", "accent")),
    *(("grave", "paper"), ("grave", "sheet"), ("grave", "grave-tint"), ("on-grave", "grave"), ("good", "paper")),
)
"""Colours of texts, and of what is behind them."""

QUESTIONS: Final = """
name = "design"
languages = ["en"]
title = "Questions"
scale = ["No", "Unsure", "Yes"]

[[questions]]
name = "Q1"
kind = "single"
text = "A few short answers"
help = "An explanation opens on request."
scale = ["No", "Unsure", "Yes"]

[[questions]]
name = "Q2"
kind = "single"
text = "Longer answers stand below each other"
scale = ["Yes, and I would say so to anybody", "No, and I would object to it", "I cannot judge"]

[[questions]]
name = "Q3"
kind = "likert"
text = "A scale of numbers is one row"
scale = ["1", "2", "3", "4", "5"]

[[questions]]
name = "Q4"
kind = "multiple"
text = "Several answers"
required = false
scale = ["Violence", "Insults", "Private data"]

[[questions]]
name = "Q5"
kind = "text"
text = "An answer in one's own words"
required = false
"""


class Colour(NamedTuple):
    """A colour by its name in the style sheet, in both schemes."""

    name: str
    light: str
    dark: str


class TextColour(NamedTuple):
    """A colour of texts on another colour, with their contrast in both schemes."""

    text: str
    ground: str
    light: float
    dark: float


@cache
def load_colours() -> Mapping[str, Colour]:
    """Return the colours of the style sheet by name."""
    sheet = (files("dissensus.web") / "static" / "design.css").read_text("utf-8")
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w+);", part)) for part in sheet.split("@media", 2)[:2])
    return {name: Colour(name, value, dark[name]) for name, value in light.items()}


def list_text_colours() -> tuple[TextColour, ...]:
    """Return the colours of texts with their contrast, by the formula of WCAG 2."""
    colours = load_colours()
    return tuple(
        TextColour(
            text,
            ground,
            measure_contrast(colours[text].light, colours[ground].light),
            measure_contrast(colours[text].dark, colours[ground].dark),
        )
        for text, ground in TEXT_COLOURS
    )


def measure_contrast(first: str, second: str) -> float:
    """Return the contrast of two colours in hexadecimal notation, from 1 to 21, by the formula of WCAG 2.

    Examples
    --------
    >>> measure_contrast("#000000", "#ffffff")
    21.0
    """
    bright, dim = sorted((_measure_luminance(first), _measure_luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _measure_luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@cache
def create_sample_item() -> Item:
    """Return a conversation with every kind of turn."""
    conversation = Conversation.from_turns(
        [
            ("system", "You are a helpful assistant."),
            ("human", "Is the lake safe for children?"),
            ("tool", 'search({"query": "lake water quality"})'),
            ("bot", "The water is clean, and **deep** from the first step. Children need somebody beside them."),
        ]
    )
    return Item("sample", conversation, {"topic": "Safety"})


@cache
def create_sample_questions() -> Questionnaire:
    """Return a questionnaire with every kind of question."""
    return parse_questionnaire(QUESTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPage:
    """Colours, type and components of the pages of staff."""

    template: ClassVar[str] = "design/staff.html"

    colours: tuple[Colour, ...]
    text_colours: tuple[TextColour, ...]
    item: Item
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterDesignPage:
    """Components of the pages of raters."""

    template: ClassVar[str] = "design/raters.html"

    item: Item
    question_form: QuestionForm
    language: str = DEFAULT_LANGUAGE


@router.get("/design")
def show_design(site: SiteOf) -> Response:
    """Show colours, type and components of the pages of staff."""
    context = DesignPage(
        colours=tuple(load_colours().values()), text_colours=list_text_colours(), item=create_sample_item()
    )
    return page(site, context)


@router.get("/design/raters")
def show_rater_design(site: SiteOf) -> Response:
    """Show components of the pages of raters."""
    form = QuestionForm(questionnaire=create_sample_questions(), answers={"Q1": "No"}, faults={"Q2": "missing"})
    return page(site, RaterDesignPage(item=create_sample_item(), question_form=form))
