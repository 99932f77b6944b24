"""Raters removed by a filter, and the effect on labels."""

import json
import math
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact
from tests.pipeline.careless import SPEEDERS, careless_frame, careless_ratings
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.support.paths import ROOT

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.vet import AxisRemoval, FilterAudit, LabelMove, audit_filter
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Design
from dissensus.stats.multiple_testing import benjamini_hochberg
from dissensus.stats.removal import summarise_shifts


@pytest.fixture(scope="module")
def dices(dices_123: Ratings) -> FilterAudit:
    return audit_filter(dices_123)


def axis(audit: FilterAudit, name: str) -> AxisRemoval:
    return next(removal for removal in audit.axes if removal.axis == name)


def move(audit: FilterAudit, measure: str) -> LabelMove:
    return next(result for result in audit.moves if result.measure == measure)


def test_the_raters_removed_from_dices_350(dices: FilterAudit) -> None:
    gender = axis(dices, "rater_gender")
    men, women = gender.groups
    assert (men.group, men.n_removed, men.n_raters, men.against) == ("Man", 14, 61, "Woman")
    assert (women.group, women.n_removed, women.n_raters, women.odds_ratio) == ("Woman", 5, 62, None)
    assert gender.p == pytest.approx(fisher_exact([[14, 47], [5, 57]]).pvalue, rel=1e-9)
    assert round(men.odds_ratio or 0, 2) == 3.36
    assert gender.method == "Fisher's exact test"
    race = axis(dices, "rater_race")
    assert [group.n_removed for group in race.groups] == [5, 6, 0, 3, 5]
    latine = race.groups[2]
    assert (latine.odds_ratio, latine.ci_low, latine.against) == (0, 0, "rest")
    assert latine.reason == "0: nobody of the group is removed"
    assert sum(group.n_raters for group in race.groups) == 123


def test_label_moves_of_dices_350(dices: FilterAudit) -> None:
    assert round(move(dices, "mean_total_variation").observed or 0, 5) == 0.01556
    item, largest = dices.largest("total_variation") or ("", 0.0)
    assert (item, round(largest, 5)) == ("143", 0.04339)
    assert move(dices, "changed").observed == dices.items["changed"].sum() == 9
    assert move(dices, "disjoint").observed == dices.items["disjoint"].sum() == 5
    ties = dices.items.filter("changed", ~pl.col("disjoint"))
    assert all(set(before) & set(after) for before, after in ties.select("before", "after").iter_rows())


def test_labels_of_dices_350_move_no_further_than_chance(dices: FilterAudit) -> None:
    for result in dices.moves:
        assert result.p is not None
        assert result.p > 0.2
        assert result.null_low is not None
        assert result.null_high is not None
        assert result.observed is not None
        assert result.null_low <= result.observed <= result.null_high


def test_the_documented_figures_equal_the_output_of_the_script(dices_350: Path) -> None:
    script = runpy.run_path(str(ROOT / "reproduce" / "vetting.py"))
    assert script["page"](dices_350.parent) == script["PAGE"].read_text(encoding="utf-8")


def test_p_values_are_adjusted_over_the_axes(dices: FilterAudit) -> None:
    raw = [removal.p or 0 for removal in dices.axes]
    assert [removal.p_adjusted for removal in dices.axes] == benjamini_hochberg(raw).tolist()


def test_the_same_seed_gives_the_same_draws() -> None:
    ratings = careless_ratings()
    first, same_seed, other_seed = (audit_filter(ratings, raters=SPEEDERS, draws=50, seed=seed) for seed in (3, 3, 4))
    assert first.moves == same_seed.moves
    assert first.moves != other_seed.moves


@pytest.mark.slow
def test_the_null_is_removal_at_random() -> None:
    """For random removals p is uniform, so at or below 5 % in 5 % of cases."""
    ratings = Ratings.from_frame(simulate_frame(3, share_rated=0.7))
    rng = np.random.default_rng(0)
    ids = ratings.raters["rater_id"].to_list()
    p = [
        move(audit_filter(ratings, raters=rng.choice(ids, 5, replace=False).tolist(), draws=59), MEAN).p or 0
        for _ in range(80)
    ]
    assert 0.4 < float(np.mean(p)) < 0.6
    assert np.mean(np.array(p) <= 0.05) < 0.13


MEAN = "mean_total_variation"


