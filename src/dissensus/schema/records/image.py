"""Images of items: the attributes that name them, and an image as it is stored."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

IMAGE: Final = "item_image"
"""Attribute with the file name of the image of an item."""
IMAGE_ALT: Final = "item_image_alt"
"""Attribute with its alternative text."""

IMAGE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.(png|jpg|jpeg|webp)", re.ASCII | re.IGNORECASE)
MAX_ALT_LENGTH: Final = 1_000

ImageType: TypeAlias = Literal["image/png", "image/jpeg", "image/webp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImage:
    """An image without metadata."""

    name: str
    media_type: ImageType
    width: int
    height: int
    content: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()


def check_image_name(name: str) -> None:
    """Raise unless a name can be that of an image.

    Examples
    --------
    >>> check_image_name("kitchen-2.png")
    """
    if not IMAGE_NAME.fullmatch(name):
        raise InvalidInput(
            f"{format_value(name)} cannot be the name of an image. Use letters (a to z), digits, '.', '_' and '-', up "
            "to 100, and end in .png, .jpg, .jpeg or .webp."
        )


def check_image_attributes(attributes: Mapping[str, str]) -> None:
    """Raise unless the image of an item, if any, has a name and an alternative text."""
    name, alternative = attributes.get(IMAGE), attributes.get(IMAGE_ALT, "")
    if name is None:
        if alternative:
            raise InvalidInput(f"There is an {IMAGE_ALT} and no {IMAGE}. Name the image, or remove the text.")
        return
    check_image_name(name)
    if not alternative.strip():
        raise InvalidInput(
            f"The image {format_value(name)} has no alternative text. Write in {IMAGE_ALT} what it shows, for people "
            "who do not see it."
        )
    if len(alternative) > MAX_ALT_LENGTH:
        raise InvalidInput(
            f"{IMAGE_ALT} has {len(alternative):,} characters, and {MAX_ALT_LENGTH:,} are allowed. Shorten it."
        )
