"""Pilots that are shipped, read from the TOML files in `presets/`."""

import tomllib
from typing import Any

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.pilot import Pilot
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.shipped_files import ShippedFiles
from dissensus.stats.planning.rating_model import RatingModel

_PRESETS = ShippedFiles("dissensus.pipeline.plan", "presets", "preset")


def list_pilots() -> tuple[str, ...]:
    """Return the names of the shipped pilots.

    Examples
    --------
    >>> list_pilots()
    ('dices-350',)
    """
    return _PRESETS.names


def load_pilot(name: str, *, by: str | None = None) -> Pilot:
    """Return a shipped pilot, with the effects of the groups of an axis on items.

    Examples
    --------
    >>> load_pilot("dices-350", by="race").model
    RatingModel(rater_sd=0.689, item_sd=0.764, group_item_sd=0.076)
    """
    values = read_preset(name)
    axes = values["group_item_sd"]
    if by is not None and by.removeprefix("rater_") not in axes:
        raise InvalidInput(
            f"The preset {name} has no effects of {by}.{suggest(by, tuple(axes))} Axes are {format_list(tuple(axes))}; "
            "others need a pilot: a ratings file in place of --preset."
        )
    return Pilot(
        source=name,
        answer=values["answer"],
        share=values["share"],
        model=RatingModel(
            rater_sd=values["rater_sd"],
            item_sd=values["item_sd"],
            group_item_sd=axes[by.removeprefix("rater_")] if by is not None else 0.0,
        ),
        n_raters=values["raters"],
        n_items=values["items"],
        dirichlet=tuple(values["dirichlet"]),
        minutes_per_item=values["minutes_per_item"],
    )


def read_preset(name: str) -> dict[str, Any]:
    """Return the values of a preset."""
    return tomllib.loads(_PRESETS.read_text(name))
