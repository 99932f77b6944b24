"""Costs of both errors, as options have them."""

from dissensus.errors import InvalidInput


def split_costs(text: str | None) -> tuple[float, float] | None:
    """Parse the costs of blocking what is safe and of letting through what is not, such as 1:5."""
    if text is None:
        return None
    block, _, miss = text.partition(":")
    try:
        return float(block), float(miss)
    except ValueError:
        raise InvalidInput(f"--costs {text!r} is not like 1:5.") from None
