"""Cursor pagination with encrypted cursors."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from dissensus.api_models.resource import NextCursor
from dissensus.errors import InvalidInput
from dissensus.web.core.site import Site

MAX_LIMIT: Final = 500
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of rows.")]
AfterCursor = Annotated[
    str, Query(max_length=2_000, description="`next` of the previous page; leave it out for the first page.")
]
Search = Annotated[str, Query(max_length=200, description="Part of a text.")]
Row = TypeVar("Row")
Resource = TypeVar("Resource")


class CursorPage(BaseModel, Generic[Resource]):
    """A page of a list."""

    data: list[Resource]
    next: NextCursor


def read_cursor(site: Site, list_name: str, after: str) -> list[Any] | None:
    """Return the position after which a page starts, None for the first page.

    A cursor is valid only for the list that it was issued for, otherwise `InvalidInput` is raised.
    """
    if not after:
        return None
    position = site.tokens.read_cursor(list_name, after)
    if position is None:
        raise InvalidInput(
            "after is not a `next` of this list. Leave it out for the first page, "
            "and keep the rest of the address unchanged."
        )
    return position


def paginate(
    site: Site, list_name: str, rows: Sequence[Row], limit: int, position_of: Callable[[Row], object]
) -> tuple[Sequence[Row], str | None]:
    """Return the rows of a page and the cursor of the next one, given up to `limit + 1` rows."""
    page = rows[:limit]
    return page, site.tokens.encrypt_cursor(list_name, [position_of(page[-1])]) if len(rows) > limit else None
