"""Reader of reviews and attempt ids."""

from collections.abc import Mapping
from typing import Any, Final

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw.table_reader import is_path, iterate_records
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.records.attempt import Review
from dissensus.schema.records.attempt_parser import parse_tags, parse_whole_number

ID: Final = "attempt_id"
REQUIRED: Final = (ID, "reviewer_id", "success")


def read_reviews(source: Any) -> tuple[Review, ...]:
    """Read reviews of attempts.

    Parameters
    ----------
    source
        Path of a file, or a pandas, polars or Arrow table, with ``attempt_id``, ``reviewer_id``, ``success`` from 0 to
        4 and, optionally, ``tags``, a list of at most two. JSON is either JSON Lines or one array.

    Returns
    -------
    tuple of Review
        Reviews in file order.

    Raises
    ------
    DissensusError
        The file cannot be read, or a record is not a review; the message has its number.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"attempt_id": [7, 7], "reviewer_id": ["ann", "ben"], "success": [4, 3]})
    >>> [(review.attempt_id, review.reviewer_id, review.success) for review in read_reviews(table)]
    [('7', 'ann', 4), ('7', 'ben', 3)]
    """
    where = source if is_path(source) else "The table"
    reviews = []
    for number, record in enumerate(iterate_records(source), start=1):
        try:
            reviews.append(_review(record))
        except (InvalidInput, NotFound) as error:
            raise type(error)(f"{where}, record {number:,}: {error}") from None
    if not reviews:
        raise InvalidInput(f"{where} has no review.")
    return tuple(reviews)


def read_attempt_ids(source: Any) -> tuple[str, ...] | None:
    """Return the ``attempt_id`` of each record of a file or table; None if there are none."""
    ids = [record.get(ID) or None for record in iterate_records(source)]
    if all(value is None for value in ids):
        return None
    if None in ids:
        raise InvalidInput(f"Record {ids.index(None) + 1:,} has no {ID}, and others have one. Give one to each.")
    return tuple(map(_id, ids))


def _review(record: Mapping[str, Any]) -> Review:
    missing = [name for name in REQUIRED if record.get(name) in (None, "")]
    if missing:
        near = suggest(missing[0], [name for name in record if name not in REQUIRED])
        raise NotFound(
            f"there is no {format_list(missing)}. A review has {', '.join(REQUIRED)} and, if there are any, tags.{near}"
        )
    success = parse_whole_number("success", record["success"])
    assert success is not None  # noqa: S101 - None only if missing
    return Review(
        attempt_id=_id(record[ID]),
        reviewer_id=_id(record["reviewer_id"]),
        success=success,
        tags=parse_tags("tags", record.get("tags")) or (),
    )


def _id(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise InvalidInput(f"{format_value(value)} is not an id; give a text or a whole number.")
