"""Items that divide groups: effects of group and item together, shrunk towards none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedItem:
    """Difference between a group and all other raters on one item.

    `difference` is that of the shares of the last answer which new raters would give. `interaction` is on the latent
    scale and beyond the difference on the average item: differential item functioning. A false sign rate is the
    probability that the difference is zero or has the other sign.
    """

    item_id: str
    axis: str
    group: str
    difference: float
    ci_low: float
    ci_high: float
    false_sign_rate: float
    interaction: float
    interaction_ci_low: float
    interaction_ci_high: float
    interaction_false_sign_rate: float
    n_raters: int  # Of the group, who rated this item
