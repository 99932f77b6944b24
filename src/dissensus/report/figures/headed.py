"""Rows in blocks, each below a heading."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from dissensus.report.layout import Rows, cut, data, text_width
from dissensus.report.theme import SMALL

# Of the heading, above the first row of its block.
BELOW = 10


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, the names of the rows below it, and the end of the heading that stays where it has to be cut."""

    heading: str
    names: tuple[str, ...]
    end: str = ""


class HeadedRows(Rows):
    """Blocks of rows, one below the other; `of_block` are the middles of the rows of each."""

    def __init__(self, blocks: Sequence[Block], width: int, *, least: int = 24) -> None:
        super().__init__([name for block in blocks for name in ("", *block.names)], width, least=least)
        places = iter(zip(self.middles, self.heights, strict=True))
        self.heads: list[dict[str, Any]] = []
        self.of_block: list[list[float]] = []
        for block in blocks:
            middle, height = next(places)
            # Bold is about a tenth wider.
            room = 0.9 * self.plot_width - text_width(block.end)
            self.heads.append({"y": middle + height / 2 - BELOW, "text": cut(block.heading, room) + block.end})
            self.of_block.append([next(places)[0] for _ in block.names])

    def headed(self) -> alt.Chart:
        """Return the headings, at the left of the plot."""
        mark = alt.Chart(data(self.heads)).mark_text(align="left", baseline="middle", fontWeight="bold", fontSize=SMALL)
        headed: alt.Chart = mark.encode(self.y(), alt.Text("text:N"), x=alt.value(0))
        return headed
