"""Attention and comprehension checks that are due, and screening by comprehension checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dissensus.schema.campaign.attention_check import AttentionCheck, check_state


@dataclass(frozen=True, slots=True, kw_only=True)
class DueCheck:
    """A check that is due for a rater."""

    check: AttentionCheck
    attempt: int  # from 1; more than 1 only for a comprehension check that is asked again


def find_due_check(
    checks: Sequence[AttentionCheck], answers: Mapping[str, Sequence[str]], n_done: int
) -> DueCheck | None:
    """Return the first check that is due after `n_done` items, or None.

    `answers` has the answers of the rater to each check, by its name and in their order.

    Examples
    --------
    >>> def check(name, after, kind="instruction"):
    ...     choice = {"text": {"en": "A?"}, "scale": ("A", "B"), "correct_answers": ("A",)}
    ...     return AttentionCheck(name=name, kind=kind, after=after, **choice)
    >>> checks = [check("late", 5), check("early", 2), check("rules", 0, "comprehension")]
    >>> find_due_check(checks, {}, 5).check.name
    'rules'
    >>> find_due_check(checks, {"rules": ["B"]}, 0).attempt
    2
    >>> find_due_check(checks, {"rules": ["A"], "early": ["B"]}, 4) is None
    True
    """
    due = [
        check
        for check in checks
        if check.after <= n_done and check_state(check, answers.get(check.name, ())) in ("unanswered", "again")
    ]
    if not due:
        return None
    first = min(due, key=lambda check: check.after)
    return DueCheck(check=first, attempt=1 + len(answers.get(first.name, ())))


def failed_screening(checks: Sequence[AttentionCheck], answers: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a rater used up the attempts of a comprehension check that comes before the first item.

    Examples
    --------
    >>> choice = {"text": {"en": "A?"}, "scale": ("A", "B"), "correct_answers": ("A",)}
    >>> rules = AttentionCheck(name="rules", kind="comprehension", **choice)
    >>> failed_screening([rules], {"rules": ["B"]}), failed_screening([rules], {"rules": ["B", "B"]})
    (False, True)
    """
    initial_checks = (check for check in checks if check.kind == "comprehension" and check.after == 0)
    return any(check_state(check, answers.get(check.name, ())) == "failed" for check in initial_checks)
