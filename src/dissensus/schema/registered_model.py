"""Model lines: versions of one preference model, of which one is current."""

import re
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.definition_table import SLUG
from dissensus.schema.hints import format_value

REGISTRY_PREFIX: Final = "line:"
_SCORER: Final = re.compile(rf"{REGISTRY_PREFIX}({SLUG.pattern})(?:/([1-9][0-9]{{0,5}}))?")


@dataclass(frozen=True, slots=True)
class RegisteredModelName:
    """A line, or one version of it."""

    name: str
    version: int | None = None  # Its number, from 1; None for whichever is current

    def __str__(self) -> str:
        """Return it as scorers of chatbots name it, without `REGISTRY_PREFIX`."""
        return self.name if self.version is None else f"{self.name}/{self.version}"


def names_registered_model(scorer: str) -> bool:
    """Tell whether what ranks responses is to be a line, be it written well or not."""
    return scorer.startswith(REGISTRY_PREFIX)


def parse_registered_model(scorer: str) -> RegisteredModelName:
    """Return the line that ranks responses.

    Examples
    --------
    >>> line_of("line:harmless"), str(line_of("line:harmless/3"))
    (LineName(name='harmless', version=None), 'harmless/3')
    """
    found = _SCORER.fullmatch(scorer)
    if found is None:
        raise InvalidInput(
            f"{format_value(scorer)} names no line. Write line: and its name, of a to z, 0 to 9 and -, such as "
            "line:harmless; with a number line:harmless/3 is always this version."
        )
    return RegisteredModelName(found[1], None if found[3] is None else int(found[3]))


def check_registered_model_name(name: str) -> None:
    """Refuse what cannot be the name of a line, which is that of a folder, too."""
    if not SLUG.fullmatch(name):
        raise InvalidInput(
            f"{format_value(name)} cannot be the name of a line. Write up to 60 of a to z, 0 to 9 and -, such as harmless."
        )
