"""Rankings: known strengths found again, parts told apart, and intervals that count raters."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from tests.support.bot_comparisons import BOTS, STRENGTHS, drawn

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.files.pairs.comparisons import read_comparisons
from dissensus.preference.ranking.ranking import Comparisons, rank

POINTS = 400 / math.log(10)


def test_known_strengths_are_found_again() -> None:
    found = rank(drawn(4000), bootstrap=200)
    assert [row.bot for row in found.rows] == list(BOTS)
    for row, truth in zip(found.rows, 1000 + POINTS * STRENGTHS, strict=True):
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.bradley_terry is not None
        assert row.ci_low < row.bradley_terry < row.ci_high
        assert row.bradley_terry == pytest.approx(truth, abs=25)
    assert sum(row.bradley_terry or 0 for row in found.rows) == pytest.approx(4000)
    elo = [row.elo for row in found.rows]
    assert elo == sorted(elo, reverse=True)
    assert (found.n_comparisons, found.n_raters, found.undefined) == (4000, 40, 0)


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_it_is_the_most_likely(ties: float) -> None:
    """The same by a general optimiser, with a tie as half a win for both."""
    given = drawn(300, seed=3, ties=ties)
    wins = given.wins(given.weight)

    def loss(free: np.ndarray) -> float:
        level = np.append(free, -free.sum())
        return float((wins * np.logaddexp(0, level[None, :] - level[:, None])).sum())

    expected = minimize(loss, np.zeros(3), tol=1e-12).x
    found = {row.bot: row.bradley_terry for row in rank(given, bootstrap=0).rows}
    for bot, level in zip(BOTS, expected, strict=False):
        assert found[bot] == pytest.approx(1000 + POINTS * level, abs=0.1)


def test_weights_count_as_copies() -> None:
    given = drawn(60, seed=5)
    a, b = np.tile(given.a, 2), np.tile(given.b, 2)
    twice = Comparisons(bots=BOTS, a=a, b=b, outcome=np.tile(given.outcome, 2), weight=np.ones(120))
    heavy, copied = rank(replace(given, weight=np.full(60, 2.0)), bootstrap=0), rank(twice, bootstrap=0)
    for one, other in zip(heavy.rows, copied.rows, strict=True):
        assert one.bradley_terry == pytest.approx(other.bradley_terry)
        assert (one.n, one.won) == (other.n, other.won)


def test_raters_with_a_taste_of_their_own_make_intervals_longer() -> None:
    """Each rater's comparisons tell less than as many of different raters."""
    given = drawn(2000, raters=12, spread=1.0)
    alone = replace(given, rater=np.arange(2000))
    by_rater, by_comparison = (_length(rank(some, bootstrap=200)) for some in (given, alone))
    assert by_rater > 1.5 * by_comparison


def _length(found: object) -> float:
    return float(np.mean([row.ci_high - row.ci_low for row in found.rows]))  # type: ignore[attr-defined]


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    truth, held, draws = 1000 + POINTS * STRENGTHS, 0, 60
    for seed in range(draws):
        rows = {row.bot: row for row in rank(drawn(400, seed=seed), bootstrap=100, seed=seed).rows}
        held += sum(
            (rows[bot].ci_low or 0) <= value <= (rows[bot].ci_high or 0) for bot, value in zip(BOTS, truth, strict=True)
        )
    assert 0.88 <= held / (4 * draws) <= 0.99


def test_the_same_seed_gives_the_same_intervals() -> None:
    given = drawn(200)
    assert rank(given, bootstrap=50, seed=1) == rank(given, bootstrap=50, seed=1)
    assert rank(given, bootstrap=50, seed=1) != rank(given, bootstrap=50, seed=2)


def test_parts_that_never_met_are_told() -> None:
    given = Comparisons(
        bots=("a", "b", "c", "d"), a=np.array([0, 1, 2]), b=np.array([1, 0, 3]), outcome=np.ones(3), weight=np.ones(3)
    )
    with pytest.raises(UndefinedEstimate, match="2 parts that were never compared with each other: 'a', 'b'; 'c', 'd'"):
        rank(given)


