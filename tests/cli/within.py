"""The commands within this process, for tests that run many of them: the libraries of the platform load once."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from dissensus.cli import main

Told = Callable[..., Done]


def teller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, **settings: str) -> Told:
    """Return what runs `dissensus` in a folder with these settings, as the console script would."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    # The program says in its own way what is to be warned of.
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def dissensus(*words: str, **others: str) -> Done:
        for name, value in {**settings, **others}.items():
            monkeypatch.setenv(f"DISSENSUS_{name.upper()}", value)
        monkeypatch.setattr(sys, "argv", ["dissensus", *words])
        capsys.readouterr()
        code: int | str | None = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, int(code or 0), out, err)

    return dissensus
