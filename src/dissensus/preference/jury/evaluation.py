"""Cross-validation of jury models on held-out conversations, in comparison with baseline models."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair
from dissensus.preference.jury.joint import JointAnswers, fit_joint_jury, read_joint_answers
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.jury.pairs import JuryPairs
from dissensus.preference.jury.training import (
    MIN_RATERS,
    NOT_CONVERGED,
    JuryAnswers,
    JuryRatings,
    fit_jury,
    read_jury_ratings,
)
from dissensus.preference.jury.transformer import TunedRatings, tune_encoder
from dissensus.preference.models.encoder import Encoder, Progress
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.tabular_result import TabularResult
from dissensus.stats.cluster_robust import Mean, clustered_mean
from dissensus.stats.jury.model import fit_answer_model
from dissensus.stats.result import BoolArray, FloatArray, Int64Array
from dissensus.stats.score.calibration import estimate_calibration
from dissensus.stats.score.pseudo_values import GroupRatings

POOLED, ALONE = "pooled", "ratings_alone"
RIVALS: Final[Mapping[str, str]] = {
    "item_blind": "the shares of the group over all items in training",
    "plurality": "the same features, trained on the plurality label of each item, at the temperature that suits the "
    "held-out answers best",
    POOLED: "the jury model without groups: the distribution of all raters",
}
"""Baseline models, which a jury model must beat."""

JOINT_RIVALS: Final = {**RIVALS, ALONE: "the jury model, trained on the ratings without the pairs"}
"""Baseline models of a jury model of ratings and pairs."""

TEMPERATURES: Final = tuple(1.25**k for k in range(-2, 16))
"""Candidate temperatures of the model of plurality labels."""

_LEAST = 1e-9
"""Least probability in a log-loss, which keeps it finite."""

Answers = TypeVar("Answers", bound=JuryAnswers)


@dataclass(frozen=True, slots=True, kw_only=True)
class JuryGroupRow:
    """Held-out log-loss of the jury model and of its rivals on the answers of a group."""

    axis: str | None  # None for all raters
    group: str | None
    n_raters: int | None
    n_items: int
    n_ratings: int
    log_loss: float
    rival_losses: Mapping[str, float]
    gains: Mapping[str, Mean]  # Log-loss of the rival less that of the jury model
    calibration_error: float  # Of the share of unsafe answers
    calibration_by_chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JuryEvaluation(TabularResult):
    """Held-out log-loss by group, and the items on which the model abstains."""

    rows: tuple[JuryGroupRow, ...]
    question: str
    rivals: Mapping[str, str]  # Description by name
    n_folds: int
    n_items: int
    n_answered: int  # Items on which the model does not abstain
    loss_answered: float | None  # Log-loss of the answers to these items; None without such an item
    loss_abstained: float | None  # Log-loss of the answers to the others; None without such an item
    confidence: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"schema_version": 1, **asdict(self)}

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row for each group."""
        return pl.DataFrame([_flatten(row) for row in self.rows], infer_schema_length=None)

    def verdict(self) -> str:
        """Return a sentence on the groups for which the model beats each rival but the one without groups."""
        parts = []
        for name in self.rivals:
            if name == POOLED:
                continue
            gains = [row.gains[name] for row in self.rows]
            better = sum(gain.ci_low is not None and gain.ci_low > 0 for gain in gains)
            worse = sum(gain.ci_high is not None and gain.ci_high < 0 for gain in gains)
            parts.append(f"{better} of {len(gains)} against {name.replace('_', '-')} ({worse} worse)")
        return f"Groups predicted better than by rivals: {', '.join(parts)}."


