"""Files made to fill the memory, to take for ever, or to be misread: small ones here, and on the real command line."""

import gzip
from pathlib import Path

import pytest
from tests.support.hostile_files import CASES, HEADER, refusal

from dissensus.errors import InvalidInput
from dissensus.files.raw import limits
from dissensus.files.raw.table_reader import read_frame


@pytest.mark.parametrize("what", CASES)
def test_it_is_refused_in_bounded_memory(tmp_path: Path, what: str) -> None:
    name, make, mib, says = CASES[what]
    path = tmp_path / name
    path.write_bytes(make())
    assert says in refusal(path, mib)
    path.unlink()


def test_the_limit_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = HEADER + b"1,2,No\n" * 200_000
    (tmp_path / "ratings.csv").write_bytes(data)
    (tmp_path / "ratings.csv.gz").write_bytes(gzip.compress(data))
    for name, says in (("ratings.csv", "is larger"), ("ratings.csv.gz", "unpacks to something larger")):
        monkeypatch.setenv(limits.VARIABLE, "0.001")
        with pytest.raises(InvalidInput, match=rf"{name} {says} than 0.001 GiB, the most .* {limits.VARIABLE}, in GiB"):
            read_frame(tmp_path / name)
        monkeypatch.setenv(limits.VARIABLE, "0.01")
        assert read_frame(tmp_path / name).height == 200_000


@pytest.mark.parametrize("given", ["many", "0", "-1", "nan", "inf"])
def test_a_limit_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    (tmp_path / "ratings.csv").write_bytes(HEADER + b"1,2,No\n")
    monkeypatch.setenv(limits.VARIABLE, given)
    with pytest.raises(InvalidInput, match=f"{limits.VARIABLE} is '{given}'. Give a number of GiB, such as 4"):
        read_frame(tmp_path / "ratings.csv")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ratings.csv", b"a,b,c,d\n" + b"1,,,\n" * 100_000),
        ("returns.csv", b"a,b,c,d\r" + b"1,,,\r" * 100_000),
        ("ratings.jsonl", b'{"a":1,"b":1,"c":1,"d":1}\n' + b'{"a":1}\n' * 100_000),
    ],
)
def test_too_many_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    monkeypatch.setenv(limits.VARIABLE, "0.001")
    with pytest.raises(InvalidInput, match=r"rows or more, of 4 columns: over 268,435 cells, the most that is read"):
        read_frame(tmp_path / name)
