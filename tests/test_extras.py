"""Extras: what the library does alone, and the errors that name what is missing."""

import configparser
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from tests.support.paths import ROOT

from dissensus.cli import app
from dissensus.cli.judge import commands as judge
from dissensus.cli.preference import commands as preference
from dissensus.errors import MissingExtra
from dissensus.extras import MODULES, check_extra, is_installed, require_extra

# Modules of the site that a package of the same extra installs.
INDIRECT = {"starlette"}
INSTALLATION = (ROOT / "docs" / "installation.md").read_text("utf-8")
COMMANDS = (
    *(name for name in app.COMMANDS if name not in ("judge", "preference")),
    *(f"judge {name}" for name in judge.COMMANDS),
    *(f"preference {name}" for name in preference.COMMANDS),
)
PLAN = ("plan", "precision", "--preset", "dices-350", "--raters", "20", "--items", "50")
# Runs commands in one process, in which the modules of extras cannot be imported.
PROGRAM = """
import contextlib, io, json, sys
from dissensus.extras import MODULES
sys.modules.update(dict.fromkeys(module for modules in MODULES.values() for module in modules))
from dissensus.cli import main

def run(words):
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["dissensus", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return code or 0, out.getvalue(), err.getvalue()

done = [run(words) for words in json.load(sys.stdin)]
from dissensus.errors import MissingExtra
from dissensus.files.images import read_image
from dissensus.report import questions
from tests.pipeline.tables import simulate_frame
import dissensus

figure = questions(dissensus.read_ratings(simulate_frame(11)))
faults = []
for use in (figure.render, lambda: read_image("a.png", b"")):
    try:
        use()
    except MissingExtra as error:
        faults.append(str(error))
json.dump({"commands": done, "faults": faults, "json": len(figure.render("json")), "notebook": figure._repr_html_()},
          sys.stdout)
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what commands, figures and images do where only the library is installed."""
    folder = tmp_path_factory.mktemp("alone")
    words = [["--help"], *([*command.split(), "--help"] for command in COMMANDS)]
    words += [["demo", "--once"], ["vet", "none.csv", "--figure", "raters.svg"]]
    words += [[*PLAN, "--figures", "figures"], [*PLAN, "-o", "plan.html"]]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(words),
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder), "COLUMNS": "200"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    result["commands"] = dict(zip(map(" ".join, words), result["commands"], strict=True))
    result["page"] = (folder / "plan.html").read_text("utf-8")
    return result


@pytest.mark.slow
def test_commands_of_the_site_name_the_extra_and_the_others_run(alone: dict[str, Any]) -> None:
    commands = alone["commands"]
    assert commands["--help"][0] == 0
    refused = {"demo"}
    for command in COMMANDS:
        code, _, errors = commands[f"{command} --help"]
        if code:
            assert re.fullmatch(rf"Error: dissensus {command} needs \w+, .*: pip install 'dissensus\[site\]'\n", errors)
            refused.add(command)
        else:
            assert errors == ""
    code, _, errors = commands["demo --once"]
    assert (code, errors.startswith("Error: dissensus demo needs ")) == (1, True)
    assert refused == documented_commands("site")
    assert set(COMMANDS) - refused == documented_commands("dissensus")


def documented_commands(row: str) -> set[str]:
    """Return the commands of a row of the page on installation."""
    (listed,) = re.findall(rf"^\| `{row}` \|.*?\| (.*?) \|$", INSTALLATION, re.MULTILINE)
    return set(re.findall(r"`([a-z -]+)`", listed))


def test_figures_are_refused_before_the_work(alone: dict[str, Any]) -> None:
    end = "needs vl_convert, which is not installed. Install it with: pip install 'dissensus[figures]'"
    commands = alone["commands"]
    assert commands["vet none.csv --figure raters.svg"] == [1, "", f"Error: --figure {end}\n"]
    assert commands[f"{' '.join(PLAN)} --figures figures"] == [1, "", f"Error: --figures {end}\n"]
    assert alone["faults"][0] == f"Drawing a figure {end}"
    assert re.fullmatch(r"An image needs PIL, .*'dissensus\[site\]'", alone["faults"][1])


def test_pages_show_figures_that_are_not_drawn_by_their_numbers(alone: dict[str, Any]) -> None:
    code, _, errors = alone["commands"][f"{' '.join(PLAN)} -o plan.html"]
    assert code == 0
    assert errors.startswith("Warning: Figures are shown as their numbers")
    assert errors.count("pip install 'dissensus[figures]'") == 1
    page = alone["page"]
    assert page.count("<figure") == page.count('<details class="numbers" open>') > 0
    assert "it was not drawn" in page
    assert "<svg" not in page
    assert alone["json"] > 100
    assert "<table" in alone["notebook"]
    assert "<svg" not in alone["notebook"]


def test_modules_of_extras_are_those_of_the_project_and_of_the_contract() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    distributions = {module: set(owners) for module, owners in packages_distributions().items()}
    for extra, modules in MODULES.items():
        listed = {re.split(r"[<>=\[;]", line)[0].lower() for line in extras[extra]} - {"dissensus"}
        names = {name.lower().replace("_", "-") for module in set(modules) - INDIRECT for name in distributions[module]}
        assert names == listed
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    forbidden = contracts["importlinter:contract:library-alone"]["forbidden_modules"].split()
    assert set(forbidden) == {module for modules in MODULES.values() for module in modules}


def test_a_missing_module_of_no_extra_is_no_such_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), require_extra("A test"):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401


def test_an_extra_that_is_installed_is_required_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed("site")
    check_extra("site", "A test")
    monkeypatch.setitem(sys.modules, "segno", None)
    assert not is_installed("site")
    with pytest.raises(MissingExtra, match=r"A test needs segno, .*pip install 'dissensus\[site\]'"):
        check_extra("site", "A test")
