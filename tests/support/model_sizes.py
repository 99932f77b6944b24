"""Simulated designs in which a model or an audit must hold its size, and its rejections of a true null."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.files.pairs.votes import read_people
from dissensus.pipeline.simulate import simulate_preferences
from dissensus.pipeline.vet import audit_filter
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.votes import collect_votes
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.preference import Pick
from dissensus.stats.cluster_bootstrap import bootstrap_means, draw_clusters
from dissensus.stats.cluster_robust import t_test_p
from dissensus.stats.design import Design
from dissensus.stats.permutation import draw_permutations, upper_p
from dissensus.stats.random_intercept import random_intercept
from dissensus.stats.removal import summarise_shifts

Floats = npt.NDArray[np.float64]
N_RATERS, N_ITEMS, N_REMOVED = 100, 200, 15
FILTERS = (
    "random",
    "six times the ratings",
    "odds by the cube of the ratings",
    "six times as often in one of two locales",
)
"""Filters whose removals depend on the number of ratings or on the items of a rater, and not on the answers."""


def draw_filter(rng: np.random.Generator, name: str) -> tuple[Ratings, npt.NDArray[np.bool_]]:
    """Draw ratings, and removed raters whose answers are like those of the others."""
    loads, weight = np.full(N_RATERS, 40), np.ones(N_RATERS)
    first = np.arange(N_RATERS) < N_RATERS // 2
    if name == FILTERS[0]:
        loads = rng.binomial(N_ITEMS, 0.2, N_RATERS)
    elif name == FILTERS[1]:
        loads, weight = np.where(first, 60, 10), np.where(first, 6.0, 1.0)
    elif name == FILTERS[2]:
        loads = np.clip(np.exp(rng.normal(np.log(30), 0.6, N_RATERS)), 3, N_ITEMS).astype(int)
        weight = (loads / 30) ** 3
    else:
        weight = np.where(first, 6.0, 1.0)
    halves = np.arange(N_ITEMS // 2), np.arange(N_ITEMS // 2, N_ITEMS)
    pools = [halves[int(not own)] if name == FILTERS[3] else np.arange(N_ITEMS) for own in first]
    item = np.concatenate([rng.choice(pool, n, replace=False) for pool, n in zip(pools, loads, strict=True)])
    rater = np.repeat(np.arange(N_RATERS), loads)
    latent = 1.5 * rng.normal(size=N_ITEMS)[item] + 0.65 * rng.normal(size=N_RATERS)[rater] - 0.5
    yes = rng.random(item.size) < 1 / (1 + np.exp(-latent))
    removed = np.zeros(N_RATERS, dtype=bool)
    removed[rng.choice(N_RATERS, N_REMOVED, replace=False, p=weight / weight.sum())] = True
    frame = pl.DataFrame(
        {
            "item_id": [f"i{i:03}" for i in item],
            "rater_id": [f"r{r:03}" for r in rater],
            "Q_overall": np.where(yes, "Yes", "No"),
        }
    )
    return Ratings.from_frame(frame, categories=["No", "Yes"]), removed


def audit_sizes(name: str, simulations: int, draws: int, seed: int = 1) -> tuple[Floats, Floats, float]:
    """Return the rejections at 5 % of unmatched removals and of the audit, by measure, and the share withheld."""
    rng = np.random.default_rng([seed, FILTERS.index(name)])
    naive, audited, n_withheld = [], [], 0
    for simulation in range(simulations):
        ratings, removed = draw_filter(rng, name)
        design = Design(*ratings.codes("Q_overall"), ratings.n_items, ratings.n_raters, 2)
        any_raters = removed[draw_permutations(np.random.SeedSequence([seed, simulation]).spawn(draws), removed.size)]
        naive.append(upper_p(summarise_shifts(design, removed[None])[0], summarise_shifts(design, any_raters)) <= 0.05)
        audit = audit_filter(
            ratings, raters=[f"r{r:03}" for r in np.flatnonzero(removed)], draws=draws, seed=simulation
        )
        n_withheld += audit.reason is not None
        audited.append([move.p is not None and move.p <= 0.05 for move in audit.moves])
    return np.mean(naive, axis=0), np.mean(audited, axis=0), n_withheld / simulations


def attempt_sizes(people: int, slope_sd: float, simulations: int, seed: int = 1) -> Floats:
    """Return the rejections at 5 % of an effect within people by Wald's test and by CR2, and the share of the latter.

    The second coefficient, of one of three types of attempts, is 0 on average, with this standard deviation among
    people; numbers of attempts are log-normal. Tests by CR2 with fewer than 4 degrees of freedom are withheld.
    """
    rng = np.random.default_rng([seed, people, int(100 * slope_sd)])
    wald, robust, n_offered = 0, 0, 0
    for _ in range(simulations):
        share = np.exp(rng.normal(size=people))
        person = rng.choice(people, 30 * people, p=share / share.sum())
        kind = rng.integers(3, size=person.size)
        design = np.column_stack([np.ones(person.size), kind == 1, kind == 2, person % 2]).astype(float)
        slopes = slope_sd * rng.normal(size=people)[person] * design[:, 1]
        outcome = rng.normal(size=people)[person] + slopes + 1.5 * rng.normal(size=person.size)
        model = random_intercept(design, outcome, person)
        wald += abs(model.coefficients[1] / model.standard_errors[1]) > 1.96
        if model.df[1] >= 4:
            n_offered += 1
            robust += t_test_p(model.coefficients[1] / model.robust_errors[1], model.df[1]) <= 0.05
    return np.array([wald / simulations, robust / max(1, n_offered), n_offered / simulations])


def share_coverage(clusters: int, log_sd: float, share: float, simulations: int, seed: int = 1) -> Floats:
    """Return the coverage of 95 % intervals of a share over clusters, and the mean effective number of clusters.

    The probability of a success has a beta distribution over clusters, with parameters that add to 3; numbers of cases
    are log-normal. Simulations without an interval, with fewer than ten effective clusters, are drawn again.
    """
    rng = np.random.default_rng([seed, clusters, int(100 * log_sd), int(100 * share)])
    covered: list[bool] = []
    effective: list[float] = []
    while len(covered) < simulations:
        sizes = np.maximum(1, np.round(10 * np.exp(log_sd * rng.normal(size=clusters)))).astype(int)
        cluster = np.repeat(np.arange(clusters), sizes)
        hits = rng.random(cluster.size) < rng.beta(3 * share, 3 * (1 - share), size=clusters)[cluster]
        draws = draw_clusters(clusters, 500, seed=len(covered))
        (result,) = bootstrap_means(hits, np.zeros(cluster.size, int), cluster, draws)
        if result.ci_low is not None and result.ci_high is not None:
            covered.append(result.ci_low <= share <= result.ci_high)
            effective.append(result.effective)
    return np.array([np.mean(covered), np.mean(effective)])


def draw_minority(seed: int, *, size: int = 4, effect: float = 2.5, n_comparisons: int = 400) -> tuple[Pair, ...]:
    """Draw votes of 40 raters, some of whom differ by this log odds, up or down, on each word of a response."""
    simulation = simulate_preferences(n_comparisons=n_comparisons, group_sd=0.0, seed=seed)
    rng = np.random.default_rng([seed, 1])
    few = rng.choice(simulation.raters["rater_id"].to_numpy(), size, replace=False).tolist()
    signs = rng.permutation(np.resize([1.0, -1.0], simulation.words.height))
    odds = simulation.log_odds() + effect * simulation.counts @ signs
    preferences = tuple(
        replace(
            preference,
            picks=tuple(
                Pick(pick.rater_id, "b" if own + rng.logistic() > 0 else "a", 1) if pick.rater_id in few else pick
                for pick in preference.picks
            ),
        )
        for preference, own in zip(simulation.preferences, odds.tolist(), strict=True)
    )
    view = pl.when(pl.col("rater_id").is_in(few)).then(pl.lit("few")).otherwise(pl.lit("most"))
    raters = simulation.raters.with_columns(rater_view=view)
    return collect_votes(preferences, read_people(raters), purpose="helpful").pairs
