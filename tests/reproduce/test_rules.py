"""Rules for zeros and ties that may lie behind two columns of GRASP."""

import math
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from reproduce.rules import Counts, counts, p_of_whole_items, ties_at_random, whole_items_left_out

from dissensus.schema.ratings.table import Ratings
from dissensus.stats.crossgroup import cross_negentropy, voting_agreement
from reproduce import grasp


def array(*rows: tuple[int, ...]) -> Counts:
    return np.array(rows, dtype=np.int32)


X = array((2, 1, 1), (0, 3, 1), (4, 0, 0))


def test_without_zeros_the_rule_equals_cross_negentropy() -> None:
    y = array((1, 2, 3), (2, 2, 2), (1, 1, 4))
    assert whole_items_left_out(X, y) == pytest.approx(cross_negentropy(X, y).estimate, rel=1e-12)


def test_an_item_with_an_unused_answer_counts_the_maximum() -> None:
    y = array((1, 2, 3), (0, 6, 0), (3, 3, 0))
    first = math.log(3) + (2 * math.log(1 / 6) + math.log(2 / 6) + math.log(3 / 6)) / 4
    assert whole_items_left_out(X, y) == pytest.approx((first + 2 * math.log(3)) / 3, rel=1e-12)


def test_ties_broken_at_random() -> None:
    decided = array((3, 1, 0), (0, 3, 1), (1, 0, 3))
    assert set(ties_at_random(X, decided, draws=20)) == {voting_agreement(X, decided).estimate}
    tied = array((2, 2, 0), (0, 3, 1), (1, 0, 3))
    either = {voting_agreement(X, array(row, (0, 3, 1), (1, 0, 3))).estimate for row in ((3, 1, 0), (1, 3, 0))}
    assert len(either) == 2
    assert set(ties_at_random(X, tied, draws=50)) == either


def small_ratings() -> Ratings:
    answers = {"a": "No Yes Unsure", "b": "No Yes Yes", "c": "Yes No Unsure", "d": "Unsure No No", "e": "No No Yes"}
    rows = [
        {
            "rater_id": rater,
            "rater_gender": "Man" if rater in "ab" else "Woman",
            "item_id": str(item),
            "Q_overall": answer,
        }
        for rater, row in answers.items()
        for item, answer in enumerate(row.split())
    ]
    return Ratings.from_frame(pl.DataFrame(rows))


def test_counts_of_a_group_and_of_all_others() -> None:
    men, not_men = counts(small_ratings(), "gender")["Man"]
    assert men.tolist() == [[2, 0, 0], [0, 0, 2], [0, 1, 1]]
    assert not_men.tolist() == [[1, 1, 1], [3, 0, 0], [1, 1, 1]]


def test_the_p_value_of_a_rule_is_that_of_all_ways_to_choose_the_group() -> None:
    """Of ten ways to choose two of five raters; 2,000 permutations come near."""
    ratings = small_ratings()
    items, raters, answers = ratings.codes("Q_overall")
    rater_counts = np.zeros((5, 3, 3), dtype=np.int32)
    rater_counts[raters, items, answers] = 1

    def value(*rater_ids: int) -> float:
        return whole_items_left_out(
            rater_counts[list(rater_ids)].sum(axis=0), np.delete(rater_counts, rater_ids, axis=0).sum(axis=0)
        )

    ways = [value(one, other) for one in range(5) for other in range(one)]
    observed = value(0, 1)
    side = [way < observed if observed < np.median(ways) else way > observed for way in ways]
    assert p_of_whole_items(ratings, "gender", "Man", permutations=2000) == pytest.approx(np.mean(side), abs=0.05)


def test_no_order_of_the_answers_gives_the_published_votes(dices_104: Ratings) -> None:
    published = [float(cells[5].rstrip("*")) for cells in grasp.TABLE_5.values()]
    count_pairs = {group: pair for axis in grasp.AXES for group, pair in counts(dices_104, axis).items()}
    for order in permutations(range(3)):
        estimates = [
            voting_agreement(*(c[:, list(order)] for c in count_pairs[group])).estimate for group in grasp.TABLE_5
        ]
        assert sum(abs(a - b) < 0.0015 for a, b in zip(estimates, published, strict=True)) <= 3
