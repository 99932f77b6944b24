"""Map of attempts by similarity of words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.attempts.columns import read_columns
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import SUCCESS, Attempt
from dissensus.stats.clustered import Clustered, Codes, clustered_means, drawn_clusters
from dissensus.stats.layout import k_means, lay_out_groups
from dissensus.stats.result import FloatArray
from dissensus.stats.sparse import SparseRows, scaled, truncated_svd
from dissensus.text.terms import Terms, weighed_terms
from dissensus.text.transcripts import parse_hh

LEAST: Final = 30
"""Fewer attempts make no map."""

FEATURES: Final = 50
"""Singular vectors in which regions are found."""

PER_REGION: Final = 10
"""Attempts that a region has on average, at the least."""

WORDS, NEAREST = 8, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Attempts with like words."""

    number: int  # From 1, the largest first
    success: Clustered  # Share of successes, with its interval for other red-teamers
    n: int  # Attempts, and who made them
    n_red_teamers: int
    words: tuple[str, ...]  # Those that are there more often than elsewhere, by how much more
    # Places of the attempts nearest to its middle, by different red-teamers where there are several
    nearest: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptMap:
    """Coordinates and regions of attempts.

    Parameters
    ----------
    places
        Places in the file of the attempts on the map: those that have a known word.
    points
        Where they lie, shape (M, 2).
    region
        Number of the region of each, from 1.
    succeeded
        1, 0, or NaN where there is no rating.
    regions
        The largest first.
    middles
        Where the middle of each region lies, shape (K, 2).
    stress
        By how much of their length distances between the middles are missed in the plane, from 0.
    n_terms, n_without
        Words that were used, and attempts without any.
    """

    places: Codes
    points: FloatArray
    region: Codes
    succeeded: FloatArray
    regions: tuple[Region, ...]
    middles: FloatArray
    stress: float
    n_terms: int
    n_without: int


def attempt_map(
    attempts: Sequence[Attempt],
    *,
    regions: int = 12,
    success_from: int = SUCCESS,
    bootstrap: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> AttemptMap:
    """Lay out attempts by the words of the red-teamer: the description and what the human says.

    TF-IDF of words, truncated singular value decomposition, rows scaled to length 1 (latent semantic analysis,
    Deerwester et al. 1990); regions by k-means there. In the plane the middles of regions are as far apart as a plane
    allows, and each region is seen from where it varies most.

    Parameters
    ----------
    attempts
        Thirty or more.
    regions
        How many, at most one for each ten attempts.
    success_from, bootstrap, seed, level
        As for `analyse_attempts`; the seed is that of the decomposition and of the regions too.

    Returns
    -------
    AttemptMap
        Words that one red-teamer alone uses are not part of it: they are often names.

    Raises
    ------
    UndefinedEstimate
        There are too few attempts, or they share no words.

    Examples
    --------
    >>> import dissensus as ds
    >>> found = attempt_map(ds.simulate_attempts(300, seed=1), regions=4, bootstrap=0)
    >>> len(found.regions), found.points.shape, sum(region.n for region in found.regions)
    (4, (300, 2), 300)
    """
    check_whole("regions", regions, 1, 100)
    columns = read_columns(attempts, success_from) if attempts else None
    if columns is None or len(columns) < LEAST:
        raise UndefinedEstimate(f"{len(attempts):,} attempts are too few for a map; {LEAST} make one.")
    terms = weighed_terms(list(map(_red_teamer_text, attempts)), columns.red_teamer.tolist())
    kept = np.flatnonzero(terms.sizes > 0)
    if len(kept) < LEAST:
        raise UndefinedEstimate(
            f"Fewer than {LEAST} attempts share a word with another red-teamer, so there is no map."
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    rows = SparseRows(terms.values, terms.columns, terms.ends, len(terms.names))
    points = scaled(truncated_svd(rows, FEATURES, rng)[0][kept])
    found = k_means(points, max(1, min(regions, len(kept) // PER_REGION)), rng)
    flat, middles, stress = lay_out_groups(points, found.of, found.centers, rng)
    members = columns.red_teamer[kept]
    draws = drawn_clusters(columns.n_red_teamers, bootstrap, seed)
    n_regions = len(found.centers)
    success = clustered_means(columns.succeeded[kept], found.of, members, draws, n_cells=n_regions, level=level)
    words = list(_find_typical_words(terms, kept, found.of, n_regions))
    return AttemptMap(
        places=kept,
        points=flat,
        region=found.of + 1,
        succeeded=columns.succeeded[kept],
        regions=tuple(
            Region(
                number=number + 1,
                success=success[number],
                n=int((found.of == number).sum()),
                n_red_teamers=len(np.unique(members[found.of == number])),
                words=words[number],
                nearest=tuple(kept[list(_nearest(found.distance, found.of == number, members))].tolist()),
            )
            for number in range(n_regions)
        ),
        middles=middles,
        stress=stress,
        n_terms=len(terms.names),
        n_without=len(attempts) - len(kept),
    )


def _red_teamer_text(attempt: Attempt) -> str:
    """Return what the red-teamer wrote: the description and the turns of the human."""
    return "\n".join(
        [attempt.task_description, *(text for who, text in parse_hh(attempt.transcript) if who == "human")]
    )


def _find_typical_words(terms: Terms, kept: Codes, of: Codes, n_regions: int) -> Iterator[tuple[str, ...]]:
    """Yield the words of each region whose mean weight there is furthest above that elsewhere."""
    row = np.repeat(np.arange(len(terms.sizes)), terms.sizes)
    region = np.full(len(terms.sizes), -1)
    region[kept] = of
    sums = np.zeros((n_regions, len(terms.names)))
    np.add.at(sums, (region[row], terms.columns), terms.values)
    sizes = np.bincount(of, minlength=n_regions)[:, None]
    others = (sums.sum(axis=0) - sums) / np.maximum(len(kept) - sizes, 1)
    more = sums / np.maximum(sizes, 1) - others
    for line in more:
        order = np.argsort(-line, kind="stable")[:WORDS]
        yield tuple(terms.names[place] for place in order if line[place] > 0)


def _nearest(distance: FloatArray, inside: Codes, members: Codes) -> Iterator[int]:
    """Yield the places nearest to the middle, one of each red-teamer before a second of any."""
    order = np.flatnonzero(inside)[np.argsort(distance[inside], kind="stable")]
    seen: dict[int, int] = {}
    rank: list[tuple[int, int, int]] = []
    for place in order[: 50 * NEAREST].tolist():
        member = int(members[place])
        rank.append((seen.get(member, 0), len(rank), place))
        seen[member] = seen.get(member, 0) + 1
    yield from (place for _, _, place in sorted(rank)[:NEAREST])
