"""Results as tables of pandas, Arrow and polars."""

from collections.abc import Callable
from typing import Any

import polars as pl

from dissensus.errors import MissingExtra


class TabularResult:
    """A result that becomes a table; subclasses define `to_polars`."""

    __slots__ = ()

    to_polars: Callable[..., pl.DataFrame]

    def to_pandas(self, **options: Any) -> Any:
        """Return a pandas table; options as for `to_polars`."""
        return _convert(self.to_polars(**options), "to_pandas")

    def to_arrow(self, **options: Any) -> Any:
        """Return an Arrow table; options as for `to_polars`."""
        return _convert(self.to_polars(**options), "to_arrow")


def _convert(frame: pl.DataFrame, method: str) -> Any:
    try:
        return getattr(frame, method)()
    except ImportError as error:
        raise MissingExtra(method, error.name or "pyarrow", "frames") from None
