"""The pinned environments have what the package needs."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("lock", ["requirements.lock", "benchmarks/requirements.lock"])
def test_every_core_dependency_is_pinned(lock: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.split(r"[<>=\[;]", line)[0].strip().lower() for line in project["dependencies"]}
    pinned = set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / lock).read_text("utf-8"), re.MULTILINE))
    assert "polars" in needed
    assert needed <= pinned
