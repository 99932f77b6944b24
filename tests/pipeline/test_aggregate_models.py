"""Dawid–Skene, MACE and GLAD: oracles, recovery of known truth, and degenerate data."""

import sys
import warnings
from importlib.metadata import version
from typing import get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from crowdkit.aggregation import GLAD
from tests.oracles import labels as oracles
from tests.pipeline.tables import ratings_of

from dissensus.errors import InvalidInput, Unavailable, UndefinedEstimate
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import LabelModel, label_model, plurality
from dissensus.pipeline.aggregate.crowd_kit import LabelMatrix, LabelModelFit, fit_label_model
from dissensus.pipeline.aggregate.models import Method
from dissensus.schema.ratings.table import Ratings

SCALE = ["No", "Unsure", "Yes"]
METHODS = get_args(Method)
SOFTWARE = {"dawid-skene": "crowd-kit", "mace": "crowd-kit", "glad": "dissensus"}
Codes = npt.NDArray[np.int64]


def simulate_labels(seed: int, skill: list[float], *, n_items: int = 40) -> tuple[Ratings, Codes]:
    """Simulate answers that are true with the skill of a rater, else random; some are missing. Return the truth too."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, size=n_items, p=[0.5, 0.2, 0.3])
    shape = (n_items, len(skill))
    answers = np.where(rng.random(shape) < skill, truth[:, None], rng.integers(3, size=shape))
    rated = rng.random(shape) < 0.9
    # Neither raters nor answers appear in their own order: the first row of the table is the last answer of the third.
    rated[0, :3], answers[0, 2] = (False, False, True), 2
    item, rater = np.nonzero(rated)
    frame = pl.DataFrame(
        {
            "item_id": [f"item-{i:03}" for i in item],
            "rater_id": [f"rater-{r:03}" for r in rater],
            "Q_overall": [SCALE[k] for k in answers[item, rater]],
        }
    )
    return Ratings.from_frame(frame), truth


def codes(ratings: Ratings) -> tuple[list[oracles.Rating], tuple[int, int, int]]:
    item, rater, answer = ratings.codes("Q_overall")
    rows = list(zip(item.tolist(), rater.tolist(), answer.tolist(), strict=True))
    return rows, (ratings.n_items, ratings.n_raters, 3)


def probabilities(model: LabelModel) -> npt.NDArray[np.float64]:
    return model.labels.select(SCALE).to_numpy()


def count_hits(model: LabelModel, truth: Codes) -> int:
    return int((probabilities(model).argmax(axis=1) == truth).sum())


@pytest.mark.parametrize("iterations", [1, 7])
def test_dawid_skene_equals_the_oracle(iterations: int) -> None:
    ratings, _ = simulate_labels(iterations, [0.9, 0.8, 0.6, 0.5, 0.1, 0.7])
    model = label_model(ratings, "Q_overall", iterations=iterations)
    truth, confusion = oracles.dawid_skene(*codes(ratings), iterations)
    assert probabilities(model) == pytest.approx(np.array(truth), abs=1e-8)
    assert model.raters.select(SCALE).to_numpy() == pytest.approx(np.array(confusion).reshape(-1, 3), abs=1e-8)
    assert model.iterations == iterations


def test_dawid_skene_goes_on_until_it_has_converged() -> None:
    ratings, _ = simulate_labels(3, [0.9, 0.8, 0.6, 0.5, 0.1, 0.7])
    short, long = (label_model(ratings, "Q_overall", iterations=n) for n in (2, 60))
    assert (short.converged, long.converged) == (False, True)
    assert short.log_likelihood is not None
    assert long.log_likelihood is not None
    assert short.log_likelihood < long.log_likelihood
    truth, _ = oracles.dawid_skene(*codes(ratings), 60)
    assert probabilities(long) == pytest.approx(np.array(truth), abs=1e-6)


def test_the_likelihood_of_dawid_skene_is_that_of_its_matrices() -> None:
    ratings, _ = simulate_labels(4, [0.9, 0.8, 0.7, 0.9], n_items=25)
    model = label_model(ratings, "Q_overall", iterations=60)
    matrices = model.raters.select(SCALE).to_numpy().reshape(-1, 3, 3)
    prior, rows = probabilities(model).mean(axis=0), codes(ratings)[0]
    expected = 0.0
    for item in range(ratings.n_items):
        likelihoods = [matrices[r, :, a] for i, r, a in rows if i == item]
        expected += np.log((prior * np.prod(likelihoods, axis=0)).sum())
    assert model.log_likelihood == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
def test_mace_equals_the_oracle_from_any_start(seed: int) -> None:
    """With rows in this order, crowd-kit 1.4 confuses the counts of raters."""
    ratings, _ = simulate_labels(11, [0.95, 0.9, 0.7, 0.3, 0.05, 0.8, 0.6])
    model = label_model(ratings, "Q_overall", method="mace", seed=seed, iterations=80)
    truth, competence = oracles.mace(*codes(ratings), 150)
    assert probabilities(model) == pytest.approx(np.array(truth), abs=1e-4)
    assert model.raters["competence"].to_list() == pytest.approx(competence, abs=1e-4)
    assert model.raters.select(pl.sum_horizontal(SCALE)).to_series().to_list() == pytest.approx([1] * 7)


@pytest.mark.parametrize("method", ["dawid-skene", "mace"])
def test_the_truth_is_recovered_when_most_raters_guess(method: Method) -> None:
    ratings, truth = simulate_labels(5, [0.95, 0.9, 0.85, *[0.05] * 9], n_items=60)
    model = label_model(ratings, "Q_overall", method=method, iterations=6)
    voted = plurality(ratings, "Q_overall")["answers"].to_list()
    by_plurality = sum(labels == [SCALE[k]] for labels, k in zip(voted, truth, strict=True))
    assert count_hits(model, truth) >= max(54, by_plurality + 8)


def test_skills_are_recovered() -> None:
    skill = [0.95, 0.8, 0.6, 0.4, 0.2, 0.9, 0.7]
    ratings, _ = simulate_labels(6, skill, n_items=300)
    matrices = label_model(ratings, "Q_overall", iterations=30).raters
    right = matrices.filter(pl.col("truth") == "No")["No"].to_numpy()
    assert right == pytest.approx([s + (1 - s) / 3 for s in skill], abs=0.12)
    competence = label_model(ratings, "Q_overall", method="mace").raters["competence"].to_numpy()
    assert competence == pytest.approx(skill, abs=0.12)


def test_glad_finds_able_raters_contrary_ones_and_difficult_items() -> None:
    rng = np.random.default_rng(2)
    truth, hard = rng.integers(2, size=45), np.arange(45) >= 30
    right = np.where(hard[:, None], 0.6, [0.99, 0.95, 0.9, 0.9, 0.85, 0.8, 0.1])
    answers = np.where(rng.random(right.shape) < right, truth[:, None], 1 - truth[:, None])
    words = {f"r{r}": "".join("NY"[k] for k in answers[:, r]) for r in range(7)}
    frame = [(f"{i:02}", name, {"N": "No", "Y": "Yes"}[k]) for name, word in words.items() for i, k in enumerate(word)]
    table = pl.DataFrame(frame, schema=["item_id", "rater_id", "Q_overall"], orient="row")
    model = label_model(Ratings.from_frame(table, categories=["No", "Yes"]), "Q_overall", method="glad")
    ability = model.raters["ability"].to_numpy()
    assert ability[6] < 0 < ability[:6].min()
    difficulty = model.labels["difficulty"].to_numpy()
    assert difficulty[hard].mean() > 1.5 * difficulty[~hard].mean()
    assert model.converged
    assert model.log_likelihood is not None
    assert model.log_likelihood < 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_glad_equals_crowd_kit_run_on() -> None:
    """crowd-kit stops here after two steps, as soon as its expected log-likelihood falls."""
    ratings, _ = simulate_labels(7, [0.9, 0.8, 0.6, 0.5, 0.1, 0.7])
    model = label_model(ratings, "Q_overall", method="glad")
    item, rater, answer = ratings.codes("Q_overall")
    frame = pd.DataFrame({"task": item, "worker": rater, "label": answer})
    stopped = GLAD().fit(frame)
    run_on = GLAD(n_iter=12, tol=-np.inf).fit(frame)
    tables = [pd.DataFrame(fit.probas_) for fit in (stopped, run_on)]
    by_default, expected = (table.loc[range(ratings.n_items), range(3)].to_numpy() for table in tables)
    assert model.converged
    assert probabilities(model) == pytest.approx(expected, abs=2e-3)
    assert model.raters["ability"].to_list() == pytest.approx(run_on.alphas_[range(6)].to_list(), abs=2e-3)
    easy = np.exp(run_on.betas_[range(ratings.n_items)])
    assert (1 / model.labels["difficulty"]).to_list() == pytest.approx(easy.to_list(), rel=1e-2)
    assert len(stopped.loss_history_) == 2
    assert np.abs(probabilities(model) - by_default).max() > 0.05
    assert (probabilities(model).argmax(axis=1) != by_default.argmax(axis=1)).sum() == 1


def test_no_step_of_glad_lowers_the_posterior_density() -> None:
    ratings, _ = simulate_labels(7, [0.9, 0.8, 0.6, 0.5, 0.1, 0.7])
    fits = [label_model(ratings, "Q_overall", method="glad", iterations=n) for n in (*range(1, 12), 60)]
    assert [fit.converged for fit in fits] == [False] * 11 + [True]
    density = [
        (fit.log_likelihood or 0)
        - ((fit.raters["ability"].to_numpy() - 1) ** 2).sum() / 2
        - ((-np.log(fit.labels["difficulty"].to_numpy()) - 1) ** 2).sum() / 2
        for fit in fits
    ]
    assert (np.diff(density) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_names_do_not_matter(method: Method) -> None:
    """The order of raters changes the start of MACE and not its result."""
    ratings, _ = simulate_labels(7, [0.9, 0.8, 0.6, 0.7, 0.4], n_items=25)
    item, rater, answer = ratings.codes("Q_overall")
    frame = pl.DataFrame(
        {
            "item_id": [f"{99 - i:02}" for i in item],
            "rater_id": [f"{(r * 3) % 5}" for r in rater],
            "Q_overall": [SCALE[k] for k in answer],
        }
    )
    first = label_model(ratings, "Q_overall", method=method, iterations=40)
    renamed = label_model(Ratings.from_frame(frame), "Q_overall", method=method, iterations=40)
    assert probabilities(renamed)[::-1] == pytest.approx(probabilities(first), abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_repeated_call_gives_the_same_labels(method: Method) -> None:
    ratings, _ = simulate_labels(8, [0.9, 0.5, 0.6], n_items=20)
    first, second = (label_model(ratings, "Q_overall", method=method, seed=3, iterations=3) for _ in range(2))
    assert first.labels.equals(second.labels)
    assert first.raters.equals(second.raters)


@pytest.mark.parametrize("method", METHODS)
def test_shape_of_the_tables(method: Method) -> None:
    """Nobody answers Unsure, and one item has no answer to this question."""
    frame = pl.DataFrame(
        {
            "item_id": ["1", "1", "2", "2", "3"],
            "rater_id": ["a", "b", "a", "b", "a"],
            "Q_overall": ["Yes", "Yes", "No", "No", None],
            "Q_other": ["No", "No", "No", "No", "No"],
        }
    )
    ratings = Ratings.from_frame(frame, questions=["Q_overall", "Q_other"], categories=SCALE)
    model = label_model(ratings, "Q_overall", method=method, iterations=10)
    assert model.labels.columns[:7] == ["item_id", "n_ratings", *SCALE, "answers", "tied"]
    assert model.labels.select("item_id", "n_ratings", "answers").rows() == [("1", 2, ["Yes"]), ("2", 2, ["No"])]
    assert model.labels["Unsure"].to_list() == [0, 0]
    assert probabilities(model).sum(axis=1) == pytest.approx(1)
    assert model.notes == ("1 of 3 items have no answer to Q_overall and get no label.",)
    assert model.raters["n_ratings"].unique().to_list() == [2]
    columns = {"dawid-skene": ["truth", *SCALE], "mace": ["competence", *SCALE], "glad": ["ability"]}
    assert model.raters.columns == ["rater_id", "n_ratings", *columns[method]]
    assert (model.method, model.question) == (method, "Q_overall")
    assert (model.software, model.version) == (software := SOFTWARE[method], version(software))


@pytest.mark.parametrize("method", ["dawid-skene", "glad"])
def test_ties_are_reported(method: Method) -> None:
    model = label_model(ratings_of({"a": "YN", "b": "NY"}, {}), "Q_overall", method=method, iterations=3)
    assert model.labels["answers"].to_list() == [["No", "Yes"]] * 2
    assert model.labels["tied"].to_list() == [True, True]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"a": "NYU"}, "there is one. Use soft labels"),
        ({"a": "YYY", "b": "YYY"}, "All answers are Yes"),
        ({"a": "N..", "b": ".Y."}, "no item has two ratings"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_data_that_tell_nothing_about_raters(answers: dict[str, str], message: str, method: Method) -> None:
    with pytest.raises(UndefinedEstimate, match=message):
        label_model(ratings_of(answers, {}), "Q_overall", method=method)


def test_refusals() -> None:
    ratings = ratings_of({"a": "NYU", "b": "NYU"}, {})
    with pytest.raises(InvalidInput, match="method is 'vote'; choose one of dawid-skene, mace, glad"):
        label_model(ratings, "Q_overall", method="vote")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="seed is -1; give a whole number, 0 or more"):
        label_model(ratings, "Q_overall", method="mace", seed=-1)
    with pytest.raises(InvalidInput, match="iterations is 0; give a whole number, 1 or more"):
        label_model(ratings, "Q_overall", iterations=0)
    counts = read_ratings(pl.DataFrame({"item_id": ["1", "1"], "Q_overall": ["No", "Yes"]}), rater=None)
    with pytest.raises(InvalidInput, match="needs to know who gave which answer"):
        label_model(counts, "Q_overall")


def test_too_many_ratings_of_an_item_for_mace() -> None:
    ratings = ratings_of({f"{r:04}": "NY"[r % 2] + "NNY"[r % 3] for r in range(1800)}, {})
    with pytest.raises(UndefinedEstimate, match=r"of 1,800 the product underflows.* Use dawid-skene"):
        label_model(ratings, "Q_overall", method="mace", iterations=1)
    assert label_model(ratings, "Q_overall", iterations=2).labels.height == 2


def test_without_crowd_kit_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crowdkit.aggregation", None)
    with pytest.raises(Unavailable, match=r"pip install 'dissensus\[crowd\]'"):
        label_model(ratings_of({"a": "NYU", "b": "NYY"}, {}), "Q_overall")
    assert label_model(ratings_of({"a": "NYU", "b": "NYY"}, {}), "Q_overall", method="glad").converged


def test_warnings_about_the_numbers_become_notes() -> None:
    def fit(answers: LabelMatrix, iterations: int, seed: int) -> LabelModelFit:
        warnings.warn("no convergence", RuntimeWarning, stacklevel=2)
        warnings.warn("this keyword goes away", DeprecationWarning, stacklevel=2)
        return LabelModelFit(probability=np.array([[0.2, 0.8]]), iterations=iterations)

    _, notes = fit_label_model(fit, LabelMatrix(np.array([0, 0]), np.array([0, 1]), np.array([0, 1])), 1, 0)
    assert notes == ("crowd-kit: no convergence.",)


def count_labels(labels: pl.DataFrame) -> dict[str, int]:
    return dict(labels["answers"].list.join("|").value_counts().iter_rows())


def count_differing(model: LabelModel, ratings: Ratings) -> int:
    return int((model.labels["answers"] != plurality(ratings, "Q_overall")["answers"]).sum())


@pytest.mark.slow
def test_dices_350_by_models(dices_104: Ratings) -> None:
    """Figures of docs/methods/label-models.md: Dawid–Skene labels contested items as Unsure."""
    confused, competent = (label_model(dices_104, "Q_overall", method=method) for method in ("dawid-skene", "mace"))
    assert count_labels(confused.labels) == {"No": 159, "Unsure": 122, "Yes": 69}
    assert count_labels(competent.labels) == {"No": 241, "Yes": 109}
    assert count_labels(plurality(dices_104, "Q_overall")) == {"No": 262, "No|Yes": 4, "Yes": 84}
    assert (count_differing(confused, dices_104), count_differing(competent, dices_104)) == (122, 25)
    assert confused.converged
    in_unsure = confused.raters.filter(pl.col("truth") == "Unsure").select(SCALE)
    assert [round(x, 2) for x in in_unsure.mean().row(0)] == [0.56, 0.08, 0.36]
    assert np.median(probabilities(confused).max(axis=1)) > 0.99999
    competence = (
        competent.raters.join(dices_104.raters, on="rater_id").group_by("rater_race").agg(pl.mean("competence"))
    )
    ranked = competence.sort("competence").select("rater_race", pl.col("competence").round(3)).rows()
    assert (ranked[0], ranked[-1][0][:6], ranked[-1][1]) == (("White", 0.345), "LatinX", 0.44)


@pytest.mark.slow
def test_dices_350_by_glad(dices_104: Ratings) -> None:
    able = label_model(dices_104, "Q_overall", method="glad")
    assert count_labels(able.labels) == {"No": 273, "Yes": 77}
    assert count_differing(able, dices_104) == 11
