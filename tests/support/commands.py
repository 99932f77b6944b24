"""Run `dissensus` within the test process, so that its libraries load once."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from dissensus.cli import main

CompletedCommand = subprocess.CompletedProcess[str]
RunCommand = Callable[..., CompletedCommand]
SCRIPT = Path(sys.executable).with_name("dissensus")


def command_runner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, **settings: str
) -> RunCommand:
    """Return a function that runs `dissensus` in a folder with these settings and without real data."""
    monkeypatch.chdir(folder)

    def dissensus(*words: str | Path, **variables: str) -> CompletedCommand:
        capsys.readouterr()
        code: int | str | None = 0
        with monkeypatch.context() as context, warnings.catch_warnings():
            # The program prints its warnings itself; other warnings are errors.
            warnings.simplefilter("default", UserWarning)
            context.delenv("DISSENSUS_DATA", raising=False)
            for name, value in {**settings, **variables}.items():
                context.setenv(f"DISSENSUS_{name.upper()}", value)
            context.setenv("COLUMNS", "200")
            context.setattr(sys, "argv", ["dissensus", *map(str, words)])
            # Usage shows the name of the program, also under `python -m pytest`.
            context.setattr(sys.modules["__main__"], "__package__", None, raising=False)
            try:
                main()
            except SystemExit as end:
                code = end.code
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, int(code or 0), out, err)

    return dissensus
