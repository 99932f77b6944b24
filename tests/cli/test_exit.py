"""Exit codes: 0 success, 1 error, 2 wrong usage; never a traceback."""

import inspect
import os
import re
import subprocess
from pathlib import Path

import pytest
import typer
from tests.support.commands import SCRIPT, RunCommand

from dissensus.cli import app
from dissensus.cli.lazy_group import LazyCommand
from dissensus.cli.preference import commands as preference

COMMANDS = (
    *(
        "analyse",
        "aggregate",
        "report",
        "model",
        "gold",
        "benchmark",
        "vet",
        "validate",
        "convert",
        "release",
        "diff",
        "curate",
        "simulate",
        "compile",
        "fetch",
        "demo",
    ),
    *("chat", "serve", "work", "sign-in", "db upgrade", "db check"),
    *("export", "audit", "backup", "restore", "prolific study", "prolific events"),
    *(f"plan {word}" for word in ("groups", "precision", "pool", "comparison", "interim")),
    *("judge run", "judge permit", "judge audit"),
    *("jury train", "jury evaluate", "jury predict"),
    *(f"preference {word}" for word in ("train", "evaluate", "score", "show", "rank", "serve")),
    *(f"preference {word}" for word in ("register", "retrain", "versions", "rollback")),
    *(
        f"staff {word}"
        for word in ("list", "add", "invite", "role", "remove", "password", "email", "token", "tokens", "revoke", "log")
    ),
    *("staff remove-second-factor", "staff operator", "staff disable"),
    *(f"campaign {word}" for word in ("new", "show", "revise", "add-items", "add-images", "add-platinum")),
    *(f"campaign {word}" for word in ("remove-items", "rehearse", "open", "pause", "close", "archive", "delete")),
    *(f"campaign {word}" for word in ("list", "clone", "invite", "adopt-rule")),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(run: RunCommand, command: str) -> None:
    done = run(*command.split(), "--help")
    assert done.returncode == 0
    assert re.search(rf"Example: .*\bdissensus {command}", done.stdout)
    assert done.stderr == ""


def test_help_lists_every_command(script: RunCommand) -> None:
    for flag in ("--help", "-h"):
        done = script(flag)
        assert done.returncode == 0
        assert all(command.split()[0] in done.stdout for command in COMMANDS)


def test_the_commands_tested_here_are_all_there_are() -> None:
    listed = set()
    for name, command in app.COMMANDS.items():
        loaded = command.load()
        if not isinstance(loaded, typer.Typer):
            listed.add(name)
            continue
        group = typer.main.get_group(loaded)
        listed |= {f"{name} {within}" for within in group.commands}
    assert listed == set(COMMANDS)


@pytest.mark.parametrize("commands", [app.COMMANDS, preference.COMMANDS], ids=["dissensus", "preference"])
def test_lists_show_the_first_paragraph_of_the_help_of_each_command(commands: dict[str, LazyCommand]) -> None:
    functions = [(command.load(), command.help) for command in commands.values()]
    for function, line in functions:
        # Groups have no help but this line.
        if not isinstance(function, typer.Typer):
            assert " ".join(str(inspect.getdoc(function)).split("\n\n")[0].split()) == line
    assert not all(isinstance(function, typer.Typer) for function, _ in functions)


def test_version(run: RunCommand) -> None:
    import dissensus

    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"dissensus {dissensus.__version__}\n")


