"""Texts and width of the SVG of a figure."""

import re
import xml.etree.ElementTree as ET

from dissensus.report.figure import Figure
from dissensus.report.graphics.theme import COLUMN_WIDTH, TEXT_WIDTH


def texts(figure: Figure, width: int = TEXT_WIDTH) -> list[str]:
    """Return all texts in drawing order; the SVG must be valid XML."""
    root = ET.fromstring(figure.render(width=width))
    return ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("text")]


def fits(figure: Figure) -> bool:
    """Return whether the figure fits the widths of a page and of a column."""
    return all(_width(figure.render(width=width).decode()) <= width for width in (TEXT_WIDTH, COLUMN_WIDTH))


def _width(svg: str) -> float:
    match = re.search(r'<svg [^>]*?width="([\d.]+)"', svg)
    assert match is not None
    return float(match[1])
