"""The pinned environments have what the package needs."""

import re
import tomllib

import pytest
from tests.support.paths import ROOT


@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-ml.lock", "requirements-spark.lock", "benchmarks/requirements.lock"]
)
def test_every_core_dependency_is_pinned(lock: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = names(project["dependencies"])
    assert "polars" in needed
    assert needed <= set(pinned_versions(lock))


@pytest.mark.parametrize(
    ("extra", "lock"),
    [
        ("figures", "requirements.lock"),
        ("site", "requirements.lock"),
        ("local", "requirements-local.lock"),
        ("spark", "requirements-spark.lock"),
    ],
)
def test_an_extra_is_pinned(extra: str, lock: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    pinned = set(pinned_versions(lock))
    assert names(extras[extra]) - {"dissensus"} <= pinned


def test_the_two_locks_of_one_environment_agree_and_leave_torch_to_pip() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["ml"]
    core, with_ml = pinned_versions("requirements.lock"), pinned_versions("requirements-ml.lock")
    assert names(extra) - set(with_ml) == {"torch"}
    assert all(core.get(name, version) == version for name, version in with_ml.items())
    assert not [name for name in with_ml if name.startswith(("torch", "nvidia", "cuda", "triton"))]


def test_spark_is_added_to_the_versions_of_the_core() -> None:
    core, with_spark = pinned_versions("requirements.lock"), pinned_versions("requirements-spark.lock")
    assert {"pyspark", "py4j"} <= set(with_spark)
    assert all(core.get(name, version) == version for name, version in with_spark.items())


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[;]", line)[0].strip().lower() for line in requirements}


def pinned_versions(lock: str) -> dict[str, str]:
    """Return the version of each package; the last of those that depend on the machine."""
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ \\;]+)", (ROOT / lock).read_text("utf-8"), re.MULTILINE))
