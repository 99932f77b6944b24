"""Rankings: recovery of known strengths, connectivity, and intervals over raters."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from tests.support.bot_comparisons import BOTS, STRENGTHS, draw_comparisons

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.files.pairs.comparisons import read_comparisons
from dissensus.preference.ranking.ranking import Comparisons, rank
from dissensus.preference.ranking.strengths import bradley_terry

POINTS = 400 / math.log(10)


def test_known_strengths_are_recovered() -> None:
    ranking = rank(draw_comparisons(4000), bootstrap=200)
    assert [row.bot for row in ranking.rows] == list(BOTS)
    for row, truth in zip(ranking.rows, 1000 + POINTS * STRENGTHS, strict=True):
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.bradley_terry is not None
        assert row.ci_low < row.bradley_terry < row.ci_high
        assert row.bradley_terry == pytest.approx(truth, abs=25)
    assert sum(row.bradley_terry or 0 for row in ranking.rows) == pytest.approx(4000)
    elo = [row.elo for row in ranking.rows]
    assert elo == sorted(elo, reverse=True)
    assert (ranking.n_comparisons, ranking.n_raters, ranking.undefined) == (4000, 40, 0)


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_strengths_maximise_the_likelihood(ties: float) -> None:
    """Equal to a general optimiser, with a tie as half a win for both."""
    comparisons = draw_comparisons(300, seed=3, ties=ties)
    wins = comparisons.wins(comparisons.weight)

    def loss(free: np.ndarray) -> float:
        level = np.append(free, -free.sum())
        return float((wins * np.logaddexp(0, level[None, :] - level[:, None])).sum())

    free = minimize(loss, np.zeros(3), tol=1e-12).x
    strengths = {row.bot: row.bradley_terry for row in rank(comparisons, bootstrap=0).rows}
    for bot, level in zip(BOTS, np.append(free, -free.sum()), strict=True):
        assert strengths[bot] == pytest.approx(1000 + POINTS * level, abs=0.1)


def test_pools_that_few_comparisons_connect_are_at_the_maximum() -> None:
    """At the maximum the expected wins between the pools are the observed ones, 2 of 3."""
    rng = np.random.default_rng(0)
    wins = np.zeros((40, 40))
    for pool in (slice(0, 20), slice(20, 40)):
        wins[pool, pool] = rng.integers(1, 10_000, (20, 20))
    np.fill_diagonal(wins, 0)
    wins[0, 20], wins[20, 0] = 2, 1
    strengths = bradley_terry(wins)
    assert strengths[0] - strengths[20] == pytest.approx(POINTS * math.log(2), abs=1e-6)
    expected = (wins + wins.T) / (1 + 10 ** ((strengths[None, :] - strengths[:, None]) / 400))
    assert expected.sum(axis=1) == pytest.approx(wins.sum(axis=1))


def test_strengths_that_are_far_apart_are_at_the_maximum() -> None:
    """Each of ten chatbots beats the next one 10,000 times and loses once."""
    wins = np.diag(np.full(9, 1e4), 1) + np.diag(np.ones(9), -1)
    assert -np.diff(bradley_terry(wins)) == pytest.approx(np.full(9, POINTS * math.log(1e4)))


def test_weights_count_as_copies() -> None:
    comparisons = draw_comparisons(60, seed=5)
    a, b = np.tile(comparisons.a, 2), np.tile(comparisons.b, 2)
    twice = Comparisons(bots=BOTS, a=a, b=b, outcome=np.tile(comparisons.outcome, 2), weight=np.ones(120))
    heavy, copied = rank(replace(comparisons, weight=np.full(60, 2.0)), bootstrap=0), rank(twice, bootstrap=0)
    for row, copied_row in zip(heavy.rows, copied.rows, strict=True):
        assert row.bradley_terry == pytest.approx(copied_row.bradley_terry)
        assert (row.n, row.won) == (copied_row.n, copied_row.won)


def test_weights_of_elo_are_gained_and_lost_alike() -> None:
    comparisons = draw_comparisons(60, seed=5)
    heavy = rank(replace(comparisons, weight=np.full(60, 3.0)), bootstrap=0)
    assert np.mean([row.elo for row in heavy.rows]) == pytest.approx(1000)
    light = rank(replace(comparisons, weight=np.full(60, 1e-6)), bootstrap=0)
    assert [row.elo for row in light.rows] == pytest.approx([1000] * 4, abs=0.001)


def test_differences_between_raters_widen_intervals() -> None:
    """Comparisons of one rater are less informative than those of different raters."""
    comparisons = draw_comparisons(2000, raters=12, spread=1.0)
    one_per_rater = replace(comparisons, rater=np.arange(2000))
    by_rater, by_comparison = (_length(rank(some, bootstrap=200)) for some in (comparisons, one_per_rater))
    assert by_rater > 1.5 * by_comparison


def _length(ranking: object) -> float:
    return float(np.mean([row.ci_high - row.ci_low for row in ranking.rows]))  # type: ignore[attr-defined]


@pytest.mark.slow
def test_coverage_of_intervals() -> None:
    truth, n_covered, draws = 1000 + POINTS * STRENGTHS, 0, 60
    for seed in range(draws):
        rows = {row.bot: row for row in rank(draw_comparisons(400, seed=seed), bootstrap=100, seed=seed).rows}
        n_covered += sum(
            (rows[bot].ci_low or 0) <= value <= (rows[bot].ci_high or 0) for bot, value in zip(BOTS, truth, strict=True)
        )
    assert 0.88 <= n_covered / (4 * draws) <= 0.99


def test_the_same_seed_gives_the_same_intervals() -> None:
    comparisons = draw_comparisons(200)
    assert rank(comparisons, bootstrap=50, seed=1) == rank(comparisons, bootstrap=50, seed=1)
    assert rank(comparisons, bootstrap=50, seed=1) != rank(comparisons, bootstrap=50, seed=2)


def test_disconnected_comparisons_are_refused() -> None:
    comparisons = Comparisons(
        bots=("a", "b", "c", "d"), a=np.array([0, 1, 2]), b=np.array([1, 0, 3]), outcome=np.ones(3), weight=np.ones(3)
    )
    with pytest.raises(UndefinedEstimate, match="2 parts that were never compared with each other: 'a', 'b'; 'c', 'd'"):
        rank(comparisons)


def test_an_undefeated_chatbot_has_elo_only() -> None:
    comparisons = Comparisons(
        bots=("a", "b", "c"), a=np.array([0, 0, 1, 2]), b=np.array([1, 2, 2, 1]), outcome=np.ones(4), weight=np.ones(4)
    )
    ranking = rank(comparisons)
    assert [row.bradley_terry for row in ranking.rows] == [None, None, None]
    assert ranking.rows[0].bot == "a"
    assert "'a' lost to none of the others" in ranking.rows[0].reason
    assert ranking.rows[0].elo > 1000


def test_disconnected_replicates_are_excluded_and_reported() -> None:
    comparisons = Comparisons(
        bots=("a", "b"), a=np.zeros(6, dtype=np.int64), b=np.ones(6, dtype=np.int64),
        outcome=np.array([1.0, 1, 1, 1, 1, 0]), weight=np.ones(6), rater=np.arange(6),
    )  # fmt: skip
    ranking = rank(comparisons, bootstrap=200)
    assert 0 < ranking.undefined < 200
    assert f"{ranking.undefined} of 200 replicates are left out" in ranking.notes[0]


def test_calibrated_scores_predict_elo() -> None:
    """The score of an answer is the strength of its chatbot, with noise common to both answers."""
    comparisons = draw_comparisons(4000, seed=1)
    noise = np.random.default_rng(2).normal(size=(4000, 1))
    scores = np.column_stack([STRENGTHS[comparisons.a], STRENGTHS[comparisons.b]]) + noise
    ranking = rank(replace(comparisons, scores=scores), bootstrap=0)
    assert {row.bot: round(row.by_scores or 0) for row in ranking.rows} == {
        bot: round(1000 + POINTS * level) for bot, level in zip(BOTS, STRENGTHS, strict=True)
    }
    assert ranking.slope == pytest.approx(1, abs=0.1)
    doubled = rank(replace(comparisons, scores=2 * scores), bootstrap=0)
    assert doubled.slope == pytest.approx((ranking.slope or 0) / 2)
    assert rank(replace(comparisons, scores=np.full((4000, 2), np.nan)), bootstrap=0).slope is None


def test_scores_that_do_not_connect_the_chatbots_predict_no_elo() -> None:
    comparisons = Comparisons(
        bots=("a", "b", "c", "d"),
        a=np.array([0, 2, 1, 1, 3, 2]),
        b=np.array([1, 3, 2, 0, 2, 1]),
        outcome=np.ones(6),
        weight=np.ones(6),
        scores=np.array([[1, 0], [1, 0], [np.nan, 0], [0, 1], [0, 1], [0, np.nan]]),
    )
    ranking = rank(comparisons, bootstrap=0)
    assert [row.by_scores for row in ranking.rows] == [None] * 4
    assert ranking.notes == (
        "There is no Elo by scores, since the comparisons with scores of both answers do not connect the chatbots.",
    )
    connected = rank(replace(comparisons, scores=np.tile([1.0, 0.0], (6, 1))), bootstrap=0)
    assert None not in [row.by_scores for row in connected.rows]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": np.array([1.0, 0.3])}, r"The outcome of comparison 2 is 0\.3; give 1, 0 or 0\.5\."),
        ({"outcome": np.ones(3)}, r"outcome has 3 values for 2 comparisons\."),
        ({"weight": np.array([0.0, 1.0])}, "The weight of comparison 1 is 0; give a number above 0"),
        ({"weight": np.array([1.0, np.nan])}, "The weight of comparison 2 is nan; give a number above 0"),
    ],
)
def test_outcomes_and_weights_are_checked(change: dict[str, Any], message: str) -> None:
    comparisons = Comparisons(
        bots=("a", "b"), a=np.array([0, 1]), b=np.array([1, 0]), outcome=np.ones(2), weight=np.ones(2)
    )
    with pytest.raises(InvalidInput, match=message):
        replace(comparisons, **change)


TABLE = {"bot_a": ["x", "y", "x"], "bot_b": ["y", "x", "y"], "winner": ["a", "x", "tie"], "rater_id": ["1", "2", "2"]}


def test_a_table_is_read() -> None:
    table = read_comparisons(pl.DataFrame({**TABLE, "score_a": [1, None, 2], "score_b": [0.5, 1, 1]}))
    assert table.comparisons.bots == ("x", "y")
    assert table.comparisons.outcome.tolist() == [1.0, 0.0, 0.5]
    assert table.comparisons.rater is not None
    assert table.comparisons.rater.tolist() == [0, 1, 1]
    assert table.comparisons.scores is not None
    assert np.isnan(table.comparisons.scores[1, 0])


def test_self_comparisons_are_excluded_and_counted() -> None:
    table = pl.DataFrame({**TABLE, "bot_b": ["y", "x", "x"]})
    result = read_comparisons(table)
    assert result.notes == ("1 comparison left out: both answers are by one chatbot.",)
    with pytest.raises(InvalidInput, match="None of 1 comparisons can be ranked"):
        read_comparisons(table[2:])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"winner": ["a", "b", "z"]}, "Row 3: winner is 'z'; it is a, b or tie, or one of 'x', 'y'"),
        ({"winner": ["a", None, "a"]}, "Row 2: winner is empty"),
        ({"bot_a": ["x", None, "x"]}, "Row 2: bot_a is empty"),
        ({"weight": ["1", "0", "1"]}, "Row 2: weight is 0; give a number above 0"),
        ({"weight": ["1", "heavy", "1"]}, "Row 2: weight is 'heavy', which is not a number"),
        ({"rater_id": ["1", None, "2"]}, "Row 2: rater_id is empty"),
        ({"score_a": ["1", "nan", "2"], "score_b": ["1", "1", "1"]}, "Row 2: score_a is 'nan'"),
    ],
)
def test_invalid_comparisons_are_refused(change: dict[str, list[str | None]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_comparisons(pl.DataFrame({**TABLE, **change}))


def test_columns_that_are_missing() -> None:
    with pytest.raises(NotFound, match=r"no column 'winner'\. Did you mean 'winners'"):
        read_comparisons(pl.DataFrame({**TABLE}).rename({"winner": "winners"}))
    with pytest.raises(NotFound, match="no column 'rater_gender'"):
        read_comparisons(pl.DataFrame(TABLE), by="rater_gender")


def test_rows_are_named_and_grouped_as_they_are_in_the_table() -> None:
    """The first comparison is of a chatbot with itself; columns have the names of those that are computed."""
    table = pl.DataFrame(
        {**TABLE, "bot_b": ["x", "x", "y"], "outcome": ["p", "p", "q"], "weight": [1, 2, 1], "score_b": [1, 1, 1]}
    )
    with pytest.raises(InvalidInput, match="Row 3: score_a is 'much'"):
        read_comparisons(table.with_columns(pl.Series("score_a", ["1", "1", "much"])))
    with pytest.raises(InvalidInput, match=r"Row 2: rater_id is empty"):
        read_comparisons(table.with_columns(pl.Series("rater_id", ["1", None, "2"])))
    groups = {by: read_comparisons(table, by=by).groups for by in ("outcome", "weight")}
    assert {by: {name: len(part.a) for name, part in of_by.items()} for by, of_by in groups.items()} == {
        "outcome": {"p": 1, "q": 1},
        "weight": {"1": 1, "2": 1},
    }


def test_replicates_are_a_number() -> None:
    with pytest.raises(InvalidInput, match="bootstrap is -1; give a whole number, 0 or more"):
        rank(draw_comparisons(100), bootstrap=-1)


def test_no_replicates_are_counted_where_none_are_drawn() -> None:
    comparisons = Comparisons(
        bots=("a", "b"), a=np.zeros(3, dtype=np.int64), b=np.ones(3, dtype=np.int64),
        outcome=np.ones(3), weight=np.ones(3), rater=np.arange(3),
    )  # fmt: skip
    assert rank(comparisons, bootstrap=100).replicates == 0


def test_files_of_chatbot_arena_are_comparisons() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["x", "y", "x", "z"],
            "model_b": ["y", "z", "z", "x"],
            "winner": ["model_a", "model_b", "tie", "tie (bothbad)"],
            "judge": ["p", "q", "p", "q"],
        }
    )
    read = read_comparisons(frame, by="judge")
    assert read.comparisons.bots == ("x", "y", "z")
    assert read.comparisons.outcome.tolist() == [1.0, 0.0, 0.5, 0.5]
    assert read.comparisons.rater is not None
    assert read.comparisons.rater.tolist() == [0, 1, 0, 1]
    assert list(read.groups) == ["p", "q"]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(InvalidInput, match="The table has no rows"):
        read_comparisons(pl.DataFrame(TABLE).clear())
