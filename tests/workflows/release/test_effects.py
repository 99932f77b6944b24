"""Effects of groups in the datasheet of a release."""

import polars as pl
from tests.support.releases import assess, make_source, make_table

from dissensus.workflows.release.effects import estimate_effects


def test_no_effect_is_stated_of_a_group_that_is_small_among_modelled_raters() -> None:
    """Each group has eight raters or more, and those of known age are four women only."""
    cells = {("Man", "young"): 8, ("Man", "old"): 4, ("Woman", "old"): 4, ("Woman", "unknown"): 4}
    table = make_table(cells, n_items=6)
    table = table.with_columns(pl.col("rater_age").replace("unknown", None))
    source = make_source(table)
    effects = estimate_effects(source, assess(source, anonymity={"k": 2}))
    (effect,) = effects.effects
    assert effects.formula == "Q_overall ~ rater_gender + (1 | rater_id) + (1 | item_id)"
    assert (effect.group, effect.n_group, effect.base, effect.n_base) == ("Woman", 8, "Man", 12)
    assert effects.n_raters == 20
