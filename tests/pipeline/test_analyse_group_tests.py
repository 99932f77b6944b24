"""Tests of groups in the table: assignments that depend on the group, and one named reference group."""

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import SCALE, find, simulate_frame
from tests.support.assignments import draw_null

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.pipeline.analyse.columns import UNBIASED
from dissensus.pipeline.simulate import draw_answers
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import METRICS


def ratings_of_assignment(name: str, seed: int) -> Ratings:
    design, group = draw_null(np.random.default_rng(seed), name)
    return Ratings.from_frame(
        pl.DataFrame(
            {
                "item_id": [f"item-{i:03}" for i in design.items],
                "rater_id": [f"rater-{r:03}" for r in design.raters],
                "rater_race": [("a", "b", "c")[g] for g in group[design.raters]],
                "Q_overall": [SCALE[k] for k in design.answers],
            }
        )
    )


@pytest.fixture(scope="module")
def quota() -> Analysis:
    return analyse(ratings_of_assignment("quota, 4 of each group", 1), by=["race"], permutations=199)


def test_tests_that_a_quota_biases_are_withheld_with_the_reason(quota: Analysis) -> None:
    for group in ("a", "b", "c"):
        for metric in ("negentropy", "plurality_size"):
            row = find(quota, group, metric)
            assert row.estimate is not None
            assert (row.p, row.p_adjusted, row.direction, row.stars) == (None, None, None, "")
            assert str(row.reason).startswith("test withheld: the assignment of items alone shifts it by")


def test_unbiased_statistics_are_tested_in_a_quota(quota: Analysis) -> None:
    for group in ("a", "b", "c"):
        for metric in UNBIASED[1:]:
            row = find(quota, group, metric)
            assert row.p is not None
            assert row.reason is None
            assert row.null_mean == pytest.approx(0, abs=0.02) or metric == "pairwise_agreement"
    assert find(quota, None, "between_share", "rater_race").p is not None


def test_the_table_marks_withheld_tests_and_explains_them(quota: Analysis) -> None:
    text = str(quota)
    assert f"{find(quota, 'a', 'negentropy').estimate:.3f}‡" in text
    assert "tests withheld, since" in text


def test_groups_without_a_common_item_have_no_test() -> None:
    analysis = analyse(ratings_of_assignment("nested", 2), by=["race"], permutations=99)
    assert all(row.p is None and row.reason for row in analysis.rows)
    assert find(analysis, "a", "pairwise_agreement").estimate is not None
    assert "no item was rated by both groups" in str(find(analysis, "a", "mean_difference").reason)


def test_a_complete_design_keeps_all_tests() -> None:
    analysis = analyse(Ratings.from_frame(simulate_frame(1)), by=["race"], permutations=99)
    assert all(row.p is not None for row in analysis.rows if row.metric != "answer_share")
    assert "‡" not in str(analysis)


def test_a_third_group_does_not_affect_the_test_against_a_named_group() -> None:
    """A and B alike, C shifted: exchanging C as well rejects XRR of A and B in more than half of such pools."""
    rng = np.random.default_rng(5)
    rejected = np.zeros(len(METRICS))
    for _ in range(20):
        group = np.repeat([0, 1, 2], [10, 10, 20])
        answers = draw_answers(rng, np.zeros_like(group), 60)
        shifted = (answers == 2) | (rng.random(answers.shape) < 0.5)
        answers = np.where((group == 2)[:, None] & shifted, 2, answers)
        rater, item = np.divmod(np.arange(answers.size), 60)
        frame = pl.DataFrame(
            {
                "item_id": [f"{i:02}" for i in item],
                "rater_id": [f"{r:02}" for r in rater],
                "rater_g": [("A", "B", "C")[g] for g in group[rater]],
                "Q_overall": [SCALE[k] for k in answers.ravel()],
            }
        )
        analysis = analyse(Ratings.from_frame(frame), by=["g"], against="B", permutations=99)
        rejected += [(find(analysis, "A", metric).p or 1) <= 0.05 for metric in METRICS]
    assert (rejected <= 5).all(), rejected


@pytest.mark.parametrize("against", ["rest", "a"])
def test_the_share_between_groups_of_unequal_loads_is_not_tested(against: str) -> None:
    """Raters of B rate a quarter of the items: the loads of the groups do not depend on the reference group."""
    rows = pl.DataFrame({"rater": np.repeat(np.arange(30), 40), "item": np.tile(np.arange(40), 30)})
    rng = np.random.default_rng(1)
    group = np.array(["a", "b", "c"])[np.arange(30) % 3]
    rows = rows.with_columns(
        item_id=pl.col("item").cast(pl.String).str.zfill(2),
        rater_id=pl.col("rater").cast(pl.String).str.zfill(2),
        rater_race=pl.Series(group[rows["rater"]]),
        Q_overall=pl.Series(rng.choice(SCALE, rows.height)),
    ).filter((pl.col("rater_race") != "b") | pl.Series(rng.random(rows.height) < 0.25))
    analysis = analyse(Ratings.from_frame(rows.drop("rater", "item")), by="race", against=against, permutations=99)
    row = find(analysis, None, "between_share", "rater_race")
    assert row.estimate is not None
    assert row.p is None
    assert "ratings per item of b" in str(row.reason)


def test_the_compared_answer_is_the_last_or_the_named_one() -> None:
    ratings = Ratings.from_frame(simulate_frame(1))
    by_default, named = (analyse(ratings, by=["race"], share_of=answer) for answer in (None, "No"))
    assert (by_default.settings.share_of, named.settings.share_of) == ("Yes", "No")
    codes, groups = ratings.group_codes("rater_race")
    _, rater, answer = ratings.codes("Q_overall")
    expected = (answer[codes[rater] == groups.index("Asian")] == 0).mean()
    assert find(named, "Asian", "answer_share").estimate == pytest.approx(expected)
    with pytest.raises(InvalidInput, match="'Maybe' is not an answer"):
        analyse(ratings, by=["race"], share_of="Maybe")
