"""Preference models as plain values and arrays, and back: whatever does not fit together is refused."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from dissensus.preference.effects import Effects
from dissensus.preference.examples import RATER
from dissensus.preference.features import BITS, Kind, Vocabulary
from dissensus.preference.groups import Groups
from dissensus.preference.kinds import AnyModel, KindOfModel
from dissensus.preference.linear import Linear
from dissensus.preference.mean_variance import MeanVariance
from dissensus.preference.pairs import PURPOSES

Arrays = Mapping[str, npt.NDArray[Any]]

_NUMBERS: Final = ("length_weight", "length_alone", "temperature")
_SPREAD_NUMBERS: Final = ("spread_length_weight", "typical_length")
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
DIRECTIONS: Final = "directions"


class Apart(NamedTuple):
    """Plain values for JSON, and arrays."""

    head: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def kind_of(model: AnyModel) -> KindOfModel:
    """Return what kind of model it is."""
    if isinstance(model, MeanVariance):
        return "mean-variance"
    return "groups" if isinstance(model, Groups) else "linear"


def taken_apart(model: AnyModel) -> Apart:
    """Return what a model is made of, but for its card."""
    kind = kind_of(model)
    if isinstance(model, MeanVariance):
        head, arrays = _of_linear(model.mean, kind)
        spreads = {f"{kind}_spread": weights for kind, weights in model.spread_weights.items()}
        return Apart(head | {name: getattr(model, name) for name in _SPREAD_NUMBERS}, arrays | spreads)
    if isinstance(model, Groups):
        head, arrays = _of_linear(model.population, kind)
        head |= {"axes": {axis: list(names) for axis, names in model.axes.items()}, "effects": list(model.effects)}
        for number, effects in enumerate(model.effects.values()):
            arrays[f"effects_{number}"] = effects.values
            arrays |= {} if effects.directions is None else {DIRECTIONS: effects.directions}
        return Apart(head, arrays)
    return _of_linear(model, kind)


def put_together(head: dict[str, Any], card: dict[str, Any], arrays: Arrays) -> AnyModel:
    """Return the model that plain values and arrays are.

    Raises
    ------
    ValueError, KeyError, TypeError, AttributeError
        They are none.
    """
    if head["schema_version"] != 1 or head["kind"] not in _TOGETHER:
        raise ValueError(f"version {head['schema_version']} of kind {head['kind']} is not known here")
    if head["purpose"] not in PURPOSES or not isinstance(card, dict):
        raise ValueError(f"its purpose is {head['purpose']}")
    return _TOGETHER[head["kind"]](head, _linear(head, card, arrays), arrays)


def _of_linear(model: Linear, kind_of_model: str) -> Apart:
    head = {"schema_version": 1, "kind": kind_of_model, "purpose": model.purpose, "features": list(model.vocabularies)}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for kind, known in model.vocabularies.items():
        arrays |= {f"{kind}_hashes": known.hashes, f"{kind}_idf": known.idf, f"{kind}_weights": model.weights[kind]}
    return Apart(head | {name: getattr(model, name) for name in _NUMBERS}, arrays)


def _linear(head: dict[str, Any], card: dict[str, Any], arrays: Arrays) -> Linear:
    kinds = [kind for kind in _KINDS if kind in head["features"]]
    if not kinds or kinds != head["features"]:
        raise ValueError(f"its features are {head['features']}")
    numbers = _finite(head, _NUMBERS)
    if numbers["temperature"] <= 0:
        raise ValueError(f"its numbers are {numbers}")
    vocabularies: dict[Kind, Vocabulary] = {}
    weights: dict[Kind, npt.NDArray[np.float32]] = {}
    for kind in kinds:
        hashes, idf = arrays[f"{kind}_hashes"], arrays[f"{kind}_idf"]
        _check_hashes(hashes)
        _check_weights(idf, hashes.shape)
        weights[kind] = _check_weights(arrays[f"{kind}_weights"], hashes.shape)
        vocabularies[kind] = Vocabulary(hashes, idf)
    return Linear(purpose=head["purpose"], vocabularies=vocabularies, weights=weights, card=card, **numbers)


def _mean_variance(head: dict[str, Any], mean: Linear, arrays: Arrays) -> MeanVariance:
    spreads = {kind: _check_weights(arrays[f"{kind}_spread"], of.shape) for kind, of in mean.weights.items()}
    return MeanVariance(mean=mean, spread_weights=spreads, **_finite(head, _SPREAD_NUMBERS))


def _groups(head: dict[str, Any], population: Linear, arrays: Arrays) -> Groups:
    axes = {axis: tuple(map(str, names)) for axis, names in head["axes"].items()}
    if any(list(names) != sorted(set(names)) for names in axes.values()) or not set(head["effects"]) <= set(axes):
        raise ValueError("its groups are out of order")
    width = sum(map(len, population.weights.values())) + 1
    effects = {}
    for number, axis in enumerate(head["effects"]):
        along = arrays[DIRECTIONS] if axis == RATER else None
        wide = width
        if along is not None:
            wide = along.shape[-1]
            _check_weights(along, (width, wide))
        values = _check_weights(arrays[f"effects_{number}"], (len(axes[axis]), wide))
        effects[axis] = Effects(axes[axis], values, along)
    return Groups(population=population, effects=effects, axes=axes)


_TOGETHER: Final[dict[str, Callable[[dict[str, Any], Linear, Arrays], AnyModel]]] = {
    "linear": lambda _, model, __: model,
    "mean-variance": _mean_variance,
    "groups": _groups,
}


def _finite(head: dict[str, Any], names: tuple[str, ...]) -> dict[str, float]:
    numbers = {name: float(head[name]) for name in names}
    if not np.isfinite(list(numbers.values())).all():
        raise ValueError(f"its numbers are {numbers}")
    return numbers


def _check_hashes(hashes: npt.NDArray[Any]) -> None:
    if hashes.dtype != np.int32 or hashes.ndim != 1:
        raise ValueError("its arrays have other types of numbers")
    if len(hashes) and (hashes[0] < 0 or hashes[-1] >= 1 << BITS or (np.diff(hashes) <= 0).any()):
        raise ValueError("its features are out of order")


def _check_weights(weights: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    if weights.dtype != np.float32:
        raise ValueError("its arrays have other types of numbers")
    if weights.shape != shape:
        raise ValueError("its arrays do not fit together")
    if not np.isfinite(weights).all():
        raise ValueError("its weights are not all numbers")
    return weights
