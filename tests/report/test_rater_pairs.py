"""Figure of the agreement of each two raters."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import frame_of, ratings_of, simulate_frame
from tests.report.svg import fits, texts

from dissensus.errors import InvalidInput, NotFound, UndefinedEstimate
from dissensus.report.builder import build
from dissensus.report.figures import rater_pairs as module
from dissensus.report.figures.rater_pairs import rater_pairs
from dissensus.report.graphics.layout import LINE_HEIGHT
from dissensus.report.graphics.theme import COLUMN_WIDTH, TEXT_WIDTH
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.raters.pairs import rater_pair_agreement

# Two who always agree, two who never agree with them, and one of unknown group.
ANSWERS = {"a": "NYNYNY", "b": "NYNYNY", "c": "YNYNYN", "d": "YNYNYY", "e": "NNNNNN"}


@pytest.fixture(scope="module")
def camps() -> Ratings:
    return ratings_of(ANSWERS, {"rater_race": ["x", "x", "y", "y", None]})


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(2))


def read_cells(ratings: Ratings, groups: str | None = None) -> list[tuple[str, float, float]]:
    """Step, start and end of the run of each colour, in cells."""
    layer = rater_pairs(ratings, groups).draw(TEXT_WIDTH)["layer"][0]
    runs = [
        (float(y), point["step"], float(start), float(end))
        for point in layer["data"]["values"]
        for start, y, end in re.findall(r"M([\d.]+),([\d.]+)H([\d.]+)", point["outline"])
    ]
    return [run[1:] for run in sorted(runs, key=lambda run: (run[0], run[2]))]


def test_the_table_has_the_pairs_of_each_two_groups(camps: Ratings) -> None:
    table = rater_pairs(camps, "race").table
    assert table.select("group", "other", "n_pairs", "mean").rows() == [
        ("x", "x", 1, 1.0),
        ("x", "y", 4, pytest.approx((0 + 0 + 1 / 6 + 1 / 6) / 4)),
        ("y", "y", 1, pytest.approx(5 / 6)),
    ]
    (everybody,) = rater_pairs(camps).table.rows(named=True)
    assert (everybody["group"], everybody["n_pairs"]) == ("everybody", 10)


def test_each_pair_is_drawn_once_in_its_colour(camps: Ratings) -> None:
    cells = read_cells(camps, "race")
    assert sum(end - start for _, start, end in cells) == pytest.approx(6 * module.LARGEST_CELL)
    steps = [step for step, _, _ in cells]
    assert steps == [".80 or more", "below .20", "below .20", ".80 or more"]


def test_the_matrix_of_many_raters_is_that_of_their_agreement(ratings: Ratings) -> None:
    figure = rater_pairs(ratings, "race")
    assert fits(figure)
    assert set(texts(figure)) >= {"Asian", "Black", "White"}
    values = rater_pair_agreement(*ratings.codes("Q_overall")).agreement
    means, sizes = (figure.table[name].to_numpy() for name in ("mean", "n_pairs"))
    assert np.average(means, weights=sizes) == pytest.approx(np.nanmean(values))
    assert figure.axis == "rater_race"
    assert "within groups and" in figure.reading


def test_names_of_many_small_groups_do_not_overlap() -> None:
    names = [f"group {n:02}" for n in range(20)]
    frame = simulate_frame(1, n_raters=24, sizes=(8, 8, 8)).with_columns(
        rater_race=pl.col("rater_id").str.slice(6).cast(pl.Int64).mod(20).replace_strict(dict(enumerate(names)))
    )
    for width in (TEXT_WIDTH, COLUMN_WIDTH):
        layer = rater_pairs(Ratings.from_frame(frame), "race").draw(width)["layer"][-1]
        places = [text["y"] for text in layer["data"]["values"]]
        assert np.diff(places).min() >= LINE_HEIGHT - 1e-9


def test_pairs_of_few_shared_items_are_blank() -> None:
    ratings = ratings_of({"a": "NYNYNY..", "b": "NYNYNYNY", "c": "......YN"}, {"rater_race": ["x", "y", "y"]})
    figure = rater_pairs(ratings, "race")
    assert figure.table.filter(group="y")["mean"].to_list() == [None]
    assert any("2 pairs with fewer than 5 shared items" in note for note in figure.notes)
    assert len(read_cells(ratings, "race")) == 1
    with pytest.raises(UndefinedEstimate, match="no two raters share 7"):
        rater_pairs(ratings, min_shared=7)


def test_the_raters_with_most_items_are_drawn(ratings: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RATERS", 10)
    figure = rater_pairs(ratings)
    assert sum(end - start for _, start, end in read_cells(ratings)) == pytest.approx(45 * module.LARGEST_CELL)
    assert figure.table["n_pairs"].to_list() == [24 * 23 / 2]
    assert any("the 10 raters with the most items" in note for note in figure.notes)


def test_numbers_of_two_raters_are_suppressed(ratings: Ratings) -> None:
    hidden = replace(list_groups(ratings, "race"), suppress_below=5)
    for groups, below in ((None, 5), ("race", 3), (hidden, 0)):
        with pytest.raises(NotFound, match="each of its numbers concerns two raters"):
            rater_pairs(ratings, groups, suppress_below=below)
    page = build(ratings, permutations=0, bootstrap=0, suppress_below=5)
    assert not any(figure.name.startswith("rater-pairs") for figure in page.figures)
    agreement = next(section for section in page.sections if section.name == "agreement")
    assert any("concerns two raters" in reason for reason in agreement.absent)


def test_ratings_without_raters_have_no_pairs(ratings: Ratings) -> None:
    counts = Ratings.from_frame(simulate_frame(2).drop("rater_id"), rater=None)
    with pytest.raises(InvalidInput, match="needs to know who gave which answer"):
        rater_pairs(counts)
    page = build(counts, permutations=0, bootstrap=0)
    assert not any(figure.name.startswith("rater-pairs") for figure in page.figures)


def test_unknown_groups_have_no_blocks() -> None:
    unknown = ratings_of(ANSWERS, {"rater_race": [None] * len(ANSWERS)})
    with pytest.raises(UndefinedEstimate, match="those of all raters are unknown"):
        rater_pairs(unknown, "race")


def test_the_report_draws_the_axis_with_most_groups(ratings: Ratings) -> None:
    assert build(ratings, permutations=0, bootstrap=0)["rater-pairs-race"].table is not None


def test_a_rater_without_an_answer_to_the_question_has_no_pair() -> None:
    frame = frame_of({"a": "NYNYNY", "b": "NYNYNY", "c": "NNNNNN"}, {"rater_race": ["x", "x", "y"]})
    frame = frame.with_columns(Q_2=pl.when(pl.col("rater_id") != "c").then(pl.col("Q_overall")))
    figure = rater_pairs(Ratings.from_frame(frame, questions=["Q_overall", "Q_2"]), "race", question="Q_2")
    assert figure.table["n_pairs"].to_list() == [1, 0, 0]
