"""Placeholders for names of rows, since the renderer takes a tenth of a millisecond to measure each letter of a text.

Names end at the left edge of their plot, so that only the widest ones determine the layout. Each of the others is drawn
as one letter, and set when the figure is drawn.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from dissensus.report.layout import Spec, estimate_text_width

# Letters that the font of figures has, and few names.
LETTERS = tuple(map(chr, range(0x0410, 0x0480)))
# Share of the estimated width of the widest name up to which another one is narrower for certain.
NARROWER = 0.8


def take_names(spec: Spec) -> tuple[Spec, dict[str, str]]:
    """Return a specification with placeholders, and the name of each placeholder."""
    used = set("".join(_strings(spec)))
    names: dict[str, str] = {}
    return _take_names(spec, iter([letter for letter in LETTERS if letter not in used]), names), names


def set_names(svg: str, names: dict[str, str]) -> str:
    """Return a drawing with its names."""
    if not names:
        return svg
    return re.sub(f">([{''.join(names)}])<", lambda letter: f">{escape(names[letter[1]], quote=False)}<", svg)


def _strings(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for value in part.values() if isinstance(part, dict) else part:
            yield from _strings(value)


def _take_names(part: Any, letters: Iterator[str], names: dict[str, str]) -> Any:
    if isinstance(part, list):
        return [_take_names(one, letters, names) for one in part]
    if not isinstance(part, dict):
        return part
    if _names_rows(part):
        rows = part["data"]["values"]
        limit = NARROWER * max(estimate_text_width(row["text"]) for row in rows)
        return part | {"data": {"values": [_shorten(row, limit, letters, names) for row in rows]}}
    return {key: value if key == "data" else _take_names(value, letters, names) for key, value in part.items()}


def _names_rows(layer: Spec) -> bool:
    """Return whether a layer is texts that end in one vertical line."""
    mark, rows = layer.get("mark"), layer.get("data", {}).get("values", ())
    ends_in_line = isinstance(mark, dict) and mark.get("align") == "right" and "value" in layer["encoding"].get("x", {})
    return bool(rows) and ends_in_line and all(isinstance(row.get("text"), str) for row in rows)


def _shorten(row: Spec, limit: float, letters: Iterator[str], names: dict[str, str]) -> Spec:
    text = row["text"]
    letter = next(letters, None) if len(text) > 2 and estimate_text_width(text) < limit else None
    if letter is None:
        return row
    names[letter] = text
    return row | {"text": letter}
