"""Vega-Lite specifications as plain dictionaries.

Classes have the names of Altair, whose objects take longer to build than a drawing to render.
"""

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

SCHEMA_URL = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
TYPES = {"N": "nominal", "Q": "quantitative"}
# Channels whose type is that of their main channel.
SECONDARY = ("X2", "Y2")


class Axis(Spec):
    """Axis of a position."""


class Legend(Spec):
    """Legend of a channel."""


class Scale(Spec):
    """Domain and range of a channel."""


class Channel(Spec):
    """Encoding of one visual channel: a field with the letter of its type, such as "share:Q", or a constant."""

    def __init__(self, shorthand: str = "", **properties: Any) -> None:
        field, _, letter = shorthand.partition(":")
        kind = {} if type(self).__name__ in SECONDARY else {"type": TYPES[letter]} if letter else {}
        super().__init__(({"field": field} if field else {}) | kind | properties)


class X(Channel):
    """Position from the left."""


class X2(Channel):
    """End of a span from `X`."""


class Y(Channel):
    """Position from the top."""


class Y2(Channel):
    """End of a span from `Y`."""


class Color(Channel):
    """Colour of fill or stroke."""


class DetailChannel(Channel):
    """Field that divides the rows of one line or area from those of the next."""


class Fill(Channel):
    """Colour of the inside."""


class Opacity(Channel):
    """Opacity of a mark."""


class Shape(Channel):
    """Shape of a point."""


class SizeChannel(Channel):
    """Area of a point in square pixels."""


class Stroke(Channel):
    """Colour of the edge."""


class StrokeDash(Channel):
    """Pattern of a line."""


class Text(Channel):
    """Text of a mark."""


class Chart:
    """Rows of inline data, and the mark that is drawn of each."""

    def __init__(self, rows: Sequence[Spec], mark: Spec | None = None) -> None:
        self.rows, self._properties = rows, mark

    def mark(self, kind: str, **properties: Any) -> "Chart":
        """Draw each row, or each line or area of rows, as a mark of a kind, such as "point"."""
        return Chart(self.rows, {"type": kind, **properties})

    def encode(self, *channels: Channel) -> Spec:
        """Return a layer with these channels."""
        encoding = {_name_channel(channel): channel for channel in channels}
        return {"data": {"values": self.rows}, "mark": self._properties, "encoding": encoding}


def _name_channel(channel: Channel) -> str:
    name = type(channel).__name__.removesuffix("Channel")
    return name[0].lower() + name[1:]
