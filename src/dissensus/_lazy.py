"""Lazy imports of public names, listed in the stub of a package."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach_stub(package: str, file: str) -> tuple[list[str], Callable[[str], Any]]:
    """Return the sorted names in the stub of a package, and its `__getattr__`; `file` is its `__init__.py`."""
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text("utf-8"))
    module_of = {
        alias.asname or alias.name: str(node.module)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def resolve(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        return import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)

    return sorted(module_of), resolve
