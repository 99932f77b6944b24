"""Training of a transformer: one fit, calibrated and measured on held-out dialogues."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.features import log_length
from dissensus.preference.data.pairs import PURPOSES, Pair, Purpose, answers, dialogues, digest, folds
from dissensus.preference.data.sparse import Integers
from dissensus.preference.evaluation.accuracy import evaluate
from dissensus.preference.fit.linear import Progress, fit_slope, fit_temperature
from dissensus.preference.fit.logistic import PairChoices
from dissensus.preference.fit.training import HELD_OUT, sort_pairs
from dissensus.preference.models.linear import length_margins
from dissensus.preference.transformer.base import BaseModel, open_base
from dissensus.preference.transformer.checkpoints import resume_checkpoint
from dissensus.preference.transformer.extra import check_installed
from dissensus.preference.transformer.inference import pick_device
from dissensus.preference.transformer.model import Transformer
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.preference.transformer.tokens import TokenReader, tokenise_pair
from dissensus.preference.transformer.trainer import TokenCounter, TrainerResult, fit_transformer
from dissensus.schema.hints import format_value

CALIBRATION: Final = 10
"""One of so many folds of the dialogues that are not held out gives the temperature alone."""


class _Parts(NamedTuple):
    """Places of pairs: which are trained on, which give the temperature, and which are held out."""

    trained: Integers
    calibration: Integers
    held_out: Integers


def train_transformer(
    pairs: Sequence[Pair],
    *,
    purpose: Purpose,
    plan: TransformerPlan,
    excluded: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Transformer:
    r"""Train a transformer with one output on pairs, so that it scores an answer given all that was said before.

    The loss is that of Bradley and Terry, as `dissensus.preference.data.weighting.Weighting` has each pair count,
    :math:`-w \bigl( t \ln P + (1 - t) \ln (1 - P) \bigr)` with :math:`P = 1 / (1 + e^{m - s(a) + s(b)})`, after
    Bai et al. 2022, arXiv 2204.05862, appendix A.2. A fifth of the dialogues is held out for the card, and a tenth of
    the others gives the temperature. The network is trained on the rest, once, and not again on all.

    Parameters
    ----------
    pairs
        Of at least 13 dialogues. Each is read as hh-rlhf writes it.
    purpose
        What people chose by.
    plan
        What is trained, and how.
    excluded
        How many pairs were left out before, by reason, for the card.
    seed
        Of the folds, new weights, the order of pairs, and dropout. The order in which pairs are given makes no
        difference, and on a CPU the same seed gives the same weights.
    progress
        Called with the share of steps that is done.

    Returns
    -------
    Transformer
        The model, with its card. Where torchrun has started several processes, each has it.

    Raises
    ------
    Unavailable
        The extra is not installed.
    InvalidInput
        There are fewer dialogues, or no such purpose; or the plan asks for what base or pairs do not have.
    UndefinedEstimate
        Training diverged.
    """
    if purpose not in PURPOSES:
        raise InvalidInput(f"purpose is {format_value(purpose)}; choose one of {', '.join(PURPOSES)}.")
    check_installed("accelerate", *([] if plan.lora is None else ["peft"]))
    plan = replace(plan, bf16=_can_bf16() if plan.bf16 is None else plan.bf16)
    pairs = sort_pairs(sorted(pairs, key=_told))
    parts, choices = _parts(pairs, seed), plan.counting.choices(pairs)
    base = _opened(plan, seed)
    last = resume_checkpoint(plan, _run(pairs, purpose, plan, seed))
    known = _taken(pairs, parts.trained)
    seen = TokenCounter(base.reader.read(tokenise_pair(known)).rows, choices.take(parts.trained), base.reader.pad)
    found = fit_transformer(base.network, seen, plan, seed=seed, last=last, progress=progress)
    model = _calibrated(found.network, base.reader, plan, purpose, _Case(pairs, choices, parts))
    more = {"excluded": dict(excluded or {}), "seed": seed, "speed": _speed(found, plan)}
    return replace(model, card=_card(model, pairs, parts, plan, base.revision) | more)


class _Case(NamedTuple):
    """All pairs, what each counts for, and what each is for."""

    pairs: Sequence[Pair]
    choices: PairChoices
    parts: _Parts


def _told(pair: Pair) -> list[str]:
    return [turn.text for turn in pair.context]


def _parts(pairs: Sequence[Pair], seed: int) -> _Parts:
    dialogue = dialogues(pairs)
    held_out = folds(dialogue, HELD_OUT, seed=seed) == 0
    known = np.flatnonzero(~held_out)
    aside = folds(dialogue[known], CALIBRATION, seed=seed) == 0
    return _Parts(known[~aside], known[aside], np.flatnonzero(held_out))


def _taken(pairs: Sequence[Pair], places: Integers) -> list[Pair]:
    return [pairs[place] for place in places.tolist()]


def _can_bf16() -> bool:
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.is_bf16_supported())


def _run(pairs: Sequence[Pair], purpose: Purpose, plan: TransformerPlan, seed: int) -> dict[str, Any]:
    """Return what decides on the weights, so that a training goes on as it began."""
    n_processes = int(os.environ.get("WORLD_SIZE", "1"))
    about = {"base": plan.base, "counting": asdict(plan.counting), "settings": plan.told()}
    versions = {name: version(name) for name in ("dissensus", "torch", "transformers")}
    return {**about, "data_sha256": digest(pairs), "purpose": purpose, "seed": seed, "n": n_processes, **versions}


def _opened(plan: TransformerPlan, seed: int) -> BaseModel:
    from transformers import set_seed

    set_seed(seed)  # of weights that the base does not have, those of the head among them
    return open_base(plan.base, max_length=plan.max_length)


def _calibrated(network: Any, reader: TokenReader, plan: TransformerPlan, purpose: Purpose, case: _Case) -> Transformer:
    """Return the model with the temperature that fits what was chosen in dialogues that it has not seen."""
    lengths = log_length(answers(case.pairs))
    known = case.parts.trained
    raw = Transformer(
        purpose=purpose,
        network=network.to(pick_device()),
        reader=reader,
        length_alone=fit_slope((lengths[0::2] - lengths[1::2])[known], case.choices.take(known)),
        temperature=1.0,
        bf16=bool(plan.bf16),
    )
    aside = case.parts.calibration
    try:
        margins = raw.margins(_taken(case.pairs, aside))
    except InvalidInput:
        raise UndefinedEstimate(
            f"Training diverged, and scores are no numbers. Take a lower learning rate than {plan.rate:g}."
        ) from None
    return replace(raw, temperature=fit_temperature(margins, case.choices.take(aside)))


def _speed(found: TrainerResult, plan: TransformerPlan) -> dict[str, Any]:
    n_weights = found.network.num_parameters(exclude_embeddings=True)
    return found.speed.told(n_weights, lora=plan.lora is not None, peak_tflops=plan.peak_tflops)


def _card(
    model: Transformer, pairs: Sequence[Pair], parts: _Parts, plan: TransformerPlan, revision: str | None
) -> dict[str, Any]:
    known, apart = _taken(pairs, parts.trained), _taken(pairs, parts.held_out)
    names = ("dissensus", "torch", "transformers", "tokenizers", *(["peft"] if plan.lora else []))
    base = Path(plan.base).name if Path(plan.base).expanduser().is_dir() else plan.base
    longest = model.reader.max_length
    return {
        "purpose": model.purpose,
        "model": f"transformer: Bradley–Terry on one output of {base}, from the answer and all before it",
        "base": {"name": base, "revision": revision, "n_weights": model.network.num_parameters()},
        "data_sha256": digest(pairs),
        "n_pairs": len(known),
        "n_dialogues": len({pair.dialogue for pair in known}),
        "n_raters": len({pair.rater for pair in known} - {None}) or None,
        "n_pairs_calibration": len(parts.calibration),
        "n_pairs_given": len(pairs),
        "cut": {"n_pairs": model.pairs_cut(pairs), "max_length": longest},
        "counting": asdict(plan.counting),
        "settings": plan.told() | {"max_length": longest, "temperature": model.temperature},
        "held_out": evaluate(apart, model.margins(apart), length_margins(model, apart)).to_dict(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in names}},
        "limits": [
            f"Scores mean what people found more {model.purpose} in these pairs, and nothing else.",
            f"It reads {longest:,} tokens at most, the last ones: what was said before them makes no difference.",
            "It brings along what its base learned, of which this card knows nothing.",
            "Held-out figures are of dialogues of the same source; on others expect less.",
            "It is no filter: what scores high may still do harm.",
            "It speaks for the largest group where groups choose differently.",
        ],
    }
