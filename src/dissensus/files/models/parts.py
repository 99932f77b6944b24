"""Serialisation of preference models to plain values and arrays."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import Unavailable
from dissensus.files.models.transformer import check_description
from dissensus.preference.data.examples import RATER
from dissensus.preference.data.features import BITS, Kind, Vocabulary
from dissensus.preference.models.embedding import Embedding
from dissensus.preference.models.encoder import Encoder
from dissensus.preference.models.groups import GroupEffectTable, Groups
from dissensus.preference.models.kinds import KINDS, AnyModel, KindOfModel
from dissensus.preference.models.linear import Linear
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.preference.models.mini_lm import load_encoder
from dissensus.preference.transformer.model import Transformer
from dissensus.schema.hints import format_value

Arrays = Mapping[str, npt.NDArray[Any]]

ArrayModel = Linear | MeanVariance | Groups | Embedding
"""Models that consist of plain values and arrays."""

_NUMBERS: Final = ("length_weight", "length_alone", "temperature")
_SPREAD_NUMBERS: Final = ("spread_length_weight", "typical_length")
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_ENCODER: Final = ("name", "dimension", "sha256")
DIRECTIONS: Final = "directions"
VECTORS: Final = "vector_weights"


class ModelParts(NamedTuple):
    """Plain values for JSON, and arrays."""

    header: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def model_kind(model: AnyModel) -> KindOfModel | Literal["transformer"]:
    """Return the kind of a model."""
    if isinstance(model, Transformer):
        return "transformer"
    if isinstance(model, MeanVariance):
        return "mean-variance"
    if isinstance(model, Embedding):
        return "embedding"
    return "groups" if isinstance(model, Groups) else "linear"


def disassemble_model(model: ArrayModel) -> ModelParts:
    """Serialise a model, without its card."""
    kind = model_kind(model)
    if isinstance(model, MeanVariance):
        header, arrays = _split_linear(model.mean, kind)
        spreads = {f"{kind}_spread": weights for kind, weights in model.spread_weights.items()}
        return ModelParts(header | {name: getattr(model, name) for name in _SPREAD_NUMBERS}, arrays | spreads)
    if isinstance(model, Groups):
        header, arrays = _split_linear(model.population, kind)
        header |= {"axes": {axis: list(names) for axis, names in model.axes.items()}, "effects": list(model.effects)}
        for number, effects in enumerate(model.effects.values()):
            arrays[f"effects_{number}"] = effects.values
            arrays |= {} if effects.directions is None else {DIRECTIONS: effects.directions}
        return ModelParts(header, arrays)
    if isinstance(model, Embedding):
        header, arrays = _split_linear(model.words, kind)
        return ModelParts(
            header | {"encoder": identify_encoder(model.encoder), "context": model.crossed},
            arrays | {VECTORS: model.weights},
        )
    return _split_linear(model, kind)


def assemble_model(
    header: dict[str, Any], card: dict[str, Any], arrays: Arrays, *, encoder: Encoder | None = None
) -> ArrayModel:
    """Deserialise a model; the installed encoder is the default."""
    if header["schema_version"] != 1 or header["kind"] not in KINDS:
        raise ValueError(f"version {header['schema_version']} of kind {header['kind']} is not supported")
    check_description(header, card)
    if header["kind"] == "embedding":
        return _embedding(header, _linear(header, card, arrays), arrays, encoder)
    return _ASSEMBLERS[header["kind"]](header, _linear(header, card, arrays), arrays)


def _split_linear(model: Linear, kind_of_model: str) -> ModelParts:
    header = {
        "schema_version": 1,
        "kind": kind_of_model,
        "purpose": model.purpose,
        "features": list(model.vocabularies),
    }
    arrays: dict[str, npt.NDArray[Any]] = {}
    for kind, vocabulary in model.vocabularies.items():
        arrays |= {
            f"{kind}_hashes": vocabulary.hashes,
            f"{kind}_idf": vocabulary.idf,
            f"{kind}_weights": model.weights[kind],
        }
    return ModelParts(header | {name: getattr(model, name) for name in _NUMBERS}, arrays)


def _linear(header: dict[str, Any], card: dict[str, Any], arrays: Arrays) -> Linear:
    kinds = [kind for kind in _KINDS if kind in header["features"]]
    if not kinds or kinds != header["features"]:
        raise ValueError(f"its features are {header['features']}")
    numbers = _read_finite(header, _NUMBERS)
    if numbers["temperature"] <= 0:
        raise ValueError(f"invalid values: {numbers}")
    vocabularies: dict[Kind, Vocabulary] = {}
    weights: dict[Kind, npt.NDArray[np.float32]] = {}
    for kind in kinds:
        hashes, idf = arrays[f"{kind}_hashes"], arrays[f"{kind}_idf"]
        check_hashes(hashes)
        check_weights(idf, hashes.shape)
        weights[kind] = check_weights(arrays[f"{kind}_weights"], hashes.shape)
        vocabularies[kind] = Vocabulary(hashes, idf)
    return Linear(purpose=header["purpose"], vocabularies=vocabularies, weights=weights, card=card, **numbers)


def _mean_variance(header: dict[str, Any], mean: Linear, arrays: Arrays) -> MeanVariance:
    spreads = {kind: check_weights(arrays[f"{kind}_spread"], of.shape) for kind, of in mean.weights.items()}
    return MeanVariance(mean=mean, spread_weights=spreads, **_read_finite(header, _SPREAD_NUMBERS))


def _groups(header: dict[str, Any], population: Linear, arrays: Arrays) -> Groups:
    axes = {axis: tuple(map(str, names)) for axis, names in header["axes"].items()}
    if any(list(names) != sorted(set(names)) for names in axes.values()) or not set(header["effects"]) <= set(axes):
        raise ValueError("its groups are out of order")
    n_features = sum(map(len, population.weights.values())) + 1
    effects = {}
    for number, axis in enumerate(header["effects"]):
        directions = arrays[DIRECTIONS] if axis == RATER else None
        n_columns = n_features
        if directions is not None:
            n_columns = directions.shape[-1]
            check_weights(directions, (n_features, n_columns))
        values = check_weights(arrays[f"effects_{number}"], (len(axes[axis]), n_columns))
        effects[axis] = GroupEffectTable(axes[axis], values, directions)
    return Groups(population=population, effects=effects, axes=axes)


def _embedding(header: dict[str, Any], words: Linear, arrays: Arrays, encoder: Encoder | None) -> Embedding:
    dimension = header["encoder"]["dimension"]
    if not isinstance(dimension, int) or not isinstance(header["context"], bool):
        raise ValueError(f"its encoder is {header['encoder']}")
    weights = check_weights(arrays[VECTORS], (dimension * (1 + header["context"]),))
    return Embedding(words=words, weights=weights, encoder=find_encoder(header["encoder"], encoder))


_ASSEMBLERS: Final[dict[str, Callable[[dict[str, Any], Linear, Arrays], ArrayModel]]] = {
    "linear": lambda _, model, __: model,
    "mean-variance": _mean_variance,
    "groups": _groups,
}


def identify_encoder(encoder: Encoder) -> dict[str, Any]:
    """Return the identity of an encoder as plain values for JSON."""
    return {name: getattr(encoder, name) for name in _ENCODER}


def find_encoder(identity: Mapping[str, Any], encoder: Encoder | None = None) -> Encoder:
    """Return the encoder of a model, by default the installed one; refuse another than that of its training."""
    name, sha256 = identity["name"], identity["sha256"]
    if not isinstance(name, str) or not isinstance(sha256, str):
        raise ValueError(f"its encoder is {identity}")
    installed = encoder or load_encoder(name)
    if identify_encoder(installed) != {key: identity[key] for key in _ENCODER}:
        raise Unavailable(
            f"The model was made with the encoder {format_value(name)} whose SHA-256 begins with "
            f"{format_value(sha256[:12])}, and here is {format_value(installed.name)} with "
            f"{format_value(installed.sha256[:12])}. Install that version of it."
        )
    return installed


def _read_finite(header: dict[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    numbers = {name: float(header[name]) for name in names}
    if not np.isfinite(list(numbers.values())).all():
        raise ValueError(f"invalid values: {numbers}")
    return numbers


def check_hashes(hashes: npt.NDArray[Any]) -> None:
    """Refuse hashes of features that are out of range or order."""
    if hashes.dtype != np.int32 or hashes.ndim != 1:
        raise ValueError("its arrays have other types of numbers")
    if len(hashes) and (hashes[0] < 0 or hashes[-1] >= 1 << BITS or (np.diff(hashes) <= 0).any()):
        raise ValueError("its features are out of order")


def check_weights(weights: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Return finite weights of a shape; refuse others."""
    if weights.dtype != np.float32:
        raise ValueError("its arrays have other types of numbers")
    if weights.shape != shape:
        raise ValueError("its arrays do not fit together")
    if not np.isfinite(weights).all():
        raise ValueError("its weights are not all numbers")
    return weights
