"""Figures as files, made of their drawings: for dark pages, and PNG."""

import re

from dissensus.report.render import PNG_PER_INCH, load_renderer
from dissensus.report.theme import DARK

# Colours stand in tags alone: texts between them are names from a file.
_TAG = re.compile(r"<[^>]+>")
_COLOR = re.compile("|".join(DARK), re.IGNORECASE)


def to_dark_svg(svg: str) -> str:
    """Return a drawing in the colours of dark pages.

    Examples
    --------
    >>> to_dark_svg('<svg><rect fill="#FFFFFF"/><text fill="#1f2933">#1F2933</text></svg>')
    '<svg><rect fill="#14191E"/><text fill="#E6EAED">#1F2933</text></svg>'
    """
    return _TAG.sub(lambda tag: _COLOR.sub(lambda color: DARK[color[0].upper()], tag[0]), svg)


def to_png(svg: str) -> bytes:
    """Return a drawing as PNG."""
    return bytes(load_renderer().svg_to_png(svg, ppi=PNG_PER_INCH, scale=0.75))
