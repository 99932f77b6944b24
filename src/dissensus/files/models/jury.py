"""Serialisation of jury models to plain values and arrays."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.files.models.parts import Arrays, check_hashes, check_weights, find_encoder, identify_encoder
from dissensus.files.models.transformer import check_description, token_reader_header
from dissensus.preference.data.features import Vocabulary
from dissensus.preference.jury.features import TextFeatures, WordSpace
from dissensus.preference.jury.model import JuryModel
from dissensus.preference.models.encoder import Encoder
from dissensus.preference.transformer.encoder import TunedEncoder
from dissensus.stats.jury.model import GroupContrasts, TextModel

KIND: Final = "jury"

_SIDES: Final = ("response", "context")
_CONTRASTS: Final = ("centre", "directions")
_FLOATS: Final = ("weights", "covariances", "residuals", "levels", "level_covariance")


def disassemble_jury(model: JuryModel) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Serialise a model, without its card, to plain values for JSON and arrays."""
    encoder = model.features.encoder
    header = {
        "schema_version": 1,
        "kind": KIND,
        "purpose": model.purpose,
        "question": model.question,
        "answers": list(model.answers),
        "unsafe": list(model.unsafe),
        "axes": {axis: list(names) for axis, names in model.axes.items()},
        "least_known": model.least_known,
        "thresholds": model.model.thresholds.tolist(),
        "rater_variance": model.model.rater_variance,
        "converged": model.model.converged,
        "choice_scale": model.model.choice_scale,
        "encoder": None if encoder is None else identify_encoder(encoder),
    }
    if isinstance(encoder, TunedEncoder):
        header["transformer"] = token_reader_header(encoder.reader)
    arrays: dict[str, npt.NDArray[Any]] = {
        "cells": model.cells,
        "n_raters": model.n_raters,
        "trained": model.trained,
    }
    for side in _SIDES:
        space = getattr(model.features, side)
        arrays |= {
            f"{side}_hashes": space.vocabulary.hashes,
            f"{side}_idf": space.vocabulary.idf,
            f"{side}_directions": space.directions,
            f"{side}_centre": space.centre,
        }
    arrays["encoder_centre"] = model.features.centre
    contrasts = model.model.contrasts
    arrays |= {name: getattr(contrasts, name).astype(np.float32) for name in _CONTRASTS}
    return header, arrays | {name: getattr(model.model, name).astype(np.float32) for name in _FLOATS}


def assemble_jury(
    header: dict[str, Any], card: dict[str, Any], arrays: Arrays, *, encoder: Encoder | None = None
) -> JuryModel:
    """Deserialise a model; the installed encoder is the default."""
    if header["schema_version"] != 1:
        raise ValueError(f"version {header['schema_version']} is not supported")
    check_description(header, card)
    answers, unsafe = tuple(map(str, header["answers"])), tuple(map(str, header["unsafe"]))
    axes = {str(axis): tuple(map(str, names)) for axis, names in header["axes"].items()}
    thresholds = np.array(header["thresholds"], np.float64)
    choice_scale = header.get("choice_scale")  # Absent in older models, which learned from ratings alone
    scale = 1.0 if choice_scale is None else float(choice_scale)
    numbers = np.array([header["least_known"], header["rater_variance"], scale, *thresholds], np.float64)
    if not np.isfinite(numbers).all() or numbers[1] < 0 or scale <= 0 or (np.diff(thresholds) < 0).any():
        raise ValueError(f"invalid values: {numbers.tolist()}")
    if len(thresholds) != len(answers) - 1 or not set() < set(unsafe) < set(answers):
        raise ValueError(f"invalid answers: {answers}, and unsafe {unsafe}")
    n_groups = sum(map(len, axes.values()))
    cells, n_raters = arrays["cells"], arrays["n_raters"]
    if cells.dtype != np.bool_ or n_raters.dtype != np.int64 or cells.shape != (len(n_raters), n_groups):
        raise ValueError("its groups do not fit together")
    if (n_raters < 0).any() or not n_raters.sum() or (cells.any(axis=0) != 1).any():
        raise ValueError("its groups have no raters")
    trained = arrays["trained"]
    if trained.dtype != np.uint64 or trained.ndim != 1:
        raise ValueError("its hashes of texts are not numbers of 64 bits")
    features = TextFeatures(
        response=_read_space(arrays, "response"),
        context=_read_space(arrays, "context"),
        encoder=None if header["encoder"] is None else find_encoder(header["encoder"], encoder),
        centre=check_weights(arrays["encoder_centre"], (header["encoder"]["dimension"] if header["encoder"] else 0,)),
    )
    n_contrasts, p = arrays["directions"].shape[-1], len(features.blocks)
    n = 1 + n_contrasts
    contrasts = GroupContrasts(
        centre=check_weights(arrays["centre"], (n_groups,)).astype(np.float64),
        directions=check_weights(arrays["directions"], (n_groups, n_contrasts)).astype(np.float64),
    )
    shapes = ((n, p), (n, p, p), (n,), (n_contrasts,), (n_contrasts, n_contrasts))
    floats = {
        name: check_weights(arrays[name], shape).astype(np.float64) for name, shape in zip(_FLOATS, shapes, strict=True)
    }
    return JuryModel(
        question=str(header["question"]),
        answers=answers,
        unsafe=unsafe,
        axes=axes,
        cells=cells,
        n_raters=n_raters,
        features=features,
        model=TextModel(
            thresholds=thresholds,
            contrasts=contrasts,
            rater_variance=float(header["rater_variance"]),
            converged=bool(header["converged"]),
            choice_scale=None if choice_scale is None else scale,
            **floats,
        ),
        least_known=float(header["least_known"]),
        trained=trained,
        purpose=header["purpose"],
        card=card,
    )


def _read_space(arrays: Arrays, side: str) -> WordSpace:
    hashes, centre = arrays[f"{side}_hashes"], arrays[f"{side}_centre"]
    check_hashes(hashes)
    return WordSpace(
        vocabulary=Vocabulary(hashes, check_weights(arrays[f"{side}_idf"], hashes.shape)),
        directions=check_weights(arrays[f"{side}_directions"], (len(hashes), len(centre))),
        centre=check_weights(centre, (len(centre),)),
    )
