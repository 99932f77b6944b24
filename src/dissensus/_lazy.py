"""Public names that are resolved when they are first used, so that importing a package costs nothing."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def resolver(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[list[str], Callable[[str], Any]]:
    """Return the sorted public names of a package, given by the module that each lives in, and its `__getattr__`."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def resolve(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return sorted(home_of), resolve
