"""Results as tables of pandas, Arrow and polars."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args, get_type_hints

import polars as pl

from dissensus.errors import MissingExtra

_COLUMN_TYPES: Final[Mapping[object, type[pl.DataType]]] = {str: pl.String, int: pl.Int64, float: pl.Float64}


def read_row_schema(row: type) -> dict[str, type[pl.DataType]]:
    """Return the column type of each field of a dataclass, whose values are texts or numbers, or None."""
    hints = get_type_hints(row)
    return {name: _COLUMN_TYPES[(get_args(hints[name]) or (hints[name],))[0]] for name in row.__dataclass_fields__}  # type: ignore[attr-defined]


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
