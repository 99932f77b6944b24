"""Ratings of an item, balanced over groups."""

from collections.abc import Sequence
from itertools import count

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.quota import share_by_remainders
from dissensus.schema.hints import count_noun


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
            f"{count_noun(per_item, 'rating')} of an item cannot come from {count_noun(total, 'rater')}, who rate "
            f"an item once. Give {total:,} or fewer, or plan more raters."
        )
    counts = share_by_remainders(per_item, sizes)
    if min(counts) < 1:
        # A group has a rating before its proportion reaches 1, by the remainders.
        enough = next(k for k in count(per_item + 1) if min(share_by_remainders(k, sizes)) >= 1)
        raise InvalidInput(
            f"With {count_noun(per_item, 'rating')} of an item a group would have none. Give {enough:,}, the next "
            "number with a rating for every group."
        )
    return counts
