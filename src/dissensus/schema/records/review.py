"""Reviews of red-team attempts by other people."""

from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import MAX_RATING
from dissensus.schema.records.conversation import check_text
from dissensus.schema.records.item import MAX_NAME_LENGTH

MAX_TAGS: Final = 2
"""Tags that one reviewer may give to an attempt, as in the red-team paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The review of one attempt by one reviewer.

    Parameters
    ----------
    attempt_id, reviewer_id
        Ids of the attempt and of the reviewer.
    success
        From 0 (none) to 4, on the scale of the red-teamers.
    tags
        Topics of the attempt, two at most.

    Raises
    ------
    InvalidInput
        A value is invalid; the message names the field.

    Examples
    --------
    >>> Review(attempt_id="7", reviewer_id="ann", success=4, tags=("Theft",)).success
    4
    """

    attempt_id: str
    reviewer_id: str
    success: int
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("attempt_id", "reviewer_id"):
            check_text(getattr(self, name), name, MAX_NAME_LENGTH)
        check_whole("success", self.success, most=MAX_RATING)
        for tag in self.tags:
            check_text(tag, "A tag", MAX_NAME_LENGTH)
        if len(self.tags) > MAX_TAGS:
            raise InvalidInput(f"tags are {format_list(self.tags)}; a reviewer gives {MAX_TAGS} at most.")
