"""Rendering of figures: formats, themes, contrast."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import vl_convert
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.hostile import NAMES as HOSTILE
from tests.report.svg import fits, texts

from dissensus.errors import InvalidInput
from dissensus.report.builder import build
from dissensus.report.figure import Figure
from dissensus.report.figures.answers import answers
from dissensus.report.figures.panels import LOOKS
from dissensus.report.graphics.figure_kind import KINDS, detect_kind
from dissensus.report.graphics.layout import stack_layers
from dissensus.report.graphics.render import render
from dissensus.report.graphics.text_layers import set_texts, take_texts
from dissensus.report.graphics.theme import (
    BLUE,
    COLUMN_WIDTH,
    DARK,
    INK,
    NAMES,
    PAPER,
    RAMP,
    TEXT_WIDTH,
    VERMILION,
    apply_theme,
    pick_ramp_colors,
    pick_text_color,
)
from dissensus.report.graphics.vega_lite import Chart, Scale, Spec, Text, X
from dissensus.report.groups import list_groups
from dissensus.report.result import Report
from dissensus.schema.ratings.table import Ratings

THEMES = ({color: color for color in NAMES}, DARK)


@pytest.fixture(scope="module")
def report() -> Report:
    ratings = Ratings.from_frame(simulate_frame(3, n_items=12))
    return build(ratings, by=["race"], permutations=20, bootstrap=5, contested=1)


def luminance(color: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(color: str, other: str) -> float:
    dark, light = sorted((luminance(color), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def lightness(color: str) -> float:
    """Return the lightness in CIE 1976, the grey value of a colour."""
    return float(116 * luminance(color) ** (1 / 3) - 16)


def steps(colors: Sequence[str]) -> list[float]:
    return [lightness(b) - lightness(a) for a, b in pairwise(colors)]


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_answer_colours_are_monotonic_in_grey(theme: dict[str, str]) -> None:
    for n in range(2, 8):
        differences = steps([theme[color] for color in pick_ramp_colors(n)])
        assert all(step > 7 for step in differences) or all(step < -7 for step in differences)


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_text_on_answers_can_be_read(theme: dict[str, str]) -> None:
    low = {color: round(contrast(theme[color], theme[pick_text_color(color)]), 2) for color in RAMP}
    assert {color: ratio for color, ratio in low.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_marks_stand_out_from_the_page(theme: dict[str, str]) -> None:
    assert min(contrast(theme[color], theme[PAPER]) for color in (INK, BLUE, VERMILION)) >= 3


def test_significance_has_its_own_shapes() -> None:
    untested, _, raw, adjusted = LOOKS.values()
    assert len({shape for _, shape in (untested, raw, adjusted)}) == 3
    assert abs(lightness(INK) - lightness(BLUE)) > 15


def test_figures_use_only_theme_colours(report: Report) -> None:
    for figure in report.figures:
        colors = set(re.findall(r'(?:fill|stroke|color)="([^"]+)"', figure.render().decode()))
        assert {color.upper() for color in colors} - set(NAMES) <= {"NONE", "TRANSPARENT"}
        assert not re.search(r"#[0-9a-f]{3,8}\b|rgb\(", figure.inline(TEXT_WIDTH), re.IGNORECASE)


def test_every_figure_has_texts_and_fits(report: Report) -> None:
    for figure in report.figures:
        assert figure.title
        assert figure.reading.endswith(".")
        assert figure.table.height
        assert fits(figure)


def test_inline_figures_have_the_given_width(report: Report) -> None:
    for figure in report.figures:
        for width in (TEXT_WIDTH, COLUMN_WIDTH):
            match = re.match(
                r'<svg viewBox="0 0 ([\d.]+) [\d.]+" width="([\d.]+)" role="img" aria-label="',
                svg := figure.inline(width),
            )
            assert match, svg[:200]
            assert match[1] == match[2]
            assert 0.8 * width < float(match[1]) <= width


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_is_the_same_every_time(report: Report, kind: str) -> None:
    figure = report.figures[0]
    assert figure.render(kind) == figure.render(kind)  # type: ignore[arg-type]


def test_the_suffix_of_a_file_sets_its_format(report: Report, tmp_path: Path) -> None:
    figure = report.figures[0]
    for name, starts in (("a.svg", b"<svg "), ("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF-"), ("a.json", b"{")):
        figure.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(starts)
    svg, pdf = ((tmp_path / name).read_bytes() for name in ("a.svg", "a.pdf"))
    pixels = re.search(rb'width="([\d.]+)"', svg)
    points = re.search(rb"MediaBox \[0 0 ([\d.]+)", pdf)
    assert pixels
    assert points
    assert float(points[1]) == pytest.approx(0.75 * float(pixels[1]))
    for name in ("a.eps", "a"):
        with pytest.raises(InvalidInput, match=r"name a \.svg, \.png, \.pdf or \.json"):
            detect_kind(Path(name))


def test_names_like_attributes_are_unchanged_in_a_page() -> None:
    names = [*HOSTILE[-2:], 'role="x" fill="#D55E00"']
    ratings = ratings_of({"a": "N", "b": "Y", "c": "U"}, {"rater_x": names})
    svg = answers(ratings, list_groups(ratings, "x", min_raters=0)).inline(TEXT_WIDTH)
    texts_of_svg = [part.strip() for part in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]
    assert {"#D55E00", 'class="x" id="y" url(#z)', 'role="x" fill="#D55E00"'} <= set(texts_of_svg)


def test_texts_left_out_while_rendering_do_not_change_a_drawing(report: Report) -> None:
    hostile = answers(
        ratings_of({"a": "NY", "b": "YY", "c": "NN", "d": "YN"}, {"rater_race": ("А & <Б>", "А", *HOSTILE[:2])}), "race"
    )
    # Combining and joined letters are narrower than the sum of their widths
    joined = ("ผู้ที่ไม่ระบุเพศ", "กรุงเทพมหาน", "בְּרֵאשִׁית בָּרָא אֱלֹהִים", "Women and men more")
    narrow = answers(ratings_of({"a": "NY", "b": "YY", "c": "NN", "d": "YN"}, {"rater_race": joined}), "race")
    for figure in (hostile, narrow, report["answers-race"], report["agreement-race"]):
        assert isinstance(figure, Figure)
        for width in (TEXT_WIDTH, COLUMN_WIDTH):
            spec = apply_theme(figure.draw(width))
            emptied, layers = take_texts(spec)
            assert emptied != spec
            assert set_texts(vl_convert.vegalite_to_svg(emptied), layers) == vl_convert.vegalite_to_svg(spec)


def test_texts_stay_with_their_marks_where_one_has_no_position() -> None:
    rows: list[Spec] = [{"x": 0.5, "text": "first"}, {"x": None, "text": "nowhere"}, {"x": 0.6, "text": "last"}]
    scale = Scale(domain=[0, 1], nice=False)
    layer = Chart(rows).mark("text").encode(X("x:Q", scale=scale), Text("text:N"))
    spec = apply_theme(stack_layers([layer], width=TEXT_WIDTH, height=50))
    emptied, layers = take_texts(spec)
    assert set_texts(vl_convert.vegalite_to_svg(emptied), layers) is None
    assert render(spec, "svg").decode() == vl_convert.vegalite_to_svg(spec)


def draw_clipped(width: int) -> Spec:
    """Draw a point within the plot, and one beyond its end, which an element with an id cuts off."""
    rows: list[Spec] = [{"x": 0.5}, {"x": 2.0}]
    layer = Chart(rows).mark("point", clip=True).encode(X("x:Q", scale=Scale(domain=[0, 1], nice=False)))
    return stack_layers([layer], width=width, height=50)


@pytest.mark.parametrize("name", ["shares-race", 'shares-"><script>alert(1)</script> (b)'])
def test_ids_begin_with_the_name_of_the_figure_without_markup(report: Report, name: str) -> None:
    svg = replace(next(iter(report.figures)), name=name, draw=draw_clipped).inline(COLUMN_WIDTH, "-n")
    ids, references = (re.findall(pattern, svg) for pattern in (r'\bid="([^"]+)"', r"url\(#([^)]+)\)"))
    assert set() < set(references) <= set(ids)
    start = "shares-race-n-" if name == "shares-race" else "shares-_22__3e__3c_script_3e_"
    assert all(one.startswith(start) for one in ids)
    assert "<script" not in svg


def test_the_chart_is_an_altair_chart(report: Report) -> None:
    spec = report["answers-race"].chart.to_dict()  # type: ignore[union-attr]
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert "No" in texts(report["answers-race"])  # type: ignore[arg-type]


@pytest.mark.slow
def test_every_drawing_follows_the_schema(report: Report) -> None:
    kinds = {figure.name.split("-")[0]: figure for figure in report.figures}
    for figure in kinds.values():
        assert figure.chart.to_dict(validate=False)
