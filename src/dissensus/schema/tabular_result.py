"""Results as JSON, and as tables of pandas, Arrow and polars."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, get_args, get_type_hints

import polars as pl

from dissensus.errors import MissingExtra

_COLUMN_TYPES: Final[Mapping[object, type[pl.DataType]]] = {str: pl.String, int: pl.Int64, float: pl.Float64}


def read_row_schema(row: type) -> dict[str, type[pl.DataType]]:
    """Return the column type of each field of a dataclass, whose values are texts or numbers, or None."""
    hints = get_type_hints(row)
    return {name: _COLUMN_TYPES[(get_args(hints[name]) or (hints[name],))[0]] for name in row.__dataclass_fields__}  # type: ignore[attr-defined]


class JsonResult(ABC):
    """A result that becomes a JSON document."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)


class TabularResult(JsonResult):
    """A result that becomes a table."""

    __slots__ = ()

    @abstractmethod
    def to_polars(self, *args: Any, **options: Any) -> pl.DataFrame:
        """Return the result as a table of polars."""

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
