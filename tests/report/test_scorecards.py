"""Reports of scorecards: numbers of figures, readings, hostile names, withheld groups, and drawing."""

from html import unescape

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame

from dissensus.pipeline.score import DecisionComparison, ModelScorecard, compare_decisions, score_chatbots, score_models
from dissensus.pipeline.score.decision_rules import WITHOUT_COSTS
from dissensus.report.figure import Figure
from dissensus.report.result import Document
from dissensus.report.score.decisions import decision_report
from dissensus.report.score.group_points import draw_group_points
from dissensus.report.score.models import model_scorecard_report
from dissensus.report.score.scorecard import scorecard_report
from dissensus.schema.item_scores import ItemScores
from dissensus.schema.ratings.table import Ratings

HOSTILE = "<script>\x1b[31m"


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    items = [f"item-{i:03}" for i in range(30)]
    table = pl.DataFrame(
        {
            "item_id": items,
            "degree_of_harm": ["Extreme" if i % 3 else "Benign" for i in range(30)],
            "safety_gold": ["Yes" if i % 2 else "No" for i in range(30)],
        }
    )
    frame = simulate_frame(3).with_columns(pl.col("rater_gender").replace({"Man": HOSTILE}))
    return Ratings.from_frame(frame).with_items(table)


@pytest.fixture(scope="module")
def models(ratings: Ratings) -> ModelScorecard:
    scores = np.random.default_rng(1).random((30, 2))
    table = pl.DataFrame({"item_id": ratings.items["item_id"], "guard": scores[:, 0], HOSTILE: scores[:, 1]})
    return score_models(ratings, ItemScores(table), by="gender", gold="safety_gold")


@pytest.fixture(scope="module")
def decisions(ratings: Ratings) -> DecisionComparison:
    return compare_decisions(ratings, by="gender", costs=[(1, 1), (1, 3)], gold="safety_gold")


def figures(page: Document) -> dict[str, Figure]:
    return {figure.name: figure for figure in page.figures}


def test_a_page_of_chatbots_has_the_shares_by_question_and_value(ratings: Ratings) -> None:
    card = score_chatbots(ratings, by=["race", "gender"], by_item="degree_of_harm")
    page = scorecard_report(card)
    assert list(figures(page)) == ["shares-Q_overall", "shares-degree_of_harm"]
    drawn = figures(page)["shares-Q_overall"]
    assert drawn.table["estimate"].to_list() == [row.estimate for row in card.rows if row.attribute is None]
    worst = max((row for row in card.rows if row.axis and not row.attribute), key=lambda row: row.estimate or 0)
    assert f"{100 * (worst.estimate or 0):.1f} % ({worst.group})." in drawn.reading
    assert "by value" in figures(page)["shares-degree_of_harm"].reading
    assert figures(page)["shares-degree_of_harm"].reading.endswith((", Extreme).", ", Benign)."))
    assert [section.name for section in page.sections] == ["shares", "gaps"]


def test_a_page_says_how_many_chatbots_are_drawn_and_which_group_is_worst_served(ratings: Ratings) -> None:
    names = pl.DataFrame(
        {"item_id": ratings.items["item_id"], "bot": [f"bot {i % 6}" for i in range(30)], "rare": ["x"] * 30}
    )
    card = score_chatbots(ratings.with_items(names), by="race", by_item="rare", chatbot="bot")
    of_all, of_value = scorecard_report(card).figures
    pool = [100 * (row.estimate or 0) for row in card.rows if row.axis is None and row.attribute is None]
    assert of_all.reading.startswith(
        f"Raters call {min(pool):.1f} to {max(pool):.1f} % of responses unsafe, by chatbot"
    )
    worst = max((row for row in card.rows if row.axis and not row.attribute), key=lambda row: row.estimate or 0)
    assert of_all.reading.endswith(f"({worst.group}, {worst.model}).")
    assert "The figure shows the first 4 of 6 chatbots; the table has all." in of_all.notes
    assert of_value.title.endswith("by rare, bot 0")


def test_names_of_figures_are_names_of_files_and_unique() -> None:
    questions = ("../is it/unsafe?", "is it unsafe")
    frame = simulate_frame(3)
    answers = frame[frame.columns[-1]]
    frame = frame.drop(answers.name).with_columns(answers.alias(question) for question in questions)
    card = score_chatbots(Ratings.from_frame(frame, questions=questions), questions=questions, by="race")
    names = [figure.name for figure in scorecard_report(card).figures]
    assert names == ["shares-is-it-unsafe", "shares-is-it-unsafe-2"]


