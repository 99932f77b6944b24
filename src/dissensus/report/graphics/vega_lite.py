"""Vega-Lite specifications as plain dictionaries.

Class names follow Altair, with the suffix Channel where the package has another class of that name. Altair itself is
not used: building its objects takes longer than rendering the drawing.
"""

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

SCHEMA_URL = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
TYPES = {"N": "nominal", "Q": "quantitative"}


class Axis(Spec):
    """Axis of a positional channel."""


class Legend(Spec):
    """Legend of a channel."""


class Scale(Spec):
    """Domain and range of a channel."""


class Channel(Spec):
    """Encoding of one visual channel: a field with the letter of its type, such as "share:Q", or a constant."""

    def __init__(self, shorthand: str = "", **properties: Any) -> None:
        field, _, letter = shorthand.partition(":")
        type_entry = {"type": TYPES[letter]} if letter else {}
        super().__init__(({"field": field} if field else {}) | type_entry | properties)


class SecondaryChannel(Channel):
    """End of a span, whose type is that of its primary channel."""

    def __init__(self, shorthand: str = "", **properties: Any) -> None:
        super().__init__(shorthand.partition(":")[0], **properties)


class X(Channel):
    """Horizontal position."""


class X2(SecondaryChannel):
    """End of a span from `X`."""


class Y(Channel):
    """Vertical position."""


class Y2(SecondaryChannel):
    """End of a span from `Y`."""


class Color(Channel):
    """Colour of fill or stroke."""


class DetailChannel(Channel):
    """Field that groups rows into separate lines or areas."""


class Fill(Channel):
    """Fill colour."""


class Opacity(Channel):
    """Opacity of a mark."""


class Shape(Channel):
    """Shape of a point."""


class SizeChannel(Channel):
    """Area of a point in square pixels."""


class Stroke(Channel):
    """Stroke colour."""


class StrokeDash(Channel):
    """Dash pattern of a line."""


class Text(Channel):
    """Text of a mark."""


class Chart:
    """Rows of inline data, and the mark that is drawn for each."""

    def __init__(self, rows: Sequence[Spec], mark: Spec | None = None) -> None:
        self.rows, self._mark = rows, mark

    def mark(self, kind: str, **properties: Any) -> "Chart":
        """Draw each row, or each line or area of rows, as a mark of a kind, such as "point"."""
        return Chart(self.rows, {"type": kind, **properties})

    def encode(self, *channels: Channel) -> Spec:
        """Return a layer with these channels."""
        encoding = {_name_channel(channel): channel for channel in channels}
        return {"data": {"values": self.rows}, "mark": self._mark, "encoding": encoding}


def _name_channel(channel: Channel) -> str:
    name = type(channel).__name__.removesuffix("Channel")
    return name[0].lower() + name[1:]
