"""Command groups that import a command when it is called, so that `--help` and `--version` stay fast."""

import gc
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from dissensus.extras import require_extra
from dissensus.files.raw.atomic_write import check_distinct

WRITTEN: Final = ("output", "plan_output", "figure", "truth")
"""Parameters of commands that name a file to write; other paths are read, so that a new option is protected."""
FIGURES: Final = "figures"
"""Parameter of commands that names a folder, in which files are written under names of their own."""


class LazyCommand(NamedTuple):
    """Module and name of a command function or of a group's `Typer`, and its line in the help of the parent group."""

    module: str
    name: str
    help: str

    def load(self) -> Any:
        """Import the module and return the function or the `Typer`."""
        # Imported objects stay alive: searching them for cycles takes a fifth of the start-up time of the site.
        gc.disable()
        try:
            return getattr(import_module(self.module), self.name)
        finally:
            gc.enable()
            gc.freeze()


def lazy_group(commands: Mapping[str, LazyCommand]) -> type[TyperGroup]:
    """Return a group class that lists these commands without importing them."""

    class LazyGroup(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            # Placeholders for `--help`; `resolve_command` replaces the one that is called.
            self.commands = {name: TyperCommand(name, help=command.help) for name, command in commands.items()}

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            name, _, remaining = super().resolve_command(ctx, args)
            with require_extra(f"{ctx.command_path} {name}"):
                command = commands[str(name)].load()
            return name, _click_command(str(name), command, commands[str(name)].help), remaining

    return LazyGroup


def _click_command(name: str, command: Any, help_line: str) -> Any:
    if isinstance(command, typer.Typer):
        command.info.name, command.info.help = name, help_line
        return typer.main.get_group(command)
    program = typer.Typer(add_completion=False)
    program.command(name)(_protect_inputs(command))
    return typer.main.get_command(program)


def _protect_inputs(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command refuse, before any work, to write to a file that it reads."""

    @wraps(command)
    def protected(**values: Any) -> None:
        inputs = [value for name, value in values.items() if name not in (*WRITTEN, FIGURES)]
        check_distinct(_list_paths(inputs), _list_paths([values.get(name) for name in WRITTEN]))
        command(**values)

    return protected


def _list_paths(values: Iterable[Any]) -> list[Path]:
    """Return the paths among the values of parameters."""
    lists = (value if isinstance(value, (list, tuple)) else (value,) for value in values)
    return [path for path in chain.from_iterable(lists) if isinstance(path, Path)]
