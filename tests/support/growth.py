"""Growth of the processor time of a function with the length of its input, whatever the speed of the machine."""

import time
from collections.abc import Callable
from typing import Final

FACTOR: Final = 8
MOST_GROWTH: Final = 24
"""A time that is linear in the length grows by eight, a quadratic one by sixty-four."""
SHORTEST_S: Final = 0.001
TRIES: Final = 3


def grows_linearly(call: Callable[[int], object], length: int) -> bool:
    """Return whether an input eight times as long takes less than 24 times the time.

    Times are the shortest of up to three, and less than a millisecond counts as one, so that the clock does not matter.
    """
    short = max(min(_measure(call, length) for _ in range(TRIES)), SHORTEST_S)
    return any(_measure(call, FACTOR * length) < MOST_GROWTH * short for _ in range(TRIES))


def _measure(call: Callable[[int], object], length: int) -> float:
    begun = time.process_time()
    call(length)
    return time.process_time() - begun
