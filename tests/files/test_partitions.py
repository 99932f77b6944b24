"""Folders and globs of Parquet files: the same analysis as of one table in memory, and named errors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.partitions import assert_same

import dissensus as ds
from dissensus.errors import DissensusError
from dissensus.files.ratings.partitions import coder, item_ranges, row_counts
from dissensus.files.ratings.partitions.distinct_values import MOST_ANSWERS
from dissensus.files.ratings.partitions.external_sort import sort_externally
from dissensus.files.ratings.partitions.folder import find_folder
from dissensus.files.ratings.partitions.item_ranges import choose_ranges
from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.files.ratings.partitions.row_counts import count_rows
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.analyse.result import Analysis
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.cleaning import Duplicates
from dissensus.schema.ratings.table import Ratings

OPTIONS: dict[str, Any] = {"by": ["gender"], "permutations": 3, "bootstrap": 3}


def make_table() -> pl.DataFrame:
    """Return ratings of items with ids that sort differently as text and as numbers, some of them blank."""
    ratings = ds.simulate_ratings(n_items=40, raters_per_cell=3, share_rated=0.5, seed=2)
    item, rater, answer = ratings.codes("Q_overall")
    table = pl.DataFrame({"item_id": item, "rater_id": rater, "Q_overall": answer.astype(int)})
    attributes = ratings.raters.select("rater_gender", "rater_age").with_row_index("rater_id")
    return (
        table.join(attributes.with_columns(pl.col("rater_id").cast(pl.Int32)), on="rater_id", maintain_order="left")
        .with_columns(pl.col("rater_id").cast(pl.String) + " ")
        .with_columns(pl.col("Q_overall").replace_strict({0: "No", 1: "Unsure", 2: " Yes"}))
        .with_columns(pl.when(pl.int_range(pl.len()) % 11 == 3).then(None).otherwise("Q_overall").alias("Q_overall"))
    )


TABLE = make_table()
TEXT = TABLE.with_columns(pl.col("item_id").cast(pl.String).str.zfill(4))
TABLES = {"numbers": TABLE, "text": TEXT}


@pytest.fixture(scope="module")
def analyses() -> dict[str, Analysis]:
    """Analyses of the tables in memory."""
    return {name: analyse(Ratings.from_frame(table), **OPTIONS) for name, table in TABLES.items()}


def in_row_groups(table: pl.DataFrame, folder: Path) -> None:
    """Write one file of many row groups, shuffled, and an empty one."""
    table.sample(fraction=1, shuffle=True, seed=1).write_parquet(folder / "all.parquet", row_group_size=50)
    table.head(0).write_parquet(folder / "empty.parquet")


def sorted_files(table: pl.DataFrame, folder: Path) -> None:
    """Write files sorted by item, whose columns lie in different orders."""
    table = table.sort("item_id")
    table.head(200).write_parquet(folder / "a.parquet")
    table.slice(200).select(reversed(table.columns)).write_parquet(folder / "b.parquet")


def hive(table: pl.DataFrame, folder: Path) -> None:
    """Write folders named for an attribute of raters."""
    for (gender,), part in table.group_by("rater_gender"):
        path = folder / f"rater%5Fgender={'%4D' * (gender == 'Man')}{gender[gender == 'Man' :]}" / "other"
        path.mkdir(parents=True)
        part.drop("rater_gender").write_parquet(path / "part.parquet")


@pytest.mark.parametrize("write", [in_row_groups, sorted_files, hive])
@pytest.mark.parametrize("name", TABLES)
def test_a_folder_gives_the_numbers_of_memory(
    write: Callable[[pl.DataFrame, Path], None],
    name: str,
    analyses: dict[str, Analysis],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (coder, item_ranges, row_counts):
        monkeypatch.setattr(module, "BATCH_ROWS", 64)
    monkeypatch.setattr(coder, "PARTITION_ROWS", 100)
    monkeypatch.setattr(item_ranges, "PARTITION_ROWS", 100)
    above = tmp_path / "run=5"
    above.mkdir()
    write(TABLES[name], above)
    folder = analyse(read_partitions(above), **OPTIONS)
    assert_same(folder, analyses[name])
    assert analyses[name].notes[-1] in folder.notes


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    order=st.permutations(range(60)), duplicates=st.sampled_from(["first", "last", "drop"]), batch=st.integers(1, 20)
)
def test_duplicates_in_any_order_of_rows(
    order: list[int], duplicates: Duplicates, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.concat([TEXT.head(40), TEXT.slice(5, 20).with_columns(Q_overall=pl.lit("Unsure"))])[order]
    monkeypatch.setattr(coder, "BATCH_ROWS", batch)
    monkeypatch.setattr(item_ranges, "BATCH_ROWS", batch)
    monkeypatch.setattr(coder, "PARTITION_ROWS", 3 * batch)
    monkeypatch.setattr(item_ranges, "PARTITION_ROWS", 3 * batch)
    for name, part in (("a", table.head(25)), ("b", table.tail(35))):
        part.write_parquet(tmp_path / f"{name}.parquet", row_group_size=10)
    folder = analyse(read_partitions(tmp_path, duplicates=duplicates), by="gender")
    memory = Ratings.from_frame(table, duplicates=duplicates)
    assert_same(folder, analyse(memory, by="gender"))
    assert set(folder.notes) >= {note for note in memory.notes if "--duplicates" in note}


def test_options_on_raters_are_those_of_one_file(tmp_path: Path) -> None:
    table = TEXT.with_columns(
        rater_kind=pl.when(pl.col("rater_id") == "1 ").then(pl.lit("model")),
        rater_flagged=pl.col("rater_id") == "2 ",
        rater_age=pl.col("rater_id").str.strip_chars().cast(pl.Int64) + 20,
        answered=pl.col("rater_gender"),
        repeat=pl.lit(1),
    )
    table = pl.concat([table, table.head(7).with_columns(pl.lit(2, pl.Int32).alias("repeat"))])
    table.write_parquet(tmp_path / "ratings.parquet")
    options: dict[str, Any] = {"bins": {"age": [25, 31]}, "rater_attributes": ["answered"]}
    folder = read_partitions(tmp_path, where=[("gender", "Man")], exclude_flagged=True, **options)
    memory = ds.read_ratings(table, **options).where("gender", "Man").exclude_flagged()
    assert_same(analyse(folder, by="age"), analyse(memory, by="age"))
    assert folder.pool.raters.equals(memory.raters)
    of_rows = [note for note in memory.notes if "repeat = 2" in note or "kind model" in note]
    assert len(of_rows) == 2
    assert set(of_rows) < set(folder.pool.notes)
    with pytest.raises(DissensusError, match="--rater-attribute auto is not available for a folder"):
        read_partitions(tmp_path, rater_attributes=["auto"])
    with pytest.raises(DissensusError, match="attributes of items are not read from folders"):
        read_partitions(tmp_path, where=[("item_id", "0003")])


def test_raters_whom_the_authors_of_dices_removed_are_flagged(tmp_path: Path) -> None:
    questionnaire = load_questionnaire("dices-350")
    columns = dict.fromkeys([*(question.name for question in questionnaire.questions), *questionnaire.overalls], "No")
    raters = ["ann", "bob", *list(questionnaire.flagged_raters)[:2]]
    table = pl.DataFrame({"item_id": ["7"] * 4, "rater_id": raters, **columns})
    table.write_parquet(tmp_path / "ratings.parquet")
    folder, memory = read_partitions(tmp_path, question="Q_overall"), ds.read_ratings(table, questions=["Q_overall"])
    assert folder.pool.raters.equals(memory.raters)
    assert next(note for note in memory.notes if "README" in note) in folder.pool.notes


@pytest.mark.parametrize("sizes", [[250] * 4, [40] * 350, [900] * 5 + [10] * 400, [10] * 400 + [900] * 5])
def test_ranges_of_few_or_large_items_have_bounded_sizes(
    sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_rows, largest, batch = sum(sizes), max(sizes), sum(sizes) // 10
    monkeypatch.setattr(item_ranges, "BATCH_ROWS", batch)
    monkeypatch.setattr(item_ranges, "PARTITION_ROWS", 3 * batch)
    monkeypatch.setattr(item_ranges, "SAMPLE", 250)
    items = [f"{item:03}" for item, size in enumerate(sizes) for _ in range(size)]
    table = pl.DataFrame({"item": items, "rater": [rater for size in sizes for rater in range(size)]})
    table.write_parquet(tmp_path / "rows.parquet")
    ranges = choose_ranges(find_folder(tmp_path), ["item", "rater"], pl.col("item"), pl.lit(value=True), map)
    blocks = [rows.height for _, rows in sort_externally([table.reverse()], ranges, tmp_path)]
    wide = np.bincount(ranges.widen().find(table["item"]))
    assert sum(blocks) == wide.sum() == n_rows
    assert max(blocks) <= 2 * batch + largest
    assert wide.max() <= 4 * batch + largest


@pytest.mark.slow
def test_blocks_are_the_same_in_any_order_and_any_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (coder, item_ranges, row_counts):
        monkeypatch.setattr(module, "BATCH_ROWS", 64)
    monkeypatch.setattr(item_ranges, "SAMPLE", 200)
    results = []
    for number, write in enumerate((in_row_groups, sorted_files, hive)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        write(TEXT, folder)
        ratings = read_partitions(folder)
        assert ratings.design.engine.n_blocks > 5
        results.append(analyse(ratings, **OPTIONS).to_json())
    assert results == [results[0]] * 3


def _write(folder: Path, **columns: list[Any]) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    ratings: dict[str, list[Any]] = {"item_id": ["7", "7"], "rater_id": ["ann", "bob"], "Q": ["Yes", "No"]}
    pl.DataFrame(ratings | columns).write_parquet(path)
    return path


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"rater_age": [1, 2]}, r"1.parquet has a column 'rater_age' and .*0.parquet has none"),
        ({"item_id": [7, 8]}, r"'item_id' holds String in .*0.parquet and Int64 in .*1.parquet"),
        ({"Q": ["Yes", "Maybe not"]}, "Row 2 of .*1.parquet: 'Maybe not' is not an answer to Q"),
        ({"Q": ["Yes", "row 777"]}, "Row 2 of .*1.parquet: 'row 777' is not an answer to Q"),
        ({"rater_id": ["eve", "bob"]}, "'bob' rated item '7' twice, in row 2 of .*0.parquet and row 2 of .*1.parquet"),
        ({"item_id": ["9", " "], "rater_id": ["eve", "joe"]}, "Row 2 of .*1.parquet: item_id is empty"),
        ({"rater_id": ["eve", ""]}, "Row 2 of .*1.parquet: rater_id is empty"),
        ({"item_id": ["9", "7.0"], "rater_id": ["eve", "joe"]}, "Row 2 of .*1.parquet: item_id is '7.0', a decimal"),
    ],
)
def test_faults_name_the_file_and_the_row(columns: dict[str, list[Any]], message: str, tmp_path: Path) -> None:
    _write(tmp_path)
    _write(tmp_path, **columns)
    with pytest.raises(DissensusError, match=message):
        read_partitions(tmp_path, categories=["No", "Yes"])


def test_contradictory_attributes_name_both_rows(tmp_path: Path) -> None:
    first, second = (
        _write(tmp_path, rater_age=["18", "30"]),
        _write(tmp_path, item_id=["8", "8"], rater_age=["18", "31"]),
    )
    with pytest.raises(DissensusError, match="Rater 'bob' has two values of rater_age") as error:
        read_partitions(tmp_path)
    assert f"'30' in row 2 of {first}" in str(error.value)
    assert f"'31' in row 2 of {second}" in str(error.value)


def test_large_counts_are_checked_before_all_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_counts, "BATCH_ROWS", 2)
    monkeypatch.setattr(row_counts, "FEW_ROWS", 0)
    for number in range(12):
        _write(tmp_path, rater_id=[f"{number}", "ann"])
    sizes: list[int] = []
    table = count_rows(
        find_folder(tmp_path), ["rater_id"], pl.lit(value=True), check=lambda table: sizes.append(table.height)
    )
    assert dict(table.iter_rows()) == {"ann": 12} | {f"{number}": 1 for number in range(12)}
    assert sizes
    assert max(sizes) < table.height


def test_empty_cells_do_not_count_as_an_answer(tmp_path: Path) -> None:
    answers = [None, *range(MOST_ANSWERS)]
    table = pl.DataFrame({"item_id": "1", "rater_id": range(len(answers)), "Q_topic": answers})
    table.write_parquet(tmp_path / "a.parquet")
    assert read_partitions(tmp_path).design.n_categories == MOST_ANSWERS
    table.with_columns(pl.col("Q_topic").fill_null(-1)).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DissensusError, match="more than 1,000 different answers"):
        read_partitions(tmp_path)


def test_names_of_folders_give_each_column_once(tmp_path: Path) -> None:
    missing = tmp_path / "rater_age=__HIVE_DEFAULT_PARTITION__"
    below = missing / "rater_gender=a%2Fb"
    below.mkdir(parents=True)
    path = _write(below)
    assert read_partitions(tmp_path).pool.raters["rater_gender"].to_list() == ["a/b", "a/b"]
    assert read_partitions(tmp_path).pool.raters["rater_age"].to_list() == [None, None]
    _write(below, rater_age=["18", "30"]).rename(path)
    with pytest.raises(DissensusError, match=r"'rater_age' is a column of .* named by a folder above it"):
        read_partitions(tmp_path)
    below.rename(missing / "rater_age=18")
    with pytest.raises(DissensusError, match=r"Two folders above .* name 'rater_age'"):
        read_partitions(tmp_path)


def test_folders_whose_names_end_as_those_of_files_are_not_files(tmp_path: Path) -> None:
    (tmp_path / "2024.parquet").mkdir()
    path = _write(tmp_path / "2024.parquet")
    assert find_folder(tmp_path).sizes == {path: 2}


def test_folders_without_ratings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("item_id\n1\n")
    with pytest.raises(DissensusError, match=r"no \.parquet file; its files are '.csv'"):
        read_partitions(tmp_path)
    with pytest.raises(DissensusError, match=r"No file matches .*\*\.parquet"):
        read_partitions(tmp_path / "*.parquet")
    with pytest.raises(DissensusError, match=r"ratings.csv matches .* is not a .parquet file"):
        read_partitions(tmp_path / "rat*")
    path = _write(tmp_path)
    pl.read_parquet(path).head(0).write_parquet(path)
    with pytest.raises(DissensusError, match=r"1 Parquet files of .* have no rows"):
        read_partitions(tmp_path)
    pl.DataFrame({"item_id": ["7"], "who": ["ann"], "Q": ["Yes"]}).write_parquet(path)
    with pytest.raises(DissensusError, match="There is no column 'rater_id'"):
        read_partitions(tmp_path)
    ratings = {"item_id": ["7"], "rater_id": ["ann"], "Q": ["Yes"], "repeat": ["3"], "row number": [5]}
    pl.DataFrame(ratings).write_parquet(path)
    with pytest.raises(DissensusError, match=r"Row 1 of .*parquet: repeat is '3'"):
        read_partitions(tmp_path)
    path.write_bytes(b"PAR1 is not enough")
    with pytest.raises(DissensusError, match="is a damaged Parquet file"):
        read_partitions(tmp_path)


def test_damage_within_a_file_names_it(tmp_path: Path) -> None:
    _write(tmp_path)
    path = tmp_path / "damaged.parquet"
    TEXT.rename({"Q_overall": "Q"}).select("item_id", "rater_id", "Q").write_parquet(path, compression="uncompressed")
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    with pytest.raises(DissensusError, match="is a damaged Parquet file"):
        read_partitions(tmp_path)
