"""Details of multilevel models on simulated ratings: coverage of shares of variance, and errors of called items."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from dissensus.pipeline.model import fit_model
from dissensus.pipeline.model.divided_items import DividedItem, rank_items
from dissensus.pipeline.model.draws import draw_model
from dissensus.pipeline.model.facets import ModelFacets, VarianceDraws
from dissensus.pipeline.model.variance_shares import VarianceShare, share_variance
from dissensus.schema.ratings.table import Ratings

pytestmark = pytest.mark.slow

RATERS, ITEMS, PLANTED = 60, 80, 8
SDS = {"rater_id": 0.6, "item_id": 0.8, "rater_group:item_id": 0.5}


class Simulation(NamedTuple):
    """Details of a model of sparse ratings, and the true effects of each group on each item."""

    shares: list[VarianceShare]
    items: Sequence[DividedItem]
    truth: dict[str, np.ndarray]


@cache
def simulate(seed: int, *, planted: float = 0.0) -> Simulation:
    rng = np.random.default_rng(seed)
    rater, item = (index.ravel() for index in np.indices((RATERS, ITEMS)))
    rated = rng.random(rater.size) < 0.3
    rater, item = rater[rated], item[rated]
    by_group = rng.normal(0, SDS["rater_group:item_id"], (ITEMS, 3))
    if planted:
        by_group = np.zeros((ITEMS, 3))
        by_group[:PLANTED, 0] = planted
    latent = rng.normal(0, SDS["rater_id"], RATERS)[rater] + rng.normal(0, SDS["item_id"], ITEMS)[item]
    latent += by_group[item, rater % 3] + rng.normal(size=rater.size)
    frame = pl.DataFrame(
        {
            "item_id": [f"i{i:02}" for i in item],
            "rater_id": [f"r{r:02}" for r in rater],
            "rater_group": [("a", "b", "c")[r % 3] for r in rater],
            "Q": [("No", "Unsure", "Yes")[k] for k in np.digitize(latent, [0.3, 0.8])],
        }
    )
    formula = "Q ~ (1 | rater_id) + (1 | item_id) + (1 | rater_group:item_id)"
    source = fit_model(Ratings.from_frame(frame), formula, draws=0).source
    facets, fit = ModelFacets.from_design(source.named), source.fit
    draws = draw_model(fit, 200, np.random.default_rng(seed)).draws
    centred = by_group - (by_group.sum(1, keepdims=True) - by_group) / 2
    centred -= centred.mean(0)
    return Simulation(
        shares=list(share_variance(facets, VarianceDraws.from_fit(fit, draws), fit, 0.95)),
        items=rank_items(facets, draws, link=fit.link, confidence=0.95),
        truth={group: centred[:, place] for place, group in enumerate("abc")},
    )


def test_intervals_of_shares_of_variance_cover() -> None:
    """40 simulations; the standard error of a coverage of 95 % is 3.4 points, and three are subtracted."""
    total = 1 + sum(sd**2 for sd in SDS.values())
    covered: dict[str, list[bool]] = {group: [] for group in SDS}
    for seed in range(40):
        for row in simulate(seed).shares:
            if row.component in SDS:
                assert row.ci_low is not None
                assert row.ci_high is not None
                covered[row.component].append(row.ci_low <= SDS[row.component] ** 2 / total <= row.ci_high)
    for group, values in covered.items():
        assert 0.95 - 0.103 < np.mean(values) <= 1, group


def test_false_sign_rates_are_the_rates_of_false_signs() -> None:
    """Differences of called items have the wrong sign about as often as their false sign rates say."""
    rates, wrong = [], []
    for seed in range(40):
        simulation = simulate(seed)
        for row in simulation.items:
            rates.append(row.interaction_false_sign_rate)
            wrong.append(np.sign(row.interaction) != np.sign(simulation.truth[row.group][int(row.item_id[1:])]))
    rate, error = np.array(rates), np.array(wrong)
    called = rate < 0.05
    assert called.sum() > 330
    assert error[called].mean() < 0.05
    for low, high in ((0.05, 0.15), (0.15, 0.3), (0.3, 0.5)):
        inside = (rate >= low) & (rate < high)
        assert error[inside].mean() == pytest.approx(rate[inside].mean(), abs=0.05)


def test_items_beside_a_few_planted_ones_are_rarely_called() -> None:
    """8 of 80 items divide one group; the common standard deviation is small, so that few of any are called."""
    false = []
    for seed in range(20):
        rows = simulate(seed, planted=1.5).items
        called = [row.interaction_false_sign_rate < 0.05 for row in rows if row.item_id >= f"i{PLANTED:02}"]
        false.append(np.mean(called))
    assert np.mean(false) < 0.05
