"""Adapter to crowd-kit's Dawid–Skene and MACE."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from dissensus.errors import Unavailable, UndefinedEstimate
from dissensus.stats.result import FloatArray, IntArray

# Largest change of a probability in another step of a converged algorithm.
CONVERGED = 1e-4


class LabelMatrix(NamedTuple):
    """Item, rater and answer of each rating, sorted by item: codes from 0 without gaps."""

    item: IntArray
    rater: IntArray
    answer: IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelModelFit:
    """A fitted model."""

    probability: FloatArray  # Probability of each answer to be the true one, shape (I, K)
    # Parameters of raters and of items, by name
    rater_parameters: dict[str, FloatArray] = field(default_factory=dict)
    item_parameters: dict[str, FloatArray] = field(default_factory=dict)
    # Probability of each answer of a rater, shape (R, K), or given the true answer, shape (R, K, K)
    answer_probability: FloatArray | None = None
    iterations: int
    # None if the model does not provide it
    converged: bool | None = None
    log_likelihood: float | None = None


def fit_label_model(
    fit: Callable[..., LabelModelFit], answers: LabelMatrix, iterations: int, seed: int
) -> tuple[LabelModelFit, tuple[str, ...]]:
    """Fit a model, and return it with the warnings of crowd-kit.

    crowd-kit 1.4 indexes the counts of MACE by code and everything else by first appearance, so codes are renumbered
    by appearance for the fit.
    """
    rater, answer = _order_by_appearance(answers.rater), _order_by_appearance(answers.answer)
    coded = LabelMatrix(answers.item, rater[answers.rater], answer[answers.answer])
    with _collect_warnings() as messages:
        model = fit(coded, iterations, seed)
    table = model.answer_probability
    if table is not None:
        table = table[rater][..., answer] if table.ndim == 2 else table[rater][:, answer][..., answer]
    model = replace(
        model,
        probability=model.probability[:, answer],
        rater_parameters={name: values[rater] for name, values in model.rater_parameters.items()},
        answer_probability=table,
    )
    return model, tuple(messages)


def fit_dawid_skene(answers: LabelMatrix, iterations: int, _seed: int) -> LabelModelFit:
    """Fit a confusion matrix for each rater; deterministic, starting from the shares of the answers."""
    # The stopping criterion of crowd-kit 1.4 counts the prior once per rating instead of once per item, so it may stop
    # after two steps. Without a tolerance it makes all steps, and convergence is checked here.
    model = _crowdkit().DawidSkene(n_iter=iterations, tol=-np.inf).fit(_frame(answers))
    n_items, n_raters, n_answers = (int(codes.max()) + 1 for codes in answers)
    confusion = np.zeros((n_raters, n_answers, n_answers))
    rows = model.errors_.index.to_frame()
    confusion[rows["worker"], :, rows["label"]] = model.errors_[range(n_answers)].to_numpy()
    probability = _probability(model, n_items, n_answers)
    with np.errstate(divide="ignore"):
        prior, rating = np.log(model.priors_[range(n_answers)].to_numpy()), np.log(confusion)
    next_probability, log_likelihood = expect_truth(answers.item, prior, rating[answers.rater, :, answers.answer])
    return LabelModelFit(
        probability=probability,
        answer_probability=confusion,
        iterations=iterations,
        converged=bool(np.abs(next_probability - probability).max() < CONVERGED),
        log_likelihood=log_likelihood,
    )


def fit_mace(answers: LabelMatrix, iterations: int, seed: int) -> LabelModelFit:
    """Fit a competence and a habit for each rater, by variational Bayes from one random start."""
    # All restarts of crowd-kit draw the same start.
    start = int(np.random.SeedSequence(seed).generate_state(1)[0])
    model = _crowdkit().MACE(n_restarts=1, n_iter=iterations, random_state=start)
    too_small = UndefinedEstimate(
        f"MACE multiplies a probability for each rating of an item, and of {np.bincount(answers.item).max():,} the "
        "product underflows. Use dawid-skene, which adds logarithms."
    )
    try:
        model.fit(_frame(answers))
    except ValueError:  # the maximum of probabilities that are NaN
        raise too_small from None
    n_items, _, n_answers = (int(codes.max()) + 1 for codes in answers)
    probability = _probability(model, n_items, n_answers)
    if np.isnan(probability).any():
        raise too_small
    # Rows of variational Bayes sum to less than 1.
    knowing, habit = (table / table.sum(axis=1, keepdims=True) for table in (model.spamming_, model.thetas_))
    return LabelModelFit(
        probability=probability,
        rater_parameters={"competence": knowing[:, 1]},
        answer_probability=habit,
        iterations=iterations,
    )


def expect_truth(item: IntArray, prior: FloatArray, rating: FloatArray) -> tuple[FloatArray, float]:
    """Return the probability of each true answer, and the log-likelihood.

    `rating` is the log-probability of each rating given each true answer, shape (N, K); `prior` that of each answer.
    """
    joint = prior + np.stack([np.bincount(item, of_answer) for of_answer in rating.T], axis=1)
    likelihood = np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return np.exp(joint - likelihood), float(likelihood.sum())


def _probability(model: Any, n_items: int, n_answers: int) -> FloatArray:
    probability = np.asarray(model.probas_.loc[range(n_items), range(n_answers)], dtype=np.float64)
    return np.asarray(probability / probability.sum(axis=1, keepdims=True))


def _order_by_appearance(codes: IntArray) -> IntArray:
    """Return the rank of each code by first appearance."""
    return np.asarray(np.unique(codes, return_index=True)[1].argsort().argsort())


def _frame(answers: LabelMatrix) -> Any:
    import pandas as pd

    return pd.DataFrame({"task": answers.item, "worker": answers.rater, "label": answers.answer})


def _crowdkit() -> Any:
    try:
        return import_module("crowdkit.aggregation")
    except ImportError as error:
        raise Unavailable(
            f"Dawid–Skene and MACE come from crowd-kit, which cannot be imported ({error}). Install it with: "
            "pip install 'dissensus[crowd]'"
        ) from None


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """Collect numerical warnings of crowd-kit, and suppress the others, such as deprecations."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    numerical = (warning for warning in caught if issubclass(warning.category, (RuntimeWarning, UserWarning)))
    messages += dict.fromkeys(f"crowd-kit: {warning.message}." for warning in numerical)
