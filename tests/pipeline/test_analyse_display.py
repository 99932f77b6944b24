"""Output of an analysis as text and in a notebook."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest
from tests.pipeline.tables import ratings_of, simulate_frame

from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse(
        Ratings.from_frame(simulate_frame(5)), by=["race"], cross=["race*gender"], permutations=99, bootstrap=60
    )


class Page(HTMLParser):
    """Check that tags are closed in order, and collect the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def test_every_group_and_its_raters_are_in_the_text(analysis: Analysis) -> None:
    text = str(analysis)
    for row in analysis.rows:
        if row.group is not None:
            assert re.search(rf"^{re.escape(row.group)} +{row.n_raters}\b", text, re.MULTILINE), row.group
    assert "everybody" in text
    for heading in ("IRR", "XRR", "neg.", "cross-neg.", "plurality", "voting", "GAI", "DSI"):
        assert heading in text


def test_numbers_of_the_text_are_those_of_the_rows(analysis: Analysis) -> None:
    lines: dict[str, str] = {}
    for line in str(analysis).splitlines():
        lines[line.split("  ")[0]] = lines.get(line.split("  ")[0], "") + line
    for row in analysis.rows:
        if row.group is not None and row.estimate is not None:
            assert f"{row.estimate:.3f}{row.stars}" in lines[row.group], row


def test_footnotes_describe_the_tests(analysis: Analysis) -> None:
    text = str(analysis)
    assert "99 permutations, two-sided (one-sided: distance, disagreement between groups), seed 0" in text
    assert "Benjamini–Hochberg over the whole table" in text
    assert "95 % intervals, 60 bootstrap replicates of raters and items" in text


def test_the_footnote_names_the_published_rule() -> None:
    ratings = Ratings.from_frame(simulate_frame(5))
    text = str(analyse(ratings, by=["race"], permutations=39, method="grasp"))
    assert "two-sided, published statistics by GRASP's rule (one-sided: " in text


def test_the_notebook_shows_every_group_too(analysis: Analysis) -> None:
    page = Page(analysis._repr_html_())
    for row in analysis.rows:
        if row.group is not None:
            assert f"\n{row.group}\n" in page.text
    assert "script" not in page.tags


def test_hostile_names_are_escaped() -> None:
    evil, quoted = "<script>alert('x')</script>", 'a & b "<i>"'
    ratings = ratings_of({"a": "NYN", "b": "NYY", "c": "UYN", "d": "NNN"}, {"rater_race": [evil, evil, quoted, quoted]})
    source = analyse(ratings, by=["race"], permutations=20)._repr_html_()
    page = Page(source)
    assert not {"script", "i"} & page.tags
    assert evil in page.text
    assert quoted in page.text


def test_small_groups_are_marked() -> None:
    ratings = Ratings.from_frame(simulate_frame(6))
    text = str(analyse(ratings, by=["race"], min_raters=8))
    assert re.search(r"^White +6†", text, re.MULTILINE)
    assert re.search(r"^Black +8 ", text, re.MULTILINE)
    assert "† fewer than 8 raters, read with care: White (6)" in text
    assert "†" not in str(analyse(ratings, by=["race"], min_raters=6))


def test_the_comparison_is_named() -> None:
    assert "rater_race against White" in str(
        analyse(Ratings.from_frame(simulate_frame(6)), by=["race"], against="White")
    )


def test_lines_have_no_trailing_blanks(analysis: Analysis) -> None:
    assert all(line == line.rstrip() for line in str(analysis).splitlines())


def test_control_characters_in_the_name_of_a_group_are_shown_not_sent() -> None:
    answers = {"a": "NYNY", "b": "NYYY", "c": "YYNU", "d": "NNNY"}
    ratings = ratings_of(answers, {"rater_x": ["\x1b[31mred\nline"] * 2 + ["plain"] * 2})
    text = str(analyse(ratings, by=["x"]))
    assert "\x1b" not in text
    assert r"\x1b[31mred\nline" in text


def test_control_characters_of_columns_and_answers_are_shown_not_sent() -> None:
    frame = simulate_frame(5).rename({"rater_race": "rater_\x1b[1mrace", "Q_overall": "Q_\x1b[2m"})
    ratings = Ratings.from_frame(
        frame.with_columns(pl.col("Q_\x1b[2m").replace("Yes", "\x1b[3m")), categories=["No", "Unsure", "\x1b[3m"]
    )
    items = pl.DataFrame({"item_id": frame["item_id"].unique(), "item_\x1b[4m": "one"})
    analysis = analyse(ratings.with_items(items), by="\x1b[1mrace", by_item="item_\x1b[4m", differences=True)
    assert "\x1b" not in str(analysis)
    for name in (r"rater_\x1b[1mrace", r"Q_\x1b[2m", r"\x1b[3m", r"item_\x1b[4m"):
        assert name in str(analysis)
