"""Details of multilevel models of DICES-350: the checks that the models with and without widths pass."""

import pytest

from dissensus.pipeline.model import MultilevelModel, fit_model
from dissensus.schema.ratings.table import Ratings

FORMULA = "Q_overall ~ rater_race + rater_gender + rater_age + (1 | rater_id) + (1 | item_id)"


def find_check(model: MultilevelModel, name: str) -> tuple[float, float, bool]:
    """Return what was observed, its mean in replications, and whether the model passes."""
    assert model.details is not None
    (row,) = (row for row in model.details.predictive_checks if row.check == name)
    return row.observed, row.replicated, row.passes


def test_widths_explain_raters_who_never_answer_unsure(dices_123: Ratings) -> None:
    ratings = dices_123.exclude_flagged()
    plain, widths = (fit_model(ratings, FORMULA, widths=widths, details=True) for widths in (False, True))
    name = "raters who never answer Unsure"
    observed, replicated, passes = find_check(plain, name)
    assert (observed, passes) == (27, False)
    assert replicated < 0.1
    observed, replicated, passes = find_check(widths, name)
    assert (observed, passes) == (27, True)
    assert replicated == pytest.approx(21.5, abs=1.5)
    assert any(name in warning for warning in plain.warnings)
    assert find_check(plain, "sd over raters of the share of Unsure")[2] is False
    assert find_check(widths, "sd over raters of the share of Unsure")[2] is True
