"""Mutated inputs are each read, or refused with a message."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet
import pytest
from tests.slow.fuzz.mutation import damage, mutate
from tests.slow.fuzz.readers import SEEDS, TABLE, find_target

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.analyse import analyse
from dissensus.schema.ratings.table import Ratings

pytestmark = pytest.mark.slow

N_INPUTS, N_PARQUET = 4_000, 20


@pytest.mark.parametrize("name", SEEDS)
def test_mutated_inputs_are_read_or_refused(tmp_path: Path, name: str) -> None:
    """The same inputs in every run; `make fuzz` looks for others."""
    is_read, rng, n_read = find_target(name, tmp_path), np.random.default_rng(5), 0
    for number in range(N_INPUTS):
        data = mutate(rng, SEEDS[name])
        try:
            n_read += is_read(data)
        except BaseException as error:  # a panic of polars is not an Exception
            error.add_note(f"input {number} of {name}: {data!r}")
            raise
    assert N_INPUTS / 50 < n_read < N_INPUTS


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
    for _ in range(N_PARQUET):
        path.write_bytes(damage(rng, data))
        try:
            assert read_frame(path).width > 0
        except InvalidInput:
            n_refused += 1
    assert N_PARQUET / 2 < n_refused < N_PARQUET


def test_small_random_tables_are_analysed_or_refused_in_words() -> None:
    """Few raters, few items, missing ratings and unknown groups: every null has a reason."""
    rng, n_analysed = np.random.default_rng(11), 0
    for _ in range(250):
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
            n_analysed += 1
    assert 50 < n_analysed < 250
