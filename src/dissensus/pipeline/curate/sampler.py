"""Stratified sampling of items: screening, then drawing by plan."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version

from dissensus.errors import InvalidInput
from dissensus.pipeline.curate import allocation
from dissensus.pipeline.curate.manifest import (
    LISTED,
    count_strata,
    describe_shortfalls,
    digest_items,
    tabulate_outcomes,
)
from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.screening import Progress, SampleCandidate, list_candidates, screen_items
from dissensus.pipeline.curate.selection import Selection
from dissensus.schema.hints import count_rest, format_list, format_value, suggest
from dissensus.schema.records.item import Item


def curate(items: Iterable[Item], plan: SamplePlan, *, progress: Progress | None = None) -> Selection:
    """Choose the items that are to be rated.

    Items are divided into strata, screened for personal data and then for duplicates, and drawn from each stratum at
    random, as many as the plan allots it.

    Parameters
    ----------
    items
        The corpus, each item once; from a file by `read_items`.
    plan
        How many items, of which strata, screened by what, and the seed.
    progress
        Called with the share that is done, from 0 to 1.

    Returns
    -------
    Selection
        The sample, and for every item whether it was chosen or why not. The same items in another order give the same.

    Raises
    ------
    NotFound
        No item has an attribute that the plan names.
    InvalidInput
        There are no items, or one twice; there is no stratum that the plan names; or fewer items are left than wanted.

    Notes
    -----
    Items are ranked by SHA-256 of ``seed:item_id``, and the first of each stratum are chosen. So a rank depends on the
    seed and the item's own id alone: more strata or items change no other, and of a stratum a larger sample holds the
    smaller.

    Of a group of duplicates the first by id may be drawn. An item without a value that divides is left out.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> harm = ["Benign", "Benign", "Benign", "Extreme", "Extreme"]
    >>> corpus = [
    ...     Item(str(number), Conversation.from_turns([("bot", f"Answer {number}")]), {"degree_of_harm": degree})
    ...     for number, degree in enumerate(harm)
    ... ]
    >>> found = curate(corpus, SamplePlan(n=2, by="degree_of_harm", allocation="equal"))
    >>> found.strata.select("stratum", "n_items", "n_wanted", "n_chosen").rows()
    [('Benign', 3, 1, 1), ('Extreme', 2, 1, 1)]
    >>> [item.item_id for item in found.sample]
    ['2', '4']
    """
    pool = list_candidates(_sort_items(items), plan.by)
    strata = _strata(pool, plan)
    left = screen_items(pool, plan, strata, progress=progress)
    if len(left) < plan.n:
        raise _too_few(plan, len(left), len(pool))
    sizes = Counter(one.stratum for one in left)
    room = [sizes[stratum] for stratum in strata]
    wanted = _wanted(plan, room)
    given = allocation.fill_strata(wanted, room) if plan.fill else list(map(min, wanted, room))
    _draw(left, dict(zip(strata, given, strict=True)), plan.seed)
    table = tabulate_outcomes(pool)
    counted = count_strata(table, dict(zip(strata, wanted, strict=True)))
    return Selection(
        plan=plan,
        strata=counted,
        items=table,
        sample=tuple(one.item for one in pool if one.outcome == "chosen"),
        digest=digest_items([one.item for one in pool]),
        notes=tuple(describe_shortfalls(plan, counted)),
        version=version("dissensus"),
    )


def _sort_items(items: Iterable[Item]) -> list[Item]:
    """Return the items in the order of their ids."""
    given = [_check_item(item) for item in items]
    if not given:
        raise InvalidInput("There are no items to choose from.")
    twice = [item_id for item_id, count in Counter(item.item_id for item in given).items() if count > 1]
    if twice:
        others = count_rest(len(twice) - 1, "such id")
        raise InvalidInput(f"Several items have the id {format_value(twice[0])}. Each needs one of its own.{others}")
    return sorted(given, key=lambda item: item.item_id)


def _check_item(item: object) -> Item:
    if not isinstance(item, Item):
        raise InvalidInput(f"Give items, such as read_items(…).items has them, not {type(item).__name__}.")
    return item


def _strata(pool: Sequence[SampleCandidate], plan: SamplePlan) -> list[str]:
    """Return the names of the strata that are drawn from, in order."""
    there = sorted({one.stratum for one in pool if one.stratum is not None})
    if not there:
        raise InvalidInput(f"No item has a value of each of {format_list(plan.by)}. Name fewer attributes.")
    if isinstance(plan.allocation, Mapping):
        unknown = [name for name in plan.allocation if name not in there]
        if unknown:
            told = " ".join(
                f"There is no stratum {format_value(name)}.{suggest(name, there)}" for name in unknown[:LISTED]
            )
            others = count_rest(len(unknown) - LISTED, "such name") if len(unknown) > LISTED else ""
            raise InvalidInput(f"{told}{others} The strata of {' and '.join(plan.by)} are {format_list(there)}.")
        return list(plan.allocation)
    if plan.allocation == "equal" and len(there) > plan.n:
        raise InvalidInput(
            f"{' and '.join(plan.by)} make {len(there):,} strata, more than the {plan.n:,} items that are wanted, "
            "so that no equal number of each can be drawn. Ask for more, or name an attribute with fewer values."
        )
    return there


def _too_few(plan: SamplePlan, left: int, n_items: int) -> InvalidInput:
    others = "" if left == n_items else "; screens and strata leave out the others"
    return InvalidInput(
        f"{plan.n:,} items are wanted, and {left:,} of {n_items:,} may be drawn{others}. "
        "Ask for fewer, or leave out less."
    )


def _wanted(plan: SamplePlan, room: list[int]) -> list[int]:
    """Return how many items of each stratum are wanted."""
    if isinstance(plan.allocation, Mapping):
        return list(plan.allocation.values())
    divide = allocation.allocate_equally if plan.allocation == "equal" else allocation.allocate_proportionally
    return divide(plan.n, room)


def _draw(left: Sequence[SampleCandidate], given: Mapping[str, int], seed: int) -> None:
    """Settle who is drawn: of each stratum those that rank first."""
    drawn = Counter[str | None]()
    for one in sorted(left, key=lambda one: _rank(seed, one.item.item_id)):
        drawn[one.stratum] += 1
        one.outcome = "chosen" if drawn[one.stratum] <= given[str(one.stratum)] else "not drawn"


def _rank(seed: int, item_id: str) -> bytes:
    return hashlib.sha256(f"{seed}:{item_id}".encode()).digest()
