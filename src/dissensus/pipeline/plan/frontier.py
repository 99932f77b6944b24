"""Comparisons of groups on campaigns of several sizes, and the frontier of their power over their cost."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.group_designs import build_design, compute_cost
from dissensus.pipeline.plan.groups import GroupPlan, mark_efficient, plan_groups, scale_progress
from dissensus.pipeline.plan.partial import NOTHING_STORED, PartialResults
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.pipeline.plan.settings import GroupPlanSettings, format_size


def cross_sizes(
    settings: GroupPlanSettings, n_items: Sequence[int], per_item: Sequence[int]
) -> tuple[GroupPlanSettings, ...]:
    """Return the settings for each number of items with each number of ratings of an item.

    Without a number of ratings every rater rates every item.

    Examples
    --------
    >>> sizes = cross_sizes(GroupPlanSettings(difference=0.1), (100, 350), (5, 10, 5))
    >>> [(size.n_items, size.per_item) for size in sizes]
    [(100, 5), (100, 10), (350, 5), (350, 10)]
    """
    if not n_items:
        raise InvalidInput("There is no number of items. Give one, such as 350, or several.")
    ratings: Sequence[int | None] = per_item or (None,)
    pairs = dict.fromkeys((n, k) for n in n_items for k in ratings)
    return tuple(replace(settings, n_items=n, per_item=k) for n, k in pairs)


def plan_frontier(
    pilot: Pilot,
    sizes: Sequence[GroupPlanSettings],
    *,
    most_answers: int | None = None,
    partial: PartialResults = NOTHING_STORED,
    progress: Callable[[float], None] | None = None,
) -> GroupPlan:
    """Compute the designs of each size as `plan_groups` does, and mark the efficient ones among all of them.

    Settings and smallest number of raters are those of the size that reaches the power for the least money, or without
    a rate of pay with the fewest raters. A size that no number of raters suits is left out with a note; if none is
    left, its reason is raised.
    """
    plans: list[GroupPlan] = []
    refused: list[tuple[GroupPlanSettings, InvalidInput]] = []
    for index, settings in enumerate(sizes):
        part = None if progress is None else scale_progress(progress, index, len(sizes))
        limit = None if most_answers is None else most_answers // len(sizes)
        try:
            plans.append(plan_groups(pilot, settings, most_answers=limit, partial=partial, progress=part))
        except InvalidInput as error:
            refused.append((settings, error))
    if not plans:
        raise refused[0][1]
    if len(plans) == 1 and not refused:
        return plans[0]
    best = min(plans, key=_rank_plan)
    return replace(
        best,
        sizes=tuple(size for plan in plans for size in plan.sizes),
        designs=tuple(mark_efficient([design for plan in plans for design in plan.designs])),
        notes=(
            *best.notes,
            *_list_other_notes(best, plans),
            *(f"Left out, {format_size(settings.n_items, settings.per_item)}: {error}" for settings, error in refused),
        ),
    )


def _rank_plan(plan: GroupPlan) -> tuple[bool, float, int]:
    """Return the rank of the smallest design that reaches the power: first by money, or by raters without a rate."""
    if plan.smallest is None:
        return True, 0.0, 0
    design = build_design(plan.settings, plan.share, plan.smallest)
    cost = compute_cost(plan.settings, design)
    return False, design.n_raters if cost is None else cost, design.n_ratings


def _list_other_notes(best: GroupPlan, plans: Sequence[GroupPlan]) -> Iterator[str]:
    """Yield the notes of other sizes, each once, after its size."""
    listed = set(best.notes)
    for plan in plans:
        for note in plan.notes:
            if note not in listed:
                yield f"{format_size(*plan.sizes[0])}: {note}"
                listed.add(note)