@pytest.mark.parametrize(("words", "code"), [("--version", 0), ("analyse nowhere.csv", 1), ("nonsense", 2)])
def test_the_exit_code_of_the_process(script: RunCommand, run: RunCommand, words: str, code: int) -> None:
    done, within = script(*words.split()), run(*words.split())
    assert done.returncode == within.returncode == code
    assert (done.stdout, done.stderr) == (within.stdout, within.stderr)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("analyse",),
        ("analyse", "ratings.csv", "--bogus"),
        ("analyse", "ratings.csv", "--permutations", "many"),
        ("analyse", "ratings.csv", "--permutations", "-1"),
        ("analyse", "ratings.csv", "--method", "one-sided"),
        ("analyse", "ratings.csv", "--format", "xml"),
        ("aggregate", "ratings.csv", "--rule", "mean"),
        ("curate", "items.csv", "more.csv"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(run: RunCommand, ratings_csv: Path, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert "Usage: dissensus" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("analyse", "nowhere.csv"), "There is no file nowhere.csv"),
        (("analyse", "."), "noise.parquet is a damaged Parquet file"),
        (("analyse", "ratings.csv", "--by", "rase"), "There is no axis 'rase'"),
        (("analyse", "ratings.csv", "--by", "race", "--against", "Blue"), "no group 'Blue'"),
        (("analyse", "ratings.csv", "--question", "Q9"), "Q9"),
        (("analyse", "ratings.csv", "--answer", "verdict"), "There is no column 'verdict'"),
        (("analyse", "ratings.csv", "--question", "Q1", "--answer", "Q2"), "give one of them"),
        (("analyse", "ratings.csv", "--item", "post"), "There is no column 'post'"),
        (("analyse", "ratings.csv", "--exclude-flagged"), "unknown which raters are flagged"),
        (("analyse", "ratings.csv", "--where", "race"), "has no '='"),
        (("analyse", "ratings.csv", "--where", "race=Blue"), "Its values are"),
        (("analyse", "ratings.csv", "--where", "nope=Blue"), "There is no attribute 'nope'"),
        (("analyse", "ratings.csv", "--categories", "No,Yes"), "Unsure"),
        (("analyse", "ratings.csv", "--confidence", "95"), "confidence is 95"),
        (("analyse", "ratings.csv", "--by", "race", "--bootstrap", "1"), "one replicate has no spread"),
        (("analyse", "ratings.csv", "-o", "no/such/folder.json"), "cannot be written"),
        (("analyse", "nowhere.csv", "-o", "page.pdf"), "page.pdf ends in .pdf"),
        (("gold", "nowhere.csv", "-o", "no/such/folder.json"), "cannot be written"),
        (("validate", "nowhere.csv", "-o", "no/such/folder.json"), "cannot be written"),
        (("analyse", "empty.csv"), "empty.csv is empty."),
        (("analyse", "noise.parquet"), "noise.parquet is cut short: it does not end with PAR1"),
        (("aggregate", "ratings.csv", "--by", "rase"), "There is no axis 'rase'"),
        (("analyse", "ratings.csv", "--items", "nowhere.csv"), "There is no file nowhere.csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_error_is_one_clear_line_on_stderr(
    run: RunCommand, ratings_csv: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "noise.parquet").write_bytes(b"PAR1 and then nothing")
    done = run(*words)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(tmp_path: Path, run: RunCommand, ratings_csv: Path) -> None:
    """The output fills the pipe and is read in part."""
    import polars as pl

    pairs = 3000
    frame = pl.DataFrame(
        {
            "item_id": [f"item {i} with a long name" * 5 for i in range(pairs)],
            "rater_id": "a",
            "Q_overall": ["No", "Unsure", "Yes"] * (pairs // 3),
        }
    )
    frame.write_csv(tmp_path / "long.csv")
    for words in ("analyse ratings.csv --by race --format json", "aggregate long.csv --format csv"):
        done = subprocess.run(
            ["bash", "-c", f'"$0" {words} | head -1', SCRIPT],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=120,
        )
        assert done.returncode == 0
        assert done.stderr == ""
        assert len(done.stdout.splitlines()) == 1


@pytest.mark.slow  # compiles kernels
def test_an_unwritable_numba_cache_is_a_warning(
    tmp_path: Path, run: RunCommand, script: RunCommand, ratings_csv: Path
) -> None:
    """Files block the cache folders of a copied package."""
    import shutil

    import dissensus

    source = Path(dissensus.__file__).parent
    copy = tmp_path / "elsewhere" / "dissensus"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "stats" / "__pycache__").touch()
    nowhere = os.devnull + "/nowhere"
    done = script(
        *("analyse", ratings_csv, "--format", "csv"),
        PYTHONPATH=str(copy.parent),
        PYTHONDONTWRITEBYTECODE="1",
        HOME=nowhere,
        XDG_CACHE_HOME=nowhere,
        NUMBA_CACHE_DIR=nowhere,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == run("analyse", ratings_csv, "--format", "csv").stdout
    assert done.stderr.count("Warning: Compiled code cannot be cached") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_full_numba_cache_is_an_error(tmp_path: Path, ratings_csv: Path) -> None:
    words = f'ulimit -f 1 && NUMBA_CACHE_DIR={tmp_path}/small "$0" analyse ratings.csv --by race'
    done = subprocess.run(
        ["bash", "-c", words, SCRIPT], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
    )
    assert done.stderr.startswith("Error: File too large")
    assert done.returncode == 1
