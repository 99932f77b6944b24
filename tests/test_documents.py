"""README, documentation and examples show actual output."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.support.commands import command_runner
from tests.support.paths import ROOT

import dissensus
import dissensus.errors
from dissensus.cli.app import app
from dissensus.cli.options import READING

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
SLOW = "dissensus preference evaluate"
# Signs of pipes and redirections.
SHELL = set("|<>&;")
# Options of reading that are explained elsewhere than in data.md.
OTHER_PAGES = {"--engine": "scale", "--rater-kind": "judges"}


def console_examples() -> list[Any]:
    """Return the commands of README and documentation that show an output, and that output."""
    examples = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
            command, _, output = block.partition("\n")
            if output and output[0] != "$":
                marks = [pytest.mark.slow] if SLOW in command else []
                examples.append(pytest.param(command.removeprefix("$ "), output, marks=marks))
    return examples


def environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "200"}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), console_examples(), ids=lambda text: " ".join(text.split()[:2]))
def test_documents_show_the_output_of_the_command(
    dices_350: Path, command: str, output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if SHELL & set(command):
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT, env=environment()
        )
    else:
        program, *words = shlex.split(os.path.expandvars(command))
        assert program == "dissensus"
        run = command_runner(monkeypatch, capsys, ROOT)
        done = run(*words, data=os.environ["DISSENSUS_DATA"])
    assert done.stdout == output, done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/data.md"])
def test_the_python_of_a_page_shows_its_output(dices_350: Path, page: str) -> None:
    blocks = re.findall(
        r"^```(?:python|pycon)\n(>>> .*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
    assert test.examples


def test_the_first_table_of_the_data_page_is_read(tmp_path: Path) -> None:
    block = re.search(
        r"^```text\n(item_id,.*?)^```", (ROOT / "docs" / "data.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert block is not None
    path = tmp_path / "ratings.csv"
    path.write_text(block[1], encoding="utf-8")
    ratings = dissensus.read_ratings(path)
    assert (ratings.n_items, ratings.n_raters, ratings.n_ratings) == (2, 2, 3)
    assert list(ratings.axes) == ["rater_gender", "rater_age"]


def test_relative_links_of_the_readme_exist() -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)", README)
    assert len(targets) > 5
    assert [target for target in targets if not (ROOT / target).exists()] == []


DOCUMENTED = {
    "decisions.py": "_static/dices-350-decisions.html",
    "judge.py": "generated/dices-judge.md",
    "jury.py": "generated/dices-jury.md",
    "scorecard.py": "generated/dices-scorecard.md",
}
PARTS = ("small_judge.py",)  # Of other scripts
SCRIPTS = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name not in (*DOCUMENTED, *PARTS)]


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(script: Path) -> None:
    process = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment())
    assert process.returncode == 0, process.stderr
    assert process.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("dices_350")
@pytest.mark.parametrize(("name", "page"), DOCUMENTED.items(), ids=DOCUMENTED)
def test_the_documented_page_is_that_of_the_example(name: str, page: str) -> None:
    script = ROOT / "examples" / name
    process = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment())
    assert process.returncode == 0, process.stderr
    assert process.stdout == (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_every_public_name_is_documented() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert "automodule:: dissensus.errors" in pages
    names = [name for name in dissensus.__all__ if not hasattr(dissensus.errors, name)]
    missing = [name for name in names if not re.search(rf"\b{name}\b", pages)]
    assert not missing


def test_every_option_of_reading_is_documented() -> None:
    group: Any = typer.main.get_command(app)
    _, command, _ = group.resolve_command(group.context_class(group), ["analyse"])
    options = {name for one in command.params if getattr(one, "rich_help_panel", None) == READING for name in one.opts}
    assert {"--item", "--categories", *OTHER_PAGES} <= options
    pages = {option: ROOT / "docs" / f"{OTHER_PAGES.get(option, 'data')}.md" for option in options}
    undocumented = [
        option for option, page in pages.items() if not re.search(rf"{option}\b(?!-)", page.read_text(encoding="utf-8"))
    ]
    assert undocumented == []
