"""Hostile files that exhaust memory or time, or are ambiguous."""

import gzip
from pathlib import Path

import pytest
from tests.support.hostile_files import CASES, HEADER, refusal

from dissensus.errors import InvalidInput
from dissensus.files.items import read_items
from dissensus.files.pairs.items import read_pair_items
from dissensus.files.raw import limits
from dissensus.files.raw.table_reader import read_frame
from dissensus.web.core.forms import read_uploaded

# The same limits at smaller sizes, or in another reader of the same kind, are among the quick cases.
LARGE = {
    "14 MB that unpack to 10 GB",
    "one line of 200 MB",
    "another key in each row",
    "a wide row above narrow ones",
    "a line of JSON of 50 MB",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else []) for name in CASES]
)
def test_hostile_files_are_refused_in_bounded_memory(tmp_path: Path, content: str) -> None:
    name, write, mib, message = CASES[content]
    path = tmp_path / name
    path.write_bytes(write())
    assert message in refusal(path, mib)
    path.unlink()


@pytest.mark.parametrize("name", ["items.csv.gz", "items.jsonl.gz"])
def test_blank_lines_of_an_upload_are_counted_before_they_are_read(name: str) -> None:
    first = b"context,response" if "csv" in name else b'{"context": "Human: a", "response": "b"}'
    packed = gzip.compress(first + b"\n" * 18_000_000)
    assert len(packed) < 20_000
    with pytest.raises(InvalidInput, match=r"and at most 16,777,216 are read\. Remove blank ones\. Split it"):
        read_uploaded(name, packed, read_items)


def test_an_upload_has_limits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = HEADER + b"1,2,No\n" * 1_000
    with limits.restrict_to_upload():
        assert limits.max_text_bytes() == 128 * 2**20
    monkeypatch.setattr(limits, "UPLOAD_ROWS", 999)
    with pytest.raises(InvalidInput, match=r"1,000 rows, and a form takes at most 999\. Split it, or use the command"):
        read_uploaded("ratings.csv", rows, read_frame)
    pasted = b"Human: a\nAI: b\n---\n" * 1_000
    with pytest.raises(InvalidInput, match="1,000 rows, and a form takes at most 999"):
        read_uploaded("items.txt", pasted, read_items)
    monkeypatch.setattr(limits, "UPLOAD_TURNS", 100)
    for name, content in {
        "items.txt": b"Human: a\nAI: b\n---\n" * 51,
        "items.csv": b"context,response\n" + b"".join(b"%d,b\n" % i for i in range(51)),
        "pairs.csv": b"context,response_a,response_b\n" + b"".join(b"%d,b,c\n" % i for i in range(51)),
    }.items():
        read = read_pair_items if name == "pairs.csv" else read_items
        with pytest.raises(InvalidInput, match=r"so far have 102 turns, and a form takes at most 100\. Split it"):
            read_uploaded(name, content, read)
    long = "x" * 2**20
    for name, content in {
        "items.txt": f"Human: {long}\nAI: b\n".encode(),
        "items.jsonl": f'{{"context": "a", "response": "{long}"}}\n'.encode(),
    }.items():
        with pytest.raises(InvalidInput, match="longer than 1 MiB, the maximum"):
            read_uploaded(name, content, read_items)
    with pytest.raises(InvalidInput, match=r"unpacks to something larger than 0\.125 GiB"):
        read_uploaded("ratings.csv.gz", gzip.compress(bytes(129 << 20), 1), read_frame)
    assert limits.max_text_bytes() == 2**30


def test_the_limit_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = HEADER + b"1,2,No\n" * 200_000
    (tmp_path / "ratings.csv").write_bytes(data)
    (tmp_path / "ratings.csv.gz").write_bytes(gzip.compress(data))
    for name, message in (("ratings.csv", "is larger"), ("ratings.csv.gz", "unpacks to something larger")):
        monkeypatch.setenv(limits.VARIABLE, "0.001")
        with pytest.raises(
            InvalidInput, match=rf"{name} {message} than 0.001 GiB, the maximum.* {limits.VARIABLE}, in GiB"
        ):
            read_frame(tmp_path / name)
        monkeypatch.setenv(limits.VARIABLE, "0.01")
        assert read_frame(tmp_path / name).height == 200_000


@pytest.mark.parametrize("value", ["many", "0", "-1", "nan", "inf"])
def test_an_invalid_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    (tmp_path / "ratings.csv").write_bytes(HEADER + b"1,2,No\n")
    monkeypatch.setenv(limits.VARIABLE, value)
    with pytest.raises(InvalidInput, match=f"{limits.VARIABLE} is '{value}'. Give a number of GiB, such as 4"):
        read_frame(tmp_path / "ratings.csv")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ratings.csv", b"a,b,c,d\n" + b"1,,,\n" * 100_000),
        ("returns.csv", b"a,b,c,d\r" + b"1,,,\r" * 100_000),
        ("ratings.jsonl", b'{"a":1,"b":1,"c":1,"d":1}\n' + b'{"a":1}\n' * 100_000),
    ],
)
def test_too_many_cells_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    monkeypatch.setenv(limits.VARIABLE, "0.001")
    with pytest.raises(InvalidInput, match=r"rows or more, of 4 columns: over 268,435 cells, the maximum"):
        read_frame(tmp_path / name)
