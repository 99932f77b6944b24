"""Details of multilevel models of DICES-350: the checks that the models with and without widths pass."""

import json
from collections.abc import Sequence

import pytest

from dissensus.pipeline.model import fit_model
from dissensus.pipeline.model.predictive_checks import PredictiveCheck
from dissensus.schema.ratings.table import Ratings

FORMULA = "Q_overall ~ rater_race + rater_gender + rater_age + (1 | rater_id) + (1 | item_id)"


def find_check(checks: Sequence[PredictiveCheck], name: str) -> PredictiveCheck:
    (row,) = (row for row in checks if row.check == name)
    return row


@pytest.mark.slow
def test_widths_explain_raters_who_never_answer_unsure(dices_123: Ratings) -> None:
    model = fit_model(dices_123.exclude_flagged(), FORMULA, details=True)
    assert model.details is not None
    widths = model.details.alternative
    assert widths is not None
    assert widths.widths
    assert (model.log_likelihood, widths.log_likelihood) == pytest.approx((-23801.5, -22232.1), abs=0.1)
    assert widths.n_parameters == model.n_parameters + 2
    name = "raters who never answer Unsure"
    fixed = find_check(model.details.predictive_checks, name)
    assert (fixed.observed, fixed.passes) == (27, False)
    assert fixed.replicated < 0.1
    wide = find_check(widths.predictive_checks, name)
    assert (wide.observed, wide.passes) == (27, True)
    assert wide.replicated == pytest.approx(21.5, abs=1.5)
    (warning,) = (warning for warning in model.warnings if "predictive checks" in warning)
    assert f"'{name}'" in warning
    assert "With widths of raters (--widths) it passes 7 of them." in warning
    spread = "sd over raters of the share of Unsure"
    assert not find_check(model.details.predictive_checks, spread).passes
    assert find_check(widths.predictive_checks, spread).passes


def test_a_model_with_widths_is_compared_with_one_without(dices_123: Ratings) -> None:
    few = dices_123.exclude_flagged().where("rater_gender", "Woman")
    formula = "Q_overall ~ (1 | rater_id) + (1 | item_id)"
    model = fit_model(few, formula, widths=True, details=True, draws=26)
    assert model.details is not None
    alternative = model.details.alternative
    assert alternative is not None
    assert not alternative.widths
    assert alternative.log_likelihood == fit_model(few, formula, draws=0).log_likelihood
    assert "without widths  passes" in str(model)
    assert json.loads(model.to_json())["alternative"]["predictive_checks"][0]["check"] == "share of No"
