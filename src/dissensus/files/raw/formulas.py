"""Texts that spreadsheets interpret as formulas, and ids without the apostrophe that escapes them."""

from typing import Final

import polars as pl

FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters that make a spreadsheet interpret text as a formula."""

NUMBER: Final = r"^[+-]?\d+(\.\d+)?$"
"""Numbers, which are harmless despite their sign."""


def unescape_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table of text whose ids are as they were before `escape_formulas`.

    Only columns that end in ``_id``: a sentence may begin with an apostrophe of its own.

    Examples
    --------
    >>> unescape_ids(pl.DataFrame({"rater_id": ["'@ann", "'-3", "ben"], "text": ["'@ann' said", "'-'", ""]})).rows()
    [('@ann', "'@ann' said"), ("'-3", "'-'"), ('ben', '')]
    """
    names = [name for name, dtype in frame.schema.items() if name.endswith("_id") and dtype == pl.String]
    names = [name for name in names if frame[name].str.starts_with("'").any()]
    return frame.with_columns(_unescape(pl.col(name)).alias(name) for name in names)


def _unescape(ids: pl.Expr) -> pl.Expr:
    plain = ids.str.slice(1)
    is_escaped = ids.str.starts_with("'") & plain.str.slice(0, 1).is_in(FORMULAS) & ~plain.str.contains(NUMBER)
    return pl.when(is_escaped).then(plain).otherwise(ids)
