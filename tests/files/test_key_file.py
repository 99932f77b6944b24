"""Key files of releases that several processes change at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from dissensus.errors import InvalidInput
from dissensus.files.releases.key_file import open_key_file, record_key_use, remove_key_use
from dissensus.pipeline.release.source import KeyUse

N_RUNS = 8


def test_runs_at_once_have_one_key_and_each_is_recorded(tmp_path: Path) -> None:
    path, barrier = tmp_path / "pilot.key", Barrier(N_RUNS, timeout=20)
    uses = [KeyUse(name="pilot", version=f"1.{number}", manifest="0" * 64) for number in range(N_RUNS)]

    def run(use: KeyUse) -> bytes:
        barrier.wait()
        key = open_key_file(path).key
        barrier.wait()
        assert record_key_use(path, use)
        assert not record_key_use(path, use)
        return key

    with ThreadPoolExecutor(N_RUNS) as pool:
        keys = set(pool.map(run, uses))
    file = open_key_file(path)
    assert keys == {file.key}
    assert sorted(file.uses, key=str) == uses
    remove_key_use(path, uses[0])
    assert set(open_key_file(path).uses) == set(uses[1:])
    assert not list(tmp_path.glob(".*.part"))


KEY = f"key {'0a' * 32}\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has 0 keys, and needs one"),
        (KEY.encode() * 2, "has 2 keys, and needs one"),
        (KEY[:-3].encode(), "has an unknown line 1"),
        (f"# secret\n\n{KEY}used Pilot 1.0 {'0' * 64}\n".encode(), "has an unknown line 4"),
        (b"\xff", "cannot be read"),
    ],
)
def test_a_damaged_key_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pilot.key"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        open_key_file(path)
    assert path.read_bytes() == content


def test_a_key_file_holds_its_key_and_uses(tmp_path: Path) -> None:
    path = tmp_path / "pilot.key"
    path.write_text(f"# secret\n\n{KEY}used pilot-2 1.10 {'0' * 64}\n")
    file = open_key_file(path)
    assert (file.key, file.uses) == (b"\x0a" * 32, (KeyUse(name="pilot-2", version="1.10", manifest="0" * 64),))
