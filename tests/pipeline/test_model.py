"""Multilevel models of ratings tables: named effects, invariances and what is said beside them."""

import json

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame

from dissensus.errors import InvalidInput
from dissensus.pipeline.model import MultilevelModel, fit_model
from dissensus.schema.ratings.table import Ratings

RANDOM = "(1 | rater_id) + (1 | item_id)"


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Return ratings by raters who differ."""
    rng = np.random.default_rng(3)
    rater, item = (index.ravel() for index in np.indices((24, 30)))
    latent = rng.normal(0, 0.7, 24)[rater] + rng.normal(0, 0.9, 30)[item] + rng.normal(size=rater.size)
    frame = pl.DataFrame(
        {
            "item_id": [f"i{i:02}" for i in item],
            "rater_id": [f"rater-{r:03}" for r in rater],
            "rater_race": [("Asian", "Black", "White")[r % 3] for r in rater],
            "rater_gender": [("Man", "Woman")[r % 2] for r in rater],
            "Q_overall": [("No", "Unsure", "Yes")[k] for k in np.digitize(latent, [0.2, 0.8])],
        }
    )
    return frame.filter(rng.random(frame.height) < 0.8)


@pytest.fixture(scope="module")
def model(frame: pl.DataFrame) -> MultilevelModel:
    return fit_model(Ratings.from_frame(frame), f"Q_overall ~ rater_race + rater_gender + {RANDOM}")


def test_the_base_moves_effects_and_thresholds_alone(frame: pl.DataFrame, model: MultilevelModel) -> None:
    other = fit_model(
        Ratings.from_frame(frame), f"Q_overall ~ rater_race + rater_gender + {RANDOM}", base={"race": "White"}
    )
    black, white = (row.estimate for row in model.effects[:2])
    expected = {"Asian": -white, "Black": black - white}
    assert {row.level: row.estimate for row in other.effects[:2]} == pytest.approx(expected, abs=1e-4)
    assert other.log_likelihood == pytest.approx(model.log_likelihood, abs=1e-5)
    assert [row.estimate for row in other.thresholds] == pytest.approx(
        [row.estimate - white for row in model.thresholds], abs=1e-4
    )
    assert other.sd == pytest.approx(model.sd, abs=1e-4)
    assert other.base == {"rater_race": "White", "rater_gender": "Man"}


def test_the_order_of_rows_does_not_matter(frame: pl.DataFrame, model: MultilevelModel) -> None:
    shuffled = fit_model(Ratings.from_frame(frame.sample(fraction=1, shuffle=True, seed=2)), model.formula)
    assert shuffled == model


def test_a_reversed_scale_turns_effects_round(frame: pl.DataFrame, model: MultilevelModel) -> None:
    turned = Ratings.from_frame(frame, categories=["Yes", "Unsure", "No"])
    other = fit_model(turned, model.formula)
    assert [row.estimate for row in other.effects] == pytest.approx([-row.estimate for row in model.effects], abs=1e-4)
    assert [row.between for row in other.thresholds] == ["Yes|Unsure", "Unsure|No"]
    assert other.log_likelihood == pytest.approx(model.log_likelihood, abs=1e-5)


def test_probabilities_and_intervals_follow_from_estimate_and_error(model: MultilevelModel) -> None:
    for row in model.effects:
        assert row.ci_low == pytest.approx(row.estimate - 1.959964 * row.se, abs=1e-6)
        assert row.ci_high == pytest.approx(row.estimate + 1.959964 * row.se, abs=1e-6)
        assert 0.5 <= row.probability_of_direction <= 1
        assert 0 < row.probability_beyond_large < row.probability_beyond_small < 1
    for deviation in model.deviations:
        assert deviation.ci_low is not None
        assert deviation.ci_high is not None
        assert deviation.ci_low * deviation.ci_high == pytest.approx(deviation.sd**2)


def test_json_has_effects_thresholds_and_deviations(model: MultilevelModel) -> None:
    document = json.loads(model.to_json())
    assert {"term", "level", "estimate", "se", "ci_low", "ci_high"} <= document["effects"][0].keys()
    assert [row["between"] for row in document["thresholds"]] == ["No|Unsure", "Unsure|Yes"]
    assert document["sd"].keys() == {"rater_id", "item_id"}
    assert document["base"] == {"rater_race": "Asian", "rater_gender": "Man"}
    assert document["n_ratings"] == model.n_ratings
    assert document["log_likelihood"] == model.log_likelihood
    assert model.to_polars().columns == list(document["effects"][0])


def test_the_certificate_depends_on_the_seed_alone(frame: pl.DataFrame, model: MultilevelModel) -> None:
    certificate = model.certificate
    assert certificate is not None
    assert certificate.is_reliable
    assert 20 < certificate.effective_draws <= certificate.n_draws == 400
    assert abs(certificate.correction) < 2
    ratings = Ratings.from_frame(frame)
    assert fit_model(ratings, model.formula).certificate == certificate
    assert fit_model(ratings, model.formula, seed=1).certificate != certificate
    assert fit_model(ratings, model.formula, draws=0).certificate is None
    with pytest.raises(InvalidInput, match="draws is 10; give an even number of at least 26"):
        fit_model(ratings, model.formula, draws=10)


def test_slopes_have_deviations_of_their_own(frame: pl.DataFrame) -> None:
    model = fit_model(Ratings.from_frame(frame), "Q_overall ~ (1 | rater_id) + (0 + rater_gender | item_id)")
    assert model.sd.keys() == {"rater_id", "item_id: rater_gender = Man", "item_id: rater_gender = Woman"}
    man, woman = model.deviations[1:]
    assert man.correlations == pytest.approx((1.0, woman.correlations[0]))
    assert not model.effects
    assert "P(direction)" not in str(model)


def test_raters_who_do_not_differ_have_no_interval(frame: pl.DataFrame) -> None:
    model = fit_model(Ratings.from_frame(simulate_frame(11)), f"Q_overall ~ {RANDOM}")
    raters, items = model.deviations
    assert raters.sd < 0.05
    assert (raters.ci_low, raters.ci_high) == (None, None)
    assert items.ci_low is not None
    assert items.ci_low > 0.5
    assert "by rater_id is" in model.warnings[0]
    assert "may be 0, so it has no interval" in model.warnings[0]
    assert json.loads(model.to_json())["random"][0]["ci_low"] is None


def test_warnings_come_first(frame: pl.DataFrame) -> None:
    model = fit_model(
        Ratings.from_frame(frame.filter((pl.col("rater_race") != "White") | (pl.col("rater_id") > "rater-015"))),
        f"Q_overall ~ rater_race + {RANDOM}",
    )
    assert str(model).startswith("Warning: Few raters: rater_race = 'White' (3 raters).")
    assert next(iter(model.to_dict()["warnings"])).startswith("Few raters")
    assert "Warning: Few raters" in model._repr_html_()


def test_an_unknown_link_or_confidence_is_refused(frame: pl.DataFrame) -> None:
    ratings = Ratings.from_frame(frame)
    with pytest.raises(InvalidInput, match="link is 'cauchit'"):
        fit_model(ratings, f"Q_overall ~ {RANDOM}", link="cauchit")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="confidence is 95"):
        fit_model(ratings, f"Q_overall ~ {RANDOM}", confidence=95)


def test_widths_are_effects_of_raters_on_the_distances_between_thresholds() -> None:
    rng = np.random.default_rng(4)
    rater, item = (index.ravel() for index in np.indices((40, 40)))
    latent = rng.normal(0, 0.5, 40)[rater] + rng.normal(0, 0.8, 40)[item] + rng.normal(size=rater.size)
    width = np.exp(rng.normal(0, 0.9, 40))[rater]
    frame = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in item],
            "rater_id": [f"r{r}" for r in rater],
            "rater_gender": [("Man", "Woman")[r % 2] for r in rater],
            "Q": [("No", "Unsure", "Yes")[k] for k in (latent > -0.3 * width).astype(int) + (latent > 0.3 * width)],
        }
    )
    ratings = Ratings.from_frame(frame, categories=["No", "Unsure", "Yes"])
    formula = f"Q ~ rater_gender + {RANDOM}"
    model, plain = (fit_model(ratings, formula, widths=widths, draws=60) for widths in (True, False))
    assert model.sd["rater_id: (width)"] == pytest.approx(0.9, abs=0.35)
    assert model.log_likelihood > plain.log_likelihood + 50
    assert model.predictions is not None
    assert plain.predictions is not None
    shares = [{(r.group, r.answer): r.estimate for r in m.predictions.shares if r.axis} for m in (model, plain)]  # type: ignore[union-attr]
    assert shares[0]["Man", "Unsure"] == pytest.approx(shares[1]["Man", "Unsure"], abs=0.03)
    with pytest.raises(InvalidInput, match="single threshold"):
        fit_model(Ratings.from_frame(frame.filter(pl.col("Q") != "Unsure")), formula, widths=True)
    with pytest.raises(InvalidInput, match="the formula has none"):
        fit_model(ratings, "Q ~ rater_gender + (1 | item_id)", widths=True)
