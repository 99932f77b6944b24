"""Populations with a given difference of agreement, or a given share of disagreement between groups."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

from dissensus.errors import InvalidInput
from dissensus.stats.planning.rating_model import LARGEST_SD, RatingModel

STEPS: Final = 60


def item_agreement(model: RatingModel, share: float, loading: float = 1.0) -> float:
    """Return the covariance of two raters of a group on an item, over p(1 - p): Krippendorff's alpha of many raters.

    Examples
    --------
    >>> round(item_agreement(RatingModel(rater_sd=0, item_sd=1), 0.5), 4)
    0.3333
    """
    return model.components(share, loading).item / (share * (1 - share))


def share_between_groups(model: RatingModel, share: float) -> float:
    """Return the share of the pairwise disagreement of two groups that lies between them, as `between_share`.

    Examples
    --------
    >>> round(share_between_groups(RatingModel(rater_sd=0, item_sd=1, group_item_sd=0.5), 0.3), 3)
    0.112
    """
    within = model.components(share).item
    between = model.item_covariance((share, 1.0), (share, 1.0))
    return (within - between) / (share * (1 - share) - between)


def solve_loading(
    model: RatingModel, share: float, difference: float, *, statistic: Literal["alpha", "agreement"] = "alpha"
) -> float:
    """Return the loading of item effects in a group whose alpha or pairwise agreement is lower by a difference.

    Raises
    ------
    InvalidInput
        The difference exceeds what the other group's value allows.
    """
    whole = item_agreement(model, share)
    scale = 1.0 if statistic == "alpha" else 2 * share * (1 - share)  # agreement is 1 - 2 p (1 - p) (1 - alpha)
    most = scale * (whole - item_agreement(model, share, 0.0))
    if not 0 <= difference < most:
        raise InvalidInput(
            f"The {statistic} of a group is {1 - scale * (1 - whole):.3f} in this population, so that it can be lower "
            f"by less than {most:.3f}, and {difference:.3f} was asked for. Plan for a smaller difference."
        )
    return _solve(lambda loading: difference / scale - whole + item_agreement(model, share, loading), 0.0, 1.0)


def group_association(model: RatingModel, share: float) -> float:
    """Return the group association index of two groups of many raters: covariance within a group over that between.

    Examples
    --------
    >>> round(group_association(RatingModel(rater_sd=0, item_sd=1, group_item_sd=0.5), 0.3), 3)
    1.291
    """
    return model.components(share).item / model.item_covariance((share, 1.0), (share, 1.0))


def solve_group_item_sd(
    model: RatingModel, share: float, target: float, *, statistic: Literal["decomposition", "gai"] = "decomposition"
) -> RatingModel:
    """Return the model whose effects of groups on items give a share of disagreement between groups, or a GAI above 1.

    Raises
    ------
    InvalidInput
        No effects of groups are that large.
    """
    measure = share_between_groups if statistic == "decomposition" else _excess_association
    most = measure(replace(model, group_item_sd=LARGEST_SD), share)
    if not 0 <= target < most:
        wish = "share of the disagreement between groups" if statistic == "decomposition" else "GAI above 1 by"
        raise InvalidInput(f"A {wish} {target:.3f} cannot be reached: give 0 to {most:.3f}.")
    sd = _solve(lambda value: measure(replace(model, group_item_sd=value), share) - target, 0.0, LARGEST_SD)
    return replace(model, group_item_sd=sd)


def _excess_association(model: RatingModel, share: float) -> float:
    return group_association(model, share) - 1


def _solve(increasing: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function, by bisection."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(middle) > 0 else (middle, high)
    return (low + high) / 2
