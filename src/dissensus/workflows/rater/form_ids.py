"""The numbers that forms carry, by which the same form twice is one."""

from uuid import UUID

from dissensus.errors import InvalidInput


def form_id(text: str) -> str:
    """Return the number of a form, a UUID, as it is kept."""
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidInput("The form has lost its number. Load the page again, and send it once more.") from None
