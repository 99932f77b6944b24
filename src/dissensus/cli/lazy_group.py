"""Command groups that import a command when it is called, so that `--help` and `--version` stay fast."""

import gc
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from dissensus.extras import require_extra


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
    program.command(name)(command)
    return typer.main.get_command(program)
