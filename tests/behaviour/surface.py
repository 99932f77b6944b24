"""Public surface of the package, without data: names, settings, permissions, tables, help texts, the API."""

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.behaviour import site
from tests.behaviour.commands import Shell
from tests.behaviour.determinism import as_json
from tests.behaviour.writer import Writer

import dissensus


def record(writer: Writer, shell: Shell) -> None:
    """Record what can be seen of the package without data."""
    writer.write("openapi.json", as_json(site.openapi_document()))
    for module in (dissensus, dissensus.preference, dissensus.report):
        writer.write(f"names/{module.__name__}.lines.txt", "\n".join(_names(module)) + "\n")
    writer.write("settings.lines.txt", "".join(f"{name}: {one!r}\n" for name, one in site.settings_fields().items()))
    writer.write("permissions.lines.txt", site.permission_table() + "\n")
    for name, dialect in (("sqlite", _dialect(sqlite)), ("postgresql", _dialect(postgresql))):
        for table, text in _tables(dialect):
            writer.write(f"tables/{name}/{table}.txt", text)
    for path, _ in walk(site.command_tree(), ()):
        shell.run(*path, "--help", name=f"help/{'-'.join(path) or 'dissensus'}")


def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command below a command, and itself."""
    yield path, command
    for name in sorted(getattr(command, "commands", ())):
        # Groups load a command when it is resolved.
        _, inner, _ = command.resolve_command(command.context_class(command), [name])
        yield from walk(inner, (*path, name))


def _names(module: ModuleType) -> Iterator[str]:
    for name in sorted(module.__all__):
        value = getattr(module, name)
        yield f"{name}{_signature(value)}"
        if inspect.isclass(value):
            for inner in sorted(one for one in dir(value) if not one.startswith("_")):
                yield f"{name}.{inner}{_signature(inspect.getattr_static(value, inner))}"


def _signature(value: Any) -> str:
    """Return the signature of a callable without the modules of its types."""
    value = getattr(value, "__func__", value)
    if isinstance(value, property):
        return f": property{_signature(value.fget)}"
    if inspect.ismodule(value) or not callable(value):
        return f": {type(value).__name__}"
    try:
        return re.sub(r"\bdissensus(\.\w+)+\.(?=\w)", "", str(inspect.signature(value)))
    except (TypeError, ValueError):
        return "(...)"


def _dialect(module: Any) -> Any:
    return module.dialect()


def _tables(dialect: Any) -> Iterator[tuple[str, str]]:
    for table in site.tables().tables.values():
        indexes = sorted(table.indexes, key=lambda one: str(one.name))
        statements: list[Any] = [CreateTable(table), *map(CreateIndex, indexes)]
        yield table.name, "".join(str(one.compile(dialect=dialect)).strip() + "\n" for one in statements)
