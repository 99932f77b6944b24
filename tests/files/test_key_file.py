"""Key files of releases that several processes change at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

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
