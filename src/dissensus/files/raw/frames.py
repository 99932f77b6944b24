"""Tables in memory, whoever made them, to polars."""

from typing import Any

import narwhals as nw
import polars as pl
from narwhals.exceptions import DuplicateError
from polars.exceptions import PolarsError

from dissensus.errors import InvalidInput, Unavailable


def to_polars(source: Any) -> pl.DataFrame:
    """Return a pandas, polars or Arrow table as a polars one.

    Examples
    --------
    >>> to_polars(pl.DataFrame({"item_id": ["1"]})).columns
    ['item_id']
    """
    if isinstance(source, pl.LazyFrame):
        raise InvalidInput("The table is lazy. Call .collect() on it first.")
    try:
        table: pl.DataFrame = nw.from_native(source, eager_only=True).to_polars()
    except ImportError as error:
        missing = error.name or "pyarrow"
        raise Unavailable(
            f"To read a {type(source).__module__.split('.')[0]} table {missing} is needed, and it is not "
            "installed. Install it with: pip install 'dissensus[frames]'"
        ) from None
    except DuplicateError as error:
        raise InvalidInput(f"Two columns have the same name. Rename or drop one of them. ({error})") from None
    except (TypeError, ValueError, OverflowError, PolarsError) as error:
        if hasattr(source, "columns") or hasattr(source, "column_names"):
            raise InvalidInput(f"The table cannot be read: {error}") from None
        raise InvalidInput(
            f"Give the path of a file, or a pandas, polars or Arrow table in memory, not {type(source).__name__}."
        ) from None
    return table
