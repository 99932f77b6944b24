"""Training of the linear model: settings chosen, scores calibrated and accuracy measured on dialogues held out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference import logistic
from dissensus.preference.evaluation import Evaluation, evaluate
from dissensus.preference.features import Kind, Vocabulary, counted, log_length
from dissensus.preference.linear import LENGTH_SCALE, Linear, Settings, length_margins, stacked
from dissensus.preference.pairs import PURPOSES, Pair, Purpose, answers, dialogues, digest, folds
from dissensus.preference.sparse import Floats, Integers, Rows
from dissensus.schema.hints import shown

FEATURES: Final[tuple[tuple[Kind, ...], ...]] = (("characters",), ("words",), ("characters", "words"))
PENALTIES: Final = (4.0, 2.0, 1.0, 0.5)
INNER: Final = 3
"""Folds in which settings are chosen."""

HELD_OUT: Final = 5
"""One of so many folds of dialogues is held out to measure a model that is saved."""

HOTTEST: Final = 20.0
"""Temperature of scores that say nothing."""

Progress = Callable[[float], None]


class Chosen(NamedTuple):
    """Settings with the least log-loss on training dialogues held out, and the temperature that fits these."""

    settings: Settings
    temperature: float


class Tested(NamedTuple):
    """What models say of pairs that they were not trained on: margins of the model and of length alone."""

    margins: Floats
    length: Floats
    settings: tuple[Settings, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Pairs as numbers.

    Parameters
    ----------
    counts
        Runs of each kind, two rows a pair: chosen, rejected.
    lengths
        Log length of the chosen less that of the rejected answer.
    weight
        Of each pair.
    dialogue
        Of each pair.
    """

    counts: dict[Kind, Rows]
    lengths: Floats
    weight: Floats
    dialogue: Integers

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> Self:
        """Return pairs as numbers."""
        texts = answers(pairs)
        lengths = log_length(texts)
        kinds: tuple[Kind, ...] = ("characters", "words")
        counts = {kind: counted(texts, kind) for kind in kinds}
        weight = np.array([pair.weight for pair in pairs])
        return cls(counts, lengths[0::2] - lengths[1::2], weight, dialogues(pairs))

    def take(self, pairs: Integers) -> "Examples":
        """Return some of them."""
        both = np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()
        counts = {kind: rows.take(both) for kind, rows in self.counts.items()}
        return Examples(counts, self.lengths[pairs], self.weight[pairs], self.dialogue[pairs])


