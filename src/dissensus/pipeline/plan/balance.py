"""Ratings of an item, balanced over groups."""

from collections.abc import Sequence

from dissensus.errors import InvalidInput
from dissensus.pipeline.tables import format_count
from dissensus.schema.campaign.quota import share_by_remainders


def split_ratings(per_item: int, sizes: Sequence[int]) -> list[int]:
    """Split the ratings of an item over groups in proportion to their raters, as a balanced quota does.

    Examples
    --------
    >>> split_ratings(5, [10, 10]), split_ratings(12, [25, 79])
    ([3, 2], [3, 9])
    """
    total = sum(sizes)
    if per_item > total:
        raise InvalidInput(
            f"{format_count(per_item, 'rating')} of an item cannot come from {format_count(total, 'rater')}, who rate "
            f"an item once. Give {total:,} or fewer, or plan more raters."
        )
    counts = share_by_remainders(per_item, sizes)
    if min(counts) < 1:
        raise InvalidInput(
            f"With {format_count(per_item, 'rating')} of an item a group would have none. Give "
            f"{-(-total // min(sizes)):,} or more."
        )
    return counts
