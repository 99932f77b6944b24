"""The notebooks run from the first cell to the last, and say what to do where they cannot."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
NEEDS_DATA = "dices.ipynb"


def executed(path: Path, **environment: str) -> Iterator[dict[str, Any]]:
    """Run a notebook by the interpreter that runs the tests; yield what its cells show."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    kernel = AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    client = NotebookClient(notebook, km=kernel, timeout=120, resources={"metadata": {"path": str(path.parent)}})
    client.execute(cleanup_kc=True, env={**os.environ, **environment})
    yield from (output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, request: pytest.FixtureRequest) -> None:
    if path.name == NEEDS_DATA:
        request.getfixturevalue("dices_350")
    shown = list(executed(path))
    assert [output["text"] for output in shown if output.get("name") == "stderr"] == []
    assert any("<svg" in output.get("data", {}).get("text/html", "") for output in shown)


def test_without_data_a_notebook_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match="Set DISSENSUS_DATA to the folder above dices-350"):
        list(executed(EXAMPLES / NEEDS_DATA, DISSENSUS_DATA=str(tmp_path)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_short_and_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert len(cells) <= 25
    assert cells[0]["cell_type"] == "markdown"
    assert "You learn" in "".join(cells[0]["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