def train(
    pairs: Sequence[Pair],
    *,
    purpose: Purpose,
    excluded: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Linear:
    """Train a model on pairs.

    A fifth of the dialogues is held out. Settings and temperature are chosen on the others by cross-validation, with
    pairs of one dialogue kept together. The model with these is measured on what was held out, for its card, and
    then trained on all pairs.

    Parameters
    ----------
    pairs
        Of at least `HELD_OUT` dialogues.
    purpose
        What people chose by.
    excluded
        How many pairs were left out before, by reason, for the card.
    seed
        Of the folds. The order of the pairs makes no difference.
    progress
        Called with the share that is done.

    Returns
    -------
    Linear
        The model, with its card.

    Raises
    ------
    InvalidInput
        There are fewer dialogues, or no such purpose.
    """
    if purpose not in PURPOSES:
        raise InvalidInput(f"purpose is {shown(purpose)}; choose one of {', '.join(PURPOSES)}.")
    pairs = sorted(pairs, key=lambda pair: (pair.dialogue, pair.chosen, pair.rejected, pair.weight))
    examples = Examples.of(pairs)
    fold = folds(examples.dialogue, HELD_OUT, seed=seed)
    known, unknown = np.flatnonzero(fold), np.flatnonzero(fold == 0)
    chosen = choose(examples.take(known), seed=seed, progress=progress)
    apart = [pairs[place] for place in unknown.tolist()]
    first = fitted(examples.take(known), chosen, purpose)
    found = evaluate(apart, first.margins(apart), length_margins(first, apart))
    card = _card(pairs, purpose, chosen, found) | {"excluded": dict(excluded or {}), "seed": seed}
    return fitted(examples, chosen, purpose, card=card)


def cross_validate(
    pairs: Sequence[Pair],
    *,
    n_folds: int = 5,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tested:
    """Return what models say of pairs whose dialogues they do not know.

    Each fold is scored by a model of the others, within which settings, vocabulary and temperature are chosen anew.

    Parameters
    ----------
    pairs
        Of at least so many dialogues as there are folds.
    n_folds
        Into which dialogues are dealt.
    features
        What may be chosen.
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
    examples = Examples.of(pairs)
    fold = folds(examples.dialogue, n_folds, seed=seed)
    margins, length, used = np.empty(len(pairs)), np.empty(len(pairs)), []
    for number in range(n_folds):
        others, here = examples.take(np.flatnonzero(fold != number)), np.flatnonzero(fold == number)
        chosen = choose(others, features=features, seed=seed)
        model, apart = fitted(others, chosen, "harmless"), [pairs[place] for place in here.tolist()]
        margins[here], length[here] = model.margins(apart), length_margins(model, apart)
        used.append(chosen.settings)
        if progress is not None:
            progress((number + 1) / n_folds)
    return Tested(margins, length, tuple(used))


def choose(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Chosen:
    """Choose settings and temperature by cross-validation."""
    fold = folds(examples.dialogue, INNER, seed=seed + 1)
    margins = {(kinds, penalty): np.empty(len(fold)) for kinds in features for penalty in PENALTIES}
    for number in range(INNER):
        others, here = examples.take(np.flatnonzero(fold != number)), np.flatnonzero(fold == number)
        vocabularies = {kind: Vocabulary.learn(others.counts[kind]) for kind in others.counts}
        known, unknown = (_differences(some, vocabularies) for some in (others, examples.take(here)))
        for step, kinds in enumerate(features):
            rows = stacked([known[kind] for kind in kinds], others.lengths)
            apart = stacked([unknown[kind] for kind in kinds], examples.lengths[here])
            beta = np.zeros(rows.width)
            for penalty in PENALTIES:
                beta = logistic.fit(rows, others.weight, penalty, start=beta)
                margins[kinds, penalty][here] = apart @ beta
            if progress is not None:
                progress((number * len(features) + step + 1) / (INNER * len(features)))
    heat = {key: _temperature(found, examples.weight) for key, found in margins.items()}
    loss = {key: examples.weight @ np.logaddexp(0, -found / heat[key]) for key, found in margins.items()}
    kinds, penalty = min(loss, key=lambda key: float(loss[key]))
    return Chosen(Settings(features=kinds, penalty=penalty), heat[kinds, penalty])


def fitted(examples: Examples, chosen: Chosen, purpose: Purpose, *, card: dict[str, Any] | None = None) -> Linear:
    """Return the model that all examples give with these settings."""
    kinds = chosen.settings.features
    vocabularies = {kind: Vocabulary.learn(examples.counts[kind]) for kind in kinds}
    parts = _differences(examples, vocabularies)
    beta = logistic.fit(
        stacked([parts[kind] for kind in kinds], examples.lengths), examples.weight, chosen.settings.penalty
    )
    ends = np.cumsum([0, *(len(vocabularies[kind]) for kind in kinds)])
    weights = {kind: beta[ends[k] : ends[k + 1]].astype(np.float32) for k, kind in enumerate(kinds)}
    return Linear(
        purpose=purpose,
        vocabularies=vocabularies,
        weights=weights,
        length_weight=float(beta[-1]),
        length_alone=_slope(examples.lengths, examples.weight),
        temperature=chosen.temperature,
        card=card or {},
    )


def length_fitted(pairs: Sequence[Pair]) -> Floats:
    """Return what the length of answers says of pairs, with its one weight fitted to these pairs themselves."""
    lengths = log_length(answers(pairs))
    column = lengths[0::2] - lengths[1::2]
    return column * _slope(column, np.array([pair.weight for pair in pairs]))


def _differences(examples: Examples, vocabularies: dict[Kind, Vocabulary]) -> dict[Kind, Rows]:
    return {kind: known.weigh(examples.counts[kind]).differences() for kind, known in vocabularies.items()}


def _slope(column: Floats, weight: Floats) -> float:
    """Return the weight of a single feature; the little penalty keeps it finite where all pairs agree."""
    return float(logistic.fit(Rows.one_column(column), weight, 0.01)[0])


def _temperature(margins: Floats, weight: Floats) -> float:
    return 1 / max(_slope(margins, weight), 1 / HOTTEST)


def _card(pairs: Sequence[Pair], purpose: Purpose, chosen: Chosen, found: Evaluation) -> dict[str, Any]:
    return {
        "purpose": purpose,
        "model": "linear: Bradley–Terry on TF-IDF of hashed runs of characters and words, and log length",
        "data_sha256": digest(pairs),
        "n_pairs": len(pairs),
        "n_dialogues": len({pair.dialogue for pair in pairs}),
        "settings": asdict(chosen.settings) | {"length_scale": LENGTH_SCALE, "temperature": chosen.temperature},
        "held_out": found.to_dict(),
        "limits": [
            f"Scores mean what people found more {purpose} in these pairs, and nothing else.",
            "The model looks at the words of the answer alone, so the same answer has one score after any question.",
            "Held-out figures are of dialogues of the same source; on others expect less.",
            "It is no filter: what scores high may still do harm.",
        ],
    }
