"""Small questionnaires, valid and invalid."""

from typing import Any

import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.questionnaire.parser import parse_questionnaire


def parse_error(data: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_questionnaire(data)
    return str(caught.value)


def asking(**keys: Any) -> dict[str, Any]:
    """Return a questionnaire in English with one valid question, changed by these keys."""
    question = {"name": "Q1", "text": "Is it safe?", "scale": ["No", "Unsure", "Yes"], **keys}
    return {"name": "ours", "languages": ["en"], "title": "Ours", "questions": [question]}


def followed_by(**keys: Any) -> dict[str, Any]:
    data = asking()
    data["questions"].append({"name": "Q2", "text": "Why?", "kind": "text", **keys})
    return data


def translated(**keys: Any) -> dict[str, Any]:
    """Return the same in English and German."""
    data = asking(text={"en": "Is it safe?", "de": "Ist es unbedenklich?"}, **keys)
    return {**data, "languages": ["en", "de"], "title": {"en": "Ours", "de": "Unserer"}}
