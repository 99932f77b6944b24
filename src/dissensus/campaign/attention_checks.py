"""Attention checks that are due, and screening by comprehension checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dissensus.schema.campaign.attention_check import AttentionCheck, check_state


@dataclass(frozen=True, slots=True, kw_only=True)
class DueCheck:
    """A check that is due for a rater."""

    check: AttentionCheck
    attempt: int  # number of the try, from 1


def find_due_check(
    checks: Sequence[AttentionCheck], attempts: Mapping[str, Sequence[str]], n_done: int
) -> DueCheck | None:
    """Return the check that is due for a rater, or None.

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
        if check.after <= n_done and check_state(check, attempts.get(check.name, ())) in ("unanswered", "again")
    ]
    if not due:
        return None
    first = min(due, key=lambda check: check.after)
    return DueCheck(check=first, attempt=1 + len(attempts.get(first.name, ())))


def is_unfit(checks: Sequence[AttentionCheck], attempts: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a rater failed a comprehension check before the first item.

    Examples
    --------
    >>> choice = {"text": {"en": "A?"}, "scale": ("A", "B"), "correct_answers": ("A",)}
    >>> rules = AttentionCheck(name="rules", kind="comprehension", **choice)
    >>> is_unfit([rules], {"rules": ["B"]}), is_unfit([rules], {"rules": ["B", "B"]})
    (False, True)
    """
    starting = (check for check in checks if check.kind == "comprehension" and check.after == 0)
    return any(check_state(check, attempts.get(check.name, ())) == "failed" for check in starting)
