"""Public names and lazy imports."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from pkgutil import iter_modules

import pytest
from tests.pipeline.tables import simulate_frame
from tests.support.paths import ROOT

import dissensus

PACKAGE = Path(dissensus.__file__).parent
HEAVY = ("numpy", "polars", "numba", "rich", "typer", "narwhals", "altair", "vl_convert")
NAMES: list[str] = importlib.import_module("dissensus").__all__


def list_loaded_packages(code: str) -> set[str]:
    """Return the heavy packages that a fresh interpreter has loaded after some code."""
    probe = f"import sys\n{code}\nprint(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    process = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(process.stderr.split())


@pytest.mark.slow
def test_commands_load_compiled_kernels_without_the_compiler_and_scipy(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    simulate_frame().write_csv(file)
    code = f"""
import sys
from dissensus.cli import main
sys.argv = ["dissensus", "analyse", {str(file)!r}, "--permutations", "20", "--bootstrap", "20"]
try:
    main()
except SystemExit:
    print("scipy.linalg" in sys.modules, "numba.np.arraymath" in sys.modules, file=sys.stderr)
"""
    command = [sys.executable, "-c", code]
    # The first command compiles what no other one has compiled before.
    *_, last = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert last.stderr.splitlines()[-1] == "False False"


def test_the_stub_lists_the_public_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    homes = {
        alias.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == set(NAMES)
    for name in NAMES:
        assert getattr(dissensus, name) is getattr(importlib.import_module(str(homes[name])), name)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_resolves_and_is_documented(name: str) -> None:
    value = getattr(dissensus, name)
    assert value.__doc__
    assert value.__name__.rpartition(".")[2] == name


def test_dir_lists_the_public_names() -> None:
    assert set(NAMES) <= set(dir(dissensus))
    assert len(NAMES) == len(set(NAMES))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'analyze'"):
        getattr(dissensus, "analyze")  # noqa: B009
    assert not hasattr(dissensus, "nonsense")


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert dissensus.__version__ == version("dissensus")


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert list_loaded_packages("import dissensus") == set()
    code = "import dissensus; dissensus.InvalidInput; dissensus.__version__; dir(dissensus)"
    assert list_loaded_packages(code) == set()


def test_statistics_need_no_tables() -> None:
    assert "polars" not in list_loaded_packages("import dissensus; dissensus.krippendorff_alpha")


def run_command(words: Sequence[str | Path]) -> str:
    """Return code that runs a command to its successful end."""
    return (
        f"sys.argv = {['dissensus', *map(str, words)]!r}\n"
        "from dissensus.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["analyse", "--help"], ["demo", "-h"]], ids=" ".join)
def test_help_loads_no_numbers_and_no_tables(words: list[str]) -> None:
    assert not list_loaded_packages(run_command(words)) & {"numpy", "polars", "numba", "narwhals"}


@pytest.mark.slow
def test_commands_load_the_renderer_for_figures_only(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    simulate_frame(11).write_csv(path)
    commands = (
        ("analyse", path, "--permutations", "0", "--bootstrap", "0"),
        ("vet", path),
        ("preference", "evaluate", "-h"),
        ("preference", "rank", "-h"),
    )
    loaded = list_loaded_packages("\n".join(map(run_command, commands)))
    assert "polars" in loaded
    assert not loaded & {"altair", "vl_convert"}
    figure = tmp_path / "raters.svg"
    loaded = list_loaded_packages(run_command(["vet", path, "--figure", figure]))
    assert "vl_convert" in loaded
    assert "altair" not in loaded
    assert figure.exists()


def test_the_project_can_be_cited() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {dissensus.__version__}\n" in citation
    assert "\nlicense: Apache-2.0\n" in citation


@pytest.mark.parametrize("name", ["dissensus.report", "dissensus.preference"])
def test_no_module_hides_a_public_name(name: str) -> None:
    # Importing a submodule rebinds its name in the package.
    package = importlib.import_module(name)
    assert {module.name for module in iter_modules(package.__path__)}.isdisjoint(dir(package))
