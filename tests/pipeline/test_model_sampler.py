"""Models of ratings tables with priors and with the Gibbs sampler."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.model import MultilevelModel, fit_model
from dissensus.pipeline.model.convergence import ModelConvergence, warn_of_chains
from dissensus.pipeline.model.priors import PUBLISHED_PRIORS, split_priors
from dissensus.schema.ratings.table import Ratings

RANDOM = "(1 | rater_id) + (1 | item_id)"
FORMULA = f"Q_overall ~ rater_gender + {RANDOM}"
PRIORS = {"b": "student_t(3, 0, 1)", "sd": "student_t(3, 0, 2.5)"}


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    rater, item = (index.ravel() for index in np.indices((24, 30)))
    latent = rng.normal(0, 0.7, 24)[rater] + rng.normal(0, 0.9, 30)[item] + rng.normal(size=rater.size)
    return pl.DataFrame(
        {
            "item_id": [f"i{i:02}" for i in item],
            "rater_id": [f"rater-{r:03}" for r in rater],
            "rater_gender": [("Man", "Woman")[r % 2] for r in rater],
            "Q_overall": [("No", "Unsure", "Yes")[k] for k in np.digitize(latent, [0.2, 0.8])],
        }
    )


@pytest.fixture(scope="module")
def ratings(frame: pl.DataFrame) -> Ratings:
    return Ratings.from_frame(frame)


@pytest.fixture(scope="module")
def sampled(ratings: Ratings) -> MultilevelModel:
    return fit_model(ratings, FORMULA, priors=PRIORS, sampler="gibbs", chains=2, iterations=300)


@pytest.fixture(scope="module")
def mode(ratings: Ratings) -> MultilevelModel:
    return fit_model(ratings, FORMULA, priors=PRIORS)


def test_the_estimator_is_named(ratings: Ratings, sampled: MultilevelModel, mode: MultilevelModel) -> None:
    documents = [json.loads(model.to_json()) for model in (fit_model(ratings, FORMULA, draws=0), mode, sampled)]
    assert [d["estimator"] for d in documents] == ["maximum likelihood", "maximum a posteriori", "posterior"]
    assert [d["priors"] for d in documents] == [{}, PRIORS, PRIORS]
    assert [bool(d["convergence"]) for d in documents] == [False, False, True]
    assert documents[2]["certificate"] is None
    assert "Estimates are posterior means with quantile intervals" in str(sampled)
    assert "Priors: b = student_t(3, 0, 1); sd" in str(mode)


def test_both_engines_agree(sampled: MultilevelModel, mode: MultilevelModel) -> None:
    assert sampled.effects[0].estimate == pytest.approx(mode.effects[0].estimate, abs=0.5 * mode.effects[0].se)
    assert sampled.effects[0].se == pytest.approx(mode.effects[0].se, rel=0.3)
    assert sampled.sd == pytest.approx(mode.sd, abs=0.15)
    assert sampled.predictions is not None
    assert mode.predictions is not None
    for own, other in zip(sampled.predictions.shares, mode.predictions.shares, strict=True):
        assert own.estimate == pytest.approx(other.estimate, abs=0.03)
    assert "Predicted shares rest on the draws of the sampler." in sampled.notes


def test_intervals_and_probabilities_are_those_of_the_draws(sampled: MultilevelModel) -> None:
    draws = sampled.source.fit.approximation.draw(10**6, np.random.default_rng(0))
    b, row = draws.coefficients[:, 0], sampled.effects[0]
    assert (row.ci_low, row.ci_high) == pytest.approx(tuple(np.quantile(b, [0.025, 0.975])))
    assert row.probability_of_direction == pytest.approx(max((b > 0).mean(), (b < 0).mean()))
    assert row.probability_beyond_large == (np.abs(b) > 0.3).mean()
    sd = sampled.deviations[1]
    assert (sd.ci_low, sd.ci_high) == pytest.approx(tuple(np.quantile(draws.factors[1][:, 0, 0], [0.025, 0.975])))


def test_convergence_has_a_row_for_each_parameter_and_for_the_effects_of_each_term(sampled: MultilevelModel) -> None:
    names = [row.parameter for row in sampled.convergence]
    assert names == [
        "No|Unsure",
        "Unsure|Yes",
        "rater_gender = Woman",
        "sd rater_id",
        "sd item_id",
        "effects of rater_id",
        "effects of item_id",
    ]
    assert all(row.r_hat is not None and row.r_hat < 1.1 for row in sampled.convergence)


def test_chains_that_have_not_converged_are_warned_of_first(ratings: Ratings) -> None:
    model = fit_model(ratings, FORMULA, sampler="gibbs", chains=2, iterations=20, draws=0)
    assert model.warnings[0].startswith("The chains of the sampler have not converged: R̂ is up to ")
    assert "--iterations (in Python: iterations=)" in model.warnings[0]
    good = ModelConvergence(parameter="a", r_hat=1.001, bulk_ess=500, tail_ess=450)
    assert not list(warn_of_chains([good], 4))
    assert list(warn_of_chains([good], 5))


def test_the_result_depends_on_the_seed_alone(ratings: Ratings) -> None:
    options: dict[str, Any] = {"sampler": "gibbs", "chains": 2, "iterations": 20}
    first, second = (fit_model(ratings, FORMULA, seed=4, **options) for _ in range(2))
    assert first == second
    assert fit_model(ratings, FORMULA, seed=5, **options) != first


def test_separated_levels_need_a_prior(frame: pl.DataFrame) -> None:
    answer = pl.when(pl.col("rater_gender") == "Woman").then(pl.lit("Yes")).otherwise(pl.col("Q_overall"))
    separated = Ratings.from_frame(frame.with_columns(answer.alias("Q_overall")))
    with pytest.raises(UndefinedEstimate, match=r"Separation: .* A prior gives a finite estimate"):
        fit_model(separated, FORMULA)
    model = fit_model(separated, FORMULA, priors={"b": "student_t(3, 0, 1)"}, draws=0)
    assert 1 < model.effects[0].estimate < 20


def test_a_prior_of_a_term_goes_before_that_of_its_class(ratings: Ratings) -> None:
    model = fit_model(
        ratings, FORMULA, priors={"b:gender": "normal(1, 0.001)", "b": "normal(-1, 0.001)", "cor": "lkj(2)"}, draws=0
    )
    assert model.effects[0].estimate == pytest.approx(1, abs=0.01)
    model = fit_model(ratings, FORMULA, priors={"sd": "exponential(1)", "sd:item_id": "normal(2, 0.001)"}, draws=0)
    assert model.sd["item_id"] == pytest.approx(2, abs=0.01)


def test_published_priors_are_those_of_a_preset(ratings: Ratings) -> None:
    model = fit_model(ratings, preset="AD-linear", priors="published", draws=0)
    assert model.priors == PUBLISHED_PRIORS["AD"]
    with pytest.raises(InvalidInput, match="none is named"):
        fit_model(ratings, FORMULA, priors="published")


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ({"beta": "normal(0, 1)"}, "class 'beta'"),
        ({"b:rater_rce": "normal(0, 1)"}, "b:rater_rce, which the model does not have"),
        ({"Intercept:3": "normal(0, 1)"}, "Intercept:3, which the model does not have"),
        ({"b": "normal"}, "not a distribution with numbers"),
        ({"b": "normal(a, 1)"}, "not a distribution with numbers"),
        ({"b": "cauchy(0, 1)"}, "unknown distribution"),
        ({"b": "student_t(3, 1)"}, "has 2 numbers; write student_t"),
        ({"b": "exponential(1)"}, "exponential prior is for standard deviations"),
        ({"b": 1}, "The prior '1' is not a distribution with numbers"),
        ({"b:gender": "normal(0, 1)", "b:rater_gender": "normal(0, 2)"}, "Two priors are for b:rater_gender"),
        ({"sd": "exponential(0)"}, "rate 0.0"),
        ({"sd": "normal(0, -1)"}, "scale above 0"),
        ({"cor": "normal(0, 1)"}, "lkj"),
        ("default", "'default'; a mapping"),
    ],
)
def test_priors_that_cannot_be_read_are_refused(ratings: Ratings, priors: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        fit_model(ratings, FORMULA, priors=priors)


def test_options_that_the_sampler_lacks_are_refused(ratings: Ratings) -> None:
    with pytest.raises(InvalidInput, match="sampler is 'nuts'"):
        fit_model(ratings, FORMULA, sampler="nuts")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no logit link"):
        fit_model(ratings, FORMULA, sampler="gibbs", link="logit")
    with pytest.raises(InvalidInput, match="no widths"):
        fit_model(ratings, FORMULA, sampler="gibbs", widths=True)


def test_priors_on_the_command_line_are_split_at_the_first_equals_sign() -> None:
    assert split_priors([]) is None
    assert split_priors(["published"]) == "published"
    assert split_priors(["b = normal(0, 1)", "sd:rater_id=exponential(1)"]) == {
        "b": "normal(0, 1)",
        "sd:rater_id": "exponential(1)",
    }
    with pytest.raises(InvalidInput, match="not CLASS=DISTRIBUTION"):
        split_priors(["published", "b=normal(0, 1)"])
    with pytest.raises(InvalidInput, match="Two priors are for b"):
        split_priors(["b=normal(0, 1)", "b=normal(0, 2)"])


def test_draws_become_an_arviz_tree_with_names(
    ratings: Ratings, sampled: MultilevelModel, mode: MultilevelModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arguments for `arviz_base.from_dict`; the tree itself is in test_model_arviz.py."""
    stand_in = SimpleNamespace(from_dict=lambda groups, *, coords, dims: (groups["posterior"], coords, dims))
    monkeypatch.setitem(__import__("sys").modules, "arviz_base", stand_in)
    posterior, coords, dims = sampled.to_arviz()
    assert {name: values.shape for name, values in posterior.items()} == {
        "Intercept": (2, 300, 2),
        "b": (2, 300, 1),
        "sd_rater_id": (2, 300, 1),
        "r_rater_id": (2, 300, 24, 1),
        "sd_item_id": (2, 300, 1),
        "r_item_id": (2, 300, 30, 1),
    }
    assert coords["effect"] == ["rater_gender = Woman"]
    assert coords["threshold"] == ["No|Unsure", "Unsure|Yes"]
    assert coords["item_id"] == [f"i{i:02}" for i in range(30)]
    assert dims["r_item_id"] == ["item_id", "item_id_effect"]
    for name, values in posterior.items():
        assert [len(coords[dim]) for dim in dims[name]] == list(values.shape[2:])
    assert mode.to_arviz(draws=100)[0]["b"].shape == (1, 100, 1)
    crossed = fit_model(ratings, "Q_overall ~ (1 | rater_id) + (1 | rater_gender:item_id)", draws=0)
    posterior, coords, dims = crossed.to_arviz(draws=50)
    assert posterior["r_rater_gender:item_id"].shape == (1, 50, 30, 2)
    assert coords["rater_gender:item_id_effect"] == ["Man", "Woman"]
