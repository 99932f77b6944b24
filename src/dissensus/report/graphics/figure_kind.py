"""Formats of a figure's file."""

from pathlib import Path
from typing import Literal, get_args

from dissensus.errors import InvalidInput

Kind = Literal["svg", "png", "pdf", "json"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def detect_kind(path: Path) -> Kind:
    """Return the format that the suffix of a file names."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InvalidInput(
            f"{path} has {path.suffix or 'no ending'}; name a .svg, .png, .pdf or .json (Vega-Lite) file."
        )
    return kind
