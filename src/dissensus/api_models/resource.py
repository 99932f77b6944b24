"""Base class of all API resources, and field types that several of them use."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

RestrictedCount = Annotated[int | None, Field(description="Null if the caller may not see it.")]
NextCursor = Annotated[
    str | None, Field(description="Cursor of the next page, sent as `after`; null on the last page.")
]
RaterStanding = Literal["rating", "finished", "stopped", "withdrawn"]


class Resource(BaseModel):
    """A frozen JSON object. Fields that it does not know are ignored, so that a client works with a newer server."""

    model_config = ConfigDict(from_attributes=True, frozen=True)
