"""The rating page as raters see it."""

import re
from html import unescape
from typing import Any


def shown(page: Any) -> str:
    """The text of a page, without its marks."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.text)))
