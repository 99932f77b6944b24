"""Write nuts.json: posterior means of multilevel models by NumPyro's No-U-Turn sampler, with Monte Carlo errors.

    pip install numpyro==0.22.0 "arviz-stats[xarray]==0.8.0" numba polars narwhals
    DISSENSUS_DATA=… PYTHONPATH=src:. python tests/reference/multilevel/nuts.py [two] [three] [dices]

Without arguments all are written: simulated ratings with two and three answers, and the first 60 items of DICES-350
with all raters that are not flagged; all 350 items take more than ten minutes.
Priors: t with 3 degrees of freedom, scale 1 for coefficients and 2.5 for standard deviations, normal with mean 0 and
standard deviation 2 for thresholds at the mean of the covariates.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from arviz_stats.base import array_stats
from jax.scipy.special import log_ndtr
from numpyro.distributions import constraints
from numpyro.infer import MCMC, NUTS
from tests.stats.multilevel.designs import keep_items, simulate_design

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.model.design import build_design
from dissensus.schema.formula import parse_formula
from dissensus.stats.multilevel.design import ModelDesign

FILE = Path(__file__).with_suffix(".json")
FORMULA = "Q_overall ~ rater_race + rater_gender + rater_age + (1 | rater_id) + (1 | item_id)"
DICES_ITEMS = 60
CHAINS = 2

numpyro.enable_x64()


def log_difference(low: jnp.ndarray, high: jnp.ndarray) -> jnp.ndarray:
    """Log of the normal probability between two bounds, from the nearer tail."""
    flip = low + high > 0
    a, b = jnp.where(flip, -high, low), jnp.where(flip, -low, high)
    return log_ndtr(b) + jnp.log1p(-jnp.exp(log_ndtr(a) - log_ndtr(b)))


def model(x: jnp.ndarray, rater: jnp.ndarray, item: jnp.ndarray, y: jnp.ndarray, sizes: tuple[int, int, int]) -> None:
    """Cumulative probit model with intercepts of raters and items."""
    raters, items, categories = sizes
    beta = numpyro.sample("b", dist.StudentT(3, 0, 1).expand([x.shape[1]]).to_event(1))
    sd = numpyro.sample("sd", dist.FoldedDistribution(dist.StudentT(3, 0, 2.5)).expand([2]).to_event(1))
    u = numpyro.sample("u", dist.Normal(0, sd[0]).expand([raters]).to_event(1))
    v = numpyro.sample("v", dist.Normal(0, sd[1]).expand([items]).to_event(1))
    # Thresholds move with the mean effects, which makes the sampler faster and leaves the density as it is.
    moved = numpyro.sample("moved", dist.ImproperUniform(constraints.ordered_vector, (), (categories - 1,)))
    cut = numpyro.deterministic("cut", moved + u.mean() + v.mean())
    numpyro.factor("prior", dist.Normal(0, 2).log_prob(cut).sum())
    eta = x @ beta + u[rater] + v[item]
    edges = jnp.concatenate([jnp.array([-30.0]), cut, jnp.array([30.0])])
    numpyro.factor("answers", log_difference(edges[y] - eta, edges[y + 1] - eta).sum())


def sample(design: ModelDesign, iterations: int, seed: int) -> dict[str, object]:
    """Return means, standard deviations and Monte Carlo errors."""
    x = design.fixed.values[design.fixed.row]
    centre = x.mean(0)
    rater, item = design.random
    sizes = (rater.n_groups, item.n_groups, design.n_categories)
    start = time.process_time()
    mcmc = MCMC(
        NUTS(model, target_accept_prob=0.8),
        num_warmup=iterations // 2,
        num_samples=iterations,
        num_chains=CHAINS,
        chain_method="sequential",
        progress_bar=False,
    )
    arrays = (jnp.asarray(x - centre), jnp.asarray(rater.groups), jnp.asarray(item.groups), jnp.asarray(design.answers))
    mcmc.run(jax.random.PRNGKey(seed), *arrays, sizes)
    seconds = time.process_time() - start
    draws = {name: np.asarray(value) for name, value in mcmc.get_samples(group_by_chain=True).items()}
    draws["cut"] = draws["cut"] + (draws["b"] @ centre)[..., None]
    result: dict[str, object] = {"seconds": round(seconds)}
    for name in ("cut", "b", "sd", "u"):
        value = draws[name][..., :8]
        shape = range(value.shape[-1])
        result[name] = {
            "mean": value.mean((0, 1)).tolist(),
            "sd": value.std((0, 1)).tolist(),
            "mcse": [float(array_stats.mcse(value[..., j], chain_axis=0, draw_axis=1)) for j in shape],
            "ess": [float(array_stats.ess(value[..., j], chain_axis=0, draw_axis=1)) for j in shape],
            "r_hat": [float(array_stats.rhat(value[..., j], chain_axis=0, draw_axis=1)) for j in shape],
        }
    return result


def dices() -> ModelDesign:
    """Return ratings of DICES-350 with main effects."""
    ratings = read_ratings(Path(os.environ["DISSENSUS_DATA"], "dices-350", "ratings.csv")).exclude_flagged()
    return keep_items(build_design(ratings, parse_formula(FORMULA)).design, DICES_ITEMS)


MODELS: dict[str, tuple[Callable[[], ModelDesign], int]] = {
    "three": (lambda: simulate_design(raters=30, items=40, categories=3, seed=5), 3000),
    "two": (lambda: simulate_design(raters=30, items=40, categories=2, seed=5), 3000),
    "dices": (dices, 1000),
}
"""Designs with the number of draws of a chain."""

if __name__ == "__main__":
    results: dict[str, object] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    results["numpyro"] = numpyro.__version__
    for name in sys.argv[1:] or MODELS:
        design, iterations = MODELS[name]
        results[name] = sample(design(), iterations, 1)
        FILE.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
