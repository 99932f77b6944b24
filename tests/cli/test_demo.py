"""`dissensus demo --once`: real ratings where they are, else a simulated campaign."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.mark.parametrize("data", [None, "", "nowhere"])
def test_without_data_a_campaign_is_simulated(run: Run, tmp_path: Path, data: str | None) -> None:
    done = run("demo", "--once", env={"DISSENSUS_DATA": data})
    assert done.returncode == 0, done.stderr
    assert "a simulated campaign" in done.stdout
    assert "rater_age" in done.stdout
    assert "50+" in done.stdout
    assert "1,000 permutations" in done.stdout
    assert "<h1>How people judge 120 items</h1>" in (tmp_path / "dissensus-demo" / "report.html").read_text("utf-8")
    assert "Traceback" not in done.stderr


def test_with_data_dices_is_analysed(run: Run, tmp_path: Path, dices_350: Path) -> None:
    done = run("demo", "--once", "--dir", "shown", env={"DISSENSUS_DATA": str(dices_350.parent.parent)})
    assert done.returncode == 0, done.stderr
    assert "DICES-350" in done.stdout
    assert "Multiracial" in done.stdout
    assert "104" in done.stdout
    page = (tmp_path / "shown" / "report.html").read_text("utf-8")
    assert "Topics of the conversations" in page
    assert "Content warning" not in page


def test_a_folder_that_cannot_be(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("demo", "--once", "--dir", "file")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--dir file cannot be a folder" in done.stderr
