"""Agreement of each pair of raters, against counting pair by pair."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.raters import pairs as rater_pairs
from dissensus.stats.raters.pairs import rater_pair_agreement

Answers = dict[tuple[int, int], int]


def draw_ratings(seed: int, *, n_items: int = 30, n_raters: int = 7) -> Answers:
    """Sparse ratings: the answer of a rater (second) to an item (first)."""
    rng = np.random.default_rng(seed)
    pairs = [(item, rater) for item in range(n_items) for rater in range(n_raters) if rng.random() < 0.5]
    return {pair: int(rng.integers(3)) for pair in pairs}


def as_columns(ratings: Answers) -> tuple[list[int], list[int], list[int]]:
    return [item for item, _ in ratings], [rater for _, rater in ratings], list(ratings.values())


def count_by_hand(ratings: Answers, first: int, second: int) -> tuple[int, Fraction | None]:
    """Shared items of two raters, and the share of equal answers."""
    answers: dict[int, dict[int, int]] = {}
    for (item, rater), answer in ratings.items():
        answers.setdefault(item, {})[rater] = answer
    both = [row for row in answers.values() if first in row and second in row]
    return len(both), Fraction(sum(row[first] == row[second] for row in both), len(both)) if both else None


@pytest.mark.parametrize("block", [1, 20, 1 << 22])
@pytest.mark.parametrize("seed", [1, 2])
def test_each_pair_is_that_counted_by_hand(seed: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rater_pairs, "_BLOCK", block)
    ratings = draw_ratings(seed)
    result = rater_pair_agreement(*as_columns(ratings), min_shared=6)
    n_defined = 0
    for first, second in permutations(range(7), 2):
        n_shared, share = count_by_hand(ratings, first, second)
        assert result.n_shared[first, second] == n_shared
        if share is None or n_shared < 6:
            assert np.isnan(result.agreement[first, second])
        else:
            n_defined += 1
            assert result.agreement[first, second] == pytest.approx(float(share), abs=1e-15)
    assert 0 < n_defined < 42
    assert result.n_pairs == n_defined // 2
    assert np.isnan(np.diag(result.agreement)).all()


def test_neither_order_nor_names_of_answers_matter() -> None:
    items, raters, answers = (np.array(column) for column in as_columns(draw_ratings(3)))
    result = rater_pair_agreement(items, raters, answers)
    order = np.random.default_rng(1).permutation(items.size)
    other = rater_pair_agreement(items[order] * 1000, raters[order], np.array([5, 0, 9])[answers[order]])
    np.testing.assert_array_equal(other.agreement, result.agreement)
    np.testing.assert_array_equal(other.n_shared, result.n_shared)


def test_missing_answers_are_not_shared() -> None:
    result = rater_pair_agreement([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [1, 1, -1, 1, 0, 1], min_shared=1)
    assert (result.n_shared[0, 1], result.agreement[0, 1]) == (2, 0.5)


def test_raters_without_an_answer_have_a_row() -> None:
    items, raters, answers = [0, 1, 0, 1, 0], [0, 0, 1, 1, 2], [0, 1, 0, 0, -1]
    assert rater_pair_agreement(items, raters, answers, min_shared=1).agreement.shape == (3, 3)
    result = rater_pair_agreement(items[:4], raters[:4], answers[:4], min_shared=1, n_raters=5)
    assert result.n_shared.diagonal().tolist() == [2, 2, 0, 0, 0]


def test_pairs_of_dices_350_sum_to_the_agreement_of_the_pool(dices_104: Ratings) -> None:
    items, raters, answers = dices_104.codes("Q_overall")
    result = rater_pair_agreement(items, raters, answers)
    counts = np.zeros((dices_104.n_items, len(dices_104.scale("Q_overall"))))
    np.add.at(counts, (items, answers), 1)
    n_ratings = counts.sum(axis=1)
    # Everybody rated every item, so the items weigh the same.
    pool = ((counts * (counts - 1)).sum(axis=1) / (n_ratings * (n_ratings - 1))).mean()
    assert result.n_pairs == 104 * 103 // 2
    assert np.nanmean(result.agreement) == pytest.approx(pool, abs=1e-12)


def test_without_a_pair_there_is_no_estimate() -> None:
    with pytest.raises(UndefinedEstimate, match="no two raters share 5 items or more"):
        rater_pair_agreement([0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0])
    with pytest.raises(UndefinedEstimate, match="no two raters share 5 items or more"):
        rater_pair_agreement([], [], [])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [0, 1], [0, 0]), "of one length"),
        (([0.5], [0], [0]), "whole numbers"),
        (([0], [-1], [0]), "0 or more"),
        (([0, 0], [1, 1], [0, 1]), "more than once"),
        (([0], [5000], [0]), "at most 5,000"),
    ],
)
def test_what_cannot_be_compared_is_refused(columns: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        rater_pair_agreement(*columns)
    with pytest.raises(InvalidInput, match=r"The rater code 3 is outside 0 … 2"):
        rater_pair_agreement([0], [3], [0], n_raters=3)
    with pytest.raises(InvalidInput, match="min_shared is 0"):
        rater_pair_agreement([0], [0], [0], min_shared=0)
