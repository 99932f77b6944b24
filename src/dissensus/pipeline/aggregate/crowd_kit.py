"""Dawid–Skene, MACE and GLAD as crowd-kit fits them: codes in, arrays out."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import Unavailable, UndefinedEstimate

Codes = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
# Another step of the algorithm moves no probability by more than this once it has converged.
CONVERGED = 1e-4


class LabelMatrix(NamedTuple):
    """Item, rater and answer of each rating: codes from 0 without gaps, in the order of the items."""

    item: Codes
    rater: Codes
    answer: Codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelModelFit:
    """A fitted model."""

    probability: Floats  # Of each answer to be the true one, shape (I, K)
    # Numbers that the model has for each rater and for each item, by name
    of_raters: dict[str, Floats] = field(default_factory=dict)
    of_items: dict[str, Floats] = field(default_factory=dict)
    # Probability of each answer of a rater: whatever is true, shape (R, K), or given the true answer, (R, K, K)
    given: Floats | None = None
    # Steps made; whether more would change nothing, and the log-likelihood; None where they cannot be known
    iterations: int
    converged: bool | None = None
    log_likelihood: float | None = None


def fit_label_model(
    fit: Callable[..., LabelModelFit], answers: LabelMatrix, iterations: int, seed: int
) -> tuple[LabelModelFit, tuple[str, ...]]:
    """Fit a model to codes in the order of their first appearance, and return it in our order, with warnings.

    crowd-kit 1.4 reads MACE's counts in the order of the codes and all else in the order of appearance: only where the
    two are one, every rater keeps his or her own numbers.
    """
    rater, answer = _order_by_appearance(answers.rater), _order_by_appearance(answers.answer)
    coded = LabelMatrix(answers.item, rater[answers.rater], answer[answers.answer])
    with _collect_warnings() as said:
        found = fit(coded, iterations, seed)
    given = found.given
    if given is not None:
        given = given[rater][..., answer] if given.ndim == 2 else given[rater][:, answer][..., answer]
    of_raters = {name: values[rater] for name, values in found.of_raters.items()}
    return replace(found, probability=found.probability[:, answer], of_raters=of_raters, given=given), tuple(said)


def fit_dawid_skene(answers: LabelMatrix, iterations: int, _seed: int) -> LabelModelFit:
    """Fit one confusion matrix a rater; the algorithm starts from the shares of the answers, and draws nothing."""
    # The loss that crowd-kit 1.4 stops by counts the prior once a rating, not once an item, and may fall: it would stop
    # after two steps. Without a tolerance all steps are made, and convergence is judged here.
    model = _crowdkit().DawidSkene(n_iter=iterations, tol=-np.inf).fit(_frame(answers))
    n_items, n_raters, n_answers = (int(codes.max()) + 1 for codes in answers)
    given = np.zeros((n_raters, n_answers, n_answers))
    rows = model.errors_.index.to_frame()
    given[rows["worker"], :, rows["label"]] = model.errors_[range(n_answers)].to_numpy()
    probability = _probability(model, n_items, n_answers)
    with np.errstate(divide="ignore"):
        prior, rating = np.log(model.priors_[range(n_answers)].to_numpy()), np.log(given)
    following, log_likelihood = _expectation(answers.item, prior, rating[answers.rater, :, answers.answer])
    return LabelModelFit(
        probability=probability,
        given=given,
        iterations=iterations,
        converged=bool(np.abs(following - probability).max() < CONVERGED),
        log_likelihood=log_likelihood,
    )


def fit_mace(answers: LabelMatrix, iterations: int, seed: int) -> LabelModelFit:
    """Fit one competence a rater, and what he or she answers without it, by variational Bayes from one random start."""
    # Its restarts all draw the same start.
    start = int(np.random.SeedSequence(seed).generate_state(1)[0])
    model = _crowdkit().MACE(n_restarts=1, n_iter=iterations, random_state=start)
    too_small = UndefinedEstimate(
        f"MACE multiplies a probability for each rating of an item, and of {np.bincount(answers.item).max():,} the "
        "product is too small for a number of the machine. Use dawid-skene, which adds logarithms."
    )
    try:
        model.fit(_frame(answers))
    except ValueError:  # from looking for the largest of probabilities that are none
        raise too_small from None
    n_items, _, n_answers = (int(codes.max()) + 1 for codes in answers)
    probability = _probability(model, n_items, n_answers)
    if np.isnan(probability).any():
        raise too_small
    # Variational Bayes leaves rows that sum to less than 1.
    knowing, given = (table / table.sum(axis=1, keepdims=True) for table in (model.spamming_, model.thetas_))
    return LabelModelFit(
        probability=probability,
        of_raters={"competence": knowing[:, 1]},
        given=given,
        iterations=iterations,
    )


def fit_glad(answers: LabelMatrix, iterations: int, _seed: int) -> LabelModelFit:
    """Fit one ability a rater and one difficulty an item; the algorithm draws nothing."""
    model = _crowdkit().GLAD(n_iter=iterations).fit(_frame(answers))
    n_items, n_raters, n_answers = (int(codes.max()) + 1 for codes in answers)
    ability, ease = model.alphas_[range(n_raters)].to_numpy(), np.exp(model.betas_[range(n_items)].to_numpy())
    knows = ability[answers.rater] * ease[answers.item]
    right, wrong = -np.logaddexp(0, -knows), -np.logaddexp(0, knows) - np.log(n_answers - 1)
    rating = np.where(answers.answer[:, None] == np.arange(n_answers), right[:, None], wrong[:, None])
    _, log_likelihood = _expectation(answers.item, np.full(n_answers, -np.log(n_answers)), rating)
    return LabelModelFit(
        probability=_probability(model, n_items, n_answers),
        of_raters={"ability": ability},
        of_items={"difficulty": 1 / ease},
        iterations=len(model.loss_history_),
        converged=len(model.loss_history_) < iterations,
        log_likelihood=log_likelihood,
    )


def _expectation(item: Codes, prior: Floats, rating: Floats) -> tuple[Floats, float]:
    """Return the probability of each answer to be the true one, and the log-likelihood.

    `rating` is the log-probability of each rating under each true answer, shape (N, K), `prior` that of each answer.
    """
    joint = np.tile(prior, (int(item.max()) + 1, 1))
    np.add.at(joint, item, rating)
    likelihood = np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return np.exp(joint - likelihood), float(likelihood.sum())


def _probability(model: Any, n_items: int, n_answers: int) -> Floats:
    probability = np.asarray(model.probas_.loc[range(n_items), range(n_answers)], dtype=np.float64)
    return np.asarray(probability / probability.sum(axis=1, keepdims=True))


def _order_by_appearance(codes: Codes) -> Codes:
    """Return the place of each code in the order of their first appearance."""
    return np.asarray(np.unique(codes, return_index=True)[1].argsort().argsort())


def _frame(answers: LabelMatrix) -> Any:
    import pandas as pd

    return pd.DataFrame({"task": answers.item, "worker": answers.rater, "label": answers.answer})


def _crowdkit() -> Any:
    try:
        return import_module("crowdkit.aggregation")
    except ImportError as error:
        raise Unavailable(
            f"Dawid–Skene, MACE and GLAD come from crowd-kit, which cannot be imported ({error}). Install it with: "
            "pip install 'dissensus[crowd]'"
        ) from None


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """Collect the warnings of a library that are about the numbers; those about its own code are for its authors."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    numeric = (one for one in caught if issubclass(one.category, (RuntimeWarning, UserWarning)))
    said += dict.fromkeys(f"crowd-kit: {one.message}." for one in numeric)
