"""Fonts of the renderer: its own first, then those of the system."""

import os
from pathlib import Path
from types import ModuleType
from typing import Final

from dissensus.report.graphics.vega_lite import SCHEMA_URL

CONFIGURATION: Final = "FONTCONFIG_FILE"
NO_FONTS: Final = Path(__file__).with_name("fonts.conf")
SYSTEM_FONTS: Final = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
# With a text: fonts are loaded for the first one that is measured.
_TEXT: Final = {"$schema": SCHEMA_URL, "data": {"values": [{}]}, "mark": {"type": "text", "text": "A"}}


def prefer_shipped_fonts(renderer: ModuleType) -> None:
    """Load the fonts that come with the renderer before those of the system, which draw the letters that they lack.

    The renderer opens the file of a system's font to measure each letter, tens of thousands of times for a report;
    its own fonts are in memory, and the same everywhere. A configuration of fonts that the environment names stays.
    """
    if CONFIGURATION in os.environ:
        return
    os.environ[CONFIGURATION] = str(NO_FONTS)
    try:
        renderer.vegalite_to_svg(_TEXT, allowed_base_urls=[])
    finally:
        os.environ.pop(CONFIGURATION, None)
    for folder in map(Path, map(os.path.expanduser, SYSTEM_FONTS)):
        if folder.is_dir():
            renderer.register_font_directory(str(folder))
