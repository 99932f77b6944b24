"""The model of groups and raters: known differences found again, none where there is none, and what must hold."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.preferences import group_effects
from tests.preference.people import People, auroc, examples_of, people

from dissensus.errors import InvalidInput, NotFound
from dissensus.preference.data.examples import RATER
from dissensus.preference.data.pairs import Pair, answers
from dissensus.preference.data.sparse import FeatureRows
from dissensus.preference.evaluation.diagnostics import compute_diagnostics
from dissensus.preference.fit.groups import GroupFeatures, fit_groups
from dissensus.preference.fit.logistic import PairChoices
from dissensus.preference.fit.subspace import principal_directions
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.groups import Groups
from dissensus.schema.records.conversation import Conversation

PLAN = TrainingPlan(kind="groups")


def trained(votes: tuple[Pair, ...]) -> Groups:
    found = train(votes, purpose="helpful", plan=PLAN)
    assert isinstance(found, Groups)
    return found


@pytest.fixture(scope="module")
def split() -> People:
    return people(1.5, seed=3)


@pytest.fixture(scope="module")
def model(split: People) -> Groups:
    return trained(split.votes)


def women_less_men(model: Groups, pairs: tuple[Pair, ...]) -> np.ndarray:
    scores = model.spread(answers(pairs), "rater_gender").scores
    apart = scores[:, 1] - scores[:, 0]  # Woman less Man
    return np.asarray(apart[0::2] - apart[1::2])


def test_known_differences_are_found_again(split: People, model: Groups) -> None:
    assert np.corrcoef(women_less_men(model, split.fresh), split.women - split.men)[0, 1] > 0.85
    assert list(model.effects) == ["rater_gender"]
    assert set(model.axes) == {"rater_gender", "rater_age"}


def test_pairs_on_which_groups_prefer_different_answers_are_found(split: People, model: Groups) -> None:
    assert auroc(model.disagreement(split.fresh, "rater_gender"), split.opposed) > 0.85
    closest = -np.abs(model.population.margins(split.fresh))
    assert auroc(model.disagreement(split.fresh, "rater_gender"), split.opposed) > auroc(closest, split.opposed)


def test_to_know_the_group_is_to_know_more(model: Groups, split: People) -> None:
    held = model.card["held_out"]["by_group"]
    assert [(one["axis"], one["group"]) for one in held[:1]] == [("", "")]
    assert held[0]["difference"]["ci_low"] > 0
    groups = [one.group for one in compute_diagnostics(model, split.votes).by_group if one.axis == "rater_gender"]
    assert groups == ["Man", "Woman"]


def test_raters_differ_where_they_do() -> None:
    drawn = people(0.0, seed=2, rater_sd=1.5, known=300)
    found = trained(drawn.votes)
    assert list(found.effects) == [RATER]
    known = found.margins(drawn.votes)
    strangers = [replace(pair, rater=f"{pair.rater}, a stranger") for pair in drawn.votes]
    assert found.margins(strangers).tolist() == pytest.approx(found.population.margins(strangers).tolist())
    assert np.mean(known > 0) > np.mean(found.population.margins(drawn.votes) > 0)


def test_where_nobody_differs_there_are_no_effects() -> None:
    """Each axis has effects by mistake about once in twenty times; of 15 more than 3 are once in twenty times too."""
    found = [trained(people(0.0, seed=seed, known=60).votes) for seed in range(5)]
    assert sum(len(model.effects) for model in found) <= 3
    one = next(model for model in found if not model.effects)
    pairs = people(0.0, seed=50).fresh
    assert one.spread(answers(pairs), "rater_gender").sd.max() == 0


def test_it_finds_what_a_general_optimiser_finds() -> None:
    rng = np.random.default_rng(7)
    matrix = (rng.normal(size=(90, 3)) + 0.3).astype(np.float32).astype(np.float64)
    weight = rng.uniform(0.5, 2, 90)
    groups = rng.choice(np.array(["a", "b", None], dtype=object), 90).tolist()
    matrix[[group == "b" for group in groups], 0] *= -1
    examples = examples_of(matrix, PairChoices.of_first(weight), {"axis": groups})
    pairs = GroupFeatures(examples, FeatureRows.dense(matrix), np.empty((3, 0), np.float32))
    found = fit_groups(pairs, 1.0, {"axis": 0.5})
    every, added = group_effects(matrix, groups, weight, 1.0, 0.5)
    assert np.allclose(found.weights, every, atol=3e-3)
    assert found.effects["axis"].names == ("a", "b")
    assert np.allclose(found.effects["axis"].values, [added["a"], added["b"]], atol=3e-3)
    odds = matrix @ every + [float(row @ added[g]) if g else 0.0 for row, g in zip(matrix, groups, strict=True)]
    assert np.allclose(found.odds(examples, pairs.rows), odds, atol=2e-2)


def test_effects_of_raters_lie_along_the_directions_of_most_variance() -> None:
    matrix = np.random.default_rng(8).normal(size=(60, 8)) * np.array([9, 7, 5, 0.1, 0.1, 0.1, 0.1, 0.1])
    found = principal_directions(FeatureRows.dense(matrix), 3).astype(np.float64)
    expected = np.linalg.svd(matrix)[2][:3].T
    assert np.allclose(np.abs(found.T @ expected), np.eye(3), atol=1e-3)
    turned = principal_directions(FeatureRows.dense(matrix[::-1] * np.where(np.arange(60) % 2, 1, -1)[:, None]), 3)
    assert np.allclose(np.abs(turned.T @ found), np.eye(3), atol=1e-3)


def test_effects_of_raters_are_groups_along_the_directions() -> None:
    """With as many directions as features they are effects on all features, but for how the latter are written."""
    rng = np.random.default_rng(9)
    matrix = rng.normal(size=(80, 3)) + 0.2
    who = rng.choice(["ann", "bo", "cy"], 80).tolist()
    examples = examples_of(matrix, PairChoices.of_first(np.ones(80)), {RATER: who, "axis": who})
    pairs = GroupFeatures(examples, FeatureRows.dense(matrix), principal_directions(FeatureRows.dense(matrix), 3))
    one, other = (fit_groups(pairs, 1.0, {axis: 2.0}) for axis in (RATER, "axis"))
    assert np.allclose(one.weights, other.weights, atol=3e-3)
    assert one.effects[RATER].directions is not None
    assert np.allclose(one.odds(examples, pairs.rows), other.odds(examples, pairs.rows), atol=1e-2)


def test_a_vote_twice_is_a_vote_of_weight_two() -> None:
    rng = np.random.default_rng(10)
    matrix, who = rng.normal(size=(40, 3)) + 0.3, rng.choice(["a", "b"], 40).tolist()
    one = examples_of(np.vstack([matrix] * 2), PairChoices.of_first(np.ones(80)), {"axis": who * 2})
    other = examples_of(matrix, PairChoices.of_first(np.full(40, 2.0)), {"axis": who})
    none = np.empty((3, 0), np.float32)
    twice = fit_groups(GroupFeatures(one, FeatureRows.dense(np.vstack([matrix] * 2)), none), 1.0, {"axis": 1.0})
    heavy = fit_groups(GroupFeatures(other, FeatureRows.dense(matrix), none), 1.0, {"axis": 1.0})
    assert np.allclose(twice.weights, heavy.weights, atol=2e-3)
    assert np.allclose(twice.effects["axis"].values, heavy.effects["axis"].values, atol=2e-3)


def test_raters_who_are_there_twice_change_nothing_of_groups(split: People, model: Groups) -> None:
    """Each of them and a double, with half the weight each."""
    doubles = [replace(pair, weight=0.5) for pair in split.votes]
    doubles += [replace(pair, rater=f"{pair.rater} again") for pair in doubles]
    found = trained(tuple(doubles))
    one, other = (women_less_men(some, split.fresh) for some in (model, found))
    assert np.allclose(one, other, atol=0.05 * np.abs(one).max())


def test_the_order_of_votes_makes_no_difference(split: People, model: Groups) -> None:
    other = trained(split.votes[::-1])
    assert other.card == model.card
    assert other.margins(split.fresh).tolist() == model.margins(split.fresh).tolist()


def test_all_are_the_mean_of_groups_by_how_much_they_said(split: People, model: Groups) -> None:
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
    # an axis that nobody differs by has groups, which think the same
    assert model.score([talk], as_group="rater_age=50+") == model.score([talk])


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ("rater_gender=woman", "no group 'woman' of rater_gender in training. Did you mean 'Woman'"),
        ("rater_gendre=Woman", "no axis 'rater_gendre' in training. Did you mean 'rater_gender'"),
        ("Woman", "'Woman' is no group. Write axis=group, such as rater_age=18-29"),
    ],
)
def test_there_is_no_such_group(model: Groups, group: str, says: str) -> None:
    with pytest.raises(NotFound, match=says.replace(".", r"\.").replace("+", r"\+")):
        model.score([], as_group=group)


def test_nothing_is_known_of_who_chose(split: People) -> None:
    plain = tuple(replace(pair, rater=None, groups=()) for pair in split.votes)
    with pytest.raises(InvalidInput, match="Nothing is known of who chose"):
        trained(plain)


def test_ages_in_years_are_no_groups(split: People) -> None:
    votes = tuple(replace(pair, groups=(("rater_born", f"{place}"),)) for place, pair in enumerate(split.votes))
    with pytest.raises(InvalidInput, match=r"rater_born has \d+ groups; there are at most 100"):
        trained(votes)


def test_who_is_in_no_group_is_one_of_all(split: People, model: Groups) -> None:
    nobody = [replace(pair, rater=None, groups=()) for pair in split.votes[:20]]
    assert model.margins(nobody).tolist() == pytest.approx(model.population.margins(nobody).tolist())
    half = tuple(replace(pair, groups=()) if place % 2 else pair for place, pair in enumerate(split.votes))
    assert np.isfinite(trained(half).margins(split.fresh)).all()
