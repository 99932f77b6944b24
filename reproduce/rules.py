"""Rules for zeros and ties that may explain two columns of GRASP, beyond its definitions."""

import numpy as np
import numpy.typing as npt
from reproduce.groups import NAMES

from dissensus.schema.ratings.table import Ratings
from dissensus.stats.counts import count_answers
from dissensus.stats.crossgroup import cross_negentropy, voting_agreement
from dissensus.stats.permutation import draw_permutations, permutation_p

Counts = npt.NDArray[np.int32]


def counts(ratings: Ratings, axis: str) -> dict[str, tuple[Counts, Counts]]:
    """Return the counts of each group of an axis and of all others."""
    items, raters, answers = ratings.codes("Q_overall")
    codes, groups = ratings.group_codes(axis)
    by_group = {}
    for code, group in enumerate(groups):
        own = codes[raters] == code
        x, y = (count_answers(items[part], answers[part], n_categories=3) for part in (own, ~own))
        by_group[NAMES[group]] = (x, y)
    return by_group


def whole_items_left_out(x: Counts, y: Counts) -> float:
    """Return cross-negentropy where an item counts ln K, its maximum, as soon as `y` leaves any answer unused."""
    full = (y > 0).all(axis=1)
    share, largest = float(full.mean()), float(np.log(y.shape[1]))
    return largest if share == 0 else share * cross_negentropy(x[full], y[full]).estimate + (1 - share) * largest


def p_of_whole_items(ratings: Ratings, axis: str, group: str, *, permutations: int = 1000) -> float:
    """Return the p-value of `whole_items_left_out` for one group, by GRASP's rule; every rater rated every item."""
    items, raters, answers = ratings.codes("Q_overall")
    each = np.zeros((ratings.n_raters, ratings.n_items, 3), dtype=np.int32)
    each[raters, items, answers] = 1
    codes, groups = ratings.group_codes(axis)
    own = codes == [NAMES[name] for name in groups].index(group)
    drawn = own[draw_permutations(np.random.SeedSequence(0).spawn(permutations), own.size)]
    values = [whole_items_left_out(each[mask].sum(axis=0), each[~mask].sum(axis=0)) for mask in (own, *drawn)]
    return float(permutation_p(values[0], values[1:], method="grasp"))


def ties_at_random(x: Counts, y: Counts, *, draws: int = 1000) -> npt.NDArray[np.float64]:
    """Return voting agreement with all ties broken at random, many times."""
    rng = np.random.default_rng(0)
    one_vote = np.eye(x.shape[1], dtype=np.int32)

    def vote(of: Counts) -> Counts:
        broken: Counts = one_vote[(of + rng.random(of.shape) / 2).argmax(axis=1)]
        return broken

    return np.array([voting_agreement(vote(x), vote(y)).estimate for _ in range(draws)])
