"""Designs of two groups, and a population like that of DICES-350."""

from dissensus.stats.planning.contrast_power import ContrastDesign, DesignCell
from dissensus.stats.planning.rating_model import RatingModel

MODEL = RatingModel(rater_sd=0.65, item_sd=0.75, group_item_sd=0.3)


def two_groups(
    n_raters: int, per_item: int, n_items: int, *, share: float = 0.33, difference: float = 0.1
) -> ContrastDesign:
    sides = ((-1.0, share), (1.0, share + difference))
    cells = [DesignCell(share=p, n_raters=n_raters, per_item=per_item, weight=w) for w, p in sides]
    return ContrastDesign(tuple(cells), n_items)
