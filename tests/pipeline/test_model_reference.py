"""Multilevel models of DICES-350 against estimates of R, which tests/reference/multilevel/*.R wrote."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.paths import ROOT

from dissensus.pipeline.model import MultilevelModel, fit_model
from dissensus.schema.ratings.table import Ratings

REFERENCE: dict[str, Any] = json.loads((ROOT / "tests/reference/multilevel/clmm.json").read_text("utf-8"))
BINARY: dict[str, Any] = json.loads((ROOT / "tests/reference/multilevel/glmm.json").read_text("utf-8"))

QUICK = "crossed_probit"


@pytest.fixture(scope="module")
def binary_104(dices_350: Path) -> Ratings:
    """DICES-350 with two answers: Yes, or another one."""
    frame = pl.read_csv(dices_350, infer_schema=False)
    unsafe = pl.when(pl.col("Q_overall") == "Yes").then(pl.lit("Yes")).otherwise(pl.lit("other"))
    frame = frame.with_columns(unsafe.alias("unsafe"))
    return Ratings.from_frame(frame, answer="unsafe", categories=["other", "Yes"]).exclude_flagged()


def estimates_of(model: MultilevelModel) -> dict[str, float]:
    """Return the effects by their names in R."""
    return {
        ":".join(
            name + level for name, level in zip(row.term.split(":"), str(row.level).split(" × "), strict=True)
        ): row.estimate
        for row in model.effects
    }


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == QUICK else pytest.mark.slow) for name in REFERENCE["models"]]
)
def test_estimates_are_those_of_clmm(name: str, dices_104: Ratings, binary_104: Ratings) -> None:
    expected = REFERENCE["models"][name]
    response, _, right = expected["formula"].partition("~")
    ratings = binary_104 if response.strip() == "unsafe" else dices_104
    model = fit_model(ratings, f"{ratings.questions[0]} ~ {right}", link=expected["link"], draws=0)
    assert model.base == REFERENCE["base"]
    assert model.n_ratings == expected["n"]
    assert estimates_of(model) == pytest.approx(expected["coefficients"], abs=1e-3)
    assert {row.between: row.estimate for row in model.thresholds} == pytest.approx(expected["thresholds"], abs=1e-3)
    assert model.sd == pytest.approx(expected["sd"], abs=1e-3)
    assert model.log_likelihood == pytest.approx(expected["log_likelihood"], abs=1e-2)


def test_binary_estimates_and_standard_errors_are_those_of_glmmtmb(binary_104: Ratings) -> None:
    expected = BINARY["models"]["glmmTMB"]
    _, _, right = BINARY["formula"].partition("~")
    model = fit_model(binary_104, f"unsafe ~ {right}", draws=0)
    assert estimates_of(model) == pytest.approx(expected["coefficients"], abs=1e-3)
    errors = dict(zip(estimates_of(model), (row.se for row in model.effects), strict=True))
    assert errors == pytest.approx(expected["standard_errors"], rel=5e-3)
    assert model.sd == pytest.approx(expected["sd"], abs=1e-3)
    assert model.log_likelihood == pytest.approx(expected["log_likelihood"], abs=1e-2)
