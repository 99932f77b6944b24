"""Lists a page at a time: where the next one begins is signed, and says nothing to who carries it."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from dissensus.errors import NotFound
from dissensus.web.core.site import Site

MAX_LIMIT: Final = 500
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]
AfterCursor = Annotated[str, Query(max_length=2_000, description="`next` of the page before; leave it out to begin.")]
Row = TypeVar("Row")
Shown = TypeVar("Shown")


class CursorPage(BaseModel, Generic[Shown]):
    """Part of a list."""

    data: list[Shown]
    next: Annotated[str | None, Field(description="`after` of the page that follows, null where none does.")]


def read_cursor(site: Site, of: str, after: str) -> list[Any] | None:
    """Return where a page of a list begins, None for the first one.

    Raises
    ------
    NotFound
        It was not given for this list.
    """
    if not after:
        return None
    place = site.tokens.read_cursor(of, after)
    if place is None:
        raise NotFound("after is no `next` of this list. Leave it out to begin, and send the same address again.")
    return place


def paginate(
    site: Site, of: str, found: Sequence[Row], limit: int, place: Callable[[Row], object]
) -> tuple[Sequence[Row], str | None]:
    """Return the rows of a page, and where the next one begins, of one row more than fit, if there is one."""
    shown = found[:limit]
    return shown, site.tokens.cursor(of, [place(shown[-1])]) if len(found) > limit else None
