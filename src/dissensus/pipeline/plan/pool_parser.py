"""Axes and rates of removal of a pool, as people write them."""

from collections.abc import Sequence

from dissensus.errors import InvalidInput

AXIS_EXAMPLE = "rater_gender=Man:0.5,Woman:0.5"
REMOVAL_EXAMPLE = "0.15, or Man=0.23"


def parse_axes(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Parse axes, such as gender=Man:0.5,Woman:0.5.

    Examples
    --------
    >>> parse_axes(["gender=Man:0.49,Woman:0.51"])
    {'gender': {'Man': 0.49, 'Woman': 0.51}}
    """
    axes = [_parse_axis(text) for text in texts]
    if len(dict(axes)) < len(axes):
        raise InvalidInput("An axis is named twice. Give all groups of an axis together.")
    return dict(axes)


def _parse_axis(text: str) -> tuple[str, dict[str, float]]:
    name, equals, groups = text.partition("=")
    shares = {}
    for part in groups.split(","):
        group, _, share = part.rpartition(":")
        if group.strip() in shares:
            raise InvalidInput(f"The axis {text!r} names {group.strip()!r} twice. Give each group once.")
        shares[group.strip()] = _parse_share(f"The axis {text!r}", share, AXIS_EXAMPLE)
    if not equals or not name.strip() or "" in shares:
        raise InvalidInput(f"The axis {text!r} is not valid. Write it like {AXIS_EXAMPLE}.")
    return name.strip(), shares


def parse_removal(texts: Sequence[str]) -> tuple[float, dict[str, float]]:
    """Parse removal of all raters, such as 0.15, and of groups, such as Man=0.23.

    Examples
    --------
    >>> parse_removal(["0.15", "Man=0.23"])
    (0.15, {'Man': 0.23})
    """
    overall: float | None = None
    by_group: dict[str, float] = {}
    for text in texts:
        group, equals, share = (part.strip() for part in text.rpartition("="))
        if equals and not group:
            raise InvalidInput(f"The removal {text!r} names no group. Write it like {REMOVAL_EXAMPLE}.")
        value = _parse_share(f"The removal {text!r}", share, REMOVAL_EXAMPLE)
        if group in by_group or (not equals and overall is not None):
            raise InvalidInput(f"The removal {text!r}: a rate for {group or 'all raters'} is given before. Give one.")
        if equals:
            by_group[group] = value
        else:
            overall = value
    return overall or 0.0, by_group


def _parse_share(subject: str, text: str, example: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{subject} is not valid. Write it like {example}.") from None
