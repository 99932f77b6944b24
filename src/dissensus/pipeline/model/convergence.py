"""Draws by named parameter: their convergence, and their ArviZ data tree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.errors import Unavailable
from dissensus.pipeline.model.contrasts import INTERCEPT, EffectName, first_rows
from dissensus.pipeline.model.design import IDS, NamedDesign
from dissensus.schema.formula import GroupTerm
from dissensus.schema.ratings.columns import CROSSED
from dissensus.stats.multilevel.convergence import FEWEST_EFFECTIVE, LARGEST_R_HAT
from dissensus.stats.multilevel.design import RandomTerm
from dissensus.stats.multilevel.posterior import ChainSample, PosteriorDraws


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConvergence:
    """Rank-normalized split R̂ and effective draws of a parameter, or the worst of a term's random effects."""

    parameter: str
    r_hat: float | None  # None for a parameter that never changes
    bulk_ess: float | None
    tail_ess: float | None


def describe_effect(name: EffectName) -> str:
    """Return the name of an effect: the term, and the level if there is one."""
    return name.term if name.level is None else f"{name.term} = {name.level}"


def list_parameters(named: NamedDesign, draws: PosteriorDraws) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield thresholds, effects, standard deviations and correlations: the name and the draws of each, shape (S,)."""
    for index in range(len(named.categories) - 1):
        yield "|".join(named.categories[index : index + 2]), draws.thresholds[:, index]
    for index, effect in enumerate(named.effects):
        yield describe_effect(effect), draws.coefficients[:, index]
    for term, names, factors in zip(named.design.random, named.random, draws.factors, strict=True):
        sds = np.sqrt((factors**2).sum(2))
        labels = [describe_effect(name) for name in names]
        for index, label in enumerate(labels):
            yield f"sd {term.name}" if label == INTERCEPT else f"sd {term.name}: {label}", sds[:, index]
        for row in range(len(labels)):
            for column in range(row):
                products = (factors[:, row] * factors[:, column]).sum(1)
                name = f"cor {term.name}: {labels[column]}, {labels[row]}"
                yield name, products / (sds[:, row] * sds[:, column])


def check_convergence(named: NamedDesign, sample: ChainSample) -> tuple[ModelConvergence, ...]:
    """Return the convergence of each parameter, and the worst of each term's random effects."""
    names, values = zip(*list_parameters(named, sample.draws), strict=True)
    rows = list(_list_rows(names, sample, np.column_stack(values)))
    for term, effects in zip(named.design.random, sample.draws.effects, strict=True):
        of_effects = list(_list_rows([""] * effects[0].size, sample, effects.reshape(len(effects), -1)))
        rows.append(
            ModelConvergence(
                parameter=f"effects of {term.name}",
                r_hat=max((row.r_hat for row in of_effects if row.r_hat is not None), default=None),
                bulk_ess=min((row.bulk_ess for row in of_effects if row.bulk_ess is not None), default=None),
                tail_ess=min((row.tail_ess for row in of_effects if row.tail_ess is not None), default=None),
            )
        )
    return tuple(rows)


def _list_rows(names: Sequence[str], sample: ChainSample, values: NDArray[np.float64]) -> Iterator[ModelConvergence]:
    diagnosis = sample.diagnose(values)
    numbers = np.column_stack([diagnosis.r_hat, diagnosis.bulk, diagnosis.tail])
    for name, row in zip(names, numbers.tolist(), strict=True):
        r_hat, bulk, tail = (None if np.isnan(x) else x for x in row)
        yield ModelConvergence(parameter=name, r_hat=r_hat, bulk_ess=bulk, tail_ess=tail)


def warn_of_chains(rows: Sequence[ModelConvergence], n_chains: int) -> Iterator[str]:
    """Yield a warning if R̂ is above `LARGEST_R_HAT`, or effective draws are fewer than `FEWEST_EFFECTIVE` a chain."""
    moving = [row for row in rows if row.r_hat is not None]
    worst = max(moving, key=lambda row: row.r_hat or 0.0)
    fewest = min(moving, key=_fewest_draws)
    if (worst.r_hat or 0.0) > LARGEST_R_HAT or _fewest_draws(fewest) < FEWEST_EFFECTIVE * n_chains:
        yield (
            f"The chains of the sampler have not converged: R̂ is up to {worst.r_hat:.3f} ({worst.parameter}), and "
            f"effective draws are down to {_fewest_draws(fewest):.0f} ({fewest.parameter}); at most {LARGEST_R_HAT} "
            f"and at least {FEWEST_EFFECTIVE * n_chains} are needed. Draw more: --iterations (in Python: iterations=)."
        )


def _fewest_draws(row: ModelConvergence) -> float:
    return min(row.bulk_ess or np.inf, row.tail_ess or np.inf)


def build_tree(named: NamedDesign, draws: PosteriorDraws, n_chains: int) -> Any:
    """Return an `xarray.DataTree` with the group "posterior": Intercept, b, and for each term g its sd_g and r_g."""
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise Unavailable(
            f"to_arviz needs {error.name or 'arviz_base'}, which is not installed. Install it with: pip install "
            "arviz-base"
        ) from None
    posterior: dict[str, NDArray[np.float64]] = {"Intercept": draws.thresholds, "b": draws.coefficients}
    dims = {"Intercept": ["threshold"], "b": ["effect"]}
    coords: dict[str, list[str]] = {
        "threshold": ["|".join(named.categories[i : i + 2]) for i in range(len(named.categories) - 1)],
        "effect": [describe_effect(effect) for effect in named.effects],
    }
    terms = zip(named.design.random, named.formula.random, named.random, draws.factors, draws.effects, strict=True)
    for term, source, names, factors, effects in terms:
        key = _free_name(term.name, posterior)
        labels = [describe_effect(name) for name in names]
        coords[f"{key}_sd"] = labels
        coords[key] = _label_groups(named, term, source)
        coords[f"{key}_effect"] = labels if len(labels) == term.size else _crossed_levels(named, source)
        posterior[f"sd_{key}"] = np.sqrt((factors**2).sum(2))[:, : len(labels)]
        posterior[f"r_{key}"] = effects
        dims |= {f"sd_{key}": [f"{key}_sd"], f"r_{key}": [key, f"{key}_effect"]}
    by_chain = {
        name: values.reshape(n_chains, -1, *values.shape[1:]) for name, values in posterior.items() if values.size
    }
    return from_dict({"posterior": by_chain}, coords=coords, dims=dims)


def _free_name(name: str, taken: dict[str, NDArray[np.float64]]) -> str:
    """Return the name of a term, numbered if an earlier term has it."""
    key, number = name, 1
    while f"sd_{key}" in taken:
        number += 1
        key = f"{name}_{number}"
    return key


def _crossed_levels(named: NamedDesign, source: GroupTerm) -> list[str]:
    """Return the levels of the factor of `(1 | factor:ids)`."""
    return [level for name in source.group if name not in IDS for level in named.rows.columns[name].levels]


def _label_groups(named: NamedDesign, term: RandomTerm, source: GroupTerm) -> list[str]:
    """Return the name of each group of a term."""
    columns = [name for name in source.group if term.structure == "full" or name in IDS]
    first = first_rows(term.groups.astype(np.int32), term.n_groups)
    codes = [named.rows.codes(name)[first] for name in columns]
    levels = [named.rows.columns[name].levels for name in columns]
    return [
        CROSSED.join(level[code] for level, code in zip(levels, group, strict=True))
        for group in zip(*codes, strict=True)
    ]