def evaluate_jury(  # noqa: PLR0913 - options are keyword-only
    ratings: Ratings,
    pairs: Sequence[Pair] | None = None,
    *,
    question: str | None = None,
    unsafe: Sequence[str] | None = None,
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
    n_folds: int = 5,
    confidence: float = 0.95,
    seed: int = 0,
    encoder: Encoder | None = None,
    plan: TransformerPlan | None = None,
    progress: Progress | None = None,
) -> JuryEvaluation:
    """Evaluate a jury model by cross-validation over conversations.

    Items whose texts begin with the same turn are in one fold. Log-loss is that of each answer under the predicted
    distribution of the group of its rater; raters are not told apart.

    Parameters
    ----------
    ratings, question, unsafe, by, min_raters, encoder
        As for `train_jury`.
    pairs
        Preferences to learn from too, as for `train_joint_jury`; those of the conversations of a fold are held out.
    n_folds
        Number of folds.
    confidence
        Confidence level of the gains.
    seed
        Seed of the folds, and of the transformer.
    plan
        Plan of a transformer to tune in each fold, on half of the other conversations, as for `train_transformer_jury`.
    progress
        Called with the completed share of the folds.

    Returns
    -------
    JuryEvaluation

    Raises
    ------
    InvalidInput
        As of `train_jury` or `train_joint_jury`, or fewer conversations than folds.
    """
    reading: dict[str, Any] = {"question": question, "unsafe": unsafe, "by": by, "min_raters": min_raters}
    if plan is not None and (pairs is not None or encoder is not None):
        raise InvalidInput("A transformer is tuned on ratings alone. Leave out pairs and encoder, or the plan.")
    if pairs is None:
        checked, choices = read_jury_ratings(ratings, **reading), None
    else:
        checked, choices = read_joint_answers(ratings, pairs, **reading)
    folds = _fold(checked, n_folds, seed)
    names, notes = list_populations(checked, folds)
    tune = None if plan is None else partial(tune_encoder, plan=plan, seed=seed)
    held_out = _cross_validate(checked, choices, folds, names, encoder, progress, tune)
    rivals = RIVALS if choices is None else JOINT_RIVALS
    return summarise_evaluation(checked, held_out, rivals, n_folds=n_folds, confidence=confidence, notes=notes)


class HeldOut(NamedTuple):
    """Predicted shares of the answers to the item of each rating, shape (K, N), and the items without an answer."""

    groups: dict[str | None, FloatArray]
    rivals: dict[str, dict[str | None, FloatArray]]
    abstains: BoolArray  # Shape (I,)
    not_converged: list[int]  # Folds whose model did not converge

    @classmethod
    def empty(cls, names: Sequence[str | None], rivals: Iterable[str], shape: tuple[int, int], n_items: int) -> Self:
        """Return predictions to be filled in, for all raters and groups."""
        return cls(
            groups={name: np.empty(shape) for name in names},
            rivals={rival: {name: np.empty(shape) for name in names} for rival in rivals},
            abstains=np.zeros(n_items, np.bool_),
            not_converged=[],
        )


def summarise_evaluation(
    answers: JuryAnswers,
    held_out: HeldOut,
    rivals: Mapping[str, str],
    *,
    n_folds: int,
    confidence: float,
    notes: Sequence[str],
) -> JuryEvaluation:
    """Return the losses of each group and its rivals, and those of items with and without an answer."""
    rated = np.unique(answers.items)
    losses = _loss(held_out.groups[None], answers.answers)
    is_answered = ~held_out.abstains[answers.items]
    return JuryEvaluation(
        rows=tuple(
            _measure(answers, name, shares, {rival: held_out.rivals[rival][name] for rival in rivals}, confidence)
            for name, shares in held_out.groups.items()
        ),
        question=answers.question,
        rivals=rivals,
        n_folds=n_folds,
        n_items=len(rated),
        n_answered=int((~held_out.abstains[rated]).sum()),
        loss_answered=float(losses[is_answered].mean()) if is_answered.any() else None,
        loss_abstained=None if is_answered.all() else float(losses[~is_answered].mean()),
        confidence=confidence,
        notes=(*answers.notes, *notes, *((NOT_CONVERGED,) if held_out.not_converged else ())),
    )


