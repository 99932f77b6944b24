"""The gallery is up to date, shows every figure, and contains no text of a conversation."""

import re
from collections.abc import Callable
from html import unescape
from inspect import getmembers, isfunction
from pathlib import Path

import polars as pl
import pytest

from dissensus import report
from dissensus.report.figure import Figure
from dissensus.report.graphics import theme
from reproduce import gallery

INDEX = (gallery.PAGES / "index.md").read_text(encoding="utf-8")
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in gallery.PAGES.glob("*.md") if page.stem != "index"}
FIGURES = {name for name, function in getmembers(report, isfunction) if "figures." in function.__module__}


@pytest.fixture(scope="module")
def items(real_data: Callable[[str], Path]) -> Path:
    return real_data("dices-350/items.csv")


@pytest.fixture(scope="module")
def files() -> dict[Path, str]:
    paths = [gallery.REPORT, *gallery.PICTURES.iterdir(), *gallery.GENERATED.iterdir()]
    return {path: path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.slow
@pytest.mark.usefixtures("items")
def test_the_gallery_is_up_to_date(files: dict[Path, str]) -> None:
    made = gallery.files()
    assert set(files) == set(made)
    assert [path.name for path, text in made.items() if files[path] != text] == []


def test_no_text_of_a_conversation_is_shown(files: dict[Path, str], items: Path) -> None:
    texts = pl.read_csv(items).select(pl.concat_str("context", "response", separator="\n")).to_series()
    utterances = {
        line.strip() for text in texts for line in re.split(r"\n|(?<=[.?!]) |^\w+:", text, flags=re.MULTILINE)
    }
    page_text = unescape("\n".join(files.values()))
    assert [sentence for sentence in utterances if len(sentence) > 25 and sentence in page_text] == []


def test_the_report_and_the_pictures_are_small(files: dict[Path, str]) -> None:
    sizes = {path: len(text.encode()) for path, text in files.items()}
    assert sizes.pop(gallery.REPORT) < 1_500_000
    assert sum(sizes.values()) < 1_250_000


def test_every_figure_has_a_page() -> None:
    code = "\n".join(block for page in PAGES.values() for block in gallery.CODE.findall(page))
    assert {"answers", "null_distributions", "label_moves"} <= FIGURES
    assert sorted(name for name in FIGURES if f"figure = ds.report.{name}(" not in code) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_its_figure_and_is_found(name: str) -> None:
    assert f"{{include}} ../generated/gallery/{name}.md" in PAGES[name]
    assert f"(../_static/gallery/{name}-narrow.svg)]({name}.md)" in INDEX
    assert f"\n{name}\n" in INDEX


def test_a_picture_is_light_or_dark() -> None:
    figure = Figure(name="f", title="T", reading="R.", table=pl.DataFrame(), draw=lambda width: BAR)
    svg = gallery.picture(figure, theme.TEXT_WIDTH)
    assert "var(--blue)" in svg.split("</style>")[1]
    light, dark = svg.split("</style>")[0].split("prefers-color-scheme:dark")
    assert f"--blue:{theme.BLUE}" in light
    assert f"--blue:{theme.DARK[theme.BLUE]}" in dark


BAR = {
    "data": {"values": [{"n": 1}]},
    "mark": {"type": "bar", "color": theme.BLUE},
    "encoding": {"x": {"field": "n", "type": "quantitative"}},
}


def test_the_code_of_the_guide_runs() -> None:
    (code,) = gallery.CODE.findall((gallery.DOCS / "report.md").read_text(encoding="utf-8"))
    *lines, last = code.splitlines()
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    assert isinstance(eval(last, names), Figure)


def test_the_documented_theme_is_the_theme() -> None:
    page = (gallery.DOCS / "report.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]+\| (`#[^|]+) \| (`#[^|]+) \|$", page, re.MULTILINE)
    documented = {
        light: dark
        for row in rows
        for light, dark in zip(*(re.findall("#[0-9A-F]{6}", cell) for cell in row), strict=True)
    }
    colors = (theme.INK, theme.MUTED, theme.LINE, theme.PALE, theme.PAPER, theme.BLUE, theme.VERMILION, theme.ORANGE)
    assert documented == {color: theme.DARK[color] for color in (*colors, theme.RAMP[0], theme.RAMP[-1])}
    for width in (theme.TEXT_WIDTH, theme.COLUMN_WIDTH):
        assert f"| {width} px, " in page
