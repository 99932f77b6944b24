"""Details of multilevel models: tests of terms, shares of variance, reliability, divided items, belief and checks."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dissensus.errors import InvalidInput
from dissensus.pipeline.model import MultilevelModel, fit_model
from dissensus.pipeline.model.details import ModelDetails
from dissensus.schema.ratings.table import Ratings

RANDOM = "(1 | rater_id) + (1 | item_id)"
FORMULA = f"Q ~ rater_race * rater_gender + degree_of_harm + {RANDOM} + (1 | rater_race:item_id)"
PLANTED = 8


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Return sparse ratings, in which Black raters find the first items far more severe than others do."""
    rng = np.random.default_rng(8)
    rater, item = (index.ravel() for index in np.indices((60, 50)))
    rated = rng.random(rater.size) < 0.7
    rater, item = rater[rated], item[rated]
    latent = rng.normal(0, 0.6, 60)[rater] + rng.normal(0, 0.7, 50)[item] + rng.normal(size=rater.size)
    latent += 0.6 * (rater % 3 == 1) + 2.0 * ((rater % 3 == 1) & (item < PLANTED))
    return Ratings.from_frame(
        pl.DataFrame(
            {
                "item_id": [f"i{i:02}" for i in item],
                "rater_id": [f"r{r:02}" for r in rater],
                "rater_race": [("Asian", "Black", "White")[r % 3] for r in rater],
                "rater_gender": [("Man", "Woman")[r // 3 % 2] for r in rater],
                "degree_of_harm": [("Benign", "Moderate", "Extreme")[i % 3] for i in item],
                "response": [f"Response {i}." for i in item],
                "Q": [("No", "Unsure", "Yes")[k] for k in np.digitize(latent, [0.2, 0.7])],
            }
        )
    )


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> MultilevelModel:
    return fit_model(ratings, FORMULA, details=True, draws=200)


@pytest.fixture(scope="module")
def details(model: MultilevelModel) -> ModelDetails:
    assert model.details is not None
    return model.details


@pytest.mark.slow
def test_terms_are_tested_beside_all_that_do_not_contain_them(ratings: Ratings, details: ModelDetails) -> None:
    interaction, *main = details.term_tests
    assert [row.term for row in details.term_tests] == [
        "rater_race:rater_gender",
        "rater_race",
        "rater_gender",
        "degree_of_harm",
    ]
    assert [row.df for row in details.term_tests] == [2, 2, 1, 2]
    rest = f"{RANDOM} + (1 | rater_race:item_id)"
    fits = {
        name: fit_model(ratings, f"Q ~ {name} + {rest}", draws=0).log_likelihood
        for name in (
            "rater_race + rater_gender + degree_of_harm",
            "rater_race * rater_gender",
            "rater_gender + degree_of_harm",
        )
    }
    full = fit_model(ratings, FORMULA, draws=0).log_likelihood
    without, no_degree, no_race = fits.values()
    assert interaction.likelihood_ratio == pytest.approx(2 * (full - without), abs=1e-4)
    assert main[2].likelihood_ratio == pytest.approx(2 * (full - no_degree), abs=1e-4)
    assert main[0].likelihood_ratio == pytest.approx(2 * (without - no_race), abs=1e-4)
    assert main[0].wald_p < 0.01
    assert main[0].likelihood_ratio_p < 0.01
    assert interaction.wald_p > 0.01
    assert interaction.loo_group == "rater_id"
    # Both terms of items have effects on each item, which are not left out together.
    assert (main[2].loo_difference, main[2].loo_group) == (None, None)


def test_the_base_changes_no_test_and_no_share(ratings: Ratings, details: ModelDetails) -> None:
    base = {"race": "White", "gender": "Woman", "degree_of_harm": "Moderate"}
    other = fit_model(ratings, FORMULA, details=True, draws=200, base=base).details
    assert other is not None
    for row, again in zip(details.term_tests, other.term_tests, strict=True):
        assert (again.term, again.df) == (row.term, row.df)
        assert again.wald == pytest.approx(row.wald, rel=1e-3)
        assert again.likelihood_ratio == pytest.approx(row.likelihood_ratio, abs=1e-4)
        assert again.loo_difference == (
            None if row.loo_difference is None else pytest.approx(row.loo_difference, abs=1e-2)
        )
    assert [row.share for row in other.variance_shares] == pytest.approx(
        [row.share for row in details.variance_shares], abs=1e-4
    )
    assert other.belief.stable == pytest.approx(details.belief.stable, abs=1e-4)


def test_shares_are_of_the_variances_of_the_model(model: MultilevelModel, details: ModelDetails) -> None:
    shares = {row.component: row for row in details.variance_shares}
    assert list(shares) == ["fixed effects", "rater_id", "item_id", "rater_race:item_id", "residual"]
    for group, sd in model.sd.items():
        assert shares[group].variance == pytest.approx(sd**2)
    assert shares["residual"].variance == 1
    total = sum(row.variance for row in shares.values())
    for row in shares.values():
        assert row.share == pytest.approx(row.variance / total)
        if row.ci_low is not None and row.ci_high is not None:
            assert 0 <= row.ci_low <= row.ci_high <= 1
    assert shares["fixed effects"].variance > 0


def test_slopes_are_split_into_their_average_and_the_rest(ratings: Ratings) -> None:
    formula = "Q ~ (1 | rater_id) + (0 + rater_race | item_id)"
    model = fit_model(ratings, formula, details=True, draws=60, link="logit")
    assert model.details is not None
    shares = {row.component: row.variance for row in model.details.variance_shares}
    assert list(shares) == ["rater_id", "rater_race:item_id", "item_id", "residual"]
    covariance = np.array([row.correlations for row in model.deviations[1:]])
    sds = np.array([row.sd for row in model.deviations[1:]])
    covariance *= np.outer(sds, sds)
    # Races have 20 raters each.
    assert shares["item_id"] == pytest.approx(covariance.mean())
    assert shares["rater_race:item_id"] == pytest.approx(np.diag(covariance).mean() - covariance.mean())
    assert shares["residual"] == pytest.approx(np.pi**2 / 3)
    rows = {(row.target, row.group, row.n_raters): row for row in model.details.reliability}
    error = np.pi**2 / 3
    black = rows["group's mean of an item", "Black", 10]
    assert black.reliability == pytest.approx(covariance[1, 1] / (covariance[1, 1] + error / 10))
    assert black.dependability == pytest.approx(
        covariance[1, 1] / (covariance[1, 1] + (error + shares["rater_id"]) / 10)
    )
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    difference = rows["difference of two groups", "Asian − Black", 20]
    assert difference.reliability == pytest.approx(variance / (variance + 2 * error / 20))


def test_reliability_grows_with_raters(ratings: Ratings, details: ModelDetails) -> None:
    means = [row for row in details.reliability if row.target == "mean of items"]
    counts = np.bincount(ratings.codes("Q")[0])
    assert means[0].is_own
    assert means[0].n_raters == pytest.approx(1 / (1 / counts).mean())
    assert [row.n_raters for row in means[1:]] == [1, 2, 5, 10, 20, 50, 100]
    assert [row.reliability for row in means[1:]] == sorted(row.reliability for row in means[1:])
    one, ten = means[1].reliability, means[4].reliability
    assert ten == pytest.approx(10 * one / (1 + 9 * one))  # Spearman–Brown
    for row in details.reliability:
        assert row.ci_low < row.reliability < row.ci_high
        assert row.dependability < row.reliability
    groups = {row.group for row in details.reliability if row.target == "difference of two groups"}
    assert groups == {"Asian − Black", "Asian − White", "Black − White"}


def test_planted_items_divide_the_group_first(details: ModelDetails) -> None:
    black = [row for row in details.divided_items if row.group == "Black"]
    planted = {f"i{i:02}" for i in range(PLANTED)}
    by_interaction = sorted(black, key=lambda row: -row.interaction)
    assert len(planted & {row.item_id for row in by_interaction[:PLANTED]}) >= PLANTED - 1
    assert {row.item_id for row in black[:4]} <= planted
    assert black[0].difference > 0.3
    for row in details.divided_items:
        assert row.axis == "rater_race"
        assert row.ci_low <= row.difference <= row.ci_high
        assert 0 <= row.false_sign_rate <= 0.5
    called = [row for row in details.divided_items if row.interaction_false_sign_rate < 0.025 and row.interaction > 0]
    assert {row.item_id for row in called if row.group == "Black"} <= planted
    rates = [row.false_sign_rate for row in details.divided_items]
    assert rates == sorted(rates)


def test_belief_adds_up(details: ModelDetails) -> None:
    belief = details.belief
    assert belief.stable + belief.interaction + belief.residual == pytest.approx(1)
    assert belief.stable_ci_low < belief.stable < belief.stable_ci_high
    assert (belief.consistency, belief.noise, belief.n_repeats) == (None, None, 0)
    assert any("Consistency is unknown" in note for note in details.notes)


@pytest.mark.slow
def test_repeated_answers_split_belief_and_noise(ratings: Ratings) -> None:
    item, rater, answer = ratings.codes("Q")
    first = pl.DataFrame({"item_id": item, "rater_id": rater, "Q": [("No", "Unsure", "Yes")[k] for k in answer]})
    same = first.sample(300, seed=1)
    mixed = same.with_columns(pl.when(pl.col("rater_id") < 20).then(pl.col("Q").shuffle(seed=2)).otherwise(pl.col("Q")))
    consistencies, warnings = {}, {}
    for name, second in (("same", same), ("mixed", mixed)):
        frame = pl.concat([first.with_columns(repeat=pl.lit(1)), second.with_columns(repeat=pl.lit(2))])
        model = fit_model(Ratings.from_frame(frame), f"Q ~ {RANDOM}", details=True, draws=26)
        assert model.details is not None
        belief = model.details.belief
        assert belief.consistency is not None
        assert belief.noise == pytest.approx(belief.residual * (1 - belief.consistency))
        assert (belief.n_repeats, model.n_ratings) == (300, first.height)
        assert not any("Consistency is unknown" in note for note in model.notes)
        assert any("300 second ratings of repeated items" in note for note in model.notes)
        assert "300 repeated answers" in str(model)
        assert belief.consistency_p is not None
        consistencies[name] = belief.consistency
        warnings[name] = [text for text in model.warnings if text.startswith("Raters differ in how often they repeat")]
    assert consistencies["same"] > 0.9
    assert 0.3 < consistencies["mixed"] < 0.85
    assert not warnings["same"]
    (warning,) = warnings["mixed"]
    least = {int(name) for name in re.findall(r"'(\d+)'", warning)}
    assert least <= set(range(20))
    assert len(least) == 3


def test_ids_are_those_of_the_items_of_the_question(ratings: Ratings) -> None:
    """Two items come before those of the model: with an answer to another question, and by a rater of no race."""
    item, rater, answer = ratings.codes("Q")
    frame = pl.DataFrame({"item_id": item, "rater_id": rater, "Q": [("No", "Yes", "Yes")[k] for k in answer]})
    frame = frame.filter(pl.col("item_id") < 12, pl.col("rater_id") < 30)
    frame = frame.with_columns(rater_race=pl.col("rater_id").mod(3).replace_strict([0, 1, 2], ["a", "b", "c"]))
    first_item = frame[:1].with_columns(item_id=pl.lit(-1, frame["item_id"].dtype))
    other_question = first_item.with_columns(Q=pl.lit(None, pl.String), Q_other=pl.lit("Yes"))
    no_race = first_item.with_columns(rater_id=pl.lit(99, frame["rater_id"].dtype), rater_race=pl.lit(None, pl.String))
    before = [other_question, no_race.with_columns(item_id=pl.col("item_id") - 1)]
    frame = pl.concat([*before, frame], how="diagonal")
    formula = f"Q ~ {RANDOM} + (1 | rater_race:item_id)"
    models = [
        fit_model(Ratings.from_frame(table, questions=questions), formula, details=True, draws=26)
        for table, questions in ((frame, ["Q", "Q_other"]), (frame.slice(len(before)), ["Q"]))
    ]
    first, second = ([row.item_id for row in model.details.divided_items] for model in models if model.details)
    assert first == second != []


def test_predictive_checks_compare_observed_statistics(ratings: Ratings, details: ModelDetails) -> None:
    checks = {row.check: row for row in details.predictive_checks}
    answers = ratings.codes("Q")[2]
    assert checks["share of Yes"].observed == pytest.approx((answers == 2).mean())
    races = np.array(ratings.raters["rater_race"])[ratings.codes("Q")[1]]
    gaps = [(answers[races == race] == 2).mean() for race in ("Asian", "Black", "White")]
    assert checks["range over rater_race of the share of Yes"].observed == pytest.approx(max(gaps) - min(gaps))
    for row in details.predictive_checks:
        assert row.passes == (row.ci_low <= row.observed <= row.ci_high)
        assert 0 <= row.p <= 1
    # The model made these answers.
    assert sum(row.passes for row in details.predictive_checks) >= 0.8 * len(details.predictive_checks)


def test_a_rater_who_answers_at_random_fails_a_check() -> None:
    rng = np.random.default_rng(1)
    rater, item = (index.ravel() for index in np.indices((40, 40)))
    latent = rng.normal(0, 0.8, 40)[item] + rng.normal(size=rater.size)
    answers = np.digitize(latent, [-0.3, 0.3])
    answers = np.where((rater < 20) & (answers == 1), 0, answers)  # Half of them never say Unsure
    frame = pl.DataFrame(
        {
            "item_id": [f"i{i}" for i in item],
            "rater_id": [f"r{r}" for r in rater],
            "Q": [("No", "Unsure", "Yes")[k] for k in answers],
        }
    )
    model = fit_model(Ratings.from_frame(frame), f"Q ~ {RANDOM}", details=True, draws=60)
    assert model.details is not None
    failed = [row.check for row in model.details.predictive_checks if not row.passes]
    assert "raters who never answer Unsure" in failed
    assert any("raters who never answer Unsure" in warning for warning in model.warnings)


def test_json_and_page_have_details(model: MultilevelModel, ratings: Ratings) -> None:
    document = json.loads(model.to_json())
    for name in ("term_tests", "variance_shares", "reliability", "divided_items", "predictive_checks"):
        assert document[name], name
    assert document["divided_texts"]["i07"] == "Response 7."
    assert document["belief"]["consistency"] is None
    page = str(model)
    for words in ("likelihood ratio", "component", "same raters", "divided item", "predictive check"):
        assert words in page
    plain = fit_model(ratings, FORMULA, draws=0).to_dict()
    assert (plain["term_tests"], plain["belief"], plain["predictive_checks"]) == ([], None, [])
    assert plain["alternative"] is None


def test_two_answers_have_no_widths_to_compare_with(ratings: Ratings) -> None:
    item, rater, answer = ratings.codes("Q")
    frame = pl.DataFrame({"item_id": item, "rater_id": rater, "Q": [("No", "Yes")[k // 2] for k in answer]})
    model = fit_model(Ratings.from_frame(frame), f"Q ~ {RANDOM}", details=True, draws=26)
    assert model.details is not None
    assert model.details.alternative is None
    assert "with widths" not in str(model)


def test_details_depend_on_the_seed_alone(ratings: Ratings) -> None:
    formula = f"Q ~ rater_gender + {RANDOM}"
    first, again, other = (fit_model(ratings, formula, details=True, draws=60, seed=seed) for seed in (0, 0, 1))
    assert first.details == again.details
    assert first.details != other.details
    with pytest.raises(InvalidInput, match="details need draws"):
        fit_model(ratings, FORMULA, details=True, draws=0)


def test_axes_without_effects_by_item_are_noted(ratings: Ratings) -> None:
    model = fit_model(ratings, f"Q ~ rater_race + {RANDOM}", details=True, draws=60)
    assert model.details is not None
    assert not model.details.divided_items
    assert {row.target for row in model.details.reliability} == {"mean of items"}
    assert any("(1 | rater_race:item_id)" in note for note in model.notes)
    assert replace(model, details=None).to_dict()["reliability"] == []
