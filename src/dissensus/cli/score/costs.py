"""Costs of both errors, as options have them."""

from dissensus.errors import InvalidInput


def split_costs(text: str) -> tuple[float, float]:
    """Parse the costs of blocking what is safe and of letting through what is not, such as 1:5."""
    block, _, miss = text.partition(":")
    try:
        return float(block), float(miss)
    except ValueError:
        raise InvalidInput(f"--costs {text!r} is not like 1:5.") from None


def split_cost_list(text: str) -> list[tuple[float, float]]:
    """Parse a list of costs, such as 1:1,1:5."""
    return [split_costs(part) for part in text.split(",")]
