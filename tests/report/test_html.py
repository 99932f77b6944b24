"""Report as an HTML page."""

import re
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame
from tests.report.hostile import AXES, hostile

from dissensus.pipeline.simulate import preset, simulate
from dissensus.report.builder import build
from dissensus.report.html import MOST_ROWS, to_grid
from dissensus.report.result import Report
from dissensus.schema.ratings.table import Ratings

MEGABYTE = 1_000_000
TEXTS = {"context": pl.lit("something <b>cruel</b>"), "response": pl.lit("something worse")}


@pytest.fixture(scope="module")
def report() -> Report:
    ratings = Ratings.from_frame(simulate_frame(3, n_items=10).with_columns(**TEXTS))
    command = "dissensus report 'my ratings.csv' --title '<b>'"
    return build(ratings, by="race", permutations=20, bootstrap=5, contested=2, title="A <title>", command=command)


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return report.to_html()


def words(page: str) -> str:
    """Return the text of a page."""
    body = re.sub(r"<style>.*?</style>", " ", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", body))


@pytest.mark.slow
def test_the_page_loads_no_resources_and_runs_no_script(page: str) -> None:
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert not re.search(r"<(script|link|iframe|img|object|embed|form)\b", page)
    assert not re.search(r"""(?:src|href|action)=["'](?!#)""", page)
    assert not re.search(r"url\((?!#)|@import", page)
    assert not re.search(r"\son\w+=", page)


def test_ids_are_unique_and_links_lead_to_them(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    links = re.findall(r'(?:href="#|aria-labelledby=")([^"]+)"', page)
    assert links
    assert set(links) <= set(ids)


@pytest.mark.slow
def test_ids_are_unique_for_similar_names() -> None:
    frame = simulate_frame(3, n_items=6, n_raters=12).with_columns(
        item_id=pl.col("item_id").str.replace("item-00", "a/"),
        **{"rater_a b": "rater_race", "rater_A_b": "rater_gender", "rater_?": "rater_race", "rater_!": "rater_gender"},
    )
    report = build(Ratings.from_frame(frame), by=["a b", "A_b", "?", "!"], permutations=5, bootstrap=2, contested=3)
    names = [figure.name for figure in report.figures]
    assert len(names) == len(set(names))
    assert {"answers-a-b", "answers-a-b-2", "answers-unnamed", "answers-unnamed-2"} <= set(names)
    ids = re.findall(r'\bid="([^"]+)"', report.to_html())
    assert len(ids) == len(set(ids))


def test_the_page_has_its_command_and_seed(page: str) -> None:
    assert "dissensus report 'my ratings.csv' --title '<b>'" in words(page)
    assert "seed 0" in words(page)
    assert str(Path.cwd()) not in page
    assert str(Path.home()) + "/" not in page


def test_no_missing_number_is_printed_raw(page: str) -> None:
    assert not re.search(r"\b(nan|NaN|None(?! of)|inf|null)\b", words(page))


def test_texts_of_items_are_folded_behind_a_warning(page: str, report: Report) -> None:
    details = re.findall(r'<details class="text">.*?</details>', page, re.DOTALL)
    assert len(details) == len(report.items) == 2
    assert all("Content warning" in part and "something &lt;b&gt;cruel&lt;/b&gt;" in part for part in details)
    assert "something" not in re.sub(r'<details class="text">.*?</details>', "", page, flags=re.DOTALL)
    assert "<details open" not in page


def test_texts_can_be_left_out() -> None:
    ratings = Ratings.from_frame(simulate_frame(3, n_items=5).with_columns(**TEXTS))
    page = build(ratings, by=[], permutations=0, bootstrap=0, text=False).to_html()
    assert "something" not in page
    assert "Content warning" not in page


def test_figures_and_tables_are_there_with_their_readings(page: str, report: Report) -> None:
    text = " ".join(words(page).split())
    for part in report.parts:
        assert f'id="{part.name}"' in page
        assert part.title in text
        assert part.reading in text
    assert page.count('class="wide"') == page.count('class="narrow"') == len(report.figures) + len(report.items)


@pytest.mark.slow
def test_the_page_of_a_complete_campaign_is_small() -> None:
    report = build(simulate(preset("dices-350"), seed=0).ratings("all"), permutations=20, bootstrap=5)
    assert len(report.to_html().encode()) < 2.5 * MEGABYTE


@pytest.mark.slow
def test_bidi_and_invisible_characters_are_escaped() -> None:
    report = build(hostile(3), by=AXES[2], permutations=0, bootstrap=0, contested=1, title="\u202etitle")
    page = report.to_html()
    without_texts = re.sub(r'<p class="passage.*?</p>', "", page, flags=re.DOTALL)
    assert not re.search("[\u202e\u200b\x00\x07]", without_texts)
    assert "<h1>\\u202etitle</h1>" in page


def test_long_tables_are_cut_with_a_caption() -> None:
    table = pl.DataFrame({"n_items": range(1000), "share": [None, 0.12345, 1234.5, -0.5] * 250})
    grid = to_grid(table)
    assert grid.head == ("items", "share")
    assert len(grid.lines) == MOST_ROWS
    assert grid.caption == "The first 400 of 1,000 rows."
    assert [line[1] for line in grid.lines[:4]] == ["–", ".1235", "1,234.5", "-.5000"]


def test_a_notebook_shows_the_page(report: Report, page: str) -> None:
    frame = report._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert unescape(frame.split('srcdoc="')[1].split('" style=')[0]) == page


def test_the_saved_file_is_the_page(report: Report, page: str, tmp_path: Path) -> None:
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
