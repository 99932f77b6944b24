"""A folder of text files in which a recording is kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.behaviour.determinism import Normaliser

SUFFIXES = frozenset({".csv", ".html", ".json", ".jsonl", ".md", ".toml", ".txt"})


@dataclass(frozen=True)
class Writer:
    """Writes normalised texts.

    Parameters
    ----------
    folder
        Where.
    replaced
        Texts that differ between recordings, such as folders, and what stands in their place.
    """

    folder: Path
    replaced: Mapping[str, str] = field(default_factory=dict)

    def under(self, name: str) -> "Writer":
        """Return a writer for a folder inside this one."""
        return Writer(self.folder / name, self.replaced)

    def write(self, name: str, text: str) -> None:
        """Write a file; a name is made safe, and numbered where it is taken."""
        path = first = self.folder / safe(Normaliser()(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        numbers = count(2)
        while path.exists():
            path = first.with_name(f"{first.stem}-{next(numbers)}{first.suffix}")
        path.write_text(Normaliser(dict(self.replaced))(text), encoding="utf-8")

    def write_folder(self, name: str, folder: Path) -> None:
        """Write all text files of a folder, and the names and sizes of the others."""
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            file_name = f"{name}/{path.relative_to(folder)}"
            if path.suffix in SUFFIXES:
                self.write(f"{file_name}.txt", path.read_text("utf-8"))
            else:
                self.write(f"{file_name}.binary.txt", "not recorded\n")


def safe(name: str) -> str:
    """Return a name without characters that file systems or readers mistake."""
    return re.sub(r"[^\w./@{}=,-]+", "_", name)
