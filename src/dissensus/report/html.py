"""Report as one self-contained HTML page."""

import warnings
from functools import cache
from importlib.resources import files
from typing import Any, Final

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from dissensus.extras import is_installed
from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable, format_short
from dissensus.report.figure import ON_PAGE, Figure
from dissensus.report.graphics.theme import DARK, NAMES
from dissensus.report.tables import Disclosure, ReportTable

# Most rows of a table of numbers: the page must open on a phone.
MOST_ROWS = 400
DIGITS = 4
NOT_DRAWN: Final = (
    "Figures are shown as their numbers, since vl_convert, which draws them, is not installed. Install it with: "
    "pip install 'dissensus[figures]'"
)


def render_page(report: object) -> str:
    """Return a report as HTML that needs no network and runs no script."""
    environment = _environment()
    if not environment.globals["drawn"]:
        warnings.warn(NOT_DRAWN, stacklevel=3)
    template = environment.get_template("report.html")
    return template.render(report=report, style=Markup(_style()))  # noqa: S704 - our own file


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dissensus.report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        finalize=_escape_text,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"wide": _render_wide, "narrow": _render_narrow, "grid": to_grid, "mathml": _mathml}
    environment.globals["drawn"] = is_installed("figures")
    environment.tests["figure"] = lambda part: isinstance(part, Figure)
    environment.tests["disclosure"] = lambda part: isinstance(part, Disclosure)
    environment.tests["table"] = lambda part: isinstance(part, ReportTable)
    return environment


def _escape_text(value: Any) -> Any:
    """Escape invisible and bidirectional control characters of a text; keep line breaks."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "\n".join(map(escape_unprintable, value.splitlines()))


def _style() -> str:
    """Return the style sheet with the colours of light and dark pages."""
    light = "".join(f"--{name}:{color};" for color, name in NAMES.items())
    dark = "".join(f"--{name}:{DARK[color]};" for color, name in NAMES.items())
    sheet = (files("dissensus.report") / "templates" / "report.css").read_text("utf-8")
    screen = f"@media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}"
    return f":root{{color-scheme:light;{light}}}\n{screen}\n{sheet}"


def _render_wide(figure: Figure) -> Markup:
    return Markup(figure.inline(*ON_PAGE[0]))  # noqa: S704 - the renderer escapes every text


def _render_narrow(figure: Figure) -> Markup:
    return Markup(figure.inline(*ON_PAGE[1]))  # noqa: S704 - the renderer escapes every text


def _mathml(method: Any) -> Markup:
    return Markup(method.mathml)  # noqa: S704 - our own formulas


def to_grid(table: pl.DataFrame) -> Grid:
    """Return numbers as cells, with headings in words."""
    head = tuple(name.removeprefix("n_").replace("_", " ") for name in table.columns)
    lines = tuple(tuple(map(_cell, row)) for row in table.head(MOST_ROWS).iter_rows())
    cut = f"The first {MOST_ROWS:,} of {table.height:,} rows." if table.height > MOST_ROWS else ""
    return Grid(head, lines, cut)


def _cell(value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 100 else format_short(value, DIGITS)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape_unprintable(str(value))
