"""Recorder of all that the package shows to its users, for comparison before and after a refactoring.

Run `python -m tests.behaviour.record DIR` before and after a change, each with the source of its version on
`PYTHONPATH`, and then `python -m tests.behaviour.compare OLD NEW --renames renames.toml`. The clock and all randomness
are injected, and ids that remain are numbered by their first appearance, so that two recordings of one version are
the same byte for byte. Where DISSENSUS_DATA is set, statistics of DICES-350 are recorded too.

Parts: `surface` has public names, settings, permissions, tables, help texts and the OpenAPI document; `commands` what
commands print and write; `platform` a scripted story, every page and API route for every role, exports and the
database. Names of internal modules are in `tests.behaviour.site` alone.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PARTS = ("surface", "commands", "published", "platform")


def main(words: list[str] | None = None) -> None:
    """Record into a folder that is not there yet."""
    parser = argparse.ArgumentParser(description="Record the behaviour of dissensus into a folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", choices=PARTS, help="record some parts alone")
    arguments = parser.parse_args(words)
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    folder = arguments.folder.resolve()
    if folder.exists():
        parser.error(f"{folder} is there already.")
    _record(folder, arguments.only or PARTS)


def _record(folder: Path, parts: tuple[str, ...] | list[str]) -> None:
    from tests.behaviour.determinism import Clock, seed_randomness
    from tests.behaviour.site import freeze_commands

    freeze_commands(Clock())
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for name in parts:
        # A part is the same whether or not others are recorded before it.
        seed_randomness()
        with _workplace() as workplace, _timed(name):
            _part(name)(folder, workplace)


def _part(name: str) -> Callable[[Path, Path], None]:
    from tests.behaviour import commands, platform, surface
    from tests.behaviour.writer import Writer

    def record(folder: Path, workplace: Path) -> None:
        data = os.environ.get("DISSENSUS_DATA", "")
        writer = Writer(folder / name, {str(workplace): "<folder>"} | ({data: "<data>"} if data else {}))
        if name == "surface":
            surface.record(writer, commands.Shell(writer, workplace))
        elif name == "commands":
            commands.record(writer, workplace)
        elif name == "platform":
            platform.record(writer, workplace)
        elif data:
            commands.record_published(writer, workplace, Path(data))

    return record


@contextmanager
def _workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="behaviour-") as folder:
        yield Path(folder)


@contextmanager
def _timed(name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    sys.stderr.write(f"{name}: {time.perf_counter() - started:.1f} s\n")


if __name__ == "__main__":
    main()