def _cross_validate(
    ratings: JuryRatings,
    choices: JuryPairs | None,
    folds: Int64Array,
    names: Sequence[str | None],
    encoder: Encoder | None,
    progress: Progress | None,
    tune: Callable[[JuryRatings], TunedRatings] | None,
) -> HeldOut:
    """Predict each item by models that were trained without its fold."""
    shape = (len(ratings.scale), len(ratings.answers))
    rivals = RIVALS if choices is None else JOINT_RIVALS
    held_out = HeldOut.empty(names, rivals, shape, len(ratings.texts))
    labels = np.empty(shape)
    n_folds = int(folds.max()) + 1
    for fold in range(n_folds):
        other_folds = training = ratings.select(folds != fold)
        if tune is not None:
            encoder, _, training = tune(other_folds)
        rows = np.flatnonzero(folds[ratings.items] == fold)
        items, item_of_row = np.unique(ratings.items[rows], return_inverse=True)
        texts = [ratings.texts[item] for item in items]
        training_choices = None if choices is None else choices.leave_out(texts)
        model = _fit(training, training_choices, encoder)
        choices_without_groups = None if training_choices is None else without_groups(training_choices)
        pooled = _fit(without_groups(training), choices_without_groups, encoder) if ratings.axes else model
        pooled_shares = pooled.distributions(texts)[item_of_row].T
        ratings_alone = None if training_choices is None else fit_jury(training, encoder=encoder)
        for name in names:
            if ratings_alone is not None:
                held_out.rivals[ALONE][name][:, rows] = ratings_alone.distributions(texts, name)[item_of_row].T
            held_out.groups[name][:, rows] = model.distributions(texts, name)[item_of_row].T
            held_out.rivals["item_blind"][name][:, rows] = _share_answers(other_folds, name)[:, None]
            held_out.rivals[POOLED][name][:, rows] = pooled_shares
        labels[:, rows] = _predict_labels(training, model, items)[item_of_row].T
        held_out.abstains[items] = model.abstains(texts)
        if not model.model.converged:
            held_out.not_converged.append(fold)
        if progress is not None:
            progress((fold + 1) / n_folds)
    held_out.rivals["plurality"] = dict.fromkeys(names, _temper(labels, ratings.answers))
    return held_out


def _fit(ratings: JuryRatings, choices: JuryPairs | None, encoder: Encoder | None) -> JuryModel:
    """Fit a model of ratings, and of choices if there are any."""
    if choices is None or not len(choices.answers):
        return fit_jury(ratings, encoder=encoder)
    return fit_joint_jury(JointAnswers(ratings, choices), encoder=encoder)


def list_populations(ratings: JuryAnswers, folds: Int64Array) -> tuple[list[str | None], list[str]]:
    """Return all raters and the groups with answers outside each fold, and a note of each other group."""
    names: list[str | None] = [None]
    notes = []
    for name in (f"{axis}={group}" for axis, groups in ratings.axes.items() for group in groups):
        if len(np.unique(folds[ratings.items[_members(ratings, name)]])) > 1:
            names.append(name)
        else:
            notes.append(f"{name} is left out: all its answers are in one fold, so that none are left to learn from.")
    return names, notes


def _fold(ratings: JuryRatings, n_folds: int, seed: int) -> Int64Array:
    """Return the fold of each item; texts with the same opening are in one."""
    _, conversation = np.unique([text.opening for text in ratings.texts], return_inverse=True)
    n = int(conversation.max()) + 1
    if not 2 <= n_folds <= n:
        raise InvalidInput(
            f"There are {n:,} conversations, which begin with different turns, and {n_folds} folds were asked for. "
            "Ask for 2 folds or more, and not more than conversations."
        )
    order = np.random.default_rng(seed).permutation(n)
    return np.asarray(order[conversation] % n_folds, np.int64)


def _members(ratings: JuryAnswers, name: str | None) -> BoolArray:
    """Return a mask of the ratings whose rater belongs to a group; all ratings without a name."""
    if name is None:
        return np.ones(len(ratings.answers), np.bool_)
    axis, _, group = name.partition("=")
    codes = ratings.groups[list(ratings.axes).index(axis)]
    return np.asarray(codes[ratings.raters] == ratings.axes[axis].index(group))


def _share_answers(training: JuryRatings, name: str | None) -> FloatArray:
    """Return the share of each answer in a group over all items, with half an answer added to each count."""
    counts = np.bincount(training.answers[_members(training, name)], minlength=len(training.scale)) + 0.5
    return np.asarray(counts / counts.sum())


