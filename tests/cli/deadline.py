"""The commands within this process: the libraries of the platform load once, and not for each of them."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from dissensus.cli import main

Done = subprocess.CompletedProcess[str]
Told = Callable[..., Done]


def teller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, **settings: str) -> Told:
    """Return what runs `dissensus` in a folder with these settings, and without real data, as the script would."""
    monkeypatch.chdir(folder)

    def dissensus(*words: str | Path, **others: str) -> Done:
        capsys.readouterr()
        code: int | str | None = 0
        with monkeypatch.context() as here, warnings.catch_warnings():
            # The program says in its own way what people are to be warned of; all else is an error here too.
            warnings.simplefilter("default", UserWarning)
            here.delenv("DISSENSUS_DATA", raising=False)
            for name, value in {**settings, **others}.items():
                here.setenv(f"DISSENSUS_{name.upper()}", value)
            here.setenv("COLUMNS", "200")
            here.setattr(sys, "argv", ["dissensus", *map(str, words)])
            try:
                main()
            except SystemExit as end:
                code = end.code
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, int(code or 0), out, err)

    return dissensus
