"""Attention and comprehension checks of a campaign, and their evaluation.

The rules are those of Prolific, https://researcher-help.prolific.com/en/article/fb63bb, kept wherever raters come from.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.numbers import check_number
from dissensus.schema.questionnaire.question import Wording

CheckKind: TypeAlias = Literal["instruction", "nonsense", "comprehension"]
KINDS: Final[tuple[CheckKind, ...]] = get_args(CheckKind)
CheckState: TypeAlias = Literal["passed", "failed", "again", "unanswered"]

MAX_TRIES: Final = 2
"""Of a comprehension check; a check of attention has one."""
SHORT_MINUTES: Final = 5
"""Below this, one failed check of attention is enough."""

MEMORY_WORDS: Final = re.compile(
    r"(?i)\b(remember|recall|earlier|previous(ly)?|last (page|question|conversation|item))\b"
)
"""English words of questions about what was read before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCheck:
    """A question with a known right answer, on a page of its own between items."""

    name: str
    kind: CheckKind  # ``instruction`` and ``nonsense`` check attention, ``comprehension`` the instructions
    text: Wording
    scale: tuple[str, ...]
    right: tuple[str, ...]  # answers that pass
    after: int = 0  # number of items before it
    labels: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))  # shown in place of an answer

    @property
    def of_attention(self) -> bool:
        """True for checks of attention, false for comprehension."""
        return self.kind != "comprehension"

    def label(self, answer: str, language: str) -> str:
        """Return what is shown for an answer."""
        return self.labels.get(answer, {}).get(language, answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckVerdict:
    """Results of a rater's checks, and the permitted consequences. Nothing is done automatically."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    try_again: tuple[str, ...]  # comprehension checks with one try left
    unanswered: tuple[str, ...]  # not a failure
    may_ask_return: bool  # the rater may be asked to return the work
    may_reject: bool  # after a person has looked at all of the work


def failures_needed(minutes: float) -> int:
    """Return how many checks of attention somebody must fail before anything may follow from it.

    Examples
    --------
    >>> failures_needed(4), failures_needed(5)
    (1, 2)
    """
    check_number("minutes", minutes, 0)
    return 1 if minutes < SHORT_MINUTES else 2


def judge_checks(
    checks: Sequence[AttentionCheck], answers: Mapping[str, Sequence[str]], minutes: float
) -> CheckVerdict:
    """Evaluate the answers of a rater: the first try of attention checks, two of comprehension checks.

    Examples
    --------
    >>> def check(name, kind):
    ...     return AttentionCheck(name=name, kind=kind, text={"en": "Choose B."}, scale=("A", "B"), right=("B",))
    >>> checks = [check("first", "instruction"), check("second", "instruction"), check("rules", "comprehension")]
    >>> found = judge_checks(checks, {"first": ["A"], "second": ["B"], "rules": ["A"]}, minutes=20)
    >>> found.failed, found.try_again, found.may_ask_return
    (('first',), ('rules',), False)
    >>> judge_checks(checks, {"first": ["A"], "second": ["A"]}, minutes=20).may_reject
    True
    """
    _check_answers(checks, answers)
    states = {check.name: check_state(check, answers.get(check.name, ())) for check in checks}
    failed = tuple(name for name, state in states.items() if state == "failed")
    of_attention = {check.name for check in checks if check.of_attention}
    inattentive = len(of_attention.intersection(failed)) >= failures_needed(minutes)
    return CheckVerdict(
        passed=tuple(name for name, state in states.items() if state == "passed"),
        failed=failed,
        try_again=tuple(name for name, state in states.items() if state == "again"),
        unanswered=tuple(name for name, state in states.items() if state == "unanswered"),
        may_ask_return=inattentive or bool(set(failed) - of_attention),
        may_reject=inattentive,
    )


def check_state(check: AttentionCheck, tries: Sequence[str]) -> CheckState:
    """Return the state of one check, given all answers to it, the first one first.

    Examples
    --------
    >>> rules = AttentionCheck(name="rules", kind="comprehension", text={"en": "A?"}, scale=("A", "B"), right=("A",))
    >>> check_state(rules, []), check_state(rules, ["B"]), check_state(rules, ["B", "A"])
    ('unanswered', 'again', 'passed')
    """
    allowed = 1 if check.of_attention else MAX_TRIES
    if not tries:
        return "unanswered"
    if any(answer in check.right for answer in tries[:allowed]):
        return "passed"
    return "failed" if len(tries) >= allowed else "again"


def _check_answers(checks: Sequence[AttentionCheck], answers: Mapping[str, Sequence[str]]) -> None:
    known = {check.name: check for check in checks}
    for name, tries in answers.items():
        if name not in known:
            raise InvalidInput(f"There is no check {format_value(name)}.{suggest(name, tuple(known))}")
        if isinstance(tries, str):
            raise InvalidInput(f"The answer to {name} is a text. Give a list of all tries, the first one first.")
        for answer in tries:
            if answer not in known[name].scale:
                raise InvalidInput(
                    f"{format_value(answer)} is no answer to {name}. Its answers are {format_list(known[name].scale)}."
                )


def check_warnings(checks: Sequence[AttentionCheck], minutes: float) -> tuple[str, ...]:
    """Return warnings about checks, as sentences for the campaign owner.

    Examples
    --------
    >>> choose = AttentionCheck(
    ...     name="choose", kind="instruction", text={"en": "Choose B."}, scale=("A", "B"), right=("B",)
    ... )
    >>> print(*check_warnings([choose], 20))
    There is 1 check of attention, and in work of 5 minutes or more nothing may follow before 2 are failed. Add 1 more.
    """
    return tuple(_warnings(checks, minutes))


def _warnings(checks: Sequence[AttentionCheck], minutes: float) -> Iterator[str]:
    needed, n = failures_needed(minutes), sum(check.of_attention for check in checks)
    if 0 < n < needed:
        yield (
            f"There is {n} check of attention, and in work of {SHORT_MINUTES} minutes or more nothing may follow "
            f"before {needed} are failed. Add {needed - n} more."
        )
    for check in checks:
        if check.kind == "comprehension" and check.after:
            yield (
                f"{check.name}: It comes after {check.after:,} items. Ask at the start whether somebody understood, "
                "before they worked for nothing: after = 0."
            )
        asked = next((text for text in check.text.values() if MEMORY_WORDS.search(text)), None)
        if check.of_attention and asked is not None:
            yield (
                f"{check.name}: {format_value(asked)} may ask what somebody remembers, and a check of attention must "
                "not. Ask "
                "for nothing that is not on the same page."
            )
