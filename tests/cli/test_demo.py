"""`dissensus demo --once`: real ratings where they are, else a simulated campaign."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run


@pytest.mark.parametrize("data", [None, "", "nowhere"])
def test_without_data_a_campaign_is_simulated(run: Run, data: str | None) -> None:
    done = run("demo", "--once", env={"DISSENSUS_DATA": data})
    assert done.returncode == 0, done.stderr
    assert "a simulated campaign" in done.stdout
    assert "rater_age" in done.stdout
    assert "50+" in done.stdout
    assert "1,000 permutations" in done.stdout
    assert "Traceback" not in done.stderr


def test_with_data_dices_is_analysed(run: Run, dices_350: Path) -> None:
    done = run("demo", "--once", env={"DISSENSUS_DATA": str(dices_350.parent.parent)})
    assert done.returncode == 0, done.stderr
    assert "DICES-350" in done.stdout
    assert "Multiracial" in done.stdout
    assert "104" in done.stdout
