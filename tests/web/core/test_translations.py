"""All texts of rater pages are phrases, in every language."""

import re
from importlib.resources import files
from typing import Any

import pytest
from tests.support.campaigns import ABOUT_YOU, TWO_QUESTIONS, definition, items, owner
from tests.support.live_site import LiveSite

from dissensus.web.core.translations import DEFAULT_LANGUAGE, languages, load_phrases, negotiate_language
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


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{(\w*)\}", text))


@pytest.mark.parametrize("header", ["de; q=0.9", "en;q=0.5, de ; Q=0.9", "de;q=0.9,*;q=0.1"])
def test_blanks_around_weights_are_ignored(header: str) -> None:
    assert negotiate_language(header, ("en", "de")) == "de"


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("zh-Hant", "zh-Hant"),
        ("zh-hant-tw", "zh-Hant"),
        ("zh", "zh-Hans"),
        ("en", "en"),
        ("en-GB", "en-GB"),
        ("en-US", "en-GB"),
        ("", "zh-Hans"),
    ],
)
def test_the_language_that_shares_most_subtags_is_nearest(header: str, language: str) -> None:
    assert negotiate_language(header, ("zh-Hans", "zh-Hant", "en-GB", "en")) == language


@pytest.mark.parametrize("language", languages())
def test_all_languages_have_the_same_phrases_and_placeholders(language: str) -> None:
    first, other = load_phrases(DEFAULT_LANGUAGE), load_phrases(language)
    assert list(other) == list(first)
    assert {name: placeholders(text) for name, text in other.items()} == {
        name: placeholders(text) for name, text in first.items()
    }
    assert all(text.strip() for text in other.values())


def test_phrases_and_their_uses_match() -> None:
    templates = "".join(TEMPLATES.values())
    phrases = set(load_phrases(DEFAULT_LANGUAGE))
    used = set(re.findall(r"""["']([a-z_]+\.[a-z_0-9]+)["']""", templates)) & {*phrases, *_called(templates)}
    assert used <= phrases
    # Keys assembled in templates from a fault, state, status or speaker.
    compared = r"chat\.((is|much|clearly|slightly|equal)_)?(more|less)_|chat\.(much|clearly|slightly|equal|success_\d)$"
    together = re.compile(rf"(fault|errors|status|entry)\.|rate\.(human|bot|system|tool)$|page\.language$|{compared}")
    scripted = {f"script.{name}" for name in re.findall(r"phrases\.(\w+)", SCRIPTS)}
    assert scripted <= phrases
    assert {name for name in phrases - used - scripted if not together.match(name)} == set()


def _called(template: str) -> set[str]:
    return set(re.findall(r"""\bt\(["']([a-z_.0-9]+)["'](?! [+~])""", template))


@pytest.mark.parametrize("name", TEMPLATES)
def test_rater_templates_contain_no_text(name: str) -> None:
    bare = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<kbd>.*?</kbd>", " ", TEMPLATES[name], flags=re.DOTALL)
    bare = re.sub(r"""[a-z-]+="[^"]*"|data-[a-z]+|<!?/?[a-z][^>]*>""", " ", bare)
    # Attributes and classes set by blocks.
    assert set(re.findall(r"[^\W\d_]{2,}", bare)) <= {"required", "hidden", "rating", "reading"}


def test_the_language_is_negotiated_or_chosen(live: LiveSite) -> None:
    titles = {"en": "A pilot", "de": "Ein Versuch"}
    changes = {
        "languages": ["en", "de"],
        "title": titles,
        "warning": titles,
        "consent": {"text": titles, "purposes": [{"name": "rating", "text": titles, "required": True}]},
        "questionnaire": "dices-350",
    }
    key = _open_campaign(live, **changes)
    german = live.visitor(**{"accept-language": "de-AT,de;q=0.9,en;q=0.5"})
    page = german.get("/c/pilot", params={"key": key})
    assert '<html lang="de" dir="ltr">' in page.text
    assert "bevor Sie auf der nächsten Seite einwilligen" in page.text
    english = german.get("/c/pilot", params={"key": key, "lang": "en"})
    assert "Nothing about you is stored" in english.text
    german.send("/c/pilot", key=key, language="de")
    rating = german.send("/c/pilot/consent", purpose="rating")
    assert "0 von 3 beurteilt" in rating.text


def test_unsupported_languages_keep_their_text_direction(live: LiveSite) -> None:
    wording = "مرحبا"
    changes = {
        "languages": ["ar"],
        "title": wording,
        "warning": wording,
        "consent": {"text": wording, "purposes": [{"name": "rating", "text": wording, "required": True}]},
        "questionnaire": {**TWO_QUESTIONS, "languages": ["ar"]},
        "demographics": {**ABOUT_YOU, "languages": ["ar"]},
    }
    key = _open_campaign(live, **changes)
    visitor = live.visitor()
    page = visitor.get("/c/pilot", params={"key": key})
    assert '<html lang="ar" dir="rtl">' in page.text
    assert "Nothing about you is stored" in page.text
    visitor.send("/c/pilot", key=key, language="ar")
    assert visitor.send("/c/pilot/consent", purpose="rating").status_code == 200


def _open_campaign(live: LiveSite, **changes: Any) -> str:
    staff_id = owner(live.platform.database)
    campaigns.create_campaign(live.platform, definition(**changes), items(3), staff_id=staff_id, now=live.clock())
    return str(campaigns.change_state(live.platform, "pilot", "open", staff_id=staff_id, now=live.clock()).key)
