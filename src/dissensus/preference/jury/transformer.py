"""Tuning of a transformer on one half of the conversations, and fit of a jury model to the other half."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Final, NamedTuple

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.jury.texts import RatedText, hash_texts
from dissensus.preference.jury.training import MIN_ITEMS, MIN_RATERS, JuryRatings, fit_jury, read_jury_ratings
from dissensus.preference.models.encoder import Progress
from dissensus.preference.transformer.base import name_base
from dissensus.preference.transformer.encoder import TunedEncoder
from dissensus.preference.transformer.extra import check_installed
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.preference.transformer.trainer import PairDataset, fit_transformer
from dissensus.preference.transformer.training import open_seeded_base
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import BoolArray, FloatArray, Int64Array

PARTNERS: Final = 4
"""Number of other texts with which each text is compared."""


class TunedRatings(NamedTuple):
    """A tuned encoder, the texts that it was tuned on, and the ratings of all other conversations."""

    encoder: TunedEncoder
    texts: list[RatedText]
    rest: JuryRatings


def train_transformer_jury(
    ratings: Ratings,
    plan: TransformerPlan,
    *,
    question: str | None = None,
    unsafe: Sequence[str] | None = None,
    by: Sequence[str] = (),
    min_raters: int = MIN_RATERS,
    seed: int = 0,
    progress: Progress | None = None,
) -> JuryModel:
    """Train a jury model whose features are words, and vectors of a transformer tuned on half of the conversations.

    Parameters
    ----------
    ratings, question, unsafe, by, min_raters
        As for `train_jury`.
    plan
        Base model and hyperparameters; there are no checkpoints.
    seed
        Seed of the halves, new weights, the texts compared, and dropout. On a CPU the same seed and ratings in any
        order give the same model.
    progress
        Called with the completed share of steps.

    Returns
    -------
    JuryModel

    Raises
    ------
    MissingExtra
        The extra ``ml`` is not installed.
    InvalidInput
        As of `train_jury`, a half with fewer than 20 items, a group without ratings in the other half, or an unusable
        base model.
    UndefinedEstimate
        Tuning diverged, or all answers of a half are the same.
    """
    checked = read_jury_ratings(ratings, question=question, unsafe=unsafe, by=by, min_raters=min_raters)
    return fit_transformer_jury(checked, plan, seed=seed, progress=progress)


def fit_transformer_jury(
    ratings: JuryRatings, plan: TransformerPlan, *, seed: int, progress: Progress | None = None
) -> JuryModel:
    """Tune a transformer on half of the conversations of checked ratings, and fit a jury model to the other half."""
    encoder, texts, rest = tune_encoder(ratings, plan, seed=seed, progress=progress)
    for axis, (name, groups) in enumerate(rest.axes.items()):
        present = np.unique(rest.groups[axis, rest.raters])
        absent = [group for code, group in enumerate(groups) if code not in present]
        if absent:
            raise InvalidInput(
                f"{absent[0]} of {name} rated none of the conversations that the transformer is not tuned on. Raise "
                "--min-raters, so that small groups are left out, or split otherwise with another --seed."
            )
    model = fit_jury(rest, encoder=encoder)
    packages = {name: version(name) for name in ("torch", "transformers", "tokenizers")}
    tuning = {
        "base": name_base(plan.base),
        "n_items": len(texts),
        "settings": plan.to_card(),
        "seed": seed,
        "versions": packages,
    }
    card = model.card | {"tuning": tuning}
    return replace(model, trained=np.union1d(model.trained, hash_texts(texts)), card=card)


def tune_encoder(
    ratings: JuryRatings, plan: TransformerPlan, *, seed: int, progress: Progress | None = None
) -> TunedRatings:
    r"""Tune a transformer on the ratings of half of the conversations.

    The loss is that of `train_transformer` over texts, each beside four others drawn at random: the cross-entropy of
    the share of pairs of their answers in which the one about the first text is the safer, half of equal ones included.
    Groups and raters have no part in it. On a CPU the same seed and ratings in any order give the same weights.
    """
    if plan.checkpoints is not None or plan.resume:
        raise InvalidInput("The transformer of a jury model has no checkpoints. Leave out checkpoints and resume.")
    check_installed("accelerate", *([] if plan.lora is None else ["peft"]))
    is_tuned = _split_conversations(ratings, seed)
    tuning, rest = ratings.select(is_tuned), ratings.select(~is_tuned)
    items = sorted(np.unique(tuning.items).tolist(), key=lambda item: ratings.texts[item])
    base = open_seeded_base(plan, seed)
    first, second = _draw_partners(len(items), seed)
    pairs = np.stack([first, second], axis=1).ravel()
    rows = base.reader.read([ratings.texts[item].response for item in items]).rows
    choices = PairChoices(
        weight=np.ones(len(first)), share=_safer_shares(tuning, items, first, second), margin=np.zeros(len(first))
    )
    dataset = PairDataset([rows[row] for row in pairs], choices, base.reader.pad)
    network = fit_transformer(base.network, dataset, plan, seed=seed, progress=progress).network
    return TunedRatings(
        TunedEncoder(network=network, reader=base.reader), [ratings.texts[item] for item in items], rest
    )


def _split_conversations(ratings: JuryRatings, seed: int) -> BoolArray:
    """Return a mask of the items in the half of the conversations on which the transformer is tuned."""
    rated = np.unique(ratings.items)
    openings, conversation = np.unique([ratings.texts[item].opening for item in rated], return_inverse=True)
    half = np.random.default_rng(seed).permutation(len(openings))[conversation] % 2
    if (least := np.bincount(half, minlength=2).min()) < MIN_ITEMS:
        raise InvalidInput(
            f"One half of the {len(openings):,} conversations has {least:,} items, and a transformer is tuned on "
            f"{MIN_ITEMS} or more and the model fitted to as many others. Give more items, or leave --transformer out "
            "(in Python: plan=None)."
        )
    is_tuned = np.zeros(len(ratings.texts), np.bool_)
    is_tuned[rated[half == 0]] = True
    return is_tuned


def _draw_partners(n: int, seed: int) -> tuple[Int64Array, Int64Array]:
    """Return pairs of texts: each text `PARTNERS` times, beside others."""
    shifts = np.random.default_rng(seed).choice(np.arange(1, n), PARTNERS, replace=False)
    order = np.random.default_rng(seed).permutation(n)
    return np.tile(order, PARTNERS), np.concatenate([np.roll(order, shift) for shift in shifts])


def _safer_shares(ratings: JuryRatings, items: list[int], first: Int64Array, second: Int64Array) -> FloatArray:
    """Return the share of pairs of answers in which the one about the first text is lower; equal ones count half."""
    place = np.empty(len(ratings.texts), np.int64)
    place[items] = np.arange(len(items))
    counts = np.zeros((len(items), len(ratings.scale)))
    np.add.at(counts, (place[ratings.items], ratings.answers), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    above = 1 - shares.cumsum(axis=1) + shares / 2
    return np.asarray((shares[first] * above[second]).sum(axis=1))
