"""Everything that the interface says, it says in every language, and nowhere else."""

import re
from importlib.resources import files
from typing import Any

import pytest
from tests.support.campaigns import ABOUT_YOU, TWO_QUESTIONS, definition, items, owner
from tests.support.live_site import Live

from dissensus.web.core.translations import DEFAULT_LANGUAGE, languages, load_phrases
from dissensus.workflows.campaign import campaigns

WEB = files("dissensus.web")
TEMPLATES = {
    path.name: path.read_text("utf-8")
    for folder in (WEB / "templates", WEB / "templates" / "rater")
    for path in folder.iterdir()
    if path.name.endswith(".html")
}
SCRIPTS = "".join(
    (WEB / "static" / f"{name}.js").read_text("utf-8")
    for name in ("rate", "page", "questions", "outbox", "keys", "dialogs", "clock")
)


def places(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w*)\}", text))


@pytest.mark.parametrize("language", languages())
def test_every_language_has_the_same_phrases_with_the_same_places(language: str) -> None:
    first, other = load_phrases(DEFAULT_LANGUAGE), load_phrases(language)
    assert list(other) == list(first)
    assert {name: places(text) for name, text in other.items()} == {name: places(text) for name, text in first.items()}
    assert all(text.strip() for text in other.values())


def test_every_phrase_is_used_and_every_phrase_that_is_used_is_there() -> None:
    whole = "".join(TEMPLATES.values())
    known = set(load_phrases(DEFAULT_LANGUAGE))
    named = set(re.findall(r"""["']([a-z_]+\.[a-z_0-9]+)["']""", whole)) & {*known, *_called(whole)}
    assert named <= known
    # Put together from a part that is known and one that is not: fault, place, status or speaker.
    compared = r"chat\.((is|much|clearly|slightly|equal)_)?(more|less)_|chat\.(much|clearly|slightly|equal|success_\d)$"
    together = re.compile(rf"(fault|trouble|rest|entrance)\.|rate\.(human|bot)$|page\.language$|{compared}")
    scripted = {f"script.{name}" for name in re.findall(r"phrases\.(\w+)", SCRIPTS)}
    assert scripted <= known
    assert {name for name in known - named - scripted if not together.match(name)} == set()


def _called(template: str) -> set[str]:
    return set(re.findall(r"""\bt\(["']([a-z_.0-9]+)["'](?! [+~])""", template))


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_hold_no_words_of_their_own(name: str) -> None:
    bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<kbd>.*?</kbd>", " ", TEMPLATES[name], flags=re.DOTALL)
    bare = re.sub(r"""[a-z-]+="[^"]*"|data-[a-z]+|<!?/?[a-z][^>]*>""", " ", bare)
    # Attributes and classes that blocks divide from their elements.
    assert set(re.findall(r"[^\W\d_]{2,}", bare)) <= {"required", "hidden", "rating", "reading"}


def test_visitors_read_their_language_or_the_one_that_they_choose(live: Live) -> None:
    both = {"en": "A pilot", "de": "Ein Versuch"}
    changes = {
        "languages": ["en", "de"],
        "title": both,
        "warning": both,
        "consent": {"text": both, "purposes": [{"name": "rating", "text": both, "required": True}]},
        "questionnaire": "dices-350",
    }
    key = _opened(live, **changes)
    german = live.visitor(**{"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
    page = german.get("/c/pilot", params={"key": key})
    assert '<html lang="de" dir="ltr">' in page.text
    assert "Bevor Sie auf der nächsten Seite einwilligen" in page.text
    english = german.get("/c/pilot", params={"key": key, "lang": "en"})
    assert "Nothing about you is kept" in english.text
    german.send("/c/pilot", key=key, language="de")
    rating = german.send("/c/pilot/consent", purpose="rating")
    assert "0 von 3 beurteilt" in rating.text


def test_a_language_that_the_interface_does_not_speak_is_read_from_its_own_side(live: Live) -> None:
    wording = "مرحبا"
    changes = {
        "languages": ["ar"],
        "title": wording,
        "warning": wording,
        "consent": {"text": wording, "purposes": [{"name": "rating", "text": wording, "required": True}]},
        "questionnaire": {**TWO_QUESTIONS, "languages": ["ar"]},
        "demographics": {**ABOUT_YOU, "languages": ["ar"]},
    }
    key = _opened(live, **changes)
    visitor = live.visitor()
    page = visitor.get("/c/pilot", params={"key": key})
    assert '<html lang="ar" dir="rtl">' in page.text
    assert "Nothing about you is kept" in page.text
    visitor.send("/c/pilot", key=key, language="ar")
    assert visitor.send("/c/pilot/consent", purpose="rating").status_code == 200


def _opened(live: Live, **changes: Any) -> str:
    staff_id = owner(live.platform.database)
    campaigns.create_campaign(live.platform, definition(**changes), items(3), staff_id=staff_id, now=live.clock())
    return str(campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=live.clock()).key)
