"""Training: settings selected, scores calibrated, accuracy measured on held-out dialogues."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, Self, overload

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind
from dissensus.preference.data.pairs import PURPOSES, Pair, Purpose, digest, folds
from dissensus.preference.data.sparse import Floats
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.evaluation.diagnostics import compute_diagnostics
from dissensus.preference.fit.linear import FEATURES, Progress
from dissensus.preference.models.encoder import Encoder
from dissensus.preference.models.kinds import KINDS, RECIPES, AnyModel, KindOfModel, Recipe
from dissensus.preference.models.linear import Linear, length_margins
from dissensus.preference.models.mini_lm import load_minilm
from dissensus.schema.hints import format_list, format_value, suggest

HELD_OUT: Final = 5
"""One of so many folds of dialogues is held out to measure a model that is saved."""


class HeldOutMargins(NamedTuple):
    """Margins on held-out pairs, of the model and of length alone."""

    margins: Floats
    length: Floats
    settings: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPlan:
    """Kind of model, pairs and options of a training.

    Parameters
    ----------
    kind
        ``linear``: one score for all. ``mean-variance``: how far people differ beside it. ``groups``: how groups and
        raters depart from all. ``embedding``: one score for all, by what an encoder makes of answers too.
    counting
        How what each person said counts.
    features
        Kinds of runs that may be chosen.
    encoder
        What turns texts into vectors, for the kind ``embedding`` alone.

    Raises
    ------
    InvalidInput
        There is no such kind, it needs an encoder, or it has no use for one.
    """

    kind: KindOfModel = "linear"
    counting: Weighting = Weighting()  # noqa: RUF009 - it is frozen
    features: tuple[tuple[Kind, ...], ...] = FEATURES
    encoder: Encoder | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            near = suggest(str(self.kind), KINDS)
            raise InvalidInput(f"kind is {format_value(self.kind)}; it is one of {format_list(KINDS)}.{near}")
        if self.kind == "embedding" and self.encoder is None:
            raise InvalidInput("A model of kind embedding needs an encoder. Give one: encoder=minilm().")
        if self.kind != "embedding" and self.encoder is not None:
            raise InvalidInput(
                f"A model of kind {self.kind} has no use for an encoder. Leave it out, or say embedding."
            )

    @classmethod
    def of(cls, kind: KindOfModel, counting: Weighting | None = None) -> Self:
        """Return what is trained, with the encoder that is installed where the kind needs one.

        Raises
        ------
        InvalidInput
            There is no such kind.
        Unavailable
            No encoder is installed, and the kind needs one.
        """
        encoder = load_minilm() if kind == "embedding" else None
        return cls(kind=kind, counting=counting or Weighting(), encoder=encoder)

    @property
    def recipe(self) -> Recipe:
        """Recipe of the kind of model."""
        return RECIPES[self.kind]

    @property
    def encoding(self) -> float:
        """Share of the work that is encoding, about."""
        return 0.0 if self.encoder is None else 0.9

    def examples(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Examples:
        """Return pairs as numbers."""
        return Examples.of(pairs, self.counting, self.encoder, progress=progress)

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
    pairs of one dialogue kept together. The model with these is measured on what was held out, for its card, and
    then trained on all pairs.

    Where pairs of other dialogues are given to measure it on, nothing is held out of `pairs`.

    Parameters
    ----------
    pairs
        Of at least `HELD_OUT` dialogues.
    purpose
        What people chose by.
    plan
        What is trained; by default a linear model, of pairs that count as they are.
    apart
        Pairs that are measured on, and never trained on, in place of a fifth of the dialogues.
    excluded
        How many pairs were left out before, by reason, for the card.
    seed
        Of the folds. The order of the pairs makes no difference.
    progress
        Called with the share that is done.

    Returns
    -------
    Linear, MeanVariance, Groups or Embedding
        The model that was planned, with its card.

    Raises
    ------
    InvalidInput
        There are fewer dialogues, or no such purpose; the plan asks for what pairs do not tell; or a dialogue is to be
        both trained and measured on.
    """
    if purpose not in PURPOSES:
        raise InvalidInput(f"purpose is {format_value(purpose)}; choose one of {', '.join(PURPOSES)}.")
    plan = plan or TrainingPlan()
    pairs = sort_pairs(pairs)
    examples = known = plan.examples(pairs, _part(progress, 0, plan.encoding))
    if apart is None:
        fold = folds(examples.dialogue, HELD_OUT, seed=seed)
        known, unknown = (examples.take(np.flatnonzero(some)) for some in (fold, fold == 0))
        apart = [pairs[place] for place in np.flatnonzero(fold == 0).tolist()]
    else:
        _check_apart(pairs, apart)
        unknown = plan.examples(apart)
    chosen = plan.choose(known, seed=seed, progress=_part(progress, plan.encoding, 1))
    first = plan.recipe.fitted(known, chosen, purpose)
    found = evaluate(apart, plan.recipe.margins(first, apart, unknown), length_margins(first, apart))
    held = found.to_dict() | compute_diagnostics(first, apart).to_dict()
    card = _card(pairs, purpose, plan, chosen.told(), held) | {"excluded": dict(excluded or {}), "seed": seed}
    return plan.recipe.fitted(examples, chosen, purpose, card=card)


