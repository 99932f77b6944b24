"""Votes: one pair for each pick of a rater."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair, Purpose, describe_empty
from dissensus.schema.records.preference import Criterion, Pick, Preference

NEITHER: Final = "a rater found neither answer better"
SAME: Final = "both answers are the same"
OTHER: Final = "the question had another criterion"

PURPOSE_OF: Final[Mapping[Criterion, Purpose]] = {
    "more helpful": "helpful",
    "more harmful": "harmless",
    "less harmful": "harmless",
}
"""Purpose of the choices by the criterion that raters were asked about."""

People = Mapping[str, Mapping[str, str]]
"""Groups of each rater by axis."""


class Votes(NamedTuple):
    """One pair per pick, and the number of excluded picks by reason."""

    pairs: tuple[Pair, ...]
    excluded: dict[str, int]


def collect_votes(preferences: Iterable[Preference], people: People | None = None, *, purpose: Purpose) -> Votes:
    """Return one pair per pick, with its rater and strength, weak picks included.

    Parameters
    ----------
    preferences
        Preferences as collected.
    people
        Groups of raters, if known.
    purpose
        Purpose of the choices: ``helpful`` or ``harmless``. Picks by other criteria are excluded and counted.

    Raises
    ------
    InvalidInput
        No pick is left.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> preference = Preference(
    ...     preference_id="p-1", conversation_id="c-1", context=(Turn("human", "Be rude."),),
    ...     a="No, thank you.", b="Go away.", criterion="more harmful",
    ...     picks=(Pick("ann", "b", 3), Pick("bo", None, 0)),
    ... )
    >>> (pair,), excluded = collect_votes([preference], {"ann": {"rater_age": "old"}}, purpose="harmless")
    >>> pair.chosen, pair.strength, pair.rater, pair.groups, excluded
    ('No, thank you.', 3.0, 'ann', (('rater_age', 'old'),), {'a rater found neither answer better': 1})
    """
    votes = filter_votes(preferences, people, purpose=purpose)
    if not votes.pairs:
        reasons = [f"{reason} ({count:,})" for reason, count in votes.excluded.items()]
        raise InvalidInput(
            f"No pick says which answer is more {purpose}: {'; '.join(reasons) or 'nobody picked anything'}."
        )
    return votes


def filter_votes(preferences: Iterable[Preference], people: People | None = None, *, purpose: Purpose) -> Votes:
    """Return one pair per pick; unlike `collect_votes`, allow that there are none."""
    excluded: Counter[str] = Counter()
    empty: dict[str, int] = {}
    pairs = tuple(_iter_pairs(preferences, people or {}, purpose, excluded, empty))
    reasons = {describe_empty("pair", list(empty)): sum(empty.values())} if empty else {}
    return Votes(pairs, {**excluded, **reasons})


def _iter_pairs(
    preferences: Iterable[Preference],
    people: People,
    purpose: Purpose,
    excluded: Counter[str],
    empty: dict[str, int],
) -> Iterator[Pair]:
    """Yield the picks as pairs; count excluded ones by reason, and those with an empty answer by pair."""
    for preference in preferences:
        if PURPOSE_OF[preference.criterion] != purpose or preference.a == preference.b:
            excluded[SAME if preference.a == preference.b else OTHER] += len(preference.picks)
            continue
        if not preference.a.strip() or not preference.b.strip():
            empty[preference.preference_id] = empty.get(preference.preference_id, 0) + len(preference.picks)
            continue
        for pick in preference.picks:
            if pick.side is None:
                excluded[NEITHER] += 1
            else:
                yield _build_pair(preference, pick, people.get(pick.rater_id, {}))


def _build_pair(preference: Preference, pick: Pick, groups: Mapping[str, str]) -> Pair:
    a, b = preference.a, preference.b
    chosen, rejected = (b, a) if preference.towards_b(pick) > 0 else (a, b)
    return Pair(
        preference.context,
        chosen,
        rejected,
        strength=float(pick.strength),
        rater=pick.rater_id,
        tranche=None if preference.phase is None else f"{PURPOSE_OF[preference.criterion]}-{preference.phase}",
        groups=tuple(sorted(groups.items())),
    )
