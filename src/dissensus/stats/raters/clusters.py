"""Order of raters by clusters of like raters."""

import numpy as np

from dissensus.stats.result import FloatArray, IntArray


def order_by_clusters(agreement: FloatArray) -> IntArray:
    """Order raters so that those who agree stand side by side.

    Average linkage: each rater starts as a cluster, and the two clusters with the largest mean agreement are joined
    until one is left (Sokal and Michener 1958). Joined clusters stand one after the other, the larger one first, so
    that raters who agree with few come last.

    Parameters
    ----------
    agreement
        Agreement of each pair of raters, shape (R, R), symmetric; NaN where it is unknown.

    Returns
    -------
    numpy.ndarray
        Each rater once, shape (R,).

    Notes
    -----
    Unknown pairs take no part in the means. Clusters without a known pair between them are joined last. Ties go to the
    raters who come first. It takes on the order of R³ operations.

    Examples
    --------
    Raters 0 and 2 agree, and raters 1 and 3:

    >>> order_by_clusters(np.array([[0, 0.2, 0.9, 0.1], [0.2, 0, 0.3, 0.8], [0.9, 0.3, 0, 0.2], [0.1, 0.8, 0.2, 0]]))
    array([0, 2, 1, 3])
    """
    n_raters = len(agreement)
    known = np.isfinite(agreement) & ~np.eye(n_raters, dtype=bool)
    sums, counts = np.where(known, agreement, 0.0), known.astype(np.float64)
    members = [[rater] for rater in range(n_raters)]
    alive = np.ones(n_raters, dtype=bool)
    for _ in range(n_raters - 1):
        means = np.divide(sums, counts, out=np.full_like(sums, -1.0), where=counts > 0)
        means[~alive], means[:, ~alive] = -np.inf, -np.inf
        np.fill_diagonal(means, -np.inf)
        first, second = sorted(divmod(int(means.argmax()), n_raters))
        larger, smaller = sorted((members[first], members[second]), key=len, reverse=True)
        members[first] = [*larger, *smaller]
        for table in (sums, counts):
            table[first] += table[second]
            table[:, first] += table[:, second]
        alive[second] = False
    return np.array(members[int(alive.argmax())] if n_raters else [], dtype=np.int64)
