"""Votes of single raters as pairs, one per pick."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair, Purpose
from dissensus.schema.records.preference import Criterion, Pick, Preference

NEITHER: Final = "a rater found neither answer better"
SAME: Final = "both answers are the same"
OTHER: Final = "people were asked for something else"

ASKED_FOR: Final[Mapping[Criterion, Purpose]] = {
    "more helpful": "helpful",
    "more harmful": "harmless",
    "less harmful": "harmless",
}
"""What people chose by, who were asked so."""

People = Mapping[str, Mapping[str, str]]
"""By rater, their group on each axis."""


class Votes(NamedTuple):
    """A pair for each pick, and how many picks make none, by reason."""

    pairs: tuple[Pair, ...]
    excluded: dict[str, int]


def collect_votes(preferences: Iterable[Preference], people: People | None = None, *, purpose: Purpose) -> Votes:
    """Return a pair for each pick, with who picked and how strongly; weak picks too.

    Parameters
    ----------
    preferences
        As they were collected.
    people
        The groups of raters, where they are known.
    purpose
        What people chose by; picks of those who were asked for something else are left out and counted.

    Raises
    ------
    InvalidInput
        No pick is left.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> preference = Preference(
    ...     preference_id="p-1", conversation_id="c-1", context=(Turn("human", "Be rude."),),
    ...     a="No, thank you.", b="Go away.", asked="more harmful", picks=(Pick("ann", "b", 3), Pick("bo", None, 0)),
    ... )
    >>> (pair,), excluded = collect_votes([preference], {"ann": {"rater_age": "old"}}, purpose="harmless")
    >>> pair.chosen, pair.strength, pair.rater, pair.groups, excluded
    ('No, thank you.', 3.0, 'ann', (('rater_age', 'old'),), {'a rater found neither answer better': 1})
    """
    found = filter_votes(preferences, people, purpose=purpose)
    if not found.pairs:
        why = "; ".join(f"{reason} ({count:,})" for reason, count in found.excluded.items()) or "nobody picked anything"
        raise InvalidInput(f"No pick says which answer is more {purpose}: {why}.")
    return found


def filter_votes(preferences: Iterable[Preference], people: People | None = None, *, purpose: Purpose) -> Votes:
    """Return the same, which may be none at all."""
    excluded: Counter[str] = Counter()
    pairs = tuple(_pairs(preferences, people or {}, purpose, excluded))
    return Votes(pairs, dict(excluded))


def _pairs(
    preferences: Iterable[Preference], people: People, purpose: Purpose, excluded: Counter[str]
) -> Iterator[Pair]:
    for one in preferences:
        if ASKED_FOR[one.asked] != purpose or one.a == one.b:
            excluded[SAME if one.a == one.b else OTHER] += len(one.picks)
            continue
        for pick in one.picks:
            if pick.side is None:
                excluded[NEITHER] += 1
            else:
                yield _pair(one, pick, people.get(pick.rater_id, {}))


def _pair(one: Preference, pick: Pick, groups: Mapping[str, str]) -> Pair:
    better, worse = (one.b, one.a) if one.towards_b(pick) > 0 else (one.a, one.b)
    return Pair(
        one.context,
        better,
        worse,
        strength=float(pick.strength),
        rater=pick.rater_id,
        tranche=None if one.phase is None else f"{ASKED_FOR[one.asked]}-{one.phase}",
        groups=tuple(sorted(groups.items())),
    )
