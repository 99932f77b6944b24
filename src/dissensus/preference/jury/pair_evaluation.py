"""Cross-validation of jury models of preferences on held-out dialogues, in comparison with baseline models."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from dissensus.preference.data.pairs import Pair, dialogues
from dissensus.preference.data.pairs import folds as fold_dialogues
from dissensus.preference.fit.logistic import probability
from dissensus.preference.fit.training import cross_validate, part_progress
from dissensus.preference.jury.evaluation import (
    POOLED,
    HeldOut,
    JuryEvaluation,
    list_populations,
    summarise_evaluation,
    without_groups,
)
from dissensus.preference.jury.pairs import JuryPairs, find_unknown, fit_pair_jury, predict_choices, read_jury_pairs
from dissensus.preference.jury.training import MIN_RATERS
from dissensus.preference.models.encoder import Encoder, Progress
from dissensus.stats.result import Int64Array

PAIR_RIVALS: Final[Mapping[str, str]] = {
    "chance": "one half for each response",
    "linear": "the linear preference model, one score for all people, trained on the same pairs",
    POOLED: "the jury model without groups",
}
"""Baseline models, which a jury model of preferences must beat."""

JURY_WORK: Final = 0.5
"""Share of the work that is the jury models; the rest is the linear models."""


def evaluate_pair_jury(
    pairs: Sequence[Pair],
    *,
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
    n_folds: int = 5,
    confidence: float = 0.95,
    seed: int = 0,
    encoder: Encoder | None = None,
    progress: Progress | None = None,
) -> JuryEvaluation:
    """Evaluate a jury model of preferences by cross-validation over dialogues.

    Log-loss is that of each choice under the predicted distribution of the group of its rater.

    Parameters
    ----------
    pairs, by, min_raters, encoder
        As for `train_pair_jury`.
    n_folds
        Number of folds of dialogues, which begin with the same turn.
    confidence
        Confidence level of the gains.
    seed
        Seed of the folds.
    progress
        Called with the completed share.

    Returns
    -------
    JuryEvaluation

    Raises
    ------
    NotFound, InvalidInput
        As of `train_pair_jury`, or fewer dialogues than folds.
    """
    checked = read_jury_pairs(pairs, by=by, min_raters=min_raters)
    folds = np.zeros(len(checked.comparisons), np.int64)
    folds[checked.items] = fold_dialogues(dialogues(checked.pairs), n_folds, seed=seed)
    names, notes = list_populations(checked, folds)
    held_out = _cross_validate(checked, folds, names, encoder, part_progress(progress, 0, JURY_WORK))
    linear = cross_validate(checked.pairs, n_folds=n_folds, seed=seed, progress=part_progress(progress, JURY_WORK, 1))
    p_chosen = probability(linear.margins)
    p_second = np.where(checked.answers == 0, p_chosen, 1 - p_chosen)
    held_out.rivals["linear"] = dict.fromkeys(names, np.stack([p_second, 1 - p_second]))
    return summarise_evaluation(checked, held_out, PAIR_RIVALS, n_folds=n_folds, confidence=confidence, notes=notes)


def _cross_validate(
    choices: JuryPairs,
    folds: Int64Array,
    names: Sequence[str | None],
    encoder: Encoder | None,
    progress: Progress | None,
) -> HeldOut:
    """Predict each choice by models that were trained without its fold."""
    shape = (len(choices.scale), len(choices.answers))
    held_out = HeldOut.empty(names, PAIR_RIVALS, shape, len(choices.comparisons))
    held_out.rivals["chance"] = dict.fromkeys(names, np.full(shape, 0.5))
    n_folds = int(folds.max()) + 1
    for fold in range(n_folds):
        training, rows = choices.select(folds != fold), np.flatnonzero(folds[choices.items] == fold)
        compared = [choices.comparisons[item] for item in choices.items[rows]]
        model = fit_pair_jury(training, encoder=encoder)
        pooled = fit_pair_jury(without_groups(training), encoder=encoder) if choices.axes else model
        pooled_shares = predict_choices(pooled, compared).T
        for name in names:
            held_out.groups[name][:, rows] = predict_choices(model, compared, name).T
            held_out.rivals[POOLED][name][:, rows] = pooled_shares
        held_out.abstains[choices.items[rows]] = find_unknown(model, compared)
        if not model.model.converged:
            held_out.not_converged.append(fold)
        if progress is not None:
            progress((fold + 1) / n_folds)
    return held_out