def test_removing_dissenting_raters_moves_labels_further_than_chance() -> None:
    answers = {f"a{r:02}": "NNNNY" * 6 for r in range(20)} | {f"b{r}": "YYYYN" * 6 for r in range(4)}
    ratings = ratings_of(answers, {"rater_race": ["x"] * 20 + ["y"] * 4})
    audit = audit_filter(ratings, raters=["b0", "b1", "b2", "b3"], draws=199)
    assert (move(audit, MEAN).p or 1) < 0.02
    within = audit_filter(ratings, raters=["b0", "b1", "b2", "b3"], draws=19, within="race")
    assert within.within == "rater_race"
    # There is only one way to remove as many of each group.
    assert (move(within, MEAN).p, move(within, MEAN).null_median) == (None, None)
    assert within.reason == (
        "4 of 4 removed raters have no match: nobody who is kept of the same race has a number of ratings within 10 % "
        "of theirs"
    )
    assert f"Label shifts are not compared with random removals: {within.reason}." in str(within)
    assert json.loads(within.to_json())["moves"][0]["reason"] == within.reason


def test_random_removals_take_raters_with_like_numbers_of_ratings() -> None:
    """Four of eight busy raters are removed. They answer like the others, and took six times as many ratings."""
    rng = np.random.default_rng(5)
    answers = {f"a{r:02}": "".join(rng.permutation(list("NYNY" + 56 * "."))) for r in range(60)}
    answers |= {f"b{r}": "".join(rng.permutation(list("NY" * 12 + 36 * "."))) for r in range(8)}
    ratings = ratings_of(answers, {})
    audit = audit_filter(ratings, raters=["b0", "b1", "b2", "b3"], draws=199)
    result = move(audit, MEAN)
    assert result.p is not None
    assert result.null_low is not None
    assert result.p > 0.2
    design = Design(*ratings.codes("Q_overall"), ratings.n_items, ratings.n_raters, 3)
    any_four = np.argsort(rng.random((199, 68)), axis=1) < 4
    assert np.mean(summarise_shifts(design, any_four)[:, 0] < result.null_low) > 0.95


def test_a_removed_rater_without_a_match_is_named_in_a_note() -> None:
    answers = {f"r{r}": "NYNYNYNYNY" if r % 2 else "YNYNYNYNYN" for r in range(12)} | {"few": "NY........"}
    audit = audit_filter(ratings_of(answers, {}), raters=["r0", "r1", "few"], draws=19)
    assert audit.reason is None
    assert any("1 of 3 removed raters have no match, and are removed in every draw" in note for note in audit.notes)
    # A match for half of them is enough.
    assert audit_filter(ratings_of(answers, {}), raters=["r0", "few"], draws=19).reason is None


def test_removed_raters_of_the_same_items_are_not_compared_with_raters_at_random() -> None:
    """Ten raters rate the first half of the items, and ten the second; four of the first ten are removed."""
    answers = {f"a{r}": "NYYNY" * 4 + "." * 20 for r in range(10)} | {
        f"b{r}": "." * 20 + "NYNNY" * 4 for r in range(10)
    }
    ratings = ratings_of(answers, {"rater_locale": ["a"] * 10 + ["b"] * 10})
    removed = ["a0", "a1", "a2", "a3"]
    audit = audit_filter(ratings, raters=removed, draws=99)
    assert audit.reason is not None
    assert audit.reason.startswith("the removed raters share other items than raters at random")
    assert audit_filter(ratings, raters=removed, draws=99, within="locale").reason is None


def test_flags_of_the_file_or_named_raters() -> None:
    frame = careless_frame().with_columns(rater_flagged=pl.col("rater_id").is_in(SPEEDERS))
    of_file = audit_filter(Ratings.from_frame(frame), draws=9)
    by_name = audit_filter(careless_ratings(), raters=SPEEDERS, draws=9)
    assert (of_file.source, by_name.source) == ("the file", "the caller")
    assert of_file.removed == by_name.removed == SPEEDERS
    assert of_file.moves == by_name.moves


def test_an_item_that_loses_all_ratings_has_no_label() -> None:
    ratings = ratings_of({"a": "NY.", "b": "NN.", "c": "YYY"}, {})
    audit = audit_filter(ratings, raters=["c"], draws=0)
    last = audit.items.row(2, named=True)
    assert (last["n_after"], last["total_variation"], last["after"], last["changed"]) == (0, None, [], False)
    assert any("1 item has no rating left" in note for note in audit.notes)
    assert move(audit, MEAN).observed == pytest.approx((1 / 3 + 1 / 6) / 2)


