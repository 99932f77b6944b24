"""Spark: folders read, checked and counted by executors in processes of their own, with the results of this process."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.support.commands import SCRIPT, RunCommand, command_runner
from tests.support.partitions import assert_same, make_table

import dissensus as ds
from dissensus.errors import DissensusError
from dissensus.files.ratings.partitions import coder, executor_blocks, item_ranges, row_counts
from dissensus.files.ratings.partitions.blocks import CodedBlock
from dissensus.files.ratings.partitions.reader import read_partitions
from dissensus.pipeline.aggregate import soft_labels
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.engine.spark import FailedJob, FailedRead, SparkCluster, SparkEngine, connect_spark
from dissensus.pipeline.vet import vet
from dissensus.schema.ratings.cleaning import Duplicates
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import count_threads

psutil = pytest.importorskip("psutil")
pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::ResourceWarning")]

# Programs that live for a minute are slowed by compiling all of their code well.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SUBMIT = (
    f"--master local-cluster[2,1,1024] --conf spark.ui.enabled=false --driver-java-options '{JAVA}' "
    f"--conf 'spark.executor.extraJavaOptions={JAVA}' pyspark-shell"
)
OPTIONS: dict[str, Any] = {"by": ["locale"], "min_raters": 1, "permutations": 2, "bootstrap": 2}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """Two executors with one processor each, which have a home of their own and nothing but the settings of Spark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", SUBMIT)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("spark")))
        patch.setenv("SPARK_WORKER_DIR", str(tmp_path_factory.mktemp("workers")))
        connected = connect_spark()
        yield connected
        connected.context.stop()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets the rows of a block."""

    def change(n_rows: int) -> None:
        for module in (coder, executor_blocks, item_ranges, row_counts):
            monkeypatch.setattr(module, "BATCH_ROWS", n_rows)

    return change


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> RunCommand:
    """Run `dissensus` in this process, which is connected to the cluster."""
    return command_runner(monkeypatch, capsys, tmp_path)


def write(table: pl.DataFrame, folder: Path) -> Path:
    """Write rows to three files in a new folder."""
    folder.mkdir()
    size = -(-table.height // 3)
    for number in range(3):
        table.slice(number * size, size).write_parquet(folder / f"part-{number}.parquet")
    return folder


def simulate_table() -> pl.DataFrame:
    """Return simulated ratings in random order."""
    ratings = ds.simulate_ratings(n_items=60, raters_per_cell=3, share_rated=0.5, seed=2)
    item, rater, answer = ratings.codes("Q_overall")
    table = pl.DataFrame(
        {
            "item_id": pl.Series(item).cast(pl.String),
            "rater_id": pl.Series(rater).cast(pl.String),
            "rater_gender": ratings.raters["rater_gender"].gather(rater),
            "Q_overall": pl.Series(["No", "Unsure", "Yes"]).gather(answer),
        }
    )
    return table.sample(fraction=1, shuffle=True, seed=1)


@settings(
    max_examples=1,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    derandomize=True,
)
@given(
    seed=st.integers(0, 999),
    share_rated=st.sampled_from([0.5, 1.0]),
    n_answers=st.integers(1, 3),
    n_rows=st.sampled_from([70, 90]),
    duplicates=st.sampled_from(["first", "last", "drop"]),
)
@example(seed=0, share_rated=0.2, n_answers=3, n_rows=30, duplicates="first")
def test_results_are_those_of_this_process_to_the_last_bit(
    seed: int,
    share_rated: float,
    n_answers: int,
    n_rows: int,
    duplicates: Duplicates,
    tmp_path_factory: pytest.TempPathFactory,
    cluster: SparkCluster,
    small_blocks: Callable[[int], None],
) -> None:
    small_blocks(n_rows)
    table = make_table(seed, share_rated, n_answers, 0.7)
    folder = write(table, tmp_path_factory.mktemp("ratings") / "files")
    reading: dict[str, Any] = {"duplicates": duplicates, "categories": ["No", "Unsure", "Yes"]}
    spark, local = (
        read_partitions(folder, engine=engine, with_items=True, with_times=True, **reading)
        for engine in ("spark", "local")
    )
    assert isinstance(spark.design.engine, SparkEngine)
    assert spark.design.engine.n_blocks == local.design.engine.n_blocks > 1
    first = analyse(spark, **OPTIONS)
    assert first.to_json() == analyse(local, **OPTIONS).to_json()
    assert_same(first, analyse(Ratings.from_frame(table, **reading), **OPTIONS))
    labels, expected = (pl.concat(map(soft_labels, ratings.tables())) for ratings in (spark, local))
    assert_frame_equal(labels, expected, check_exact=True)
    assert_frame_equal(vet(spark).raters, vet(local).raters, check_exact=True)


def run_both(cluster: SparkCluster, run: RunCommand, *words: str) -> tuple[str, str]:
    """Return what a command writes on the executors and in this process."""
    outputs, n_jobs = [], []
    for engine in ((), ("--engine", "spark")):
        done = run(*words, *engine, "-o", "output.html" if words[0] == "report" else "output.json")
        assert done.returncode == 0, done.stderr
        (output,) = Path().glob("output.*")
        outputs.append(output.read_text("utf-8").replace(" --engine spark", ""))
        output.unlink()
        n_jobs.append(len(cluster.context.statusTracker().getJobIdsForGroup(None)))
    assert n_jobs[1] > n_jobs[0] + 5
    return outputs[1], outputs[0]


def test_a_report_is_that_of_this_process_to_the_last_byte(
    tmp_path: Path, cluster: SparkCluster, small_blocks: Callable[[int], None], run: RunCommand
) -> None:
    small_blocks(150)
    table = simulate_table().with_columns(
        rater_flagged=pl.col("rater_id") == "0", answer_time_ms=pl.int_range(pl.len()) * 37 % 1009 * 61.0
    )
    write(table, tmp_path / "files")
    options = ("--by", "gender", "--permutations", "2", "--bootstrap", "2", "--contested", "3", "--exclude-flagged")
    page, expected = run_both(cluster, run, "report", "files", *options)
    assert page == expected
    assert "1 flagged rater is left out" in page
    sections = ("raters", "answers", "chance", "agreement", "distance", "labels", "contested")
    assert all(f'id="about-{section}"' in page for section in sections)


def test_a_model_is_that_of_this_process_to_the_last_byte(
    tmp_path: Path, cluster: SparkCluster, small_blocks: Callable[[int], None], run: RunCommand
) -> None:
    small_blocks(150)
    write(simulate_table(), tmp_path / "files")
    formula = "Q_overall ~ gender + (1|rater_id) + (1|item_id)"
    model, expected = run_both(cluster, run, "model", "files", "--formula", formula, "--draws", "26")
    assert model == expected


@pytest.mark.parametrize("options", [(), ("--scores", "models.csv", "--rank-by", "auc")], ids=["chatbots", "models"])
def test_a_scorecard_is_that_of_this_process_to_the_last_byte(
    options: tuple[str, ...],
    tmp_path: Path,
    cluster: SparkCluster,
    small_blocks: Callable[[int], None],
    run: RunCommand,
) -> None:
    small_blocks(150)
    table = simulate_table()
    write(table, tmp_path / "files")
    ids = table.select(pl.col("item_id").unique().sort())
    scores = ids.with_columns(guard=pl.int_range(pl.len()) % 11 / 10, judge=pl.int_range(pl.len()) % 19 / 20)
    scores.write_csv(tmp_path / "models.csv")
    words = ("benchmark", "files", "--by", "gender", "--min-raters", "2", *options)
    written, expected = run_both(cluster, run, *words)
    assert written == expected
    card = json.loads(written)
    assert sum(row["ci_low"] is not None for row in card["rows"]) >= len(card["rows"]) / 2
    assert card["gaps"]
    assert all(gap["p"] is not None for gap in card["gaps"])


def test_an_executor_that_is_killed_does_not_change_the_results(
    tmp_path: Path, cluster: SparkCluster, small_blocks: Callable[[int], None]
) -> None:
    small_blocks(150)
    folder, killed = write(simulate_table(), tmp_path / "files"), tmp_path / "killed"
    options: dict[str, Any] = {"by": "gender", "permutations": 3}
    spark, local = read_partitions(folder, engine="spark"), read_partitions(folder)
    engine = spark.design.engine
    assert isinstance(engine, SparkEngine)
    assert engine.n_blocks == 4
    decode = engine.decode

    def kill_once(coded: Any) -> Any:
        if coded.number == 2 and not killed.exists():
            killed.touch()
            # The parent of a task's process starts such processes, and its parent is the executor.
            executor = psutil.Process().parents()[1]
            assert "java" in executor.name()
            os.kill(executor.pid, signal.SIGKILL)
        return decode(coded)

    design = replace(spark.design, engine=replace(engine, decode=kill_once))
    result = analyse(replace(spark, design=design), **options)
    assert killed.exists()
    assert result.to_json() == analyse(local, **options).to_json()


def test_popular_items_and_raters_with_most_of_the_ratings(
    tmp_path: Path, cluster: SparkCluster, small_blocks: Callable[[int], None]
) -> None:
    small_blocks(500)
    draws = np.random.default_rng(3)
    # One rater rates all items, and one item has most of its raters from nowhere else.
    item = np.concatenate([np.arange(900), np.full(600, 450), draws.integers(0, 900, 300)])
    rater = np.concatenate([np.zeros(900, int), np.arange(1, 601), draws.integers(1, 20, 300)])
    table = pl.DataFrame(
        {
            "item_id": item,
            "rater_id": rater,
            "rater_locale": np.array(["A", "B"])[rater % 2],
            "Q_overall": np.array(["No", "Yes"])[draws.integers(0, 2, item.size)],
        }
    ).unique(["item_id", "rater_id"], maintain_order=True)
    folder = write(table, tmp_path / "files")
    spark, local = (read_partitions(folder, engine=engine) for engine in ("spark", "local"))
    assert spark.design.most_ratings > 600
    assert spark.design.loads.max() == 900
    first = analyse(spark, **OPTIONS)
    assert first.to_json() == analyse(local, **OPTIONS).to_json()
    assert_same(first, analyse(Ratings.from_frame(table), **OPTIONS))


def read_error(folder: Path, engine: Any, **options: Any) -> str:
    """Return the error of reading a folder."""
    with pytest.raises(DissensusError) as error:
        read_partitions(folder, engine=engine, **options)
    return str(error.value)


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"item_id": ["a", "a", "b", "a"], "rater_id": ["ann", "bob", "bob", "ann"]}, {}),
        ({"rater_locale": ["A", "B", "B", "A"]}, {}),
        ({"Q_overall": ["No", "Yes", "No", "Perhaps"]}, {"categories": ["No", "Yes"]}),
        ({"item_id": ["a", "b", None, "d"]}, {}),
        ({"item_id": ["1.0", "2", "3", "4"]}, {}),
        ({"answer_time_ms": [1.0, 2.0, -1.0, 3.0]}, {"with_times": True}),
    ],
    ids=["duplicates", "attributes", "answers", "no item", "decimal", "times"],
)
def test_checks_have_the_same_messages(
    columns: dict[str, list[Any]],
    options: dict[str, Any],
    tmp_path: Path,
    cluster: SparkCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {
        "item_id": ["a", "b", "c", "d"],
        "rater_id": ["ann", "bob", "ann", "ann"],
        "Q_overall": ["No", "Yes", "No", "Yes"],
    }
    write(pl.DataFrame(table | columns), tmp_path / "files")
    monkeypatch.chdir(tmp_path)  # Executors find the files of a relative path
    message = read_error(Path("files"), "spark", **options)
    assert message == read_error(Path("files"), "local", **options)
    assert "files/part-" in message


def test_damage_within_a_file_names_it(tmp_path: Path, cluster: SparkCluster) -> None:
    folder = write(simulate_table(), tmp_path / "files")
    path = folder / "part-1.parquet"
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4)
    path.write_bytes(content)
    assert f"{path}" in read_error(folder, "spark")


def test_a_task_that_always_fails_ends_the_job_with_its_error(cluster: SparkCluster) -> None:
    with pytest.raises(FailedJob, match="several attempts: ZeroDivisionError") as error:
        list(cluster.map(partial(divmod, 1), [1, 0]))
    assert not isinstance(error.value, FailedRead)


def test_a_task_takes_the_processors_that_spark_gives_it(cluster: SparkCluster) -> None:
    assert list(cluster.map(lambda _: (count_threads(), pl.thread_pool_size()), range(3))) == [(1, 1)] * 3


def test_ratings_come_home_in_as_many_runs_as_fit(
    tmp_path: Path, cluster: SparkCluster, small_blocks: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(150)
    ratings: Any = read_partitions(write(simulate_table(), tmp_path / "files"), engine="spark", with_items=True)
    blocks, sent = ratings.read_items.__self__, tmp_path / "sent"

    def note(block: CodedBlock) -> CodedBlock:
        (sent / str(block.number)).touch()
        return block

    noted = replace(blocks, coded=blocks.coded.map(note))
    for n_at_once in (1, 3):
        sent.mkdir()
        monkeypatch.setattr(SparkCluster, "result_bytes", n_at_once * blocks.run_bytes)
        next(noted.read_items())
        assert sorted(path.name for path in sent.iterdir()) == ["0", "1", "2"][:n_at_once]
        shutil.rmtree(sent)


def test_blocks_are_freed_on_the_executors_with_the_ratings(
    tmp_path: Path, cluster: SparkCluster, small_blocks: Callable[[int], None]
) -> None:
    earlier = set(cluster.context._jsc.getPersistentRDDs())
    ratings = read_partitions(write(simulate_table(), tmp_path / "files"), engine="spark")
    own = set(cluster.context._jsc.getPersistentRDDs()) - earlier
    assert len(own) == 1
    del ratings
    gc.collect()
    assert not own & set(cluster.context._jsc.getPersistentRDDs())


CONNECT_AND_STOP = """
from dissensus.errors import Unavailable
from dissensus.pipeline.engine.spark import connect_spark
cluster = connect_spark()
print(cluster.context.appName, cluster.context.getConf().get("spark.log.level"))
cluster.context._jsc.stop()
for attempt in (lambda: cluster.map(str, [1]), connect_spark):
    try:
        attempt()
    except Unavailable as error:
        print(error)
"""


def test_settings_of_spark_stay_and_a_master_that_is_gone_is_named() -> None:
    arguments = SUBMIT.replace("local-cluster[2,1,1024]", "local[1]")
    variables = {"PYSPARK_SUBMIT_ARGS": f"--name mine --conf spark.log.level=FATAL {arguments}"}
    done = subprocess.run(
        [sys.executable, "-c", CONNECT_AND_STOP], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    settings, *refusals = done.stdout.splitlines()
    assert settings == "mine FATAL"
    assert [refusal.partition(" does not")[0] for refusal in refusals] == ["Spark has stopped: its master local[1]"] * 2


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    folder = write(simulate_table(), tmp_path / "files")
    variables = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    command = [str(SCRIPT), "analyse", str(folder), "--engine", "spark"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "apt install openjdk-17-jre-headless" in done.stderr
