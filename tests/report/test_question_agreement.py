"""Figure of the agreement on each question."""

import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame
from tests.report.svg import fits, texts

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse import analyse
from dissensus.report.builder import build
from dissensus.report.figures.agreement import question_agreement
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    other = simulate_frame(3)["Q_overall"]
    frame = simulate_frame(2).with_columns(Q_tone=other, Q_same=pl.lit("No"))
    return Ratings.from_frame(frame, questions="all", categories=["No", "Unsure", "Yes"])


def test_each_value_is_that_of_its_analysis(ratings: Ratings) -> None:
    figure = question_agreement(ratings, bootstrap=50, seed=2)
    for question in ("Q_overall", "Q_tone"):
        expected = {row.metric: row for row in analyse(ratings, question=question, bootstrap=50, seed=2).overall}
        for row in figure.table.filter(question=question).to_dicts():
            analysed = expected[row["metric"]]
            assert (row["estimate"], row["ci_low"], row["n_items"]) == (
                analysed.estimate,
                analysed.ci_low,
                analysed.n_items,
            )
    assert figure.reading.startswith("IRR ranges from ")
    assert fits(figure)
    assert {"Q overall", "Q tone", "IRR (alpha)"} <= set(texts(figure))


def test_a_question_without_alpha_is_named(ratings: Ratings) -> None:
    figure = question_agreement(ratings)
    assert "Not drawn, since IRR is undefined: Q same." in figure.notes
    assert figure.table.filter(question="Q_same", metric="irr")["reason"][0] is not None
    assert "Q same" not in texts(figure)
    with pytest.raises(UndefinedEstimate, match="undefined for every question"):
        question_agreement(ratings.select_question("Q_same"))


def test_the_level_of_measurement_is_that_of_the_analysis(ratings: Ratings) -> None:
    (alpha,) = question_agreement(ratings, level="ordinal").table.filter(question="Q_overall", metric="irr")["estimate"]
    (expected,) = [
        row.estimate for row in analyse(ratings, question="Q_overall", level="ordinal").overall if row.metric == "irr"
    ]
    assert alpha == expected


def test_a_report_of_several_questions_shows_it(ratings: Ratings) -> None:
    page = build(ratings, question="Q_overall", permutations=0, bootstrap=0)
    assert page["question-agreement"].table is not None
    single = build(ratings.select_question("Q_overall"), permutations=0, bootstrap=0)
    assert not any(figure.name == "question-agreement" for figure in single.figures)
