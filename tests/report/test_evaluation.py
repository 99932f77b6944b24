"""Report of the evaluation of a preference model."""

from dataclasses import replace

import numpy as np
import pytest
from tests.preference.pairs import simulate_pairs
from tests.report.svg import fits, texts

from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.accuracy import Evaluation, evaluate
from dissensus.preference.evaluation.paired import RivalModel, compare_models
from dissensus.report.evaluation import evaluation_report
from dissensus.report.evaluation_tables import soft_label_grid
from dissensus.report.figures.reliability import reliability
from dissensus.report.figures.slices import slices
from dissensus.report.tables import ReportTable
from dissensus.schema.records.conversation import Turn

HOSTILE = '</text></svg><script>alert(1)</script>"\u202e'


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    pairs, odds = simulate_pairs(800)
    return evaluate(pairs, odds, np.zeros(800))


def test_points_are_the_bins(evaluation: Evaluation) -> None:
    figure = reliability(evaluation)
    assert figure.table["n_pairs"].sum() == 800
    assert figure.table["accuracy"].to_list() == [one.accuracy.estimate for one in evaluation.bins]
    assert {f"{one.accuracy.n:,}" for one in evaluation.bins} <= set(texts(figure))
    assert fits(figure)


def test_slices_follow_all_pairs(evaluation: Evaluation) -> None:
    figure = slices(evaluation)
    assert figure.table["part"][0] == "all pairs"
    assert figure.table.filter(of="the model").height == 1 + len(evaluation.slices)
    by_length = figure.table["part"].str.starts_with("The chosen answer is")
    assert figure.table.filter(by_length & (figure.table["of"] == "length alone")).is_empty()
    assert fits(figure)


def test_a_rival_model_is_compared() -> None:
    pairs, odds = simulate_pairs(300)
    noise = np.random.default_rng(0).normal(size=300)
    first, second = (evaluate(pairs, margins, np.zeros(300)) for margins in (odds, noise))
    rival = RivalModel(name="coin", evaluation=second, difference=compare_models(pairs, odds, noise))
    report = evaluation_report(first, model="taste", rival=rival, excluded={"an answer is empty": 2})
    page = report.to_html()
    assert "taste is right more often than coin, on " in page
    assert "2 pairs left out: an answer is empty." in page
    assert "the other model" in texts(slices(first, other=second))
    assert [section.name for section in report.sections] == ["accuracy", "reliability", "difference"]
    assert "In short" in page
    namesakes = evaluation_report(first, model="taste", rival=replace(rival, name="taste"))
    whole = namesakes["whole"]
    assert isinstance(whole, ReportTable)
    assert len(whole.grids[0].lines) == 4


def test_hostile_names_are_escaped() -> None:
    pairs = [Pair((Turn("human", str(n)),), "no", "yes", group=HOSTILE if n % 2 else "other") for n in range(12)]
    evaluation = evaluate(pairs, np.linspace(-1, 2, 12), np.zeros(12))
    page = evaluation_report(evaluation, model=HOSTILE, title=HOSTILE, command=HOSTILE).to_html()
    assert "<script" not in page
    assert "\u202e" not in page


def test_one_pair_is_enough() -> None:
    evaluation = evaluate(simulate_pairs(1)[0], [0.3], [0.1])
    assert fits(reliability(evaluation))
    assert fits(slices(evaluation))
    assert "1 pair of 1 dialogue." in evaluation_report(evaluation, model="m").to_html()


def test_several_raters_of_a_pair_give_a_soft_label_table() -> None:
    pairs, odds = simulate_pairs(40)
    several = [replace(pair, rater=rater) for pair in pairs for rater in ("ann", "bo")]
    evaluation = evaluate(several, np.repeat(odds, 2), np.zeros(80))
    rival = RivalModel(
        name="coin", evaluation=evaluation, difference=compare_models(several, np.zeros(80), np.ones(80))
    )
    report = evaluation_report(evaluation, model="taste", rival=rival)
    page = report.to_html()
    assert "40 comparisons by 2 raters" in page
    assert evaluation.soft_labels is not None
    single = soft_label_grid(replace(evaluation.soft_labels, n_comparisons=1, n_raters=1), ())
    assert single.caption.startswith("1 comparison by 1 rater; ")
    assert "The model is nearer to the shares of raters than a constant one half" in page
    (table,) = report.sections[-1].parts
    assert isinstance(table, ReportTable)
    assert table.table is not None
    assert table.table["of"].to_list() == ["taste", "coin", "length alone", "always one half"]
    assert "soft_labels" not in {one.name for one in evaluation_report(evaluate(pairs, odds, odds), model="m").sections}
