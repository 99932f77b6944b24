"""Fixtures: base models and a trained transformer."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.preference.transformer.bases import BASES, gpt2
from tests.preference.transformer.conversations import train_fitting

if TYPE_CHECKING:
    from dissensus.preference.transformer.model import Transformer


@pytest.fixture(autouse=True, scope="session")
def single_thread() -> None:
    """Limit torch to one thread, since tests run in parallel."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return gpt2(tmp_path_factory.mktemp("base") / "gpt2")


@pytest.fixture(params=list(BASES))
def any_base(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return BASES[request.param](tmp_path / request.param)


@pytest.fixture(scope="session")
def model(base: str) -> "Transformer":
    return train_fitting(base)
