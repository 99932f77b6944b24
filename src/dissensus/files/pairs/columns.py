"""Columns of files of pairs."""

from typing import Final

CHOSEN: Final = "chosen"
REJECTED: Final = "rejected"
PROMPT: Final = "prompt"
MARGIN: Final = "margin"