def test_figures_without_an_estimate_are_drawn() -> None:
    assert draw_group_points([], 600, series=("everybody",), per_cent=True)["layer"]


def test_a_page_of_models_has_losses_ranks_thresholds_and_gaps(models: ModelScorecard) -> None:
    page = model_scorecard_report(models)
    assert [section.name for section in page.sections] == ["losses", "leaderboard", "thresholds", "gaps"]
    assert list(figures(page)) == ["brier", "squared-distance", "auc", "thresholds-guard", "thresholds-script-31m"]
    table = figures(page)["thresholds-guard"].table
    assert table["threshold"].n_unique() == 19
    assert "perfect score" in figures(page)["brier"].table["model"].to_list()


def test_a_page_of_decisions_draws_each_decision(decisions: DecisionComparison) -> None:
    page = decision_report(decisions)
    errors, overruled = page.figures
    names = [decision.name for decision in decisions.decisions if decision.rule not in WITHOUT_COSTS]
    names += ["plurality at 1:1", "any-group: rater_gender ≥ 0.5 at 1:1", "expert at 1:1"]
    for figure in (errors, overruled):
        assert set(figure.table["model"]) == set(names)
    assert "% of the ratings of everybody are overruled" in overruled.reading
    assert "None is chosen" in page.to_html()


def test_a_page_of_decisions_names_the_ends_and_the_groups(decisions: DecisionComparison) -> None:
    errors, overruled = decision_report(decisions).figures
    least, most = (choose(decisions.decisions, key=lambda decision: decision.n_blocked) for choose in (min, max))
    assert least.n_blocked < most.n_blocked
    for decision in (least, most):
        assert f"{decision.name.replace('rater_gender', 'gender')}, {decision.n_blocked}" in errors.reading
    svg = unescape(overruled.inline(672))
    assert "most Woman" in svg
    assert "least Woman" in svg


def test_a_page_lists_gaps_with_a_value_and_says_why_others_have_none(decisions: DecisionComparison) -> None:
    (table,) = [table for table in decision_report(decisions).tables if table.name == "gaps"]
    listed = [line[0] for grid in table.grids for line in grid.lines]
    assert any("share at 1:3" in name for name in listed)
    assert not any("worst-group" in name for name in listed)
    assert any("rules over groups and juries have no gap: without a rater" in note for note in table.notes)


@pytest.mark.parametrize("width", [317, 672])
def test_figures_are_drawn_and_names_are_escaped(
    models: ModelScorecard, decisions: DecisionComparison, ratings: Ratings, width: int
) -> None:
    pages = (
        model_scorecard_report(models),
        decision_report(decisions),
        scorecard_report(score_chatbots(ratings, by="gender")),
    )
    for page in pages:
        for figure in page.figures:
            svg = figure.inline(width)
            assert svg.startswith("<svg")
            assert HOSTILE not in svg
    html = pages[0].to_html()
    assert "<script" not in html
    assert "\x1b" not in html


def test_withheld_groups_are_not_drawn(ratings: Ratings) -> None:
    card = score_chatbots(ratings, by="gender", suppress_below=20)
    page = scorecard_report(card)
    (figure,) = page.figures
    assert figure.table.filter(pl.col("axis").is_not_null())["estimate"].null_count() == 2
    assert "<svg" in figure.inline(672)


def test_decisions_without_an_estimate_for_everybody_are_not_drawn(ratings: Ratings) -> None:
    """Nobody else rated an item: experts alone overrule."""
    frame = simulate_frame(3).unique("item_id", maintain_order=True).with_columns(safety_gold=pl.lit("No"))
    lone = Ratings.from_frame(frame)
    comparison = compare_decisions(lone, by="gender", rules=["share", "expert"], gold="safety_gold")
    for figure in decision_report(comparison).figures:
        assert figure.table["model"].unique().to_list() == ["expert"]
        assert "<svg" in figure.inline(672)
    for compared in (
        compare_decisions(lone, by="gender", rules=["share"]),
        compare_decisions(ratings, by="gender", rules=["share"], suppress_below=1000),
    ):
        page = decision_report(compared)
        assert not page.figures
        assert "Whom a decision overrules" in page.to_html()
