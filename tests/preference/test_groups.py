"""Groups model: recovery of known differences, absence of effects, and invariances."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.preferences import group_effects
from tests.preference.people import People, auroc, examples_of, people
from tests.support.model_sizes import draw_minority

from dissensus.errors import InvalidInput, NotFound
from dissensus.preference.data.examples import RATER, Examples
from dissensus.preference.data.pairs import Pair, answers
from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.evaluation.diagnostics import compute_diagnostics
from dissensus.preference.fit.groups import GroupFeatures, choose_groups, fit_groups, principal_directions
from dissensus.preference.fit.training import TrainingPlan, cross_validate, train
from dissensus.preference.models.groups import Groups
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.sparse import SparseRows

PLAN = TrainingPlan(kind="groups")


def train_groups(votes: tuple[Pair, ...]) -> Groups:
    model = train(votes, purpose="helpful", plan=PLAN)
    assert isinstance(model, Groups)
    return model


@pytest.fixture(scope="module")
def split() -> People:
    return people(1.5, seed=3)


@pytest.fixture(scope="module")
def model(split: People) -> Groups:
    return train_groups(split.votes)


def women_less_men(model: Groups, pairs: tuple[Pair, ...]) -> np.ndarray:
    scores = model.spread(answers(pairs), "rater_gender").scores
    difference = scores[:, 1] - scores[:, 0]  # Woman less Man
    return np.asarray(difference[0::2] - difference[1::2])


@pytest.mark.slow
def test_known_differences_are_recovered(split: People, model: Groups) -> None:
    assert np.corrcoef(women_less_men(model, split.fresh), split.women - split.men)[0, 1] > 0.85
    assert list(model.effects) == ["rater_gender"]
    assert set(model.axes) == {"rater_gender", "rater_age"}


def test_pairs_on_which_groups_prefer_different_answers_are_found(split: People, model: Groups) -> None:
    assert auroc(model.disagreement(split.fresh, "rater_gender"), split.opposed) > 0.85
    closest = -np.abs(model.population.margins(split.fresh))
    assert auroc(model.disagreement(split.fresh, "rater_gender"), split.opposed) > auroc(closest, split.opposed)


def test_group_effects_improve_accuracy(model: Groups, split: People) -> None:
    by_group = model.card["held_out"]["by_group"]
    assert (by_group[0]["axis"], by_group[0]["group"]) == ("", "")
    assert by_group[0]["difference"]["ci_low"] > 0
    groups = [one.group for one in compute_diagnostics(model, split.votes).by_group if one.axis == "rater_gender"]
    assert groups == ["Man", "Woman"]


@pytest.mark.slow
def test_rater_effects_are_recovered() -> None:
    split = people(0.0, seed=2, rater_sd=1.5, n_training=300)
    model = train_groups(split.votes)
    assert list(model.effects) == [RATER]
    margins = model.margins(split.votes)
    strangers = [replace(pair, rater=f"{pair.rater}, a stranger") for pair in split.votes]
    assert model.margins(strangers).tolist() == pytest.approx(model.population.margins(strangers).tolist())
    assert np.mean(margins > 0) > np.mean(model.population.margins(split.votes) > 0)


@pytest.mark.slow
def test_without_differences_there_are_no_effects() -> None:
    """An axis has effects by mistake about once in twenty times; more than 3 of 15 have a probability of about 5 %."""
    models = [train_groups(people(0.0, seed=seed, n_training=60).votes) for seed in range(5)]
    assert sum(len(model.effects) for model in models) <= 3
    without_effects = next(model for model in models if not model.effects)
    pairs = people(0.0, seed=50).fresh
    assert without_effects.spread(answers(pairs), "rater_gender").sd.max() == 0


def test_the_fit_equals_that_of_a_general_optimiser() -> None:
    rng = np.random.default_rng(7)
    matrix = (rng.normal(size=(90, 3)) + 0.3).astype(np.float32).astype(np.float64)
    weight = rng.uniform(0.5, 2, 90)
    groups = rng.choice(np.array(["a", "b", None], dtype=object), 90).tolist()
    matrix[[group == "b" for group in groups], 0] *= -1
    examples = examples_of(matrix, PairChoices.unanimous(weight), {"axis": groups})
    pairs = GroupFeatures(examples, SparseRows.dense(matrix), np.empty((3, 0), np.float32))
    fit = fit_groups(pairs, 1.0, {"axis": 0.5})
    shared_weights, group_weights = group_effects(matrix, groups, weight, 1.0, 0.5)
    assert np.allclose(fit.weights, shared_weights, atol=3e-3)
    assert fit.effects["axis"].names == ("a", "b")
    assert np.allclose(fit.effects["axis"].values, [group_weights["a"], group_weights["b"]], atol=3e-3)
    odds = matrix @ shared_weights + [
        float(row @ group_weights[g]) if g else 0.0 for row, g in zip(matrix, groups, strict=True)
    ]
    assert np.allclose(fit.log_odds(examples, pairs.rows), odds, atol=2e-2)


def test_effects_of_raters_lie_along_the_directions_of_most_variance() -> None:
    matrix = np.random.default_rng(8).normal(size=(60, 8)) * np.array([9, 7, 5, 0.1, 0.1, 0.1, 0.1, 0.1])
    directions = principal_directions(SparseRows.dense(matrix), 3).astype(np.float64)
    expected = np.linalg.svd(matrix)[2][:3].T
    assert np.allclose(np.abs(directions.T @ expected), np.eye(3), atol=1e-3)
    turned = principal_directions(SparseRows.dense(matrix[::-1] * np.where(np.arange(60) % 2, 1, -1)[:, None]), 3)
    assert np.allclose(np.abs(turned.T @ directions), np.eye(3), atol=1e-3)


def test_effects_of_raters_are_groups_along_the_directions() -> None:
    """With as many directions as features, effects are the same in another basis."""
    rng = np.random.default_rng(9)
    matrix = rng.normal(size=(80, 3)) + 0.2
    labels = rng.choice(["ann", "bo", "cy"], 80).tolist()
    examples = examples_of(matrix, PairChoices.unanimous(np.ones(80)), {RATER: labels, "axis": labels})
    pairs = GroupFeatures(examples, SparseRows.dense(matrix), principal_directions(SparseRows.dense(matrix), 3))
    by_rater, by_axis = (fit_groups(pairs, 1.0, {axis: 2.0}) for axis in (RATER, "axis"))
    assert np.allclose(by_rater.weights, by_axis.weights, atol=3e-3)
    assert by_rater.effects[RATER].directions is not None
    assert np.allclose(by_rater.log_odds(examples, pairs.rows), by_axis.log_odds(examples, pairs.rows), atol=1e-2)


def test_a_vote_twice_is_a_vote_of_weight_two() -> None:
    rng = np.random.default_rng(10)
    matrix, labels = rng.normal(size=(40, 3)) + 0.3, rng.choice(["a", "b"], 40).tolist()
    doubled = examples_of(np.vstack([matrix] * 2), PairChoices.unanimous(np.ones(80)), {"axis": labels * 2})
    weighted = examples_of(matrix, PairChoices.unanimous(np.full(40, 2.0)), {"axis": labels})
    no_directions = np.empty((3, 0), np.float32)
    twice = fit_groups(
        GroupFeatures(doubled, SparseRows.dense(np.vstack([matrix] * 2)), no_directions), 1.0, {"axis": 1.0}
    )
    heavy = fit_groups(GroupFeatures(weighted, SparseRows.dense(matrix), no_directions), 1.0, {"axis": 1.0})
    assert np.allclose(twice.weights, heavy.weights, atol=2e-3)
    assert np.allclose(twice.effects["axis"].values, heavy.effects["axis"].values, atol=2e-3)


@pytest.mark.slow
def test_copies_of_raters_do_not_change_group_effects(split: People, model: Groups) -> None:
    """Each rater and a copy, with half the weight each."""
    doubles = [replace(pair, weight=0.5) for pair in split.votes]
    doubles += [replace(pair, rater=f"{pair.rater} again") for pair in doubles]
    doubled = train_groups(tuple(doubles))
    original, repeated = (women_less_men(some, split.fresh) for some in (model, doubled))
    assert np.allclose(original, repeated, atol=0.05 * np.abs(original).max())


@pytest.mark.slow
def test_the_order_of_votes_makes_no_difference(split: People, model: Groups) -> None:
    reversed_model = train_groups(split.votes[::-1])
    assert reversed_model.card == model.card
    assert reversed_model.margins(split.fresh).tolist() == model.margins(split.fresh).tolist()


def test_the_population_is_the_mean_of_groups_by_votes(split: People, model: Groups) -> None:
    texts = answers(split.fresh[:20])
    shares = [np.mean([pair.cells["rater_gender"] == name for pair in split.votes]) for name in ("Man", "Woman")]
    mean = model.spread(texts, "rater_gender").scores @ shares
    assert np.allclose(mean, model.population.score_answers(texts), atol=1e-4)


def test_scores_as_a_group(model: Groups) -> None:
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "Let us speak of tea."), ("bot", "Of maps.")])
    scores = {name: model.score([talk], as_group=f"rater_gender={name}")[0] for name in ("Man", "Woman")}
    spread = model.spread(["Let us speak of tea.", "Of maps."], "rater_gender")
    assert spread.groups == ("Man", "Woman")
    assert np.allclose(spread.scores.T, [scores["Man"], scores["Woman"]])
    assert np.allclose(spread.sd, np.std([scores["Man"], scores["Woman"]], axis=0))
    assert spread.least.tolist() == np.minimum(scores["Man"], scores["Woman"]).tolist()
    assert spread.greatest.tolist() == np.maximum(scores["Man"], scores["Woman"]).tolist()
    # Groups of an axis without effects have equal scores
    assert model.score([talk], as_group="rater_age=50+") == model.score([talk])


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("rater_gender=woman", "no group 'woman' of rater_gender in training. Did you mean 'Woman'"),
        ("rater_gendre=Woman", "no axis 'rater_gendre' in training. Did you mean 'rater_gender'"),
        ("Woman", "'Woman' is not a group. Write axis=group, such as rater_age=18-29"),
    ],
)
def test_unknown_groups_of_scores_are_refused(model: Groups, group: str, message: str) -> None:
    with pytest.raises(NotFound, match=message.replace(".", r"\.").replace("+", r"\+")):
        model.score([], as_group=group)


def test_pairs_without_raters_are_refused(split: People) -> None:
    plain = tuple(replace(pair, rater=None, groups=()) for pair in split.votes)
    with pytest.raises(InvalidInput, match="Raters and groups of the pairs are unknown"):
        train_groups(plain)


def test_too_many_groups_are_refused(split: People) -> None:
    votes = tuple(replace(pair, groups=(("rater_born", f"{number}"),)) for number, pair in enumerate(split.votes))
    with pytest.raises(InvalidInput, match=r"rater_born has \d+ groups; there are at most 100"):
        train_groups(votes)


def test_unknown_groups_have_no_effects(split: People, model: Groups) -> None:
    nobody = [replace(pair, rater=None, groups=()) for pair in split.votes[:20]]
    assert model.margins(nobody).tolist() == pytest.approx(model.population.margins(nobody).tolist())
    half = tuple(replace(pair, groups=()) if number % 2 else pair for number, pair in enumerate(split.votes))
    assert np.isfinite(train_groups(half).margins(split.fresh)).all()


def test_a_minority_of_a_tenth_has_effects() -> None:
    """Four of forty raters; over all raters the gain is not significant."""
    chosen = choose_groups(Examples.from_pairs(draw_minority(3)), features=(("words",),), seed=0)
    assert "rater_view" in chosen.penalties


def test_the_order_of_pairs_of_unknown_raters_makes_no_difference_to_margins_held_out() -> None:
    votes = people(0.5, seed=3).votes[:160]
    pairs = [replace(pair, rater=None) if number % 2 else pair for number, pair in enumerate(votes)]
    plan = TrainingPlan(kind="groups", features=(("words",),))
    order = np.random.default_rng(0).permutation(len(pairs))
    given, shuffled = (
        cross_validate([pairs[row] for row in rows], n_folds=2, plan=plan) for rows in (range(len(pairs)), order)
    )
    assert shuffled.settings == given.settings
    assert shuffled.margins.tolist() == given.margins[order].tolist()
    assert shuffled.length.tolist() == given.length[order].tolist()
