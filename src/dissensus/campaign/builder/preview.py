"""Preview of an invalid campaign definition: invalid parts are dropped, required ones get placeholders."""

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.definition_errors import InvalidDefinition, Path

MAX_ROUNDS: Final = 25
"""Maximum rounds of parsing and removal: some faults appear only after others are removed."""
_LANGUAGE: Final = "en"
_CHATBOT: Final = {"name": "preview", "kind": "scripted", "model_type": "preview", "version": "1"}
PLACEHOLDERS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "name": "preview",
        "languages": [_LANGUAGE],
        "title": "Title",
        "warning": "Your content warning will appear here.",
        "consent": {
            "text": "Your consent text will appear here.",
            "purposes": [{"name": "p", "text": "…", "required": True}],
        },
        "questionnaire": {
            "name": "preview",
            "title": "Questions",
            "questions": [{"name": "Q_1", "text": "Your first question will appear here.", "scale": ["No", "Yes"]}],
        },
    }
)


def make_preview(definition: Mapping[str, Any], language: str) -> Campaign:
    """Return the campaign of a definition in one language, without its invalid parts."""
    table = _reduce(deepcopy(dict(definition)), _languages_of(definition), language)
    table["languages"] = [language]
    if isinstance(table.get("chat"), dict):
        # Raters do not see which chatbots there are.
        table["chat"]["chatbots"] = [dict(_CHATBOT)]
    for _ in range(MAX_ROUNDS):
        try:
            return parse_campaign(table)
        except InvalidDefinition as error:
            _remove(table, {_find_target(table, fault.path) for fault in error.faults})
            _complete(table, language)
    return parse_campaign(_complete({"languages": [language]}, language))


def _languages_of(definition: Mapping[str, Any]) -> tuple[str, ...]:
    languages = definition.get("languages")
    return tuple(map(str, languages)) if isinstance(languages, list) else ()


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


def _find_target(table: dict[str, Any], path: Path) -> Path:
    """Return the path of a faulty value: its own, that of the nearest value around it, or that of a missing text."""
    value: Any = table
    for depth, part in enumerate(path):
        known = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if not known:
            is_text = isinstance(value, dict) and depth == len(path) - 1 and part in ("title", "text")
            return path if is_text else path[:depth]
        value = value[part]
    return path


def _remove(table: dict[str, Any], targets: Collection[Path]) -> None:
    """Remove values, and write a placeholder for missing texts."""
    # Parts of a removed value go with it: their paths would lead to the next row.
    outermost = [path for path in targets if not any(path[:depth] in targets for depth in range(1, len(path)))]
    for path in sorted(outermost, key=_order_last_first):
        if not path:
            continue
        holder: Any = table
        for part in path[:-1]:
            holder = holder[part]
        if isinstance(holder, dict) and path[-1] not in holder:
            holder[path[-1]] = "…"
        else:
            del holder[path[-1]]


def _order_last_first(path: Path) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts later rows of a list first, so that the indices of earlier ones stay valid."""
    return tuple((-part, "") if isinstance(part, int) else (0, part) for part in path)


def _complete(table: dict[str, Any], language: str) -> dict[str, Any]:
    """Add placeholders for what every campaign needs."""
    for key, value in PLACEHOLDERS.items():
        needed = key != "questionnaire" or not {"chat", "pair"} & set(table)
        if key not in table and needed:
            table[key] = _with_language(value, language) if key == "questionnaire" else deepcopy(value)
    return table


def _with_language(value: Mapping[str, Any], language: str) -> dict[str, Any]:
    return {**deepcopy(dict(value)), "languages": [language]}
