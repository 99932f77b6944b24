"""Reports of folders of Parquet files: the parts and the numbers of one file, and reasons for the others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.pipeline.tables import simulate_frame
from tests.support.folders import read_small_blocks, tabulate_ratings, write_layouts

from dissensus.errors import InvalidInput
from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.report.builder import build
from dissensus.report.figures.labels import soft_labels
from dissensus.report.result import Report
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.groups import item_counts

QUICK: dict[str, Any] = {"permutations": 9, "bootstrap": 5, "contested": 4}
MEAN_TIME = "Mean time of a conversation"  # Not computed from a folder, as by `vet`
LEFT_OUT = {"removal", "label-moves", "rater-pairs", "rater-curve", "topics", "degree", "gold"}


def read_blocks(folder: Path, **options: Any) -> PartitionedRatings:
    """Read a folder as the command does."""
    return read_partitions(folder, question="Q_overall", with_items=True, with_times=True, **options)


def assert_same_report(folder: Report, memory: Report) -> None:
    """Compare all parts that a folder has, and what is around them."""
    expected = {part.name: part for part in memory.parts}
    names = {part.name for part in folder.parts}
    missing = {name for name in expected if name not in names}
    assert names <= set(expected)
    assert all(any(name.startswith(part) for part in LEFT_OUT) for name in missing), missing
    for part in folder.parts:
        other = expected[part.name]
        notes = tuple(note for note in other.notes if not note.startswith(MEAN_TIME))
        assert (part.title, part.reading, part.notes) == (other.title, other.reading, notes)
        assert (part.table is None) == (other.table is None)
        if part.table is not None and other.table is not None:
            close: dict[str, Any] = {"rel_tol": 1e-12, "abs_tol": 1e-12, "check_dtypes": False}
            assert_frame_equal(part.table, other.table, **close)
    for item, other_item in zip(folder.items, memory.items, strict=True):
        assert item.figure.reading == other_item.figure.reading
        assert_frame_equal(item.figure.table, other_item.figure.table, check_exact=True)
    assert (folder.title, folder.summary, folder.sizes) == (memory.title, memory.summary, memory.sizes)


@pytest.fixture
def table() -> pl.DataFrame:
    """Ratings with times and a flagged rater."""
    table = simulate_frame(5, n_items=40, share_rated=0.7)
    return table.with_columns(
        rater_flagged=pl.col("rater_id") == table["rater_id"][0],
        answer_time_ms=(pl.int_range(pl.len()) * 37 % 1009).cast(pl.Float64) * 61,
    )


@pytest.fixture
def folders(table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    read_small_blocks(monkeypatch, 60)
    return write_layouts(table, tmp_path, "rater_gender")


@pytest.mark.slow
@pytest.mark.parametrize("suppress_below", [0, 5])
def test_any_layout_gives_the_parts_of_memory(
    table: pl.DataFrame, folders: Iterator[Path], suppress_below: int
) -> None:
    options = QUICK | {"by": ["race", "gender"], "cross": "race*gender", "suppress_below": suppress_below}
    memory = build(Ratings.from_frame(table), **options)
    pages = set()
    for folder in folders:
        blocks = read_blocks(folder)
        assert blocks.design.engine.n_blocks > 5
        report = build(blocks, command="", **options)
        assert_same_report(report, memory)
        pages.add(report.to_html())
    assert len(pages) == 1


def test_dices_350_in_three_layouts(dices_104: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_small_blocks(monkeypatch, 4000)
    table = tabulate_ratings(dices_104.select_question("Q_overall"))
    options = QUICK | {"by": ["race", "gender"], "permutations": 3, "bootstrap": 0}
    memory = build(read_ratings(table), **options)
    for folder in write_layouts(table, tmp_path, "rater_gender"):
        assert_same_report(build(read_blocks(folder), **options), memory)


def test_flagged_raters_are_left_out_as_the_folder_is_read(table: pl.DataFrame, folders: Iterator[Path]) -> None:
    blocks = read_blocks(next(folders), exclude_flagged=True)
    memory = Ratings.from_frame(table).exclude_flagged()
    assert_same_report(build(blocks, by="race", **QUICK), build(memory, by="race", **QUICK))
    with pytest.raises(InvalidInput, match="give exclude_flagged to read_partitions"):
        build(blocks, exclude_flagged=True)


def test_sections_that_need_memory_say_so(folders: Iterator[Path]) -> None:
    report = build(read_blocks(next(folders)), by="race", **QUICK)
    reasons = {section.name: " ".join(section.absent) for section in report.sections if section.absent}
    assert set(reasons) == {"items", "agreement", "gold", "contested", "filter"}
    assert all("from a folder of Parquet files" in reason for reason in reasons.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "ordinal"}, "A report at the ordinal level is not computed from a folder"),
        ({"by_item": "topic"}, "by attributes of items"),
        ({"gold": "safety_gold"}, "A comparison with experts"),
        ({"unsafe": "Yes"}, "A comparison with experts"),
    ],
)
def test_options_that_need_memory_are_refused(options: dict[str, Any], message: str, folders: Iterator[Path]) -> None:
    with pytest.raises(InvalidInput, match=message):
        build(read_blocks(next(folders)), **options)


def test_labels_with_too_many_possible_counts_are_left_out(
    folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_counts, "MOST_COUNTS", 100)
    report = build(read_blocks(next(folders)), by="race", **QUICK)
    sections = {section.name: section for section in report.sections}
    for name in ("labels", "contested"):
        assert not sections[name].parts
        assert "possible counts, and at most 100 are held in memory" in sections[name].absent[0]


def test_columns_of_labels_are_those_of_all_items(table: pl.DataFrame, folders: Iterator[Path]) -> None:
    def columns(ratings: Ratings | PartitionedRatings) -> list[float]:
        spec = soft_labels(ratings).draw(600)
        return [mark[end] for mark in spec["layer"][0]["data"]["values"] for end in ("item", "from", "to")]

    np.testing.assert_allclose(columns(read_blocks(next(folders))), columns(Ratings.from_frame(table)), atol=1e-12)
