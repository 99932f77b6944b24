"""Stand-in for the engine of local models: the same names, and a server on loopback without a model."""

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.chat_completion_server import Loopback, loopback

STARTED: list[SimpleNamespace] = []
RUNNING: list[Loopback] = []


class Params(SimpleNamespace):
    """Parameters that reject unknown names, as those of the engine do."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.__dict__:
            raise AttributeError(name)
        super().__setattr__(name, value)


def CommonParams() -> Any:
    cpus = {name: SimpleNamespace(n_threads=-1, poll=50) for name in ("cpuparams", "cpuparams_batch")}
    return Params(
        model=SimpleNamespace(path=""),
        hostnames=["127.0.0.1"],
        port=8080,
        api_keys=[],
        n_parallel=1,
        n_ctx=0,
        model_alias=set(),
        warmup=True,
        verbosity=3,
        **cpus,
    )


class Server:
    def __init__(self, params: Any) -> None:
        if Path(params.model.path).read_bytes() != b"GGUF":
            raise RuntimeError("Failed to init server, please check the input params.")
        self._stack = ExitStack()
        RUNNING.append(self._stack.enter_context(loopback()))
        self.listening_address = RUNNING[-1].url.removesuffix("/v1")
        STARTED.append(params)

    def __del__(self) -> None:
        if hasattr(self, "_stack"):
            self._stack.close()
