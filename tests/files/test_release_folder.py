"""Files of a release, and data files of other folders."""

from pathlib import Path

from dissensus.files.releases.folder import MANIFEST, SIGNATURE, list_data_files, list_release_files


def test_data_files_are_those_of_each_format_in_order(tmp_path: Path) -> None:
    for name in ("b.tsv.gz", "a.csv", "c/d.JSONL", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list_data_files(tmp_path) == [tmp_path / name for name in ("a.csv", "b.tsv.gz", "c/d.JSONL")]


def test_files_of_git_do_not_belong_to_a_release(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in (MANIFEST, SIGNATURE, ".git/config", ".gitignore", "README.md"):
        (tmp_path / name).touch()
    assert list_release_files(tmp_path) == {".gitignore", "README.md"}