def test_without_draws_there_is_no_p() -> None:
    for result in audit_filter(careless_ratings(), raters=SPEEDERS, draws=0).moves:
        assert (result.p, result.null_median, result.null_low, result.null_high) == (None,) * 4
        assert result.observed is not None


def test_untestable_axes_are_left_out_with_the_reason() -> None:
    answers = {"a": "NY", "b": "NN", "c": "YY", "d": "YN"}
    attributes: dict[str, list[str | None]] = {
        "rater_one": ["x"] * 4,
        "rater_known": ["x", "y", None, None],
        "rater_race": ["x", "x", "y", None],
    }
    audit = audit_filter(ratings_of(answers, attributes), raters=["c", "d"], draws=9)
    assert axis(audit, "rater_one").reason == "not tested: fewer than two groups have raters"
    assert axis(audit, "rater_known").reason == "not tested: all raters have the same outcome"
    race = axis(audit, "rater_race")
    assert race.p == pytest.approx(1 / 3)
    assert race.n_unknown == 1
    assert race.groups[0].reason == "0: nobody of the group is removed"
    assert axis(audit, "rater_one").p is None
    assert axis(audit, "rater_one").groups[0].odds_ratio is None
    assert "not tested: fewer than two groups" in str(audit)


def test_a_completely_removed_group_has_infinite_odds() -> None:
    audit = audit_filter(
        ratings_of({"a": "NY", "b": "NN", "c": "YY"}, {"rater_race": ["x", "y", "y"]}), raters=["a"], draws=9
    )
    first, second = axis(audit, "rater_race").groups
    assert first.odds_ratio == first.ci_high == math.inf
    assert first.reason == "infinite: nobody of y is removed"
    assert second.odds_ratio is None
    group = json.loads(audit.to_json())["axes"][0]["groups"][0]
    assert (group["odds_ratio"], group["ci_high"]) == (None, None)
    assert group["reason"].startswith("infinite")
    assert "∞" in str(audit)


def test_crossed_axes() -> None:
    audit = audit_filter(Ratings.from_frame(simulate_frame(3)), raters=["rater-000"], by="race*gender", draws=9)
    assert [removal.axis for removal in audit.axes] == ["rater_race*rater_gender"]
    assert len(audit.axes[0].groups) == 6


def test_without_demographics_labels_are_audited_all_the_same() -> None:
    audit = audit_filter(ratings_of({"a": "NY", "b": "NN", "c": "YY"}, {}), raters=["a"], draws=9)
    assert audit.axes == ()
    assert any("The ratings have no demographics" in note for note in audit.notes)


def test_json_text_and_html(dices: FilterAudit) -> None:
    plain = json.loads(dices.to_json())
    assert plain["schema_version"] == 1
    assert [row["measure"] for row in plain["moves"]] == [result.measure for result in dices.moves]
    assert len(plain["items"]) == 350
    assert len(plain["removed"]) == 19
    text, page = str(dices), dices._repr_html_()
    assert text.startswith("Filter of 19 of 123 raters, flagged by the file")
    for expected in ("Fisher's exact test of independence: p .0262", "3.36", "[1.05, 12.83]", ".01556", "item 143"):
        assert expected in text
        assert expected.replace("'", "&#x27;") in page


def test_refusals() -> None:
    ratings = careless_ratings()
    with pytest.raises(InvalidInput, match="No flags of raters are known"):
        audit_filter(ratings)
    with pytest.raises(InvalidInput, match="raters is empty"):
        audit_filter(ratings, raters=[])
    with pytest.raises(InvalidInput, match="The filter removes every rater"):
        audit_filter(ratings, raters=ratings.raters["rater_id"].to_list())
    with pytest.raises(NotFound, match=r"no rater 'r9'.*Did you mean"):
        audit_filter(ratings, raters=["r9"])
    with pytest.raises(InvalidInput, match="needs to know who gave which answer"):
        audit_filter(Ratings.from_frame(careless_frame(), rater=None), raters=["r01"])
    for options, message in (
        ({"draws": -1}, "draws is -1"),
        ({"draws": 2.5}, "draws is 2.5"),
        ({"seed": -1}, "seed is -1"),
        ({"confidence": 1.0}, "confidence is 1.0"),
    ):
        with pytest.raises(InvalidInput, match=message):
            audit_filter(ratings, raters=["r01"], **options)
