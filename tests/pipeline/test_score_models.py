"""Scorecards of models: planted scores that follow one group, ceilings, leaderboard, gold and bad input."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.oracles import significance

from dissensus.errors import InvalidInput
from dissensus.pipeline.score import ModelScorecard, ScoreRow, score_models
from dissensus.report.score.models import model_scorecard_report
from dissensus.schema.item_scores import ItemScores
from dissensus.schema.ratings.table import Ratings

N_ITEMS, N_RATERS = 60, 24


@pytest.fixture(scope="module")
def shares() -> np.ndarray:
    """Chance of an unsafe answer to each item, of the north and the south, which differ."""
    rng = np.random.default_rng(11)
    return rng.beta(0.8, 0.8, size=(2, N_ITEMS))


@pytest.fixture(scope="module")
def ratings(shares: np.ndarray) -> Ratings:
    rng = np.random.default_rng(12)
    rows = [
        {
            "item_id": f"i{i:02}",
            "rater_id": f"r{r:02}",
            "rater_region": ("north", "south")[r % 2],
            "Q_overall": "Yes" if rng.random() < shares[r % 2, i] else "No",
            "safety_gold": "Yes" if shares[1, i] > 0.5 else "No",
        }
        for r in range(N_RATERS)
        for i in range(N_ITEMS)
    ]
    return Ratings.from_frame(pl.DataFrame(rows))


@pytest.fixture(scope="module")
def scores(shares: np.ndarray) -> ItemScores:
    """A model of the north, the same with two scores exchanged, and a label that is always unsafe."""
    near = shares[0].copy()
    near[[0, 1]] = near[[1, 0]]
    return ItemScores(
        pl.DataFrame(
            {
                "item_id": [f"i{i:02}" for i in range(N_ITEMS)],
                "of north": shares[0],
                "nearly": near,
                "alarm": np.ones(N_ITEMS),
            }
        ),
        label_models=("alarm",),
    )


@pytest.fixture(scope="module")
def card(ratings: Ratings, scores: ItemScores) -> ModelScorecard:
    return score_models(ratings, scores, by="region", gold="safety_gold")


@pytest.fixture(scope="module")
def value(card: ModelScorecard) -> Callable[..., ScoreRow]:
    def find(model: str | None, metric: str, group: str | None = None) -> ScoreRow:
        (row,) = (
            row for row in (*card.rows, *card.ceilings) if (row.model, row.metric, row.group) == (model, metric, group)
        )
        return row

    return find


def test_a_model_of_one_group_fails_the_other(card: ModelScorecard, value: Callable[..., ScoreRow]) -> None:
    north, south = (value("of north", "squared_distance", group) for group in ("north", "south"))
    assert north.ci_low is not None
    assert north.ci_low < 0 < north.ci_high  # type: ignore[operator]
    assert south.ci_low > 0.1  # type: ignore[operator]
    (gap,) = (gap for gap in card.gaps if (gap.model, gap.metric) == ("of north", "squared_distance"))
    assert (gap.worst, gap.best) == ("south", "north")
    assert gap.p_adjusted is not None
    assert gap.p_adjusted < 1e-4
    (gap,) = (gap for gap in card.gaps if (gap.model, gap.metric) == ("of north", "auc"))
    assert (gap.worst, gap.best) == ("south", "north")


def test_ceilings_say_what_people_reach(value: Callable[..., ScoreRow]) -> None:
    for group in ("north", "south"):
        perfect, rest = (value(name, "brier", group).estimate for name in ("perfect score", "rest of group"))
        other, own = value("everybody else", "brier", group).estimate, value("of north", "brier", group).estimate
        assert None not in (perfect, rest, other, own)
        assert perfect < rest < other  # type: ignore[operator]
        if group == "north":
            assert own == pytest.approx(perfect, abs=0.01)
        assert value("rest of group", "auc", group).estimate > value("everybody else", "auc", group).estimate  # type: ignore[operator]
    assert value("gold", "error", "south").estimate < value("gold", "error", "north").estimate  # type: ignore[operator]


def test_the_raters_counted_are_those_whose_answers_enter() -> None:
    """Two raters of the south say Yes, so a miss rate of the south has two raters, and is not compared."""
    rows = [
        {
            "item_id": str(i),
            "rater_id": f"r{r:02}",
            "rater_region": ("north", "south")[r % 2],
            "Q_overall": "Yes" if (i % 2 == 0 if r % 2 == 0 else r in (1, 3) and i in (1, 3)) else "No",
        }
        for r in range(20)
        for i in range(12)
    ]
    scores = ItemScores(pl.DataFrame({"item_id": [str(i) for i in range(12)], "m": [0.9, 0.1] * 6}))
    card = score_models(Ratings.from_frame(pl.DataFrame(rows)), scores, by="region")
    (miss,) = (row for row in card.rows if (row.metric, row.group) == ("miss_rate", "south"))
    assert (miss.n_raters, miss.n_items, miss.n_ratings) == (2, 2, 4)
    assert "fewer than 8 raters" in str(miss.warning)
    (gap,) = (gap for gap in card.gaps if gap.metric == "miss_rate")
    assert (gap.p, gap.n_groups) == (None, 1)
    withheld = score_models(Ratings.from_frame(pl.DataFrame(rows)), scores, by="region", suppress_below=5)
    rates = [row for row in withheld.rows if row.metric in ("miss_rate", "false_alarm_rate") and row.group == "south"]
    assert [row.estimate for row in rates] == [None, None]
    for curve in withheld.thresholds:
        if curve.group == "south":
            assert (curve.miss_rate, curve.false_alarm_rate) == (None, None)


def test_pages_mark_what_is_uncertain() -> None:
    """Four raters, one model with a group: cautions are printed, no empty leaderboard, no winner of a tie."""
    rows = [
        {
            "item_id": str(i),
            "rater_id": f"{region}{r}",
            "rater_region": region,
            "Q_overall": "Yes" if (i + r) % 2 else "No",
        }
        for region in ("north", "south")
        for r in range(2)
        for i in range(8)
    ]
    scores = ItemScores(pl.DataFrame({"item_id": [str(i) for i in range(8)], "m": [0.1 * i for i in range(8)]}))
    card = score_models(Ratings.from_frame(pl.DataFrame(rows)), scores, by="region", min_raters=2)
    page = str(card)
    assert "fewer than 8 raters" in page
    assert "rank by" not in page
    assert {(gap.worst, gap.best) for gap in card.gaps if gap.estimate == pytest.approx(0)} == {(None, None)}
    areas = [row for row in (*card.rows, *card.ceilings) if row.metric == "auc" and row.ci_low is not None]
    assert areas
    assert all(0 <= row.ci_low <= row.ci_high <= 1 for row in areas)  # type: ignore[operator]


def test_areas_under_the_curve_of_rare_answers_have_a_warning_in_their_row() -> None:
    """Three per cent of the south's answers are unsafe, where intervals cover 92 %, and 20 % of the north's."""
    rng = np.random.default_rng(4)
    scores = ItemScores(pl.DataFrame({"item_id": [str(i) for i in range(120)], "m": rng.random(120)}))
    rows = [
        {
            "item_id": str(i),
            "rater_id": f"{region}{r}",
            "rater_region": region,
            "Q_overall": "Yes" if (i + 7 * r) % 100 < share else "No",
        }
        for region, share in (("north", 20), ("south", 3))
        for r in range(20)
        for i in range(120)
    ]
    card = score_models(Ratings.from_frame(pl.DataFrame(rows)), scores, by="region")
    warning = "interval approximate: fewer than 5 % unsafe or safe answers"
    warned = {(row.metric, row.group) for row in card.rows if row.warning}
    assert warned == {("auc", "south")}
    (row,) = (row for row in json.loads(card.to_json())["rows"] if (row["metric"], row["group"]) == ("auc", "south"))
    assert row["warning"] == warning
    page = str(card)
    assert f"† {warning}" in page
    assert "†" in page.partition(warning)[0]
    (south,) = card.to_polars().filter(metric="auc", group="south", model="m")["warning"]
    assert south == warning
    html = model_scorecard_report(card).to_html()
    assert warning in html


def test_answers_that_do_not_vary_have_no_test() -> None:
    rows = [{"item_id": str(i), "rater_id": f"r{r}", "Q_overall": "Yes"} for r in range(4) for i in range(4)]
    rows[0]["Q_overall"] = "No"
    frame = pl.DataFrame(rows).filter(pl.col("item_id") != "0")
    scores = ItemScores(pl.DataFrame({"item_id": ["1", "2", "3"], "A": [0.9] * 3, "B": [0.8] * 3}))
    card = score_models(
        Ratings.from_frame(frame.with_columns(pl.col("Q_overall").cast(pl.Enum(["No", "Yes"])))), scores
    )
    assert card.differences == ()
    assert [row.ties for row in card.ranks] == [("B",), ("A",)]


def test_brier_is_distance_and_disagreement(value: Callable[..., ScoreRow]) -> None:
    parts = value("nearly", "squared_distance").estimate + value("perfect score", "brier").estimate  # type: ignore[operator]
    assert value("nearly", "brier").estimate == pytest.approx(parts)


def test_the_leaderboard_shows_ties_as_ties(card: ModelScorecard) -> None:
    ranks = {row.model: row for row in card.ranks if row.group == "north"}
    assert (ranks["alarm"].rank, ranks["alarm"].worst_rank, ranks["alarm"].ties) == (3, 3, ())
    assert [(ranks[name].rank, ranks[name].worst_rank) for name in ("of north", "nearly")] == [(1, 2)] * 2
    assert ranks["of north"].ties == ("nearly",)
    (tie,) = (
        row for row in card.differences if row.group == "north" and {row.first, row.second} == {"of north", "nearly"}
    )
    assert tie.ci_low < 0 < tie.ci_high
    assert "1–2" in str(card)


def test_ranks_follow_from_differences_adjusted_by_holm(card: ModelScorecard) -> None:
    for group in (None, "north", "south", "safety_gold"):
        differences = [row for row in card.differences if row.group == group]
        assert [row.p_adjusted for row in differences] == pytest.approx(
            significance.holm([row.p for row in differences])
        )
        # Of the Brier score the larger is the worse.
        defeats = [
            (row.first, row.second) if row.estimate > 0 else (row.second, row.first)
            for row in differences
            if row.p_adjusted < 0.05
        ]
        ranks = [row for row in card.ranks if row.group == group]
        assert len(ranks) == 3
        for row in ranks:
            assert row.rank == 1 + sum(loser == row.model for loser, _ in defeats)
            assert row.worst_rank == 3 - sum(winner == row.model for _, winner in defeats)


def test_a_larger_area_under_the_curve_ranks_higher(ratings: Ratings, scores: ItemScores) -> None:
    ranks = score_models(ratings, scores, by="region", rank_by="auc").ranks
    first, second, last = (row for row in ranks if row.group == "north")
    assert first.estimate > second.estimate > last.estimate
    assert last.estimate == pytest.approx(0.5)
    assert [row.rank for row in (first, second, last)] == [1, 1, 3]
    assert last.model == "alarm"


def test_labels_thresholds_bins_and_the_split_items(card: ModelScorecard, value: Callable[..., ScoreRow]) -> None:
    assert value("alarm", "miss_rate").estimate == 0
    assert value("alarm", "false_alarm_rate").estimate == 1
    assert "infinite" in str(value("alarm", "cross_entropy").reason)
    assert value("of north", "error_split", "north").estimate > value("of north", "error_unanimous", "north").estimate  # type: ignore[operator]
    curve = [row for row in card.thresholds if (row.model, row.group) == ("of north", "north")]
    rates = [row.miss_rate for row in curve]
    assert rates == sorted(rates)  # type: ignore[type-var]
    assert not [row for row in card.thresholds if row.model == "alarm"]
    assert sum(row.n_items for row in card.bins if (row.model, row.group) == ("nearly", "south")) == N_ITEMS
    chance = value("of north", "calibration_error_by_chance", "north").estimate
    assert value("of north", "calibration_error", "north").estimate < 2 * chance  # type: ignore[operator]
    assert value("of north", "calibration_error", "south").estimate > 2 * chance  # type: ignore[operator]


def test_models_against_gold(value: Callable[..., ScoreRow], card: ModelScorecard) -> None:
    row = value("of north", "error", "safety_gold")
    assert (row.axis, row.n_raters, row.n_items) == ("gold", 1, N_ITEMS)
    assert row.ci_low is not None
    assert {gap.axis for gap in card.gaps} == {"rater_region"}


def test_the_json_names_all_parts(card: ModelScorecard) -> None:
    document = card.to_dict()
    assert {"rows", "ceilings", "gaps", "ranks", "differences", "thresholds", "bins", "settings"} <= set(document)
    assert document["settings"]["models"] == ("of north", "nearly", "alarm")
    assert "NaN" not in card.to_json()


def test_missing_and_unknown_items_are_counted(ratings: Ratings, scores: ItemScores) -> None:
    table = scores.table.with_columns(nearly=pl.when(pl.col("item_id") == "i03").then(None).otherwise("nearly"))
    table = pl.concat([table.slice(1), table.head(1).with_columns(item_id=pl.lit("j99"))])
    card = score_models(ratings, ItemScores(table))
    assert card.n_items == N_ITEMS - 2
    assert card.warnings == (
        "1 of 60 rated items without a score of 'of north': left out for all models.",
        "2 of 60 rated items without a score of 'nearly': left out for all models.",
        "1 of 60 rated items without a score of 'alarm': left out for all models.",
        "1 of 60 scored items without a rating: not used.",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold is 0"),
        ({"rank_by": "f1"}, "choose one of brier, squared_distance, auc, error"),
        ({"gold": "gold"}, "no 'gold'.*safety_gold"),
        ({"unsafe": "Maybe"}, "not an answer"),
    ],
    ids=str,
)
def test_bad_options_are_named(ratings: Ratings, scores: ItemScores, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInput, LookupError), match=message):
        score_models(ratings, scores, **options)


def test_scores_of_other_items_are_refused(ratings: Ratings, scores: ItemScores) -> None:
    other = ItemScores(pl.DataFrame({"item_id": ["x1"], "guard": [0.5]}))
    for name in ("gold", "rest of group"):
        with pytest.raises(InvalidInput, match=f"'{name}', which is the name of a human ceiling"):
            score_models(ratings, ItemScores(scores.table.rename({"alarm": name})))
    with pytest.raises(InvalidInput, match=r"rated as 'i00'.* and scored as 'x1'"):
        score_models(ratings, other)


def test_withheld_groups_have_no_number(ratings: Ratings, scores: ItemScores) -> None:
    card = score_models(ratings, scores, by="region", suppress_below=20)
    estimates = {(row.axis, row.estimate is None) for row in (*card.rows, *card.ceilings)}
    assert estimates >= {("rater_region", True), (None, False)}
    assert ("rater_region", False) not in estimates
    axes = {row.axis for rows in (card.thresholds, card.bins, card.ranks, card.differences) for row in rows}
    assert axes == {None}
