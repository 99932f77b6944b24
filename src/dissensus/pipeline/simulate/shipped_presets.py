"""Simulation presets, read from the TOML files in `presets/`."""

import tomllib
from typing import Any

from dissensus.pipeline.simulate.campaign import SimulationDesign
from dissensus.pipeline.simulate.careless import Careless
from dissensus.pipeline.simulate.effects import GroupEffects, SimulatedEffects
from dissensus.pipeline.simulate.items import SimulatedItems, Topic
from dissensus.pipeline.simulate.pool import Detail, Pool, PoolCell
from dissensus.pipeline.simulate.questions import Questions
from dissensus.pipeline.simulate.times import SimulatedTimes
from dissensus.schema.shipped_files import ShippedFiles

_PRESETS = ShippedFiles("dissensus.pipeline.simulate", "presets", "preset")


def presets() -> tuple[str, ...]:
    """Return the names of the shipped presets.

    Examples
    --------
    >>> presets()
    ('dices-350', 'dices-990')
    """
    return _PRESETS.names


def preset(name: str) -> SimulationDesign:
    """Return the settings of a shipped campaign; `dataclasses.replace` changes them.

    Parameters
    ----------
    name
        dices-350 or dices-990.

    Raises
    ------
    NotFound
        There is no preset of that name.

    Notes
    -----
    Their pools, items and marginals are those of Aroyo et al. (2023). Unpublished values are invented, and listed in
    docs/methods/simulation.md.

    Examples
    --------
    >>> campaign = preset("dices-990")
    >>> campaign.items.count, campaign.pool.size, campaign.n_ratings
    (990, 173, 72103)
    """
    return _parse(tomllib.loads(_PRESETS.read_text(name)))


def _parse(data: dict[str, Any]) -> SimulationDesign:
    groups = {axis: GroupEffects(**effects) for axis, effects in data["effects"].pop("groups", {}).items()}
    return SimulationDesign(
        **{name: value for name, value in data.items() if not isinstance(value, dict)},
        items=_items(data["items"]),
        pool=_pool(data["pool"]),
        answers=data["answers"],
        questions=Questions(**data["questions"]),
        effects=SimulatedEffects(**data["effects"], groups=groups),
        careless=Careless(**data["careless"]),
        times=SimulatedTimes(**data["times"]) if "times" in data else None,
    )


def _items(data: dict[str, Any]) -> SimulatedItems:
    topics = tuple(
        Topic(name=name, weight=topic["weight"], questions=tuple(topic.get("questions", ())))
        for name, topic in data.pop("topics").items()
    )
    per_item, turns = tuple(data.pop("topics_per_item")), tuple(data.pop("turns"))
    return SimulatedItems(**data, topics=topics, topics_per_item=per_item, turns=turns)


def _pool(data: dict[str, Any]) -> Pool:
    n = len(data["axes"])
    return Pool(
        axes=tuple(data["axes"]),
        cells=tuple(
            PoolCell(values=tuple(row[:n]), raters=sum(row[n:]), careless=sum(row[n + 1 :])) for row in data["cells"]
        ),
        margins=data.get("margins", {}),
        details={name: Detail(**detail) for name, detail in data.get("details", {}).items()},
    )
