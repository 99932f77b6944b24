"""Label models with one true answer per item: Dawid–Skene, MACE and GLAD."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.aggregate.crowd_kit import (
    LabelMatrix,
    LabelModelFit,
    fit_dawid_skene,
    fit_label_model,
    fit_mace,
)
from dissensus.pipeline.aggregate.glad import fit_glad
from dissensus.pipeline.aggregate.labels import check_name_clashes
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.tabular_result import JsonResult

Method = Literal["dawid-skene", "mace", "glad"]
FITS: dict[str, tuple[Callable[..., LabelModelFit], int]] = {
    "dawid-skene": (fit_dawid_skene, 100),
    "mace": (fit_mace, 50),
    "glad": (fit_glad, 5000),
}
# Probabilities within this distance of the largest are tied; they differ by rounding or by the random start of MACE.
TIED = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelModel(JsonResult):
    """Labels of items and skills of raters by a model of one true answer per item.

    Parameters
    ----------
    labels
        One row per item: ``item_id``, ``n_ratings``, the probability of each answer to be the true one, in the order of
        the scale, ``answers`` (list of the most probable; more than one if tied), ``tied``, and for GLAD
        ``difficulty``.
    raters
        One row per rater: ``rater_id``, ``n_ratings`` and, for Dawid–Skene with one row for each ``truth``, the
        probability of each answer given the true one; for MACE ``competence``, the probability of knowing the true
        answer, and the probability of each answer otherwise; for GLAD ``ability``, negative for raters who tend to err.
    method, question
        Options of the fit.
    software, version
        Distribution that fitted the model, crowd-kit or dissensus, and its version.
    iterations
        Number of steps.
    converged
        True if another step would change no probability by 1e-4 or more (Dawid–Skene), or if the last one changed no
        probability or parameter by 1e-6 or more (GLAD); None for MACE, which does not report it.
    log_likelihood
        Natural log-likelihood of the answers; None for MACE, a variational fit.
    notes
        Items left out, and warnings of the fit.
    """

    labels: pl.DataFrame
    raters: pl.DataFrame
    method: Method
    question: str
    software: str
    version: str
    iterations: int
    converged: bool | None
    log_likelihood: float | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tables = {"labels": self.labels.to_dicts(), "raters": self.raters.to_dicts(), "notes": list(self.notes)}
        return {name: tables.get(name, getattr(self, name)) for name in self.__dataclass_fields__}


def label_model(
    ratings: Ratings,
    question: str | None = None,
    *,
    method: Method = "dawid-skene",
    seed: int = 0,
    iterations: int | None = None,
) -> LabelModel:
    """Fit a model of one true answer per item.

    Dawid–Skene and MACE are fitted by crowd-kit (``pip install 'dissensus[crowd]'``), GLAD by Dissensus. These models
    treat disagreement as error: raters who differ from the others lose weight. If raters differ because their views do,
    this silences minorities; see the documentation before you use these labels.

    Parameters
    ----------
    ratings, question
        As for `soft_labels`.
    method
        dawid-skene: every rater has a confusion matrix (Dawid and Skene 1979). mace: every rater either knows the true
        answer or answers by habit (Hovy et al. 2013; variational Bayes). glad: raters have an ability and items a
        difficulty (Whitehill et al. 2009).
    seed
        Seed of the random start of MACE; the other two are deterministic.
    iterations
        Steps of the algorithm; by default 100, for MACE 50, for GLAD 5,000. GLAD stops when it has converged.

    Returns
    -------
    LabelModel

    Raises
    ------
    Unavailable
        crowd-kit is not installed, and the method is not GLAD.
    InvalidInput
        An unknown method, an invalid seed or number of steps, or ratings without raters.
    UndefinedEstimate
        Only one rater or one answer, no item with two ratings, or too many ratings of an item for MACE.

    Notes
    -----
    Items without an answer have no label and are counted in a note. Answers that nobody gave have probability 0. Ties
    are reported, not broken. The result does not depend on the order of the rows.

    References
    ----------
    Dawid, A. P. and Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM algorithm.
    Applied Statistics 28.

    Hovy, D., Berg-Kirkpatrick, T., Vaswani, A. and Hovy, E. (2013). Learning whom to trust with MACE. NAACL.

    Whitehill, J., Ruvolo, P., Wu, T., Bergsma, J. and Movellan, J. (2009). Whose vote should count more: optimal
    integration of labels from labelers of unknown expertise. NeurIPS.

    Examples
    --------
    >>> rows = [(item, rater, "Yes" if item in "12" and rater != "d" else "No") for item in "1234" for rater in "abcd"]
    >>> frame = pl.DataFrame(rows, schema=["item_id", "rater_id", "Q_overall"], orient="row")
    >>> model = label_model(Ratings.from_frame(frame, categories=["No", "Yes"]), "Q_overall")
    >>> model.labels.select("item_id", "answers").rows()
    [('1', ['Yes']), ('2', ['Yes']), ('3', ['No']), ('4', ['No'])]
    >>> model.raters.filter(rater_id="d", truth="Yes").select(pl.col("No", "Yes").round(3)).row(0)
    (1.0, 0.0)
    """
    question = ratings.resolve_question(question)
    fit, default = _fit(method)
    steps = default if iterations is None else iterations
    check_whole("seed", seed)
    check_whole("iterations", steps, 1)
    ratings.require_raters("A model of raters")
    answered = ratings.select_question(question)
    answers, answer_names = _answers(answered, question)
    model, messages = fit_label_model(fit, answers, steps, seed)
    software = "dissensus" if method == "glad" else "crowd-kit"
    n_dropped = ratings.n_items - answered.n_items
    note = f"{n_dropped:,} of {ratings.n_items:,} items have no answer to {question} and get no label."
    return LabelModel(
        labels=_labels(answered, answers, model, question, answer_names),
        raters=_raters(answered, answers, model, question, answer_names),
        method=method,
        question=question,
        software=software,
        version=version(software),
        iterations=model.iterations,
        converged=model.converged,
        log_likelihood=model.log_likelihood,
        notes=((note,) if n_dropped else ()) + messages,
    )


def _fit(method: str) -> tuple[Callable[..., LabelModelFit], int]:
    if method not in FITS:
        raise InvalidInput(f"method is {method!r}; choose one of {', '.join(get_args(Method))}.")
    return FITS[method]


def _answers(ratings: Ratings, question: str) -> tuple[LabelMatrix, list[str]]:
    """Return the ratings with answers coded without gaps, and the answers that occur, in the order of the scale."""
    item, rater, answer = ratings.codes(question)
    present, code = np.unique(answer, return_inverse=True)
    scale = ratings.scale(question)
    if ratings.n_raters < 2:
        raise UndefinedEstimate("A label model compares raters, and there is one. Use soft labels or the plurality.")
    if len(present) < 2:
        raise UndefinedEstimate(f"All answers are {scale[present[0]]}; there is nothing to model.")
    if np.bincount(item).max() < 2:
        raise UndefinedEstimate("A label model compares raters on the same item, and no item has two ratings.")
    return LabelMatrix(item, rater, code), [scale[k] for k in present]


def _labels(
    ratings: Ratings, answers: LabelMatrix, fit: LabelModelFit, question: str, answer_names: list[str]
) -> pl.DataFrame:
    scale = list(ratings.scale(question))
    check_name_clashes(scale, ["item_id", "n_ratings", "answers", "tied", *fit.item_parameters])
    top = fit.probability >= fit.probability.max(axis=1, keepdims=True) - TIED
    winners = [[name for name, wins in zip(answer_names, row, strict=True) if wins] for row in top.tolist()]
    return pl.DataFrame(
        {
            "item_id": ratings.items["item_id"],
            "n_ratings": np.bincount(answers.item).astype(np.uint32),
            **_columns(scale, answer_names, fit.probability),
            "answers": pl.Series(winners, dtype=pl.List(pl.String)),
            "tied": top.sum(axis=1) > 1,
            **fit.item_parameters,
        }
    )


def _raters(
    ratings: Ratings, answers: LabelMatrix, fit: LabelModelFit, question: str, answer_names: list[str]
) -> pl.DataFrame:
    scale = list(ratings.scale(question))
    check_name_clashes(scale, ["rater_id", "n_ratings", "truth", *fit.rater_parameters])
    raters = pl.DataFrame(
        {
            "rater_id": ratings.raters["rater_id"],
            "n_ratings": np.bincount(answers.rater).astype(np.uint32),
            **fit.rater_parameters,
        }
    )
    if fit.answer_probability is None:
        return raters
    if fit.answer_probability.ndim == 2:
        return raters.with_columns(**_columns(scale, answer_names, fit.answer_probability))
    truths = pl.DataFrame({"truth": answer_names})
    confusion = fit.answer_probability.reshape(-1, len(answer_names))
    return raters.join(truths, how="cross", maintain_order="left_right").with_columns(
        **_columns(scale, answer_names, confusion)
    )


def _columns(scale: list[str], answer_names: list[str], values: np.ndarray) -> dict[str, pl.Series]:
    """Return one column per answer, 0 for answers that do not occur."""
    columns = dict(zip(answer_names, values.T, strict=True))
    return {name: pl.Series(name, columns.get(name, np.zeros(len(values)))) for name in scale}
