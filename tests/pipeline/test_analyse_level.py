"""Analysis of ordered answers."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.pipeline.analyse.level import Level, number_answers
from dissensus.schema.ratings.columns import REST
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.agreement import krippendorff_alpha


def five_answers(answers: tuple[str, ...] = ("1", "2", "3", "4", "5"), **options: Any) -> Ratings:
    """Return 40 items rated by 20 raters of two groups, the second of which answers higher."""
    rng = np.random.default_rng(3)
    latent = rng.normal(size=40)[:, None] + rng.normal(0, 0.3, size=20) + 0.9 * (np.arange(20) % 2)
    codes = np.clip(np.round(latent + rng.normal(0, 0.7, size=(40, 20))), -2, 2).astype(int) + 2
    rated = rng.random((40, 20)) < 0.6
    rows = [
        (str(i), f"r{r}", "high" if r % 2 else "low", answers[codes[i, r]])
        for i, r in zip(*np.nonzero(rated), strict=True)
    ]
    frame = pl.DataFrame(rows, schema=["item_id", "rater_id", "rater_side", "Q_scale"], orient="row")
    return Ratings.from_frame(frame, **options)


@pytest.fixture(scope="module", params=["ordinal", "interval"])
def ordered(request: pytest.FixtureRequest) -> Analysis:
    return analyse(
        five_answers(), by="side", level=request.param, permutations=99, bootstrap=50, differences=True, seed=1
    )


def test_means_and_superiority_take_the_place_of_shares(ordered: Analysis) -> None:
    low, high = ordered["side", "low"], ordered["side", "high"]
    assert "answer_share" not in low
    assert high["answer_mean"].estimate == pytest.approx(3.7, abs=0.4)
    assert high["mean_difference"].estimate == pytest.approx(-(low["mean_difference"].estimate or 0))
    assert (low["superiority"].estimate or 0) + (high["superiority"].estimate or 0) == pytest.approx(1)
    for metric in ("mean_difference", "superiority"):
        row = high[metric]
        assert row.direction == "above"
        assert row.p == pytest.approx(0.02)
        assert (row.ci_low or np.inf) < (row.estimate or 0) < (row.ci_high or -np.inf)
    assert high["answer_mean"].reason == "tested as mean_difference"


def test_alpha_of_the_pool_is_that_of_krippendorff(ordered: Analysis) -> None:
    ratings, level = five_answers(), ordered.settings.level
    item, _, answer = ratings.codes("Q_scale")
    counts = np.zeros((40, 5), dtype=int)
    np.add.at(counts, (item, answer), 1)
    expected = krippendorff_alpha(counts, level=level)
    assert ordered["overall"]["irr"].estimate == pytest.approx(float(expected))


def test_the_level_is_stored_and_said(ordered: Analysis) -> None:
    level = ordered.settings.level
    assert ordered.to_dict()["settings"]["level"] == level
    assert f"Note: The answers are {level}; negentropy, cross_negentropy," in str(ordered)
    assert "superiority" in str(ordered)
    assert "mean" in str(ordered)


def test_numbers_compared_as_nominal_are_said_to_be() -> None:
    notes = analyse(five_answers(), by="side").notes
    assert any("compared as nominal: 1 differs from 2 as much as from 5" in note for note in notes)
    assert any("--level ordinal" in note for note in notes)


def test_words_stand_for_steps_of_one() -> None:
    words = ("never", "rarely", "often", "mostly", "always")
    analysis = analyse(five_answers(words, categories=words), by="side", level="interval")
    numbers = analyse(five_answers(), by="side", level="interval")
    assert [row.estimate for row in analysis.rows] == [row.estimate for row in numbers.rows]
    assert any("never = 1, rarely = 2" in note for note in analysis.notes)
    assert not any("nominal: " in note for note in analyse(five_answers(words, categories=words)).notes)


def test_nominal_and_ordinal_statistics_of_two_answers_are_equal() -> None:
    two = five_answers(("0", "0", "1", "1", "1"))
    nominal = analyse(two, by="side", permutations=99, seed=2)
    ordinal = analyse(two, by="side", permutations=99, seed=2, level="ordinal")
    for group in ("low", "high"):
        first, second = nominal["side", group], ordinal["side", group]
        for metric in ("irr", "xrr", "gai", "pairwise_agreement", "group_distance", "mean_difference"):
            assert (second[metric].estimate, second[metric].p) == pytest.approx(
                (first[metric].estimate, first[metric].p)
            )


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_an_order_that_the_numbers_contradict_is_refused(level: Level) -> None:
    falling = five_answers(categories=["5", "4", "3", "2", "1"])
    with pytest.raises(InvalidInput, match=r"do not increase.*--categories"):
        analyse(falling, level=level)
    with pytest.raises(InvalidInput, match=r"'refused' is not a number.*--missing"):
        number_answers(["1", "2", "refused"])


def test_options_that_exclude_each_other() -> None:
    with pytest.raises(InvalidInput, match="share_of is '5' and level is 'ordinal'"):
        analyse(five_answers(), level="ordinal", share_of="5")
    with pytest.raises(InvalidInput, match="level is 'ratio'; choose one of nominal, ordinal, interval"):
        analyse(five_answers(), level="ratio")  # type: ignore[arg-type]


def test_the_share_between_groups_is_tested_at_an_ordered_level_only_if_all_rated_all_items() -> None:
    """It rejects a true null hypothesis in 7 % of sparse tables (docs/methods/ordered.md)."""
    cases: list[tuple[float, Level, bool]] = [(0.5, "ordinal", False), (0.5, "nominal", True), (1.0, "ordinal", True)]
    for share_rated, level, is_tested in cases:
        ratings = Ratings.from_frame(simulate_frame(2, n_items=15, share_rated=share_rated))
        for against in (REST, "Asian"):
            analysis = analyse(ratings, by=["race"], level=level, permutations=19, against=against)
            (row,) = (row for row in analysis.rows if row.metric == "between_share")
            assert (row.p is not None) == is_tested
            assert ("at an ordered level" in (row.reason or "")) is not is_tested
