"""Outcomes of recruited visits, and their completion codes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from dissensus.schema.hints import format_value, suggest
from dissensus.schema.questionnaire.faults import combine_problems, describe_type

Outcome: TypeAlias = Literal["completed", "screened_out", "quota_full", "no_consent", "failed_attention", "stopped"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("completed", "screened_out", "quota_full", "no_consent", "failed_attention")
"""Outcomes with a code on Prolific, where raters who stop return their submission."""
PANEL_OUTCOMES: Final[tuple[Outcome, ...]] = (*OUTCOMES, "stopped")

CompletionCodes: TypeAlias = Mapping[Outcome, str]
"""The code of each outcome."""

# Prolific requires letters and numbers of any length; shorter codes could be guessed.
CODE: Final = re.compile(r"[A-Z0-9]{6,32}")


def parse_completion_codes(
    data: Mapping[Any, object], outcomes: Sequence[Outcome] = OUTCOMES, *, required: bool = True
) -> dict[Outcome, str]:
    """Parse completion codes; unless `required`, outcomes may lack one. One error lists all faults.

    Examples
    --------
    >>> parse_completion_codes({name: f"CODE0{index}" for index, name in enumerate(OUTCOMES)})["no_consent"]
    'CODE03'
    """
    unknown = [name for name in data if name not in outcomes]
    faults = [f"{format_value(name)} is not an outcome.{suggest(name, outcomes)}" for name in unknown]
    codes: dict[Outcome, str] = {}
    for name in outcomes:
        code = data.get(name)
        if code is None and not required:
            continue
        if not isinstance(code, str) or not CODE.fullmatch(code):
            value = "missing" if code is None else format_value(code) if isinstance(code, str) else describe_type(code)
            faults.append(f"{name}: It is {value}. Write 6 to 32 random characters from A to Z and 0 to 9.")
        elif code in codes.values():
            faults.append(f"{name}: {code} is the code of another outcome too. Change one.")
        else:
            codes[name] = code
    if faults:
        raise combine_problems(f"The completion codes ({', '.join(outcomes)})", faults)
    return codes
