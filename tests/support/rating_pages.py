"""Text of rater pages."""

import re
from html import unescape
from typing import Any


def page_text(page: Any) -> str:
    """The text of a page, without tags."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.text)))
