"""Collect, measure and publish how different people judge the safety of conversational AI.

Names are listed in `__init__.pyi` and imported on first use, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import Any

from dissensus._lazy import attach_stub

__all__, _resolve = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("dissensus")
    return _resolve(name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
