"""Training of a transformer, with calibration and evaluation on held-out dialogues."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.features import log_length
from dissensus.preference.data.pairs import PURPOSES, Pair, Purpose, answers, dialogues, digest, folds
from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.fit.linear import fit_slope, fit_temperature
from dissensus.preference.fit.recipes import LARGEST_GROUP
from dissensus.preference.fit.training import HELD_OUT, count_votes, list_limits, sort_pairs
from dissensus.preference.models.encoder import Progress
from dissensus.preference.models.linear import length_margins
from dissensus.preference.transformer.base import BaseModel, name_base, open_base
from dissensus.preference.transformer.checkpoints import resume_checkpoint
from dissensus.preference.transformer.extra import check_installed
from dissensus.preference.transformer.inference import pick_device
from dissensus.preference.transformer.model import Transformer
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.preference.transformer.tokens import TokenReader, render_pairs
from dissensus.preference.transformer.trainer import PairDataset, TrainerResult, fit_transformer
from dissensus.schema.hints import format_value
from dissensus.stats.result import Int64Array

CALIBRATION: Final = 10
"""Number of folds of the other dialogues; one is used for the temperature only."""


class _Parts(NamedTuple):
    """Indices of training, calibration and held-out pairs."""

    training: Int64Array
    calibration: Int64Array
    held_out: Int64Array


def train_transformer(
    pairs: Sequence[Pair],
    *,
    purpose: Purpose,
    plan: TransformerPlan,
    excluded: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Transformer:
    r"""Train a transformer that scores an answer given the whole conversation before it.

    The loss is the Bradley–Terry loss with the weights of `dissensus.preference.data.weighting.Weighting`,
    :math:`-w \bigl( t \ln P + (1 - t) \ln (1 - P) \bigr)` with :math:`P = 1 / (1 + e^{m - s(a) + s(b)})`, after
    Bai et al. 2022, arXiv 2204.05862, appendix A.2. A fifth of the dialogues is held out for the card, and a tenth of
    the others is used for the temperature. The network is trained once, on the rest, and not again on all pairs.

    Parameters
    ----------
    pairs
        Pairs of at least 13 dialogues, rendered in the format of hh-rlhf.
    purpose
        Purpose of the choices: ``helpful`` or ``harmless``.
    plan
        Base model, data options and hyperparameters.
    excluded
        Number of pairs excluded beforehand, by reason, for the card.
    seed
        Seed of the folds, new weights, the order of pairs, and dropout. The order in which pairs are given makes no
        difference, and on a CPU the same seed gives the same weights.
    progress
        Called with the completed share of steps.

    Returns
    -------
    Transformer
        Trained model with its card; under torchrun, in each process.

    Raises
    ------
    MissingExtra
        The extra ``ml`` is not installed.
    InvalidInput
        Too few dialogues, an unknown purpose, or a plan that does not fit the base model or the pairs.
    UndefinedEstimate
        Training diverged.
    """
    if purpose not in PURPOSES:
        raise InvalidInput(f"purpose is {format_value(purpose)}; choose one of {', '.join(PURPOSES)}.")
    check_installed("accelerate", *([] if plan.lora is None else ["peft"]))
    plan = replace(plan, bf16=_can_bf16() if plan.bf16 is None else plan.bf16)
    pairs = sort_pairs(pairs)
    parts, choices = _split_parts(pairs, seed), plan.weighting.choices(pairs)
    base = open_seeded_base(plan, seed)
    checkpoint = resume_checkpoint(plan, _run_key(pairs, purpose, plan, seed))
    rows = base.reader.read(render_pairs(_take(pairs, parts.training))).rows
    dataset = PairDataset(rows, choices.take(parts.training), base.reader.pad)
    result = fit_transformer(base.network, dataset, plan, seed=seed, checkpoint=checkpoint, progress=progress)
    model = _calibrate(result.network, base.reader, plan, purpose, _SplitPairs(pairs, choices, parts))
    card = _card(model, pairs, parts, plan, base.revision)
    card |= {"excluded": dict(excluded or {}), "seed": seed, "speed": _speed_card(result, plan)}
    return replace(model, card=card)


class _SplitPairs(NamedTuple):
    """All pairs with their choices and their split."""

    pairs: Sequence[Pair]
    choices: PairChoices
    parts: _Parts


def _split_parts(pairs: Sequence[Pair], seed: int) -> _Parts:
    dialogue = dialogues(pairs)
    held_out = folds(dialogue, HELD_OUT, seed=seed) == 0
    rest = np.flatnonzero(~held_out)
    calibration = folds(dialogue[rest], CALIBRATION, seed=seed) == 0
    return _Parts(rest[~calibration], rest[calibration], np.flatnonzero(held_out))


def _take(pairs: Sequence[Pair], indices: Int64Array) -> list[Pair]:
    return [pairs[index] for index in indices.tolist()]


def _can_bf16() -> bool:
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.is_bf16_supported())


def _run_key(pairs: Sequence[Pair], purpose: Purpose, plan: TransformerPlan, seed: int) -> dict[str, Any]:
    """Return what determines the weights; it must be the same when a training is resumed."""
    n_processes = int(os.environ.get("WORLD_SIZE", "1"))
    settings = {"base": plan.base, "weighting": asdict(plan.weighting), "settings": plan.to_card()}
    versions = {name: version(name) for name in ("dissensus", "torch", "transformers")}
    return {**settings, "data_sha256": digest(pairs), "purpose": purpose, "seed": seed, "n": n_processes, **versions}


def open_seeded_base(plan: TransformerPlan, seed: int) -> BaseModel:
    """Open the base model of a plan; weights that it lacks are drawn with the seed."""
    from transformers import set_seed

    set_seed(seed)  # For weights that are missing in the base model, such as the head
    return open_base(plan.base, max_length=plan.max_length)


def _calibrate(
    network: Any, reader: TokenReader, plan: TransformerPlan, purpose: Purpose, split: _SplitPairs
) -> Transformer:
    """Return the model with the temperature that fits the calibration pairs."""
    lengths = log_length(answers(split.pairs))
    training, calibration = split.parts.training, split.parts.calibration
    uncalibrated = Transformer(
        purpose=purpose,
        network=network.to(pick_device()),
        reader=reader,
        length_alone=fit_slope((lengths[0::2] - lengths[1::2])[training], split.choices.take(training)),
        temperature=1.0,
        bf16=bool(plan.bf16),
    )
    try:
        margins = uncalibrated.margins(_take(split.pairs, calibration))
    except InvalidInput:
        raise UndefinedEstimate(
            f"Training diverged: scores are not finite. Use a learning rate below {plan.rate:g}."
        ) from None
    return replace(uncalibrated, temperature=fit_temperature(margins, split.choices.take(calibration)))


def _speed_card(result: TrainerResult, plan: TransformerPlan) -> dict[str, Any]:
    n_weights = result.network.num_parameters(exclude_embeddings=True)
    return result.speed.to_card(n_weights, lora=plan.lora is not None, peak_tflops=plan.peak_tflops)


def _card(
    model: Transformer, pairs: Sequence[Pair], parts: _Parts, plan: TransformerPlan, revision: str | None
) -> dict[str, Any]:
    training, held_out = _take(pairs, parts.training), _take(pairs, parts.held_out)
    packages = ("dissensus", "torch", "transformers", "tokenizers", *(["peft"] if plan.lora else []))
    base = name_base(plan.base)
    max_length = model.reader.max_length
    of_scores, *others = list_limits(model.purpose)
    return {
        "purpose": model.purpose,
        "model": f"transformer: Bradley–Terry on one output of {base}, from the answer and all before it",
        "base": {"name": base, "revision": revision, "n_weights": model.network.num_parameters()},
        "data_sha256": digest(pairs),
        **count_votes(training),
        "n_pairs_calibration": len(parts.calibration),
        "n_pairs_given": len(pairs),
        "cut": {"n_pairs": model.pairs_cut(pairs), "max_length": max_length},
        "weighting": asdict(plan.weighting),
        "settings": plan.to_card() | {"max_length": max_length, "temperature": model.temperature},
        "held_out": evaluate(held_out, model.margins(held_out), length_margins(model, held_out)).to_dict(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "limits": [
            of_scores,
            f"It reads at most the last {max_length:,} tokens; earlier text has no effect.",
            "It inherits what its base model learned, which this card does not describe.",
            *others,
            LARGEST_GROUP,
        ],
    }
