"""Multilevel models in reports: figures, tables, sections, and refusals."""

import polars as pl
import pytest
from tests.report.hostile import hostile

import dissensus as ds
from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.pipeline.model import MultilevelModel
from dissensus.report.builder import build
from dissensus.report.figures.multilevel import divided_items, effects, predicted_shares, predictive_checks
from dissensus.report.result import Report
from dissensus.report.tables import ReportTable
from dissensus.schema.ratings.table import Ratings

FORMULA = "Q_overall ~ age * gender + (1 | age:item_id) + (1 | rater_id) + (1 | item_id)"
QUICK = {"permutations": 0, "bootstrap": 0, "contested": 0, "by": "age"}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    simulated = ds.simulate_ratings(n_items=24, raters_per_cell=5, group_sd=0.8, seed=3)
    items = simulated.items["item_id"]
    return simulated.with_items(pl.DataFrame({"item_id": items, "response": [f"<b>text of {item}" for item in items]}))


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> MultilevelModel:
    ages = ratings.raters["rater_age"].unique().sort().to_list()
    tables = {
        name: pl.DataFrame({"column": ["age"], "level": [age], "count": [1]})
        for name, age in (("first", ages[0]), ("last", ages[-1]))
    }
    return ds.fit_model(ratings, FORMULA, populations=tables, details=True, draws=60)


@pytest.fixture(scope="module")
def report(ratings: Ratings, model: MultilevelModel) -> Report:
    return build(ratings, model=model, **QUICK)  # type: ignore[arg-type]


@pytest.mark.slow
def test_sections_stand_between_contested_items_and_vetting(report: Report) -> None:
    names = [section.name for section in report.sections]
    assert names[names.index("contested") + 1 : names.index("vetting")] == ["model", "populations", "divided", "checks"]
    first = next(section for section in report.sections if section.name == "model").parts[0]
    assert isinstance(first, ReportTable)
    assert (first.name, bool(first.notes)) == ("model-warnings", True)


def test_figures_have_the_numbers_of_the_model(report: Report, model: MultilevelModel) -> None:
    assert report["model-effects"].table.equals(model.to_polars())  # type: ignore[union-attr]
    assert model.predictions is not None
    assert model.details is not None
    crossed = report["model-shares-age-gender"].table
    shares = [row for row in model.predictions.shares if row.axis == "rater_age*rater_gender"]
    assert crossed is not None
    assert crossed["estimate"].to_list() == [row.estimate for row in shares]
    assert crossed["difference"].to_list() == [row.difference for row in shares]
    populations = report["model-shares-population"].table
    assert populations is not None
    assert populations["group"].unique().sort().to_list() == ["first", "last"]
    for name, rows in (("divided", model.details.divided_items), ("checks", model.details.predictive_checks)):
        table = report[f"model-{name}"].table
        assert table is not None
        assert table.height == len(rows)


def test_checks_are_compared_with_those_of_the_model_with_widths(report: Report, model: MultilevelModel) -> None:
    assert model.details is not None
    alternative = model.details.alternative
    assert alternative is not None
    comparison = report["model-check-comparison"]
    assert comparison.table is not None
    passes = comparison.table.group_by("widths").agg(pl.col("passes").sum()).sort("widths")["passes"].to_list()
    checks = (model.details.predictive_checks, alternative.predictive_checks)
    assert passes == [sum(row.passes for row in rows) for rows in checks]
    assert f"Of {len(checks[0])} predictive checks this model passes {passes[0]};" in comparison.reading


@pytest.mark.slow
def test_the_page_has_texts_behind_a_warning_and_the_methods(
    ratings: Ratings, report: Report, model: MultilevelModel
) -> None:
    page = report.to_html()
    assert "&lt;b&gt;text of" in page
    assert "<b>text of" not in page
    assert "Cumulative mixed model" in page
    assert "text of" not in build(ratings, model=model, text=False, **QUICK).to_html()  # type: ignore[arg-type]


def test_items_that_change_sides_are_listed(report: Report, model: MultilevelModel) -> None:
    assert model.predictions is not None
    table = report["model-changed"].table
    assert table is not None
    assert table["item_id"].to_list() == [item.item_id for item in model.predictions.changed]
    assert table.height


@pytest.mark.parametrize("width", [672, 317])
def test_figures_render(report: Report, width: int) -> None:
    for figure in report.figures:
        if figure.name.startswith("model-"):
            assert figure.render("svg", width=width).startswith(b"<svg")


@pytest.mark.slow
def test_names_of_a_file_are_escaped() -> None:
    ratings = hostile()
    columns = [f"`{axis}`" for axis in ratings.axes[:1]]
    fit = ds.fit_model(
        ratings, f"{ratings.questions[0]} ~ (1 | {columns[0]}) + (1 | rater_id) + (1 | item_id)", draws=26
    )
    page = build(ratings, model=fit, permutations=0, bootstrap=0).to_html()
    assert "<script>alert" not in page


def test_models_without_parts_say_so(ratings: Ratings) -> None:
    plain = ds.fit_model(ratings, "Q_overall ~ (1 | rater_id) + (1 | item_id)", draws=0)
    report = build(ratings, model=plain, **QUICK)  # type: ignore[arg-type]
    section = next(section for section in report.sections if section.name == "model")
    assert section.absent == ("The model has no fixed effects, only random ones.",)
    for draw, message in (
        (effects, "no fixed effects, only random ones"),
        (divided_items, "no effects of groups by item"),
        (predictive_checks, "fitted without predictive checks"),
    ):
        with pytest.raises(UndefinedEstimate, match=message):
            draw(plain)
    with pytest.raises(NotFound, match="predicts no shares by rater_age"):
        predicted_shares(plain, "rater_age")


def test_a_model_does_not_go_with_suppression(ratings: Ratings, model: MultilevelModel) -> None:
    with pytest.raises(InvalidInput, match="does not go with"):
        build(ratings, model=model, suppress_below=5)
