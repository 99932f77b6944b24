"""True parameters of a simulated campaign."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from typing import Any

import polars as pl

from dissensus.pipeline.simulate.campaign import SimulationDesign

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """All that a campaign was drawn from."""

    campaign: (
        SimulationDesign  # The settings, the seed and the version of the package: the same three give the same campaign
    )
    seed: int
    version: str
    cut: float  # The latent value above which an answer is Yes, and how far below it an average rater is Unsure
    width: float
    # One row each: ``rater_id``, ``kind`` (careful, speeder, straight-liner, clicker), ``effect``, ``unsure_width``
    # (their band of Unsure as a multiple of `width`), ``pace`` (their time as a multiple of the pool's, if the campaign
    # has times), ``answer`` (of a straight-liner) and ``n_ratings``
    raters: pl.DataFrame
    # One row each: ``item_id``, ``effect``, ``severity`` (a normal score), and degree of harm, topics and gold label,
    # released or not
    items: pl.DataFrame
    groups: pl.DataFrame  # ``axis``, ``group``, ``main`` and ``severity``: the effects of each group
    # ``axis``, ``group``, ``item_id`` and ``effect``: what a group alone sees in an item, where it sees anything
    group_items: pl.DataFrame

    def to_json(self) -> str:
        """Return all of it as JSON."""
        head = {"schema_version": SCHEMA_VERSION, "dissensus_version": self.version}
        body = {field.name: to_plain(getattr(self, field.name)) for field in fields(self) if field.name != "version"}
        return json.dumps(head | body, ensure_ascii=False, indent=1)


def to_plain(value: Any) -> Any:
    """Return settings and tables as dictionaries and lists."""
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
