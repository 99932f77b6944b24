"""Words of commands, converted with pydantic or without it."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from dissensus.cli import coercion
from dissensus.cli.result_writer import Format

PROGRAM = """
import sys
from dissensus.cli import main
try:
    main()
except SystemExit as end:
    print("pydantic" in sys.modules, end.code)
"""

WORDS: tuple[list[str], ...] = (
    ["a.csv"],
    [
        "a.csv",
        "b.csv",
        "--number",
        "7",
        "--name",
        "7",
        "--choice",
        "two",
        "--kind",
        "json",
        "--each",
        "x",
        "--each",
        "y",
    ],
    ["a.csv", "--number", "0"],
    ["a.csv", "--number", "10"],
    ["a.csv", "--number", "seven"],
    ["a.csv", "--number", "9" * 5000],
    ["a.csv", "--number", "-1"],
    ["a.csv", "--number", "٣"],
    ["a.csv", "--number", " 3 "],
    ["a.csv", "--share", "0.25"],
    ["a.csv", "--share", "2"],
    ["a.csv", "--share", "much"],
    ["a.csv", "--choice", "three"],
    ["a.csv", "--kind", "JSON"],
    ["a.csv", "--flag"],
    ["a.csv", "--name", ""],
    [],
)


def program() -> tuple[typer.Typer, list[dict[str, Any]]]:
    app, calls = typer.Typer(), []

    @app.command()
    def command(
        files: list[Path],
        number: Annotated[int, typer.Option(min=1, max=9)] = 1,
        share: Annotated[float | None, typer.Option(min=0, max=1)] = None,
        name: str | None = None,
        choice: Literal["one", "two"] = "one",
        kind: Format | None = None,
        each: list[str] | None = None,
        flag: bool = False,
    ) -> None:
        calls.append(dict(locals()))

    return app, calls


@pytest.mark.parametrize("words", WORDS)
def test_words_are_converted_and_refused_as_typer_does(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> tuple[Any, ...]:
        app, calls = program()
        result = CliRunner().invoke(app, words)
        return result.exit_code, result.output, [{name: repr(value) for name, value in call.items()} for call in calls]

    plainly = run()
    monkeypatch.setattr(coercion, "_convert", lambda *_: None)
    assert run() == plainly


@pytest.mark.slow
def test_options_that_are_not_given_need_no_pydantic(tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    rows = [f"{item},{rater},{'Yes' if item == rater else 'No'}" for item in range(3) for rater in range(3)]
    ratings.write_text("item_id,rater_id,Q_overall\n" + "\n".join(rows) + "\n")
    words = ["analyse", str(ratings), "--permutations", "0", "-o", str(tmp_path / "out.json")]
    run = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "0"]
