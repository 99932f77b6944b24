"""Texts of marks, left out of a specification while it is rendered, and set in the drawing.

The renderer takes a tenth of a millisecond to measure each letter of a text. Only texts at the border of a plot
determine its layout: plain ones that end inside it, and names of rows but the widest, are rendered as empty texts.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import compress
from typing import Any

from dissensus.report.graphics.layout import estimate_text_width
from dissensus.report.graphics.theme import SMALL
from dissensus.report.graphics.vega_lite import Spec

# Share of the estimated width of the widest name up to which another one is narrower for certain.
NARROWER = 0.8
_CONCATENATED = ("hconcat", "vconcat")
_GROUP = re.compile(r'(?<=<g class="mark-text role-mark )([^>]*)(/>|>.*?</g>)')
_TEXT = re.compile(r"<text([^>]*?)(?:/>|>([^<]*)</text>)")
_CERTAIN = re.compile(r"[\x20-\x7e…–≥]*")
_SHARE_BEFORE = {"left": 0.0, "center": 0.5, "right": 1.0}


def take_texts(spec: Spec) -> tuple[Spec, list[list[str]]]:
    """Return a specification without the texts that do not determine its layout, and all texts of each layer."""
    layers: list[list[str]] = []
    return _take_texts(spec, layers), layers


def set_texts(svg: str, layers: Sequence[Sequence[str]]) -> str | None:
    """Return a drawing with the texts of its layers; None where the renderer has left out marks."""
    groups = [_TEXT.findall(group) for _, group in _GROUP.findall(svg)]
    if [len(group) for group in groups] != [len(texts) for texts in layers]:
        return None
    texts = (text for layer in layers for text in layer)
    return _GROUP.sub(lambda group: group[1] + _TEXT.sub(lambda mark: _set_text(mark, next(texts)), group[2]), svg)


def _set_text(mark: re.Match[str], text: str) -> str:
    return f"<text{mark[1]}>{escape(text.strip(), quote=False)}</text>" if text.strip() else mark[0]


def _take_texts(part: Spec, layers: list[list[str]]) -> Spec:
    for concat in _CONCATENATED:
        if concat in part:
            return part | {concat: [_take_texts(plot, layers) for plot in part[concat]]}
    if "layer" not in part:
        return part
    domain = _find_domain(part["layer"])
    return part | {"layer": [_take_layer(layer, domain, part["width"], layers) for layer in part["layer"]]}


def _take_layer(layer: Spec, domain: tuple[float, float] | None, width: float, layers: list[list[str]]) -> Spec:
    if layer["mark"]["type"] != "text":
        return layer
    field, rows = layer["encoding"]["text"]["field"], layer["data"]["values"]
    layers.append([row[field] for row in rows])
    inside = _end_inside(layer, field, domain, width)
    emptied = [row | {field: ""} if ends else row for row, ends in zip(rows, inside, strict=True)]
    return layer | {"data": {"values": emptied}}


def _find_domain(layers: Sequence[Spec]) -> tuple[float, float] | None:
    """Return the ends of the x axis of a plot, if the specification states them."""
    scales = [layer["encoding"].get("x", {}).get("scale") for layer in layers]
    stated = {(scale.get("nice"), *scale.get("domain", ())) for scale in scales if scale}
    if len(stated) != 1:
        return None
    nice, *domain = next(iter(stated))
    return (domain[0], domain[1]) if nice is False and len(domain) == 2 else None


def _end_inside(layer: Spec, field: str, domain: tuple[float, float] | None, width: float) -> Iterator[bool]:
    """Yield for each text of a layer whether it surely ends inside the plot, or inside the widest one.

    Combining marks and joined emoji are narrower than the sum of their letters: only widths of plain text are certain.
    """
    mark, rows, x = layer["mark"], layer["data"]["values"], layer["encoding"].get("x", {})
    estimates = [estimate_text_width(row[field], mark.get("fontSize", SMALL)) for row in rows]
    certain = [_CERTAIN.fullmatch(row[field]) is not None for row in rows]
    in_line = NARROWER * max(compress(estimates, certain), default=0) if "value" in x else 0
    before = _SHARE_BEFORE[mark.get("align", "center")]
    for row, estimate, is_certain in zip(rows, estimates, certain, strict=True):
        anchor = _find_anchor(row, x, domain, width)
        widest = estimate / NARROWER
        start = None if anchor is None else anchor + mark.get("dx", 0) - before * widest
        yield is_certain and (estimate < in_line or (start is not None and start >= 0 and start + widest <= width))


def _find_anchor(row: Spec, x: Spec, domain: tuple[float, float] | None, width: float) -> float | None:
    """Return the position of a text in pixels, if the specification states it."""
    if "value" in x:
        return float(x["value"])
    value: Any = row.get(x.get("field", ""))
    if domain is None or value is None or not domain[0] < domain[1]:
        return None
    return width * (float(value) - domain[0]) / (domain[1] - domain[0])
