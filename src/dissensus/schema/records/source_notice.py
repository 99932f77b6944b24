"""Notice of a source: the terms and warnings of the data that items come from."""

from dataclasses import dataclass
from typing import Final

SOURCE: Final = "item_source"
"""Attribute of items with the name of the dataset that they are from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNotice:
    """Terms and warnings of a dataset in the words of its authors; empty where they say nothing."""

    name: str
    title: str = ""
    licence: str = ""
    citation: str = ""
    contact: str = ""
    purpose: str = ""
    disclaimer: str = ""
    stated_in: str = ""  # document of the authors