def _check_apart(pairs: Sequence[Pair], apart: Sequence[Pair]) -> None:
    both = {pair.dialogue for pair in pairs} & {pair.dialogue for pair in apart}
    if both:
        raise InvalidInput(
            f"{len(both):,} dialogues are among those to train on and among those to measure on, such as "
            f"{format_value(min(both))}. Keep all pairs of a dialogue on one side."
        )


def sort_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs in an order that does not depend on that in which they were given."""
    return sorted(pairs, key=_order)


def _order(pair: Pair) -> tuple[object, ...]:
    who = (pair.rater or "", sorted(pair.cells.items()), pair.strength or 0.0, pair.agreement or 0.0)
    return (pair.dialogue, pair.chosen, pair.rejected, pair.weight, *who)


def cross_validate(
    pairs: Sequence[Pair],
    *,
    n_folds: int = 5,
    plan: TrainingPlan | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> HeldOutMargins:
    """Return what models say of pairs whose dialogues they do not know.

    Each fold is scored by a model of the others, within which settings, vocabulary and temperature are chosen anew.

    Parameters
    ----------
    pairs
        Of at least so many dialogues as there are folds.
    n_folds
        Into which dialogues are dealt.
    plan
        What is trained; by default as `train`.
    seed
        Of the folds.
    progress
        Called with the share that is done.

    Returns
    -------
    Tested
        Margins in the order of the pairs.

    Raises
    ------
    InvalidInput
        There are fewer dialogues than folds.
    """
    plan = plan or TrainingPlan()
    examples = plan.examples(pairs, _part(progress, 0, plan.encoding))
    done = _part(progress, plan.encoding, 1)
    fold = folds(examples.dialogue, n_folds, seed=seed)
    margins, length, used = np.empty(len(pairs)), np.empty(len(pairs)), []
    for number in range(n_folds):
        others, here = examples.take(np.flatnonzero(fold != number)), np.flatnonzero(fold == number)
        chosen = plan.choose(others, seed=seed)
        model, apart = plan.recipe.fitted(others, chosen, "harmless"), [pairs[place] for place in here.tolist()]
        margins[here] = plan.recipe.margins(model, apart, examples.take(here))
        length[here] = length_margins(model, apart)
        used.append(chosen.told())
        if done is not None:
            done((number + 1) / n_folds)
    return HeldOutMargins(margins, length, tuple(used))


def _part(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return the progress of a part of the work."""
    return None if progress is None else lambda share: progress(begin + share * (end - begin))


def _card(
    pairs: Sequence[Pair], purpose: Purpose, plan: TrainingPlan, settings: dict[str, Any], found: dict[str, Any]
) -> dict[str, Any]:
    return {
        "purpose": purpose,
        "model": plan.recipe.about,
        "data_sha256": digest(pairs),
        "n_pairs": len(pairs),
        "n_dialogues": len({pair.dialogue for pair in pairs}),
        "n_raters": len({pair.rater for pair in pairs} - {None}) or None,
        "counting": asdict(plan.counting),
        "settings": settings,
        "held_out": found,
        "limits": [
            f"Scores mean what people found more {purpose} in these pairs, and nothing else.",
            "Held-out figures are of dialogues of the same source; on others expect less.",
            "It is no filter: what scores high may still do harm.",
            *plan.recipe.limits,
        ],
    }
