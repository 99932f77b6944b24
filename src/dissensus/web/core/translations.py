"""Translations of the interface."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import takewhile
from operator import itemgetter
from typing import Final

DEFAULT_LANGUAGE: Final = "en"
RIGHT_TO_LEFT: Final = frozenset({"ar", "fa", "he", "ur", "yi", "dv", "ps", "sd", "ug", "ckb"})

_FOLDER = files("dissensus.web") / "strings"


@cache
def languages() -> tuple[str, ...]:
    """Return the languages of the interface, the default first."""
    names = (entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))
    return (DEFAULT_LANGUAGE, *sorted(name for name in names if name != DEFAULT_LANGUAGE))


@cache
def load_phrases(language: str) -> Mapping[str, str]:
    """Load the phrases of a language, by name."""
    groups = tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8"))
    return {f"{group}.{name}": text for group, texts in groups.items() for name, text in texts.items()}


def negotiate_language(header: str, available: tuple[str, ...]) -> str:
    """Negotiate a language from an `Accept-Language` header, else the first available.

    Of languages with the same primary subtag, the one that shares the most subtags with the header is nearest.

    Examples
    --------
    >>> negotiate_language("de-AT,de;q=0.9,en;q=0.5", ("en", "de"))
    'de'
    >>> negotiate_language("fr, *;q=0.1", ("en", "de"))
    'en'
    >>> negotiate_language("zh-Hant", ("zh-Hans", "zh-Hant"))
    'zh-Hant'
    """
    weighted_tags = sorted(map(_parse_language_range, header.split(",")), key=lambda pair: -pair[0])
    candidates = [(language, language.lower().split("-")) for language in available]
    for weight, tag in weighted_tags:
        subtags = tag.split("-")
        ranked = [
            (_rank_match(candidate, subtags), language)
            for language, candidate in candidates
            if candidate[0] == subtags[0]
        ]
        if weight > 0 and ranked:
            return max(ranked, key=itemgetter(0))[1]
    return available[0]


def _rank_match(candidate: Sequence[str], subtags: Sequence[str]) -> tuple[int, bool]:
    """Return the number of leading subtags that two languages share, and whether all are shared."""
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(candidate, subtags, strict=False))
    return sum(1 for _ in shared), candidate == subtags


def _parse_language_range(part: str) -> tuple[float, str]:
    tag, _, parameter = part.partition(";")
    weight = parameter.strip().lower().removeprefix("q=")
    try:
        return (float(weight) if weight else 1.0), tag.strip().lower()
    except ValueError:
        return 0.0, ""


def text_direction(language: str) -> str:
    """Return the text direction of a language, as HTML spells it."""
    return "rtl" if language.split("-")[0].lower() in RIGHT_TO_LEFT else "ltr"