def test_who_never_lost_has_no_strength_but_elo() -> None:
    given = Comparisons(
        bots=("a", "b", "c"), a=np.array([0, 0, 1, 2]), b=np.array([1, 2, 2, 1]), outcome=np.ones(4), weight=np.ones(4)
    )
    found = rank(given)
    assert [row.bradley_terry for row in found.rows] == [None, None, None]
    assert found.rows[0].bot == "a"
    assert "'a' lost to none of the others" in found.rows[0].reason
    assert found.rows[0].elo > 1000


def test_replicates_without_a_link_are_left_out_and_told() -> None:
    given = Comparisons(
        bots=("a", "b"), a=np.zeros(6, dtype=np.int64), b=np.ones(6, dtype=np.int64),
        outcome=np.array([1.0, 1, 1, 1, 1, 0]), weight=np.ones(6), rater=np.arange(6),
    )  # fmt: skip
    found = rank(given, bootstrap=200)
    assert 0 < found.undefined < 200
    assert f"{found.undefined} of 200 replicates are left out" in found.notes[0]


def test_calibrated_scores_foretell_elo() -> None:
    """A model whose score of an answer is the strength of its chatbot, and some noise that is no difference of bots."""
    given = drawn(4000, seed=1)
    noise = np.random.default_rng(2).normal(size=(4000, 1))
    scores = np.column_stack([STRENGTHS[given.a], STRENGTHS[given.b]]) + noise
    found = rank(replace(given, scores=scores), bootstrap=0)
    assert {row.bot: round(row.by_scores or 0) for row in found.rows} == {
        bot: round(1000 + POINTS * level) for bot, level in zip(BOTS, STRENGTHS, strict=True)
    }
    assert found.slope == pytest.approx(1, abs=0.1)
    doubled = rank(replace(given, scores=2 * scores), bootstrap=0)
    assert doubled.slope == pytest.approx((found.slope or 0) / 2)
    assert rank(replace(given, scores=np.full((4000, 2), np.nan)), bootstrap=0).slope is None


TABLE = {"bot_a": ["x", "y", "x"], "bot_b": ["y", "x", "y"], "winner": ["a", "x", "tie"], "rater_id": ["1", "2", "2"]}


def test_a_table_is_read() -> None:
    found = read_comparisons(pl.DataFrame({**TABLE, "score_a": [1, None, 2], "score_b": [0.5, 1, 1]}))
    assert found.every.bots == ("x", "y")
    assert found.every.outcome.tolist() == [1.0, 0.0, 0.5]
    assert found.every.rater is not None
    assert found.every.rater.tolist() == [0, 1, 1]
    assert found.every.scores is not None
    assert np.isnan(found.every.scores[1, 0])


def test_a_chatbot_beside_itself_is_left_out_and_counted() -> None:
    table = pl.DataFrame({**TABLE, "bot_b": ["y", "x", "x"]})
    found = read_comparisons(table)
    assert found.notes == ("1 comparisons left out: both answers are by one chatbot.",)
    with pytest.raises(InvalidInput, match="None of 1 comparisons can be ranked"):
        read_comparisons(table[2:])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"winner": ["a", "b", "z"]}, "Row 3: winner is 'z'; it is a, b or tie, or one of 'x', 'y'"),
        ({"winner": ["a", None, "a"]}, "Row 2: winner is empty"),
        ({"bot_a": ["x", None, "x"]}, "Row 2: bot_a is empty"),
        ({"weight": ["1", "0", "1"]}, "Row 2: weight is 0; give a number above 0"),
        ({"weight": ["1", "heavy", "1"]}, "Row 2: weight is 'heavy', which is no number"),
        ({"rater_id": ["1", None, "2"]}, "rater_id is empty, in 1 rows"),
        ({"score_a": ["1", "nan", "2"], "score_b": ["1", "1", "1"]}, "Row 2: score_a is 'nan'"),
    ],
)
def test_what_is_no_comparison(change: dict[str, list[str | None]], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        read_comparisons(pl.DataFrame({**TABLE, **change}))


def test_columns_that_are_missing() -> None:
    with pytest.raises(NotFound, match=r"no column 'winner'\. Did you mean 'winners'"):
        read_comparisons(pl.DataFrame({**TABLE}).rename({"winner": "winners"}))
    with pytest.raises(NotFound, match="no column 'rater_gender'"):
        read_comparisons(pl.DataFrame(TABLE), by="rater_gender")
