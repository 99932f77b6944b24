"""Checks of attention and comprehension as data of a campaign, and what follows from the answers to them.

The rules are those of Prolific, https://researcher-help.prolific.com/en/article/fb63bb, kept wherever raters come from.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import suggest, format_list, format_value
from dissensus.schema.numbers import check_number
from dissensus.schema.questionnaire.question import Wording

Kind: TypeAlias = Literal["instruction", "nonsense", "comprehension"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
State: TypeAlias = Literal["passed", "failed", "again", "unanswered"]

TRIES: Final = 2
"""Of a comprehension check; a check of attention has one."""
SHORT_MINUTES: Final = 5
"""Below this, one failed check of attention is enough."""

MEMORY: Final = re.compile(r"(?i)\b(remember|recall|earlier|previous(ly)?|last (page|question|conversation|item))\b")
"""English words of questions about what was read before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A question whose right answer is known, on a page of its own between items."""

    name: str  # Name that it is stored by
    # ``instruction`` says explicitly what to choose; ``nonsense`` is true of nobody; both are checks of attention.
    # ``comprehension`` asks what the instructions mean.
    kind: Kind
    text: Wording
    scale: tuple[str, ...]  # The answers, in order
    right: tuple[str, ...]
    after: int = 0  # After how many items of a rater it comes
    # What is shown for an answer; where there is none, the answer itself
    labels: Mapping[str, Wording] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def of_attention(self) -> bool:
        """Whether it is a check of attention."""
        return self.kind != "comprehension"

    def label(self, answer: str, language: str) -> str:
        """Return what is shown for an answer."""
        return self.labels.get(answer, {}).get(language, answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a rater did in the checks of a campaign, and what a person may do about it. Nothing is done by itself."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    try_again: tuple[str, ...]  # Comprehension checks that were answered wrongly and may be answered once more
    unanswered: tuple[str, ...]  # Not met so far, or not answered. That is no failure.
    may_ask_return: bool  # Whether the rater may be asked to return the work
    may_reject: bool  # Whether the work may be rejected after a person has looked at all of it


def failures_needed(minutes: float) -> int:
    """Return how many checks of attention somebody must fail before anything may follow from it.

    Examples
    --------
    >>> failures_needed(4), failures_needed(5)
    (1, 2)
    """
    check_number("minutes", minutes, 0)
    return 1 if minutes < SHORT_MINUTES else 2


def verdict(checks: Sequence[Check], answers: Mapping[str, Sequence[str]], minutes: float) -> Verdict:
    """Return how a rater did, and what may be done.

    Examples
    --------
    >>> def check(name, kind):
    ...     return Check(name=name, kind=kind, text={"en": "Choose B."}, scale=("A", "B"), right=("B",))
    >>> checks = [check("first", "instruction"), check("second", "instruction"), check("rules", "comprehension")]
    >>> found = verdict(checks, {"first": ["A"], "second": ["B"], "rules": ["A"]}, minutes=20)
    >>> found.failed, found.try_again, found.may_ask_return
    (('first',), ('rules',), False)
    >>> verdict(checks, {"first": ["A"], "second": ["A"]}, minutes=20).may_reject
    True
    """
    _check_answers(checks, answers)
    states = {check.name: state_of(check, answers.get(check.name, ())) for check in checks}
    failed = tuple(name for name, state in states.items() if state == "failed")
    of_attention = {check.name for check in checks if check.of_attention}
    inattentive = len(of_attention.intersection(failed)) >= failures_needed(minutes)
    return Verdict(
        passed=tuple(name for name, state in states.items() if state == "passed"),
        failed=failed,
        try_again=tuple(name for name, state in states.items() if state == "again"),
        unanswered=tuple(name for name, state in states.items() if state == "unanswered"),
        may_ask_return=inattentive or bool(set(failed) - of_attention),
        may_reject=inattentive,
    )


def state_of(check: Check, tries: Sequence[str]) -> State:
    """Return what came of one check.

    Examples
    --------
    >>> rules = Check(name="rules", kind="comprehension", text={"en": "A?"}, scale=("A", "B"), right=("A",))
    >>> state_of(rules, []), state_of(rules, ["B"]), state_of(rules, ["B", "A"])
    ('unanswered', 'again', 'passed')
    """
    allowed = 1 if check.of_attention else TRIES
    if not tries:
        return "unanswered"
    if any(answer in check.right for answer in tries[:allowed]):
        return "passed"
    return "failed" if len(tries) >= allowed else "again"


def _check_answers(checks: Sequence[Check], answers: Mapping[str, Sequence[str]]) -> None:
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


def warnings_about(checks: Sequence[Check], minutes: float) -> tuple[str, ...]:
    """Return what is allowed and may not be meant, as sentences for the owner of the campaign.

    Examples
    --------
    >>> choose = Check(name="choose", kind="instruction", text={"en": "Choose B."}, scale=("A", "B"), right=("B",))
    >>> print(*warnings_about([choose], 20))
    There is 1 check of attention, and in work of 5 minutes or more nothing may follow before 2 are failed. Add 1 more.
    """
    return tuple(_warnings(checks, minutes))


def _warnings(checks: Sequence[Check], minutes: float) -> Iterator[str]:
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
        asked = next((text for text in check.text.values() if MEMORY.search(text)), None)
        if check.of_attention and asked is not None:
            yield (
                f"{check.name}: {format_value(asked)} may ask what somebody remembers, and a check of attention must not. Ask "
                "for nothing that is not on the same page."
            )
