"""Simulated designs of multilevel models."""

import numpy as np

from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.laplace import LaplaceLikelihood


def simulate_design(  # noqa: PLR0913
    *,
    raters: int = 12,
    items: int = 15,
    share: float = 0.8,
    categories: int = 3,
    slopes: bool = False,
    width: bool = False,
    group_by_item: str | None = None,
    locale: bool = False,
    seed: int = 0,
) -> ModelDesign:
    """Ratings of a sparse table with a rater attribute, an item attribute and their product as covariates."""
    rng = np.random.default_rng(seed)
    rater, item = (x.ravel() for x in np.meshgrid(np.arange(raters), np.arange(items)))
    rated = rng.random(rater.size) < share
    rater, item = rater[rated], item[rated]
    x, z = rng.integers(0, 2, raters)[rater], rng.integers(0, 2, items)[item]
    group = (np.arange(raters) % 3)[rater]
    latent = 0.5 * x + rng.normal(0, 0.7, raters)[rater] + rng.normal(0, 0.8, items)[item]
    latent += rng.normal(0, 0.3, (raters, 2))[rater, z] if slopes else 0.0
    scale = np.exp(rng.normal(0, 0.5, raters))[rater] if width else np.ones(rater.size)
    thresholds = 0.25 + np.linspace(-0.7, 0.7, categories - 1) * scale[:, None] if categories > 2 else [[0.25]]
    answers = (latent[:, None] + rng.normal(size=(rater.size, 1)) > thresholds).sum(1)
    by_group = Covariates.from_matrix(np.eye(3)[group])
    terms = [
        RandomTerm(
            name="rater",
            groups=rater,
            n_groups=raters,
            width=width,
            covariates=Covariates.from_matrix(np.column_stack([np.ones(rater.size), z])) if slopes else None,
        )
    ]
    if group_by_item == "full":
        terms.append(RandomTerm(name="group by item", groups=item, n_groups=items, covariates=by_group))
    else:
        terms.append(RandomTerm(name="item", groups=item, n_groups=items))
    if group_by_item == "identity":
        terms.append(
            RandomTerm(name="item:group", groups=item, n_groups=items, covariates=by_group, structure="identity")
        )
    if locale:
        terms.append(RandomTerm(name="locale", groups=group, n_groups=3))
    fixed = Covariates.from_matrix(np.column_stack([x, x * z]).astype(float))
    return ModelDesign(answers=answers, n_categories=categories, fixed=fixed, random=tuple(terms))


def parameters_of(likelihood: LaplaceLikelihood, *, seed: int = 1) -> np.ndarray:
    """Return ordinary parameters of a design."""
    rng = np.random.default_rng(seed)
    n = likelihood.n_thresholds
    rest = rng.normal(-0.4, 0.1, likelihood.n_parameters - n - likelihood.n_coefficients)
    return np.concatenate([np.linspace(-0.4, 0.9, n), rng.normal(0, 0.2, likelihood.n_coefficients), rest])


def simulate_batches(n_batches: int, *, seed: int = 0) -> ModelDesign:
    """Five raters for each batch of six items, which nobody else rates: the diagonal alone approximates badly."""
    rng = np.random.default_rng(seed)
    batch, rater, item = (x.ravel() for x in np.indices((n_batches, 5, 6)))
    rater, item = 5 * batch + rater, 6 * batch + item
    woman = (rater % 2).astype(float)
    latent = 0.5 * woman + rng.normal(0, 0.7, rater.max() + 1)[rater] + rng.normal(0, 0.9, item.max() + 1)[item]
    return ModelDesign(
        answers=np.digitize(latent + rng.normal(size=len(latent)), [-0.3, 0.8]),
        n_categories=3,
        fixed=Covariates.from_matrix(woman[:, None]),
        random=(
            RandomTerm(name="rater", groups=rater, n_groups=int(rater.max()) + 1),
            RandomTerm(name="item", groups=item, n_groups=int(item.max()) + 1),
        ),
    )


def keep_items(design: ModelDesign, n: int) -> ModelDesign:
    """Return the ratings of the first items of a design of raters and items."""
    rater, item = design.random
    in_first = item.groups < n
    return ModelDesign(
        answers=design.answers[in_first],
        n_categories=design.n_categories,
        fixed=Covariates(values=design.fixed.values, row=design.fixed.row[in_first]),
        random=(
            RandomTerm(name=rater.name, groups=rater.groups[in_first], n_groups=rater.n_groups),
            RandomTerm(name=item.name, groups=item.groups[in_first], n_groups=n),
        ),
    )
