"""TOML files that ship with the package, such as campaigns, questionnaires and presets."""

from functools import cached_property
from importlib.resources import files

from dissensus.errors import NotFound
from dissensus.schema.hints import format_list, format_value, suggest


class ShippedFiles:
    """TOML files in a folder of a package; `noun` is what error messages call one."""

    def __init__(self, package: str, folder: str, noun: str) -> None:
        self._folder, self._noun = files(package) / folder, noun

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names, sorted."""
        names = (entry.name for entry in self._folder.iterdir())
        return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))

    def read_text(self, name: str) -> str:
        """Return the text of a file; raise `NotFound` with the nearest name if there is none."""
        if name not in self.names:
            raise NotFound(
                f"There is no {self._noun} {format_value(name)}; there are {format_list(self.names)}."
                f"{suggest(name, self.names)}"
            )
        return (self._folder / f"{name}.toml").read_text("utf-8")
