"""Outcomes of recruited visits, and their completion codes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.schema.hints import format_value, suggest
from dissensus.schema.questionnaire.faults import combine_problems, describe_type

Outcome: TypeAlias = Literal["completed", "screened_out", "quota_full", "no_consent", "failed_attention"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

CompletionCodes: TypeAlias = Mapping[Outcome, str]
"""The code of each outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificSettings:
    """Recruitment through Prolific."""

    codes: CompletionCodes


# Prolific asks for letters and numbers and gives no length. Shorter ones could be guessed.
CODE: Final = re.compile(r"[A-Z0-9]{6,32}")


def parse_completion_codes(given: Mapping[Any, object]) -> dict[Outcome, str]:
    """Check the completion codes of a campaign; one error lists everything that is wrong.

    Examples
    --------
    >>> parse_completion_codes({name: f"CODE0{place}" for place, name in enumerate(OUTCOMES)})["no_consent"]
    'CODE03'
    """
    faults = [f"{format_value(name)} is no outcome.{suggest(name, OUTCOMES)}" for name in given if name not in OUTCOMES]
    found: dict[Outcome, str] = {}
    for name in OUTCOMES:
        code = given.get(name)
        if not isinstance(code, str) or not CODE.fullmatch(code):
            what = "missing" if code is None else format_value(code) if isinstance(code, str) else describe_type(code)
            faults.append(f"{name}: It is {what}. Write 6 to 32 of A to Z and 0 to 9, drawn at random.")
        elif code in found.values():
            faults.append(f"{name}: {code} stands for another outcome too. Give each its own.")
        else:
            found[name] = code
    if faults:
        raise combine_problems(f"The completion codes ({', '.join(OUTCOMES)})", faults)
    return found
