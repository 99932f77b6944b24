"""Campaign for a preview of a definition with faults: parts with faults are left out, needed ones have a stand-in."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.definition_errors import InvalidDefinition, Path

MAX_ROUNDS: Final = 25
"""Times that faults are removed, since others show after them."""
_LANGUAGE: Final = "en"
_CHATBOT: Final = {"name": "preview", "kind": "scripted", "model_type": "preview", "version": "1"}
STAND_INS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "name": "preview",
        "languages": [_LANGUAGE],
        "title": "Title",
        "warning": "The content warning stands here.",
        "consent": {
            "text": "The consent text stands here.",
            "purposes": [{"name": "p", "text": "…", "required": True}],
        },
        "questionnaire": {
            "name": "preview",
            "title": "Questions",
            "questions": [{"name": "Q_1", "text": "The first question stands here.", "scale": ["No", "Yes"]}],
        },
    }
)


def make_preview(definition: Mapping[str, Any], language: str) -> Campaign:
    """Return the campaign of a definition in one language, without the parts that have faults."""
    table = _reduce(deepcopy(dict(definition)), _languages_of(definition), language)
    table["languages"] = [language]
    if isinstance(table.get("chat"), dict):
        # Raters do not see which chatbots there are.
        table["chat"]["chatbots"] = [dict(_CHATBOT)]
    for _ in range(MAX_ROUNDS):
        try:
            return parse_campaign(table)
        except InvalidDefinition as error:
            for path in sorted({fault.path for fault in error.faults}, key=_order_last_first):
                _remove(table, path)
            _complete(table, language)
    return parse_campaign(_complete({"languages": [language]}, language))


def _languages_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    languages = definition.get("languages")
    return tuple(map(str, languages)) if isinstance(languages, list) else ()


def _order_last_first(path: Path) -> tuple[tuple[int, str], ...]:
    """Return a key that puts later rows of a list first, so that earlier ones keep their numbers."""
    return tuple((-part, "") if isinstance(part, int) else (0, part) for part in path)


def _reduce(value: Any, languages: Sequence[str], language: str) -> Any:
    """Return a value whose wordings are in one language, or in the first one that they have."""
    if isinstance(value, list):
        return [_reduce(part, languages, language) for part in value]
    if not isinstance(value, dict):
        return value
    own = value.get("languages")
    if isinstance(own, list) and "questions" in value:
        languages = tuple(map(str, own))
    texts = [text for text in value.values() if isinstance(text, str) and text.strip()]
    if value and set(value) <= {*languages, language} and all(isinstance(text, str) for text in value.values()):
        return {language: value.get(language) or texts[0]} if texts else {}
    result = {key: _reduce(part, languages, language) for key, part in value.items()}
    return {**result, "languages": [language]} if "questions" in value else result


def _remove(table: dict[str, Any], path: Path) -> None:
    """Remove the value at a path, or the nearest one around it; a missing text has a stand-in."""
    holders: list[tuple[Any, str | int]] = []
    value: Any = table
    for part in path:
        known = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if not known:
            break
        holders.append((value, part))
        value = value[part]
    if isinstance(value, dict) and len(holders) == len(path) - 1 and path[-1] in ("title", "text"):
        value[path[-1]] = "…"
    elif holders:
        holder, part = holders[-1]
        del holder[part]


def _complete(table: dict[str, Any], language: str) -> dict[str, Any]:
    """Add a stand-in for what every campaign needs."""
    for key, value in STAND_INS.items():
        needed = key != "questionnaire" or not {"chat", "pair"} & set(table)
        if key not in table and needed:
            table[key] = _with_language(value, language) if key == "questionnaire" else deepcopy(value)
    return table


def _with_language(value: Mapping[str, Any], language: str) -> dict[str, Any]:
    return {**deepcopy(dict(value)), "languages": [language]}
