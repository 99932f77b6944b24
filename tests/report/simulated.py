"""What a rendered figure holds."""

import re
import xml.etree.ElementTree as ET

from dissensus.report.figure import Figure
from dissensus.report.theme import COLUMN_WIDTH, TEXT_WIDTH


def texts(figure: Figure, width: int = TEXT_WIDTH) -> list[str]:
    """All texts, in the order in which they are drawn; the SVG has to be XML."""
    root = ET.fromstring(figure.render(width=width))
    return ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("text")]


def fits(figure: Figure) -> bool:
    """Whether it is not wider than a page of a paper and a column, where these are asked for."""
    return all(_width(figure.render(width=width).decode()) <= width for width in (TEXT_WIDTH, COLUMN_WIDTH))


def _width(svg: str) -> float:
    found = re.search(r'<svg [^>]*?width="([\d.]+)"', svg)
    assert found is not None
    return float(found[1])
