"""Training of preference models: selection of settings, calibration, and evaluation on held-out dialogues."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, Self, overload

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind
from dissensus.preference.data.pairs import PURPOSES, Pair, Purpose, digest, folds
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.diagnostics import compute_diagnostics
from dissensus.preference.fit.linear import FEATURES
from dissensus.preference.fit.recipes import RECIPES, Recipe
from dissensus.preference.models.encoder import Encoder, Progress
from dissensus.preference.models.kinds import KINDS, AnyModel, KindOfModel
from dissensus.preference.models.linear import Linear, length_margins
from dissensus.preference.models.mini_lm import load_minilm
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.stats.result import FloatArray

HELD_OUT: Final = 5
"""Number of folds of dialogues; one is held out to evaluate a trained model."""


class HeldOutMargins(NamedTuple):
    """Margins on held-out pairs, by the model and by length alone, and the settings of each fold."""

    margins: FloatArray
    length: FloatArray
    settings: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Plan of a training: kind of model and options.

    Parameters
    ----------
    kind
        ``linear``: one score for all people. ``mean-variance``: also the spread between people. ``groups``: also
        departures of groups and raters. ``embedding``: one score for all people, with vectors of an encoder.
    weighting
        Weighting of votes.
    features
        Candidate combinations of n-gram kinds.
    encoder
        Encoder of texts, for kind ``embedding`` only.

    Raises
    ------
    InvalidInput
        Unknown kind, encoder missing for ``embedding``, or given for another kind.
    """

    kind: KindOfModel = "linear"
    weighting: Weighting = Weighting()  # noqa: RUF009 - it is frozen
    features: tuple[tuple[Kind, ...], ...] = FEATURES
    encoder: Encoder | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            near = suggest(str(self.kind), KINDS)
            raise InvalidInput(f"kind is {format_value(self.kind)}; it is one of {format_list(KINDS)}.{near}")
        if self.kind == "embedding" and self.encoder is None:
            raise InvalidInput("A model of kind embedding needs an encoder. Give one: encoder=load_minilm().")
        if self.kind != "embedding" and self.encoder is not None:
            raise InvalidInput(
                f"A model of kind {self.kind} does not use an encoder. Leave it out, or choose kind embedding."
            )

    @classmethod
    def for_kind(cls, kind: KindOfModel, weighting: Weighting | None = None) -> Self:
        """Return a plan, with the installed encoder if the kind needs one.

        Raises
        ------
        InvalidInput
            Unknown kind.
        Unavailable
            The kind needs an encoder, and none is installed.
        """
        encoder = load_minilm() if kind == "embedding" else None
        return cls(kind=kind, weighting=weighting or Weighting(), encoder=encoder)

    @property
    def recipe(self) -> Recipe:
        """Recipe of the kind of model."""
        return RECIPES[self.kind]

    @property
    def encoding(self) -> float:
        """Approximate share of encoding in the training time, from 0 to 1."""
        return 0.0 if self.encoder is None else 0.9

    def examples(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Examples:
        """Build training examples from pairs."""
        return Examples.from_pairs(pairs, self.weighting, self.encoder, progress=progress)

    def choose(self, examples: Examples, *, seed: int, progress: Progress | None = None) -> Any:
        """Choose settings."""
        return self.recipe.choose(examples, features=self.features, seed=seed, progress=progress)


@overload
def train(
    pairs: Sequence[Pair],
    *,
    purpose: Purpose,
    apart: Sequence[Pair] | None = None,
    excluded: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Linear: ...


@overload
def train(
    pairs: Sequence[Pair],
    *,
    purpose: Purpose,
    plan: TrainingPlan,
    apart: Sequence[Pair] | None = None,
    excluded: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> AnyModel: ...


def train(
    pairs: Sequence[Pair],
    *,
    purpose: Purpose,
    plan: TrainingPlan | None = None,
    apart: Sequence[Pair] | None = None,
    excluded: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> AnyModel:
    """Train a model on pairs.

    A fifth of the dialogues is held out. Settings and temperature are chosen on the others by cross-validation, with
    pairs of one dialogue kept together. The model with these settings is evaluated on the held-out pairs, for its card,
    and then trained on all pairs. If evaluation pairs are given, nothing is held out.

    Parameters
    ----------
    pairs
        Pairs of at least `HELD_OUT` dialogues, or of three with `apart`.
    purpose
        Purpose of the choices: ``helpful`` or ``harmless``.
    plan
        Kind of model and options; by default a linear model with unweighted votes.
    apart
        Evaluation pairs of other dialogues, in place of a fifth of the dialogues. They are never trained on.
    excluded
        Number of pairs excluded beforehand, by reason, for the card.
    seed
        Seed of the folds. The order of the pairs makes no difference.
    progress
        Called with the completed share.

    Returns
    -------
    Linear, MeanVariance, Groups or Embedding
        Model of the planned kind, with its card.

    Raises
    ------
    InvalidInput
        Too few dialogues, an unknown purpose, pairs without the columns that the plan needs, or a dialogue among both
        training and evaluation pairs.
    """
    if purpose not in PURPOSES:
        raise InvalidInput(f"purpose is {format_value(purpose)}; choose one of {', '.join(PURPOSES)}.")
    plan = plan or TrainingPlan()
    pairs = sort_pairs(pairs)
    examples = training = plan.examples(pairs, part_progress(progress, 0, plan.encoding))
    if apart is None:
        fold = folds(examples.dialogue, HELD_OUT, seed=seed)
        training, held_out = (examples.take(np.flatnonzero(mask)) for mask in (fold != 0, fold == 0))
        apart = [pairs[index] for index in np.flatnonzero(fold == 0).tolist()]
    else:
        _check_disjoint(pairs, apart)
        held_out = plan.examples(apart)
    settings = plan.choose(training, seed=seed, progress=part_progress(progress, plan.encoding, 1))
    model = plan.recipe.fit(training, settings, purpose)
    evaluation = evaluate(apart, plan.recipe.margins(model, apart, held_out), length_margins(model, apart))
    results = evaluation.to_dict() | compute_diagnostics(model, apart).to_dict()
    card = _card(pairs, purpose, plan, settings.to_card(), results) | {"excluded": dict(excluded or {}), "seed": seed}
    return plan.recipe.fit(examples, settings, purpose, card=card)


def _check_disjoint(pairs: Sequence[Pair], apart: Sequence[Pair]) -> None:
    shared = {pair.dialogue for pair in pairs} & {pair.dialogue for pair in apart}
    if shared:
        raise InvalidInput(
            f"{len(shared):,} dialogues are among both the training pairs and the evaluation pairs, such as "
            f"{format_value(min(shared))}. Keep all pairs of a dialogue on one side."
        )


def sort_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs in an order that does not depend on the given one."""
    return sorted(pairs, key=_sort_key)


def _sort_key(pair: Pair) -> tuple[object, ...]:
    rater = (pair.rater or "", sorted(pair.cells.items()), pair.strength or 0.0, pair.agreement or 0.0)
    return (pair.dialogue, pair.chosen, pair.rejected, pair.weight, *rater, [turn.text for turn in pair.context])


def cross_validate(
    pairs: Sequence[Pair],
    *,
    n_folds: int = 5,
    plan: TrainingPlan | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> HeldOutMargins:
    """Return cross-validated margins: each dialogue is scored by a model that was not trained on it.

    Settings, vocabulary and temperature are chosen within each training fold.

    Parameters
    ----------
    pairs
        Pairs of at least as many dialogues as folds.
    n_folds
        Number of folds of dialogues.
    plan
        Kind of model and options; the default is that of `train`.
    seed
        Seed of the folds. The order of the pairs makes no difference.
    progress
        Called with the completed share.

    Returns
    -------
    HeldOutMargins
        Margins in the order of the pairs, and the settings of each fold.

    Raises
    ------
    InvalidInput
        There are fewer dialogues than folds.
    """
    plan = plan or TrainingPlan()
    order = np.array(sorted(range(len(pairs)), key=lambda row: _sort_key(pairs[row])), np.int64)
    pairs = [pairs[row] for row in order.tolist()]
    examples = plan.examples(pairs, part_progress(progress, 0, plan.encoding))
    fold_progress = part_progress(progress, plan.encoding, 1)
    fold = folds(examples.dialogue, n_folds, seed=seed)
    margins, length, settings = np.empty(len(pairs)), np.empty(len(pairs)), []
    for number in range(n_folds):
        training, index = examples.take(np.flatnonzero(fold != number)), np.flatnonzero(fold == number)
        fold_settings = plan.choose(training, seed=seed)
        held_out = [pairs[row] for row in index.tolist()]
        model = plan.recipe.fit(training, fold_settings, "harmless")  # The purpose does not enter the fit
        margins[order[index]] = plan.recipe.margins(model, held_out, examples.take(index))
        length[order[index]] = length_margins(model, held_out)
        settings.append(fold_settings.to_card())
        if fold_progress is not None:
            fold_progress((number + 1) / n_folds)
    return HeldOutMargins(margins, length, tuple(settings))


def part_progress(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return the progress function of a part of the work, from a share of it to another."""
    return None if progress is None else lambda share: progress(begin + share * (end - begin))


def _card(
    pairs: Sequence[Pair], purpose: Purpose, plan: TrainingPlan, settings: dict[str, Any], results: dict[str, Any]
) -> dict[str, Any]:
    return {
        "purpose": purpose,
        "model": plan.recipe.description,
        "data_sha256": digest(pairs),
        **count_votes(pairs),
        "weighting": asdict(plan.weighting),
        "settings": settings,
        "held_out": results,
        "limits": [*list_limits(purpose), *plan.recipe.limits],
    }


def count_votes(pairs: Sequence[Pair]) -> dict[str, int | None]:
    """Count pairs, dialogues and known raters for a model card."""
    return {
        "n_pairs": len(pairs),
        "n_dialogues": len({pair.dialogue for pair in pairs}),
        "n_raters": len({pair.rater for pair in pairs} - {None}) or None,
    }


def list_limits(purpose: Purpose) -> tuple[str, str, str]:
    """Return the limits of every preference model: of its scores, of held-out figures, and of its use."""
    return (
        f"Scores measure which answers people found more {purpose} in these pairs, and nothing else.",
        "Held-out figures are for dialogues of the same source; expect less on others.",
        "It is not a safety filter: an answer with a high score may still do harm.",
    )
