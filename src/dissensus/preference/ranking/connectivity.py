"""Connectivity of comparisons: whether chatbots can be ranked together."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.schema.hints import format_list

Bools = npt.NDArray[np.bool_]


def check_connected(beats: Bools, bots: Sequence[str]) -> None:
    """Refuse chatbots that fall into parts: nothing says how good those of one are beside those of another."""
    reached = _reached(beats | beats.T)
    if reached.all():
        return
    parts = sorted({tuple(np.flatnonzero(row).tolist()) for row in reached}, key=len, reverse=True)
    told = "; ".join(format_list([bots[place] for place in part], 5) for part in parts[:5])
    raise UndefinedEstimate(
        f"The chatbots fall into {len(parts):,} parts that were never compared with each other: {told}. "
        "Compare some across, or rank each part by itself."
    )


def undefeated_component(beats: Bools) -> Bools | None:
    """Return chatbots that none of the others ever beat, or that were never compared; None where there is no such."""
    reached = _reached(beats)
    mutual = reached & reached.T
    for place in range(len(beats)):
        group: Bools = mutual[place]
        if not group.all() and not reached[np.ix_(~group, group)].any():
            return group
    return None


def _reached(steps: Bools) -> Bools:
    """Return who can be reached from whom in any number of steps."""
    found = steps | np.eye(len(steps), dtype=bool)
    while True:
        further = (found.astype(np.float32) @ found.astype(np.float32)) > 0
        if (further == found).all():
            return found
        found = further
