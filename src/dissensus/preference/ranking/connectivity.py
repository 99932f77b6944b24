"""Connectivity of the comparison graph, which chatbots need to be ranked together."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.schema.hints import format_list

Bools = npt.NDArray[np.bool_]


def check_connected(beats: Bools, bots: Sequence[str]) -> None:
    """Raise an error if the comparison graph is disconnected."""
    reached = _reachability(beats | beats.T)
    if reached.all():
        return
    parts = sorted({tuple(np.flatnonzero(row).tolist()) for row in reached}, key=len, reverse=True)
    listed = "; ".join(format_list([bots[index] for index in part], 5) for part in parts[:5])
    raise UndefinedEstimate(
        f"The chatbots fall into {len(parts):,} parts that were never compared with each other: {listed}. "
        "Compare some across, or rank each part by itself."
    )


def undefeated_component(beats: Bools) -> Bools | None:
    """Return a strongly connected component that no other chatbot ever beat; None if all are strongly connected."""
    reached = _reachability(beats)
    mutual = reached & reached.T
    for index in range(len(beats)):
        group: Bools = mutual[index]
        if not group.all() and not reached[np.ix_(~group, group)].any():
            return group
    return None


def _reachability(steps: Bools) -> Bools:
    """Return the reflexive transitive closure of a relation."""
    closure = steps | np.eye(len(steps), dtype=bool)
    while True:
        further = (closure.astype(np.float32) @ closure.astype(np.float32)) > 0
        if (further == closure).all():
            return closure
        closure = further
