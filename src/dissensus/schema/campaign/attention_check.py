"""Attention and comprehension checks of a campaign, and their evaluation.

The rules of Prolific, https://researcher-help.prolific.com/en/article/fb63bb, apply to all raters.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_noun, format_list, format_value, suggest
from dissensus.schema.numbers import check_number
from dissensus.schema.questionnaire.question import Wording

CheckKind: TypeAlias = Literal["instruction", "nonsense", "comprehension"]
KINDS: Final[tuple[CheckKind, ...]] = get_args(CheckKind)
CheckState: TypeAlias = Literal["passed", "failed", "again", "unanswered"]

MAX_TRIES: Final = 2
"""Tries of a comprehension check; an attention check has one."""
SHORT_MINUTES: Final = 5
"""Work shorter than this has consequences after one failed attention check."""

MEMORY_WORDS: Final = re.compile(
    r"(?i)\b(remember|recall|earlier|previous(ly)?|last (page|question|conversation|item))\b"
)
"""English words of questions that test memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCheck:
    """A question with a known right answer, shown between items."""

    name: str
    kind: CheckKind  # ``instruction`` and ``nonsense`` check attention, ``comprehension`` the instructions
    text: Wording
    scale: tuple[str, ...]
    correct_answers: tuple[str, ...]  # passing answers
    after: int = 0  # items before it
    labels: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))  # shown in place of an answer

    @property
    def is_attention_check(self) -> bool:
        """True for attention checks, False for comprehension checks."""
        return self.kind != "comprehension"

    def label(self, answer: str, language: str) -> str:
        """Return the label of an answer."""
        return self.labels.get(answer, {}).get(language, answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckVerdict:
    """Results of a rater's checks, and the permitted consequences. Nothing is done automatically."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    try_again: tuple[str, ...]  # comprehension checks with one try left
    unanswered: tuple[str, ...]  # not a failure
    may_ask_return: bool  # the rater may be asked to return the work
    may_reject: bool  # after a person has reviewed all of the work


def failures_needed(minutes: float) -> int:
    """Return the number of failed attention checks before there may be consequences.

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
    ...     choice = {"text": {"en": "Choose B."}, "scale": ("A", "B"), "correct_answers": ("B",)}
    ...     return AttentionCheck(name=name, kind=kind, **choice)
    >>> checks = [check("first", "instruction"), check("second", "instruction"), check("rules", "comprehension")]
    >>> verdict = judge_checks(checks, {"first": ["A"], "second": ["B"], "rules": ["A"]}, minutes=20)
    >>> verdict.failed, verdict.try_again, verdict.may_ask_return
    (('first',), ('rules',), False)
    >>> judge_checks(checks, {"first": ["A"], "second": ["A"]}, minutes=20).may_reject
    True
    """
    _check_answers(checks, answers)
    states = {check.name: check_state(check, answers.get(check.name, ())) for check in checks}
    failed = tuple(name for name, state in states.items() if state == "failed")
    attention = {check.name for check in checks if check.is_attention_check}
    inattentive = len(attention.intersection(failed)) >= failures_needed(minutes)
    return CheckVerdict(
        passed=tuple(name for name, state in states.items() if state == "passed"),
        failed=failed,
        try_again=tuple(name for name, state in states.items() if state == "again"),
        unanswered=tuple(name for name, state in states.items() if state == "unanswered"),
        may_ask_return=inattentive or bool(set(failed) - attention),
        may_reject=inattentive,
    )


def check_state(check: AttentionCheck, attempts: Sequence[str]) -> CheckState:
    """Return the state of one check after all attempts in order.

    Examples
    --------
    >>> choice = {"text": {"en": "A?"}, "scale": ("A", "B"), "correct_answers": ("A",)}
    >>> rules = AttentionCheck(name="rules", kind="comprehension", **choice)
    >>> check_state(rules, []), check_state(rules, ["B"]), check_state(rules, ["B", "A"])
    ('unanswered', 'again', 'passed')
    """
    allowed = 1 if check.is_attention_check else MAX_TRIES
    if not attempts:
        return "unanswered"
    if any(answer in check.correct_answers for answer in attempts[:allowed]):
        return "passed"
    return "failed" if len(attempts) >= allowed else "again"


def _check_answers(checks: Sequence[AttentionCheck], answers: Mapping[str, Sequence[str]]) -> None:
    by_name = {check.name: check for check in checks}
    for name, attempts in answers.items():
        if name not in by_name:
            raise InvalidInput(f"There is no check {format_value(name)}.{suggest(name, tuple(by_name))}")
        if isinstance(attempts, str):
            raise InvalidInput(f"The answer to {name} is a text. Give a list of all attempts in order.")
        for answer in attempts:
            if answer not in by_name[name].scale:
                scale = format_list(by_name[name].scale)
                raise InvalidInput(f"{format_value(answer)} is not an answer to {name}. Its answers are {scale}.")


def check_warnings(checks: Sequence[AttentionCheck], minutes: float) -> tuple[str, ...]:
    """Return warnings about checks, as sentences for the campaign owner.

    Examples
    --------
    >>> choose = AttentionCheck(
    ...     name="choose", kind="instruction", text={"en": "Choose B."}, scale=("A", "B"), correct_answers=("B",)
    ... )
    >>> print(*check_warnings([choose], 20))
    There is 1 attention check, and in work of 5 minutes or more nothing may follow before 2 are failed. Add 1 more.
    """
    return tuple(_warnings(checks, minutes))


def _warnings(checks: Sequence[AttentionCheck], minutes: float) -> Iterator[str]:
    needed, n = failures_needed(minutes), sum(check.is_attention_check for check in checks)
    if 0 < n < needed:
        yield (
            f"There is {n} attention check, and in work of {SHORT_MINUTES} minutes or more nothing may follow "
            f"before {needed} are failed. Add {needed - n} more."
        )
    for check in checks:
        if check.kind == "comprehension" and check.after:
            yield (
                f"{check.name}: It comes after {count_noun(check.after, 'item')}. Ask it at the start, before any "
                "work: after = 0."
            )
        text = next((text for text in check.text.values() if MEMORY_WORDS.search(text)), None)
        if check.is_attention_check and text is not None:
            yield (
                f"{check.name}: {format_value(text)} may test memory, which an attention check must not. "
                "Ask only about the same page."
            )
