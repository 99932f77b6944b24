"""Campaign definitions as TOML data."""

from copy import deepcopy
from typing import Any

PILOT: dict[str, Any] = {
    "name": "pilot",
    "languages": ["en", "de"],
    "title": {"en": "Is it safe?", "de": "Ist es sicher?"},
    "warning": {"en": "Some of it is cruel.", "de": "Manches ist grausam."},
    "questionnaire": "dices-350",
    "consent": {
        "text": {"en": "We keep your answers.", "de": "Wir bewahren Ihre Antworten auf."},
        "purposes": [
            {"name": "rating", "text": {"en": "Analyse them.", "de": "Auswerten."}, "required": True},
            {"name": "release", "text": {"en": "Publish them.", "de": "Veröffentlichen."}},
        ],
    },
}


def pilot(**changes: Any) -> dict[str, Any]:
    """The pilot with changed values; None removes a key."""
    return {key: value for key, value in {**deepcopy(PILOT), **changes}.items() if value is not None}


REST: dict[str, Any] = {
    "name": "red",
    "languages": ["en"],
    "title": "Talk",
    "warning": "It may hurt.",
    "consent": {"text": "We keep it.", "purposes": [{"name": "rating", "text": "Use it.", "required": True}]},
}
