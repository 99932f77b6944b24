"""Attention checks that are due, and screening by comprehension checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dissensus.schema.campaign.attention_check import AttentionCheck, check_state


@dataclass(frozen=True, slots=True, kw_only=True)
class DueCheck:
    """A check that a rater is to answer now."""

    check: AttentionCheck
    attempt: int  # The how manieth try it is, from 1


def find_due_check(
    checks: Sequence[AttentionCheck], tries: Mapping[str, Sequence[str]], n_done: int
) -> DueCheck | None:
    """Return the check that a rater is to answer now, or None.

    Examples
    --------
    >>> def check(name, after, kind="instruction"):
    ...     return AttentionCheck(name=name, kind=kind, text={"en": "A?"}, scale=("A", "B"), right=("A",), after=after)
    >>> checks = [check("late", 5), check("early", 2), check("rules", 0, "comprehension")]
    >>> find_due_check(checks, {}, 5).check.name
    'rules'
    >>> find_due_check(checks, {"rules": ["B"]}, 0).attempt
    2
    >>> find_due_check(checks, {"rules": ["A"], "early": ["B"]}, 4) is None
    True
    """
    met = [
        check
        for check in checks
        if check.after <= n_done and check_state(check, tries.get(check.name, ())) in ("unanswered", "again")
    ]
    if not met:
        return None
    first = min(met, key=lambda check: check.after)
    return DueCheck(check=first, attempt=1 + len(tries.get(first.name, ())))


def is_unfit(checks: Sequence[AttentionCheck], tries: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a rater has not understood, by a check before the first item, what they would have to do.

    Examples
    --------
    >>> rules = AttentionCheck(name="rules", kind="comprehension", text={"en": "A?"}, scale=("A", "B"), right=("A",))
    >>> is_unfit([rules], {"rules": ["B"]}), is_unfit([rules], {"rules": ["B", "B"]})
    (False, True)
    """
    starting = (check for check in checks if check.kind == "comprehension" and check.after == 0)
    return any(check_state(check, tries.get(check.name, ())) == "failed" for check in starting)
