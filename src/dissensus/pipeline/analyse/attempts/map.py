"""Map of attempts by the similarity of their words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.attempts.cells import Resampling
from dissensus.pipeline.analyse.attempts.columns import read_columns
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import SUCCESS, Attempt
from dissensus.stats.cluster_bootstrap import BootstrapEstimate
from dissensus.stats.layout import k_means, lay_out_clusters
from dissensus.stats.result import FloatArray, IndexArray
from dissensus.stats.sparse import SparseRows, normalise_rows, truncated_svd
from dissensus.text.terms import Terms, weight_terms
from dissensus.text.transcripts import parse_hh

MIN_ATTEMPTS: Final = 30
"""Smallest number of attempts for a map."""

FEATURES: Final = 50
"""Number of singular vectors used by k-means."""

MIN_PER_REGION: Final = 10
"""Smallest mean number of attempts per region."""

WORDS, NEAREST = 8, 3
"""Typical words, and nearest attempts, of each region."""

MAX_CANDIDATES: Final = 150
"""Attempts nearest to the center of a region among which those by different red-teamers are sought."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Attempts with similar words."""

    number: int  # From 1, the largest first
    success: BootstrapEstimate  # Share of successes, with an interval over red-teamers
    n: int
    n_red_teamers: int
    words: tuple[str, ...]  # The most typical words, ordered by excess weight
    # Indices of the attempts nearest to the center, by different red-teamers if possible
    nearest: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttemptMap:
    """Coordinates and regions of attempts.

    Parameters
    ----------
    indices
        Indices in the file of the attempts on the map: those with a known word, shape (M,).
    points
        Their coordinates, shape (M, 2).
    region
        Number of the region of each, from 1, shape (M,).
    succeeded
        1, 0, or NaN without a rating, shape (M,).
    regions
        The largest first.
    centers
        Coordinates of the centers of the regions, shape (K, 2).
    stress
        Relative error of the distances between centers in the plane, from 0.
    n_terms, n_without
        Number of words used, and of attempts without any of them.
    """

    indices: IndexArray
    points: FloatArray
    region: IndexArray
    succeeded: FloatArray
    regions: tuple[Region, ...]
    centers: FloatArray
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
    confidence: float = 0.95,
) -> AttemptMap:
    """Lay out attempts by the words of the red-teamer: the description and the human turns.

    TF-IDF of words, truncated singular value decomposition, and rows scaled to length 1 (latent semantic analysis,
    Deerwester et al. 1990); regions by k-means of these. In the plane, the centers of regions keep their distances as
    well as possible, and each region is projected onto its first two principal components.

    Parameters
    ----------
    attempts
        Thirty or more.
    regions
        Number of regions, from 1 to 100; fewer if there would be less than ten attempts for each.
    success_from, bootstrap, seed, confidence
        As for `analyse_attempts`; the seed also determines the decomposition and the regions.

    Returns
    -------
    AttemptMap
        Words used by only one red-teamer are left out, since they are often names.

    Raises
    ------
    InvalidInput
        An option is out of range.
    UndefinedEstimate
        There are too few attempts, or they share no words.

    Examples
    --------
    >>> import dissensus as ds
    >>> layout = attempt_map(ds.simulate_attempts(300, seed=1), regions=4, bootstrap=0)
    >>> len(layout.regions), layout.points.shape, sum(region.n for region in layout.regions)
    (4, (300, 2), 300)
    """
    check_whole("regions", regions, 1, 100)
    columns = read_columns(attempts, success_from) if attempts else None
    if columns is None or len(columns) < MIN_ATTEMPTS:
        raise UndefinedEstimate(f"{len(attempts):,} attempts are too few for a map; it takes {MIN_ATTEMPTS} or more.")
    resampling = Resampling.draw(columns, bootstrap, seed, confidence)
    terms = weight_terms(list(map(_red_teamer_text, attempts)), columns.red_teamer.tolist())
    indices = np.flatnonzero(terms.sizes > 0)
    if len(indices) < MIN_ATTEMPTS:
        raise UndefinedEstimate(
            f"Fewer than {MIN_ATTEMPTS} attempts share a word with another red-teamer, so there is no map."
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    rows = SparseRows(terms.values, terms.columns, terms.ends, len(terms.names))
    vectors = normalise_rows(truncated_svd(rows, FEATURES, rng)[0][indices])
    clusters = k_means(vectors, max(1, min(regions, len(indices) // MIN_PER_REGION)), rng)
    points, centers, stress = lay_out_clusters(vectors, clusters.labels, clusters.centers, rng)
    red_teamers, succeeded, labels = columns.red_teamer[indices], columns.succeeded[indices], clusters.labels
    n_regions = len(clusters.centers)
    success = resampling.means(succeeded, labels, red_teamers, n_regions)
    words = list(_find_typical_words(terms, indices, labels, n_regions))
    return AttemptMap(
        indices=indices,
        points=points,
        region=labels + 1,
        succeeded=succeeded,
        regions=tuple(
            Region(
                number=k + 1,
                success=success[k],
                n=int((labels == k).sum()),
                n_red_teamers=len(np.unique(red_teamers[labels == k])),
                words=words[k],
                nearest=tuple(
                    indices[list(_find_nearest(clusters.squared_distances, labels == k, red_teamers))].tolist()
                ),
            )
            for k in range(n_regions)
        ),
        centers=centers,
        stress=stress,
        n_terms=len(terms.names),
        n_without=len(attempts) - len(indices),
    )


def _red_teamer_text(attempt: Attempt) -> str:
    """Return the text of the red-teamer: the description and the human turns."""
    human_turns = (text for speaker, text in parse_hh(attempt.transcript) if speaker == "human")
    return "\n".join([attempt.task_description, *human_turns])


def _find_typical_words(
    terms: Terms, indices: IndexArray, labels: IndexArray, n_regions: int
) -> Iterator[tuple[str, ...]]:
    """Yield the words of each region whose mean weight is furthest above that of the other regions."""
    row = np.repeat(np.arange(len(terms.sizes)), terms.sizes)
    region = np.full(len(terms.sizes), -1)
    region[indices] = labels
    sums = np.zeros((n_regions, len(terms.names)))
    np.add.at(sums, (region[row], terms.columns), terms.values)
    sizes = np.bincount(labels, minlength=n_regions)[:, None]
    mean_elsewhere = (sums.sum(axis=0) - sums) / np.maximum(len(indices) - sizes, 1)
    for excess in sums / np.maximum(sizes, 1) - mean_elsewhere:
        order = np.argsort(-excess, kind="stable")[:WORDS]
        yield tuple(terms.names[column] for column in order if excess[column] > 0)


def _find_nearest(distance: FloatArray, inside: IndexArray, red_teamers: IndexArray) -> Iterator[int]:
    """Yield the nearest points to a center, one of each red-teamer before a second of any."""
    order = np.flatnonzero(inside)[np.argsort(distance[inside], kind="stable")]
    n_earlier: Counter[int] = Counter()
    ranks: list[tuple[int, int, int]] = []
    for index in order[:MAX_CANDIDATES].tolist():
        red_teamer = int(red_teamers[index])
        ranks.append((n_earlier[red_teamer], len(ranks), index))
        n_earlier[red_teamer] += 1
    yield from (index for _, _, index in sorted(ranks)[:NEAREST])
