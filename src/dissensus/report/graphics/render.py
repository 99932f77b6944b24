"""Rendering of figures: SVG, PNG, PDF and Vega-Lite for papers, themed SVG for pages."""

import json
import re
import threading
from functools import cache
from html import escape
from types import ModuleType

from dissensus.extras import require_extra
from dissensus.report.graphics.figure_kind import Kind
from dissensus.report.graphics.fonts import prefer_shipped_fonts
from dissensus.report.graphics.text_layers import set_texts, take_texts
from dissensus.report.graphics.theme import DARK, NAMES, PAPER, apply_theme
from dissensus.report.graphics.vega_lite import Spec

PNG_PER_INCH = 300

# Applied to start tags only: texts between them are names from a file, which may match any of these.
_TAG = re.compile(r"<[^/>][^>]*>")
_COLOR = re.compile("#[0-9A-Fa-f]{6}")
_LIGHT = re.compile("|".join(DARK), re.IGNORECASE)
_BACKGROUND = re.compile(rf'<rect width="[\d.]+" height="[\d.]+" fill="{PAPER}"\s*(?:/>|></rect>)', re.IGNORECASE)
_SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"[^>]*>')
# Coordinates: their last digits differ between processors and are invisible.
_COORDINATES = re.compile(r' (?:d|transform|[xy][12])="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{2,}")
# Fonts, which the page sets, and accessibility attributes of every mark; the figure has one label instead.
_MARK_ATTRIBUTES = re.compile(
    r'<path class="(?:back|fore)ground"[^>]*/>'
    r'| (?:role|aria-roledescription|class|pointer-events|font-family)="[^"]*"'
)
_LOADING = threading.Lock()
_ID = re.compile(r'( id="|url\(#)([^")]+)')
_NOT_IN_IDS = re.compile(r"[^\w-]")


def load_renderer() -> ModuleType:
    """Return the library that draws, an extra, with its fonts loaded."""
    with _LOADING:  # Two threads that load it would change the environment for each other.
        return _load_renderer()


@cache
def _load_renderer() -> ModuleType:
    with require_extra("Drawing a figure", "figures"):
        import vl_convert
    prefer_shipped_fonts(vl_convert)
    return vl_convert


def render(chart: Spec, kind: Kind) -> bytes:
    """Return a figure as SVG, PNG, PDF or Vega-Lite JSON; needs no browser and no network."""
    spec = apply_theme(chart)
    if kind == "json":
        return json.dumps(spec, ensure_ascii=False, indent=1).encode()
    if kind == "png":
        return bytes(load_renderer().vegalite_to_png(spec, ppi=PNG_PER_INCH, scale=0.75, allowed_base_urls=[]))
    svg = _to_svg(spec)
    return _to_pdf(svg) if kind == "pdf" else svg.encode()


def _to_svg(spec: Spec) -> str:
    """Return a figure as SVG, rendered with its texts only where those without them lack a mark."""
    renderer = load_renderer()
    emptied, layers = take_texts(spec)
    svg = set_texts(renderer.vegalite_to_svg(emptied, allowed_base_urls=[]), layers)
    return str(renderer.vegalite_to_svg(spec, allowed_base_urls=[])) if svg is None else svg


def _to_pdf(svg: str) -> bytes:
    """Return a drawing as PDF, whose unit is a point, 3/4 of a pixel."""
    start = _SIZE.match(svg)
    assert start is not None  # noqa: S101 - contract of the renderer
    width, height = (f'"{0.75 * float(pixels):g}"' for pixels in start.groups())
    size = f'width="{start[1]}" height="{start[2]}"'
    return bytes(load_renderer().svg_to_pdf(svg.replace(size, f"width={width} height={height}", 1)))


def render_inline(chart: Spec, name: str, label: str) -> str:
    """Return a figure as SVG for a page: colours are CSS variables, ids get a prefix."""
    svg = render(chart, "svg").decode()
    svg = _TAG.sub(lambda tag: _restyle_tag(tag[0], name), _BACKGROUND.sub("", svg, count=1))
    width, height = _SIZE.search(svg).groups()  # type: ignore[union-attr]
    head = f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{escape(label)}">'
    return _SIZE.sub(lambda _: head, svg, count=1)


def _round_coordinate(number: re.Match[str]) -> str:
    """Round a coordinate to a tenth of a pixel; integers have no fraction, as the renderer writes them."""
    return f"{round(float(number[0]), 1) or 0:g}"


def _name_color(color: re.Match[str]) -> str:
    """Return the CSS variable of a colour of the theme, and any other colour as it is."""
    name = NAMES.get(color[0].upper())
    return color[0] if name is None else f"var(--{name})"


def _restyle_tag(tag: str, name: str) -> str:
    """Return a tag with CSS variables and prefixed ids, without fonts and accessibility attributes."""
    tag = _COORDINATES.sub(lambda values: _LONG.sub(_round_coordinate, values[0]), tag)
    tag = _MARK_ATTRIBUTES.sub("", tag)
    tag = _COLOR.sub(_name_color, tag)
    return _ID.sub(lambda match: f"{match[1]}{_encode_id(name)}-{match[2]}", tag)


def _encode_id(name: str) -> str:
    """Return a name as part of an id and its references: names of questions may hold quotes, blanks and brackets."""
    return _NOT_IN_IDS.sub(lambda character: f"_{ord(character[0]):x}_", name)


def to_dark_svg(svg: str) -> str:
    """Return a drawing in the colours of dark pages.

    Examples
    --------
    >>> to_dark_svg('<svg><rect fill="#FFFFFF"/><text fill="#1f2933">#1F2933</text></svg>')
    '<svg><rect fill="#14191E"/><text fill="#E6EAED">#1F2933</text></svg>'
    """
    return _TAG.sub(lambda tag: _LIGHT.sub(lambda color: DARK[color[0].upper()], tag[0]), svg)


def to_png(svg: str) -> bytes:
    """Return a drawing as PNG."""
    return bytes(load_renderer().svg_to_png(svg, ppi=PNG_PER_INCH, scale=0.75))