def without_groups(answers: Answers) -> Answers:
    """Return answers of people of no group."""
    return replace(answers, axes={}, groups=answers.groups[:0])


def _predict_labels(training: JuryRatings, model: JuryModel, held_out: Int64Array) -> FloatArray:
    """Return the distributions of a model of plurality labels; the first answer of a tie is the label."""
    items, item_of_row = np.unique(training.items, return_inverse=True)
    counts = np.zeros((len(items), len(training.scale)))
    np.add.at(counts, (item_of_row, training.answers), 1)
    project = model.features.project
    plurality = counts.argmax(axis=1)
    label_counts = np.bincount(plurality, minlength=len(training.scale)) + 0.5
    if (label_counts > 1).sum() == 1:  # All items have one label, so there is no model to fit
        return np.repeat(label_counts[None] / label_counts.sum(), len(held_out), axis=0)
    labels = fit_answer_model(
        plurality,
        len(training.scale),
        project([training.texts[item] for item in items]),
        model.features.blocks,
    )
    nobody = np.zeros((1, 0), np.bool_)
    return labels.locate(project([training.texts[item] for item in held_out])).distributions(nobody)[:, 0]


def _temper(shares: FloatArray, answers: Int64Array) -> FloatArray:
    """Return shares at the temperature of least log-loss on these answers, an advantage of this rival."""
    logs = np.log(np.maximum(shares, _LEAST))
    tempered = []
    for temperature in TEMPERATURES:
        powers = np.exp(logs / temperature)
        tempered.append(powers / powers.sum(axis=0))
    return min(tempered, key=lambda candidate: float(_loss(candidate, answers).mean()))


def _loss(shares: FloatArray, answers: Int64Array) -> FloatArray:
    return np.asarray(-np.log(np.maximum(shares[answers, np.arange(len(answers))], _LEAST)))


def _measure(
    ratings: JuryAnswers, name: str | None, shares: FloatArray, rivals: Mapping[str, FloatArray], confidence: float
) -> JuryGroupRow:
    rows = np.flatnonzero(_members(ratings, name))
    items, raters, answers = ratings.items[rows], ratings.raters[rows], ratings.answers[rows]
    losses = _loss(shares[:, rows], answers)
    rival_losses = {rival: _loss(values[:, rows], answers) for rival, values in rivals.items()}
    clusters = np.stack([items, raters]) if ratings.has_raters else items
    unsafe = np.isin(ratings.scale, ratings.unsafe)
    calibration = estimate_calibration(
        GroupRatings(items=items, raters=raters, unsafe=unsafe[answers].astype(np.float64)),
        shares[unsafe][:, rows].sum(axis=0),
        confidence=confidence,
    )
    axis, _, group = (None, None, None) if name is None else name.partition("=")
    return JuryGroupRow(
        axis=axis,
        group=group,
        n_raters=len(np.unique(raters)) if ratings.has_raters else None,
        n_items=len(np.unique(items)),
        n_ratings=len(rows),
        log_loss=float(losses.mean()),
        rival_losses={rival: float(values.mean()) for rival, values in rival_losses.items()},
        gains={
            rival: clustered_mean(values - losses, clusters, confidence=confidence)
            for rival, values in rival_losses.items()
        },
        calibration_error=calibration.error,
        calibration_by_chance=calibration.by_chance,
    )


def _flatten(row: JuryGroupRow) -> dict[str, Any]:
    plain = {name: getattr(row, name) for name in row.__dataclass_fields__ if name not in ("gains", "rival_losses")}
    return plain | dict(_flatten_rivals(row))


def _flatten_rivals(row: JuryGroupRow) -> Iterator[tuple[str, float | None]]:
    for name, gain in row.gains.items():
        yield f"{name}_log_loss", row.rival_losses[name]
        yield f"gain_on_{name}", gain.estimate
        yield f"gain_on_{name}_low", gain.ci_low
        yield f"gain_on_{name}_high", gain.ci_high
