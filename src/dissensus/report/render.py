"""Rendering of figures: SVG, PNG and Vega-Lite for papers, themed SVG for pages."""

import json
import re
from html import escape
from pathlib import Path
from typing import Literal, get_args

import vl_convert

from dissensus.errors import InvalidInput
from dissensus.report.theme import NAMES, PAPER, Drawing, apply_theme

Kind = Literal["svg", "png", "json"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PNG_PER_INCH = 300

# Texts between tags are names from a file, and may look like any of the following.
_TAG = re.compile(r"<[^>]+>")
_COLOR = re.compile("|".join(NAMES), re.IGNORECASE)
_BACKGROUND = re.compile(rf'<rect width="[\d.]+" height="[\d.]+" fill="{PAPER}"\s*(?:/>|></rect>)', re.IGNORECASE)
_SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"[^>]*>')
_FONT = re.compile(r' font-family="[^"]*"')
# Coordinates: their last digits differ between processors, and nobody sees them.
_COORDINATES = re.compile(r'(?:(?<= d=")|(?<= transform=")|(?<= [xy][12]="))[^"]*')
_LONG = re.compile(r"-?\d+\.\d{2,}")
# What the renderer says to machines about every mark; the figure says it once as a whole.
_SAID = re.compile(
    r'<path class="(?:back|fore)ground"[^>]*/>| (?:role|aria-roledescription|class|pointer-events)="[^"]*"'
)
_ID = re.compile(r'(\bid="|url\(#)([^")]+)')


def detect_kind(path: Path) -> Kind:
    """Return what the name of a file asks for."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InvalidInput(f"{path} has {path.suffix or 'no ending'}; name a .svg, .png or .json (Vega-Lite) file.")
    return kind


def render(chart: Drawing, kind: Kind) -> bytes:
    """Return a figure as SVG, PNG or Vega-Lite JSON; needs no browser and no network."""
    spec = apply_theme(chart)
    if kind == "png":
        return vl_convert.vegalite_to_png(spec, ppi=PNG_PER_INCH, scale=0.75, allowed_base_urls=[])
    if kind == "json":
        return json.dumps(spec, ensure_ascii=False, indent=1).encode()
    return vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode()


def render_inline(chart: Drawing, name: str, label: str) -> str:
    """Return a figure as SVG for a page: its colours are variables of the page, its ids begin with a name."""
    svg = render(chart, "svg").decode()
    svg = _TAG.sub(lambda tag: _restyle_tag(tag[0], name), _BACKGROUND.sub("", svg, count=1))
    width, height = _SIZE.search(svg).groups()  # type: ignore[union-attr]
    head = f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{escape(label)}">'
    return _SIZE.sub(lambda _: head, svg, count=1)


def _round_coordinate(number: re.Match[str]) -> str:
    """Return a coordinate to a tenth of a pixel; whole ones without a fraction, as the renderer writes them."""
    return f"{round(float(number[0]), 1) or 0:g}"


def _restyle_tag(tag: str, name: str) -> str:
    """Return a tag with the colours of the page and ids that begin with a name, without what the page says itself."""
    tag = _COORDINATES.sub(lambda values: _LONG.sub(_round_coordinate, values[0]), tag)
    tag = _FONT.sub("", _SAID.sub("", tag))
    tag = _COLOR.sub(lambda found: f"var(--{NAMES[found[0].upper()]})", tag)
    return _ID.sub(lambda found: f"{found[1]}{name}-{found[2]}", tag)
