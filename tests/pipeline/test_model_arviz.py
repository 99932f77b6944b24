"""Draws of a multilevel model as an ArviZ data tree."""

import numpy as np
import pytest
from tests.pipeline.tables import simulate_frame

from dissensus.pipeline.model import fit_model
from dissensus.schema.ratings.table import Ratings

pytestmark = pytest.mark.ml


def test_the_tree_has_draws_by_chain_with_named_coordinates() -> None:
    ratings = Ratings.from_frame(simulate_frame(3))
    formula = f"{ratings.questions[0]} ~ (1 | rater_id) + (1 | item_id)"
    model = fit_model(ratings, formula, sampler="gibbs", chains=2, iterations=50, draws=0)
    posterior = model.to_arviz()["posterior"]
    assert posterior.sizes["chain"] == 2
    assert posterior.sizes["draw"] == 50
    assert list(posterior["threshold"].values) == [row.between for row in model.thresholds]
    assert posterior["Intercept"].mean(("chain", "draw")).values == pytest.approx(
        [row.estimate for row in model.thresholds]
    )
    assert set(posterior["rater_id"].values) == set(ratings.raters["rater_id"])
    assert posterior["r_item_id"].dims == ("chain", "draw", "item_id", "item_id_effect")
    assert np.isfinite(fit_model(ratings, formula).to_arviz(draws=50)["posterior"]["sd_item_id"]).all()
