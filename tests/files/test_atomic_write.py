"""Atomic file writes, and outputs that must not replace inputs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.raw.atomic_write import check_distinct, replace_atomically, write_atomically


def test_readers_see_the_old_file_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(b"old", path)

    def chunks() -> Iterator[bytes]:
        yield b"ne"
        assert path.read_bytes() == b"old"
        yield b"w"

    write_atomically(chunks(), path)
    assert path.read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_temporary_files_are_private_and_named_files_are_not(tmp_path: Path) -> None:
    with replace_atomically(tmp_path / "private") as part:
        assert part.stat().st_mode & 0o777 == 0o600
    old_mask = os.umask(0o022)
    try:
        write_atomically(b"x", tmp_path / "public")
    finally:
        os.umask(old_mask)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("private", "public")] == [0o600, 0o644]


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for mode in (0o600, 0o444, 0o664):
        path.touch()
        path.chmod(mode)
        write_atomically(b"x", path)
        assert path.stat().st_mode & 0o777 == mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "there" / "a.txt")
    write_atomically(b"x", tmp_path / "here")
    assert (tmp_path / "here").is_symlink()
    assert (tmp_path / "there" / "a.txt").read_bytes() == b"x"


def test_a_device_is_written_to_not_replaced() -> None:
    write_atomically(b"x", Path("/dev/null"))
    assert Path("/dev/null").is_char_device()


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "a.txt", tmp_path / "a\0b", tmp_path / ("a" * 300)):
        with pytest.raises(Unavailable, match="cannot be written"):
            write_atomically(b"x", path)
    with pytest.raises(Unavailable, match="No space left"):
        write_atomically(b"x", Path("/dev/full"))
    assert list(tmp_path.iterdir()) == []


def test_outputs_must_differ_from_inputs_and_each_other(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("x")
    (tmp_path / "link.csv").symlink_to(source)
    check_distinct([source], [target, tmp_path / "figure.svg"])
    for path in (source, tmp_path / "link.csv", tmp_path / "." / "in.csv"):
        with pytest.raises(InvalidInput, match="is read here"):
            check_distinct([source], [path])
    with pytest.raises(InvalidInput, match="named for two outputs"):
        check_distinct([], [target, tmp_path / "." / "out.csv"])
    check_distinct([Path("/dev/null")], [Path("/dev/null")])


def test_outputs_do_not_replace_files_of_folders_and_globs_that_are_inputs(tmp_path: Path) -> None:
    folder = tmp_path / "in[1]"
    folder.mkdir()
    for name in ("a.csv", "page.html"):
        (folder / name).write_text("x")
    check_distinct([folder], [folder / "new.csv", folder / "page.html", tmp_path / "out.csv"])
    with pytest.raises(InvalidInput, match=r"is a file of .*, which is read here"):
        check_distinct([folder], [folder / "a.csv"])
    with pytest.raises(InvalidInput, match="is read here"):
        check_distinct([tmp_path / "in*" / "*.csv"], [folder / "a.csv"])
