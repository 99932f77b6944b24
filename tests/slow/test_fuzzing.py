"""Two million inputs are each read, or refused with a message."""

import importlib.util
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet
import pytest

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.analyse import analyse
from dissensus.schema.ratings.table import Ratings

pytestmark = pytest.mark.slow

TABLE = pl.DataFrame(
    {
        "item_id": ["7", "7", "8"],
        "rater_id": ["ann", "bé", "ann"],
        "rater_x": ["a", None, "a"],
        "Q_overall": ["Yes", "No", None],
    }
)
TEXTS = {
    "csv": TABLE.write_csv().encode(),
    "tsv": TABLE.write_csv(separator="\t").encode(),
    "jsonl": TABLE.write_ndjson().encode(),
    "json": TABLE.write_json().encode(),
}
QUOTED = b'\xef\xbb\xbf"a","b ""c"""\r\n1,"x\ny"\r\n'
NESTED = b'{"a": [1e5, {"b": null}], "\\u00e9": "\\ud83d\\ude00"}'

#: what the fuzzer begins with, and how many inputs it makes of that
TARGETS: dict[str, tuple[list[bytes], int]] = {
    "csv": ([TEXTS["csv"], QUOTED], 400_000),
    "tsv": ([TEXTS["tsv"], QUOTED.replace(b",", b"\t")], 200_000),
    "jsonl": ([TEXTS["jsonl"], NESTED + b"\n\n" + NESTED], 500_000),
    "json": ([TEXTS["json"], b"[" + NESTED + b",\n" + NESTED + b"]"], 500_000),
    "gzip": ([b"\0\0\0" + TEXTS["csv"], b"\0\1\1" + QUOTED], 200_000),
    "ratings": ([bytes([kind]) + text for kind, text in enumerate([*TEXTS.values(), TEXTS["csv"]])], 200_000),
}
TARGET = Path(__file__).with_name("fuzz") / "target.py"


@pytest.mark.parametrize("name", TARGETS)
def test_all_that_a_fuzzer_finds_is_read_or_refused(tmp_path: Path, name: str) -> None:
    """Coverage-guided, in a separate process because atheris exits."""
    if importlib.util.find_spec("atheris") is None:
        reason = "NOT FUZZED: atheris, of the extra dev, is for Linux and Python below 3.14, and it is not installed."
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    seeds, runs = TARGETS[name]
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(seed)
    # The kernel hands the peak of this process, which other tests raise, down to its children.
    own_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    limits = (f"-runs={runs}", "-max_len=256", "-timeout=20", f"-rss_limit_mb={own_mb + 2048}")
    process = subprocess.run(
        [sys.executable, TARGET, name, corpus, *limits, "-seed=1", f"-artifact_prefix={tmp_path}/"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        timeout=1200,
    )
    crashes = [path.read_bytes() for path in tmp_path.glob("*-*")]
    assert process.returncode == 0, f"{crashes}\n{process.stdout[-4000:]}\n{process.stderr[-4000:]}"
    assert f"Done {runs} runs" in process.stderr
    assert "panicked" not in process.stderr
    inputs, n_read = map(int, (tmp_path / "tally").read_text().split())
    assert runs - 1000 < inputs <= runs
    assert n_read > runs / 1000  # otherwise all are refused before parsing


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """Overwrite or remove a few bytes between the ends."""
    content = bytearray(data)
    if rng.random() < 0.1:
        low, high = sorted(rng.integers(4, len(content) - 4, 2))
        del content[low:high]
        return bytes(content)
    for at in rng.integers(4, len(content) - 4, rng.choice([1, 1, 2, 4, 16])):
        content[at] = rng.choice([0, 127, 255, content[at] ^ 1, content[at] ^ 128, rng.integers(256)])
    return bytes(content)


@pytest.mark.parametrize("writer", ["zstd", "uncompressed", "pyarrow"])
def test_damaged_parquet_files_are_read_or_refused(tmp_path: Path, writer: str) -> None:
    """Some would crash the process without the probe."""
    path, table = tmp_path / "ratings.parquet", pl.concat([TABLE] * 40)
    if writer == "pyarrow":
        pyarrow.parquet.write_table(table.to_arrow(), path)
    else:
        table.write_parquet(path, compression=writer)  # type: ignore[arg-type]
    rng, data = np.random.default_rng(len(writer)), path.read_bytes()
    n_refused = 0
    for _ in range(100):
        path.write_bytes(damage(rng, data))
        try:
            assert read_frame(path).width > 0
        except InvalidInput:
            n_refused += 1
    assert 50 < n_refused < 100


def test_small_random_tables_are_analysed_or_refused_in_words() -> None:
    """Few raters, few items, missing ratings and unknown groups: every null has a reason."""
    rng = np.random.default_rng(11)
    for _ in range(400):
        n_raters, n_items = rng.integers(1, 8), rng.integers(1, 6)
        rater, item = np.nonzero(rng.random((n_raters, n_items)) < 0.7)
        of_rater = [(None, "a", "b", "c")[k] for k in rng.integers(4, size=n_raters)]
        frame = pl.DataFrame(
            {
                "item_id": [str(i) for i in item],
                "rater_id": [str(r) for r in rater],
                "rater_x": pl.Series([of_rater[r] for r in rater], dtype=pl.String),
                "Q_overall": pl.Series(rng.choice(["No", "Unsure", "Yes"], rater.size), dtype=pl.String),
            }
        )
        with suppress(DissensusError):
            analysis = analyse(Ratings.from_frame(frame), by=["x"], permutations=9, bootstrap=9)
            for row in (*analysis.overall, *analysis.rows):
                assert row.estimate is not None or row.reason, row
                assert None not in (row.ci_low, row.p) or row.reason or row.axis is None, row
            assert str(analysis)
            assert analysis.to_json()
