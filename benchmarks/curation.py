"""Time the screens of `dissensus curate` on as many transcripts as the red-team data set of hh-rlhf has.

Run it with `.venv/bin/python benchmarks/curation.py`; it takes no options and uses one core.
"""

import os
import platform
import resource
import time
from collections.abc import Callable
from importlib.metadata import version

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from dissensus.text.near_duplicates import near_duplicates
from dissensus.text.personal_data import find_personal_data

TRANSCRIPTS, WORDS, VOCABULARY, REPEATED = 38_961, 250, 60_000, 0.1


def transcripts(seed: int) -> list[str]:
    """Return texts of words as frequent as in a language; a tenth of them repeat another but for a few words."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = np.array(["".join(rng.choice(letters, size=rng.integers(2, 10))) for _ in range(VOCABULARY)])
    shares = 1 / np.arange(3, VOCABULARY + 3)
    shares /= shares.sum()
    drawn = [rng.choice(VOCABULARY, size=rng.poisson(WORDS) + 1, p=shares) for _ in range(TRANSCRIPTS)]
    for copy in rng.choice(TRANSCRIPTS, size=int(REPEATED * TRANSCRIPTS), replace=False):
        drawn[copy] = drawn[rng.integers(TRANSCRIPTS)].copy()
        drawn[copy][rng.integers(len(drawn[copy]), size=3)] = rng.integers(VOCABULARY, size=3)
    return [" ".join(vocabulary[words]) + f", and {number} times." for number, words in enumerate(drawn)]


def print_time(label: str, work: Callable[[], int]) -> None:
    """Time a function and print its result, its time and the peak memory of the process."""
    start = time.perf_counter()
    n = work()
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{label}: {n:,} found in {seconds:.1f} s, {peak:.2f} GiB at most")


def main() -> None:
    """Time both screens."""
    texts = transcripts(0)
    size = sum(map(len, texts)) / 1e6
    print(f"{len(texts):,} transcripts, {size:.0f} million characters; Python {platform.python_version()},", end=" ")
    print(f"NumPy {version('numpy')}, {platform.machine()}")
    print_time("near duplicates, similarity from .8", lambda: int(near_duplicates(texts).repeats.sum()))
    print_time("personal data", lambda: sum(bool(find_personal_data(text)) for text in texts))


if __name__ == "__main__":
    main()
