"""Disclosure of sensitive text: hidden behind a content warning until asked for."""

from dataclasses import dataclass
from html import escape

from dissensus.pipeline.tables import Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenPassage:
    """A text below a heading."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """Words or texts that may offend or disturb, closed until they are opened."""

    name: str  # What its place on the page is called
    title: str
    warning: str  # What a reader is told before opening it
    grids: tuple[Grid, ...] = ()  # What is inside: tables, and texts as they are
    passages: tuple[HiddenPassage, ...] = ()

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.title)}</b><br>{escape(self.warning)}</p>"
