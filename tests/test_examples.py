"""Notebooks run to the last cell, or fail with an instruction."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tests.support.api_programs import QUOTA, open_api_campaign, rate, token
from tests.support.campaigns import ABOUT_YOU
from tests.support.live_site import serving
from tests.support.paths import ROOT
from tests.support.staff_site import StaffSite

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
NEEDS_DATA = "dices.ipynb"
NEEDS_SITE = "client.ipynb"
QUICK = "two_groups.ipynb"


def run_notebook(path: Path, **environment: str) -> Iterator[dict[str, Any]]:
    """Run a notebook with the interpreter of the tests; yield the outputs of its cells."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    kernel = AsyncKernelManager(kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    client = NotebookClient(notebook, km=kernel, timeout=120, resources={"metadata": {"path": str(path.parent)}})
    client.execute(cleanup_kc=True, env={**os.environ, **environment})
    yield from (output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)


@pytest.fixture
def site(sqlite_template: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A site with a campaign that young and old raters rated differently."""
    file = shutil.copy(sqlite_template, tmp_path / "site.db")
    with serving(f"sqlite:///{file}") as live, ExitStack() as browsers:
        staff_site = StaffSite(live, browsers)
        campaign = open_api_campaign(staff_site, 12, demographics=ABOUT_YOU, quota=QUOTA)
        for age in ("young", "old"):
            rate(staff_site, campaign, 5, age=age)
        yield {"DISSENSUS_URL": live.url, "DISSENSUS_TOKEN": token(live.platform, "ada"), "NO_PROXY": "127.0.0.1"}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.name == QUICK else pytest.mark.slow) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs(path: Path, request: pytest.FixtureRequest) -> None:
    if path.name == NEEDS_DATA:
        request.getfixturevalue("dices_350")
    environment = request.getfixturevalue("site") if path.name == NEEDS_SITE else {}
    outputs = list(run_notebook(path, **environment))
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    assert any("<svg" in output.get("data", {}).get("text/html", "") for output in outputs)


def test_without_a_site_a_notebook_says_what_to_do() -> None:
    with pytest.raises(CellExecutionError, match="Set DISSENSUS_URL and DISSENSUS_TOKEN"):
        list(run_notebook(EXAMPLES / NEEDS_SITE, DISSENSUS_URL="", DISSENSUS_TOKEN=""))


def test_without_data_a_notebook_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match="Set DISSENSUS_DATA to the folder above dices-350"):
        list(run_notebook(EXAMPLES / NEEDS_DATA, DISSENSUS_DATA=str(tmp_path)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_short_and_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert len(cells) <= 25
    assert cells[0]["cell_type"] == "markdown"
    assert "You learn" in "".join(cells[0]["source"])
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
