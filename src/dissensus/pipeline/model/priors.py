"""Priors of a model as text, in the notation of brms: "student_t(3, 0, 2.5)" for the class "b"."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.pipeline.model.design import NamedDesign
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.columns import RATER_PREFIX
from dissensus.stats.multilevel.priors import ModelPriors, Prior

THRESHOLD, COEFFICIENT, DEVIATION, CORRELATION = CLASSES = ("Intercept", "b", "sd", "cor")
PUBLISHED: Final = "published"
EXAMPLE: Final = '"b=student_t(3, 0, 2.5)"'
_CALL: Final = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")
_NUMBERS: Final = {"normal": "mean, sd", "student_t": "degrees of freedom, location, scale", "exponential": "rate"}
_BRMS: Final = {COEFFICIENT: "student_t(3, 0, 1)", DEVIATION: "student_t(3, 0, 2.5)", CORRELATION: "lkj(1)"}
PUBLISHED_PRIORS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "AD": {f"{THRESHOLD}:1": "normal(0.440, 0.5)", f"{THRESHOLD}:2": "normal(0.583, 0.5)", **_BRMS},
        "QS": {f"{THRESHOLD}:1": "normal(0.279, 0.5)", f"{THRESHOLD}:2": "normal(0.440, 0.5)", **_BRMS},
        "GE": {f"{THRESHOLD}:1": "normal(0.279, 0.5)", f"{THRESHOLD}:2": "normal(0.440, 0.5)", **_BRMS},
    }
)
"""Priors of Homan et al. (2023) by the first letters of their presets; those of sds and correlations are brms' own."""


def choose_priors(priors: Mapping[str, str] | str | None, preset: str | None) -> Mapping[str, str]:
    """Return priors by class, those of a preset if they are "published"."""
    if not isinstance(priors, str):
        return dict(priors or {})
    if priors != PUBLISHED:
        raise InvalidInput(
            f"The priors are {format_value(priors)}; a mapping such as {{'b': 'student_t(3, 0, 2.5)'}} or 'published', "
            "for those of a preset, is allowed."
        )
    if preset is None:
        raise InvalidInput("Published priors are those of a preset, and none is named. Name one, or give the priors.")
    return PUBLISHED_PRIORS[preset.partition("-")[0]]


def parse_priors(texts: Mapping[str, str], named: NamedDesign) -> ModelPriors:
    """Return the priors of a design's parameters; "b:rater_gender" goes before "b"."""
    allowed = {
        THRESHOLD: [str(number + 1) for number in range(len(named.categories) - 1)],
        COEFFICIENT: list(dict.fromkeys(effect.term for effect in named.effects)),
        DEVIATION: list(dict.fromkeys(term.name for term in named.design.random)),
        CORRELATION: [],
    }
    full: dict[str, str] = {}
    shape = 1.0
    for key, text in texts.items():
        kind, _, name = key.partition(":")
        if kind not in CLASSES:
            raise InvalidInput(
                f"A prior is for the class {format_value(kind)}.{suggest(kind, CLASSES)} Classes are "
                f"{format_list(CLASSES)}, such as {EXAMPLE}, or "
                f"{EXAMPLE.replace('b=', 'b:rater_gender=')} for one term."
            )
        if kind == CORRELATION:
            shape = _parse_shape(text)
        resolved = f"{kind}:{_resolve(kind, name, allowed[kind])}" if name else kind
        if resolved in full:
            raise InvalidInput(f"Two priors are for {resolved}. Give one.")
        full[resolved] = text
    parsed = {key: _parse_distribution(text) for key, text in full.items() if key != CORRELATION}

    def find(kind: str, name: str) -> Prior | None:
        return parsed.get(f"{kind}:{name}", parsed.get(kind))

    return ModelPriors(
        thresholds=tuple(find(THRESHOLD, name) for name in allowed[THRESHOLD]),
        coefficients=tuple(find(COEFFICIENT, effect.term) for effect in named.effects),
        sds=tuple(
            (find(DEVIATION, term.name),) * (1 if term.structure == "identity" else term.size)
            for term in named.design.random
        ),
        shape=shape,
    )


def _resolve(kind: str, name: str, allowed: Sequence[str]) -> str:
    """Return the full name of a threshold, term or group."""
    for full in allowed:
        if name in (full, ":".join(part.removeprefix(RATER_PREFIX) for part in full.split(":"))):
            return full
    raise InvalidInput(
        f"A prior is for {kind}:{name}, which the model does not have.{suggest(name, allowed)} For {kind} it has "
        f"{format_list(allowed) or 'no names'}."
    )


def _parse_call(text: str) -> tuple[str, list[float]]:
    """Return name and numbers of a distribution."""
    match = _CALL.fullmatch(str(text))
    if match:
        try:
            return match[1], [float(number) for number in match[2].split(",")]
        except ValueError:
            pass
    raise InvalidInput(f"The prior {format_value(text)} is not a distribution with numbers, such as {EXAMPLE[3:-1]}.")


def _parse_distribution(text: str) -> Prior:
    name, numbers = _parse_call(text)
    if name not in _NUMBERS:
        raise InvalidInput(
            f"The prior {format_value(text)} has an unknown distribution.{suggest(name, list(_NUMBERS))} Allowed are "
            f"{format_list([f'{key}({value})' for key, value in _NUMBERS.items()])}, and lkj(shape) for correlations."
        )
    if len(numbers) != len(_NUMBERS[name].split(",")):
        raise InvalidInput(
            f"The prior {format_value(text)} has {len(numbers)} numbers; write {name}({_NUMBERS[name]})."
        )
    if name == "exponential":
        if not numbers[0] > 0:
            raise InvalidInput(f"The prior {format_value(text)} has the rate {numbers[0]}; give one above 0.")
        return Prior(family="exponential", scale=1 / numbers[0])
    if name == "normal":
        return Prior(family="normal", location=numbers[0], scale=numbers[1])
    return Prior(family="student_t", degrees=numbers[0], location=numbers[1], scale=numbers[2])


def _parse_shape(text: str) -> float:
    name, numbers = _parse_call(text)
    if name != "lkj" or len(numbers) != 1:
        raise InvalidInput(f"The prior of correlations is {format_value(text)}; lkj(shape) is allowed, such as lkj(2).")
    return numbers[0]


def split_priors(texts: Sequence[str]) -> Mapping[str, str] | str | None:
    """Parse CLASS=DISTRIBUTION, each class once, or "published" alone."""
    if list(texts) == [PUBLISHED]:
        return PUBLISHED
    return dict(_split(texts)) or None


def _split(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    keys = set()
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(
                f"The prior {format_value(text)} is not CLASS=DISTRIBUTION, such as {EXAMPLE}; published stands alone."
            )
        if key.strip() in keys:
            raise InvalidInput(f"Two priors are for {key.strip()}. Give one.")
        keys.add(key.strip())
        yield key.strip(), value.strip()
