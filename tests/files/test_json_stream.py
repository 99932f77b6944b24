"""Streaming of JSON objects: arrays and lines, valid, damaged and hostile."""

import gzip
import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import DissensusError
from dissensus.files.raw import json_stream as module
from dissensus.files.raw import limits
from dissensus.files.raw.json_stream import stream_records

ROWS = [{"a": 1, "b": 'x, ] } " \n'}, {"a": -2.5, "b": None}, {"é": ["[", {"c": True}]}]


def write_file(path: Path, text: str | bytes) -> Path:
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["x.json", "x.json.gz", "x.jsonl", "x.jsonl.gz"])
def test_arrays_and_lines_are_detected_by_content(tmp_path: Path, name: str) -> None:
    for text in (
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2, ensure_ascii=False),
        " \n\t" + json.dumps(ROWS) + "\n \n",
        "\n".join(json.dumps(row) for row in ROWS),
        "\r\n\r\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\r\n",
        "\ufeff" + json.dumps(ROWS),
    ):
        assert list(stream_records(write_file(tmp_path / name, text))) == ROWS


def test_gzip_data_are_detected_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(gzip.compress(json.dumps(ROWS).encode()))
    assert list(stream_records(path)) == ROWS
    assert list(stream_records(write_file(tmp_path / "none.json", "[ ]"))) == []


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.json.gz", "x.jsonl.gz"])
@pytest.mark.parametrize("n", [1, 40, 40_000])
def test_progress_grows_with_the_yielded_rows(tmp_path: Path, name: str, n: int) -> None:
    """Two of the sizes are read in one step, so bytes alone would show no progress; the other takes many steps."""
    rows = [{"row": row, "text": hashlib.sha256(str(row).encode()).hexdigest()} for row in range(n)]
    text = json.dumps(rows) if ".json." in f"{name}." else "\n".join(map(json.dumps, rows))
    shares: list[float] = []
    assert list(stream_records(write_file(tmp_path / name, text), progress=shares.append)) == rows
    assert shares == sorted(shares)
    assert shares == pytest.approx([*(np.arange(1, n + 1) / n), 1], abs=0.12)
    assert shares[-1] == 1


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@quick
@given(st.lists(st.dictionaries(st.sampled_from("abcd"), values, min_size=1), max_size=5), st.integers(1, 7))
def test_the_window_size_makes_no_difference(rows: list[dict[str, object]], step: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = write_file(Path(folder, "x.json"), json.dumps(rows, ensure_ascii=False, indent=step % 3 or None))
        patch.setattr(module, "_STEP", step)
        assert list(stream_records(path)) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}]' + " " * 3_000_000 + "7", "text follows the end of the array"),
        ("", "x.json is empty"),
        (" \n ", "x.json is empty"),
        ('[{"a": 1}', "record 1: after it comes the end of the file where a comma or the end of the array is due"),
        ('[{"a": 1},', "record 2: it begins with the end of the file"),
        ('[{"a": 1}, ]', "record 2: it begins with ']'"),
        ('[{"a": 1} {"a": 2}]', "record 1: after it comes '{'"),
        ('[{"a": 1}, {"a": tru', "record 2: not JSON"),
        ('[{"a": 1}, 7]', "record 2: it begins with '7' instead of {"),
        ('[{"a": 1}] {}', "text follows the end of the array"),
        ('[{"a": NaN}]', "record 1: NaN is not valid JSON"),
        ('[{"a": 1, "a": 2}]', "record 1: it names 'a' twice"),
        ('[{"a": ' + "[" * 100_000, "record 1: the values are nested too deeply"),
        ('[{}, {"a": 1}]', "record 1: it is '{}', not an object with values"),
        ('{"a": 1}\n[2]\n', "record 2: it is '[2]', not an object"),
        ('{"a": 1}\n\n{"a": \n', "record 2: not JSON"),
        ('{"a": ' + "9" * 5000 + "}", "record 1: "),
        (b'[{"a": "\xff"}]', "not UTF-8 text: it has the invalid byte 0xff"),
    ],
)
def test_errors_name_the_record(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(DissensusError) as caught:
        list(stream_records(write_file(tmp_path / "x.json", text)))
    assert message in str(caught.value)


def test_damaged_gzip_data_are_refused(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps(ROWS * 50).encode())
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(data[:-20])
    with pytest.raises(DissensusError, match="cut short"):
        list(stream_records(path))
    path.write_bytes(data[:12] + b"\xff\xff\xff" + data[15:])
    with pytest.raises(DissensusError, match=r"damaged gzip data|not UTF-8|not JSON|cut short"):
        list(stream_records(path))


def test_floods_of_blanks_are_skipped_quickly(tmp_path: Path) -> None:
    flood = " \n" * 5_000_000
    assert list(
        stream_records(write_file(tmp_path / "a.json.gz", flood + "[" + flood + '{"a": 1}' + flood + "]" + flood))
    ) == [{"a": 1}]
    assert list(stream_records(write_file(tmp_path / "b.jsonl.gz", flood[:2_000_000] + '{"a": 1}\n{"a": 2}'))) == [
        {"a": 1},
        {"a": 2},
    ]


def test_limits_apply_before_memory_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ROW", 1000)
    for text in ('{"a": "' + "x" * 2000 + '"}', '[{"a": "' + "x" * 3_000_000):
        with pytest.raises(DissensusError, match="record 1: longer than"):
            list(stream_records(write_file(tmp_path / "x.json", text)))
    monkeypatch.setenv(limits.VARIABLE, "0.00001")
    bomb = write_file(tmp_path / "bomb.jsonl.gz", '{"a": 1}\n' * 100_000)
    assert bomb.stat().st_size < 10_000
    with pytest.raises(DissensusError, match="the maximum"):
        list(stream_records(bomb))
