"""Names of registered models and their versions in campaigns and chatbots."""

import re
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.definition_table import SLUG
from dissensus.schema.hints import format_value

REGISTRY_PREFIX: Final = "registry:"
_SCORER: Final = re.compile(rf"{REGISTRY_PREFIX}({SLUG.pattern})(?:/([1-9][0-9]{{0,5}}))?")


@dataclass(frozen=True, slots=True)
class RegisteredModelName:
    """A registered model, or one pinned version of it."""

    name: str
    version: int | None = None  # None for the current one

    def __str__(self) -> str:
        """Return the name as in a scorer, without `REGISTRY_PREFIX`."""
        return self.name if self.version is None else f"{self.name}/{self.version}"


def names_registered_model(scorer: str) -> bool:
    """Return whether a scorer refers to the model registry; the reference may be invalid."""
    return scorer.startswith(REGISTRY_PREFIX)


def parse_registered_model(scorer: str) -> RegisteredModelName:
    """Parse the registered model that a scorer names.

    Examples
    --------
    >>> parse_registered_model("registry:harmless"), str(parse_registered_model("registry:harmless/3"))
    (RegisteredModelName(name='harmless', version=None), 'harmless/3')
    """
    match = _SCORER.fullmatch(scorer)
    if match is None:
        raise InvalidInput(
            f"{format_value(scorer)} names no registered model. Write registry: and its name, of a to z, 0 to 9 and -, "
            "such as registry:harmless; with a number registry:harmless/3 is always this version."
        )
    return RegisteredModelName(match[1], None if match[3] is None else int(match[3]))


def check_registered_model_name(name: str) -> None:
    """Raise unless a name is a valid slug; it is a folder name, too."""
    if not SLUG.fullmatch(name):
        raise InvalidInput(
            f"{format_value(name)} cannot be the name of a registered model. Write up to 60 of a to z, 0 to 9 and -, "
            "such as harmless."
        )
