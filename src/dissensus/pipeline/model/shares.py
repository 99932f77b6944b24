"""Predicted shares of answers by group and population, and labels of items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.pipeline.model.design import NamedDesign
from dissensus.pipeline.model.draws import ModelDraws
from dissensus.pipeline.model.label_changes import ChangedItem, find_changed_items
from dissensus.pipeline.model.population import Population, extend_cells, group_populations
from dissensus.pipeline.model.prediction import RaterCells, predict_items
from dissensus.schema.hints import format_list
from dissensus.schema.ratings.columns import CROSSED
from dissensus.stats.multilevel.fit import Link

MOST_NAMED: Final = 5
MOST_PREDICTIONS: Final = 40_000_000
"""Predictions for draws, cells and items beyond which groups are predicted on a sample of the items."""
FEWEST_ITEMS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedShare:
    """Predicted share of an answer in a group of raters or a population, on the items of the table."""

    axis: str | None  # None for a population
    group: str
    answer: str
    estimate: float
    ci_low: float
    ci_high: float
    # From the group of the axis with the most raters; None for that group and for populations
    difference: float | None
    difference_ci_low: float | None
    difference_ci_high: float | None
    # That the share is the largest among the groups of the axis, or the populations; None for a single one
    probability_highest: float | None
    n_raters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedLabel:
    """Predicted share of an answer to one item in a population, and the answer with the largest share there."""

    item_id: str
    population: str
    answer: str
    estimate: float
    ci_low: float
    ci_high: float
    label: str
    probability: float  # That the label has the largest share


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Predicted shares of groups and populations, labels of items by population, and items that change their label."""

    shares: tuple[PredictedShare, ...]
    labels: tuple[PredictedLabel, ...]
    changed: tuple[ChangedItem, ...]  # The most certain first
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    pareto_k: float
    effective_draws: float


def predict_populations(
    named: NamedDesign,
    drawn: ModelDraws,
    tables: Mapping[str, pl.DataFrame],
    *,
    link: Link,
    rng: np.random.Generator,
    confidence: float,
) -> Predictions:
    """Predict the answers of groups of raters, and of populations, on the items of the table.

    Each draw of the model's parameters and effects predicts shares of answers among raters who were not asked;
    estimates are means over draws, and intervals quantiles.
    """
    cells, populations = extend_cells(named, tables)
    groups = list(group_populations(named, cells))
    targets = [*groups, *populations]
    weights = np.array([target.weights for target in targets]).reshape(len(targets), len(cells))
    total = np.zeros((len(drawn), len(targets), len(named.categories)))
    labels: list[PredictedLabel] = []
    changed: list[ChangedItem] = []
    n_items, item_ids = 0, named.item_ids
    items, notes = _choose_items(named, len(drawn) * len(cells), rng, take_all=bool(populations))
    for block, shares in predict_items(named, drawn.draws, cells, items, link=link):
        total += weights @ shares.sum(2)
        n_items += len(block)
        if populations:
            answers = _weigh(weights[len(groups) :], shares)
            ids = [item_ids[item] for item in block]
            parts = [
                _label(ids, population.name, answers[:, index].swapaxes(0, 1), named.categories, confidence)
                for index, population in enumerate(populations)
            ]
            labels += [label for part in parts for label in part]
            names = [population.name for population in populations]
            changed += find_changed_items(ids, names, answers, named.categories)
    return Predictions(
        shares=tuple(_describe(targets, total / n_items, named.categories, confidence)),
        labels=tuple(labels),
        changed=tuple(sorted(changed, key=lambda item: -item.probability)),
        warnings=(*drawn.warn(), *_warn_of_cells(named, cells, populations)),
        notes=(
            *notes,
            *_note_levels(named, cells, populations),
            *drawn.describe(),
            *([drawn.describe_order()] if changed else []),
        ),
        pareto_k=drawn.importance.pareto_k,
        effective_draws=drawn.importance.effective_draws,
    )


def _choose_items(
    named: NamedDesign, n_per_item: int, rng: np.random.Generator, *, take_all: bool
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return the items of the table, or a sample if predictions for all would take long, with a note that says so."""
    items = np.unique(named.rows.item).astype(np.int64)
    size = max(FEWEST_ITEMS, MOST_PREDICTIONS // n_per_item)
    if take_all or len(items) <= size:
        return items, ()
    sample = np.sort(rng.choice(items, size, replace=False))
    return sample, (f"Predicted shares are averages over {size:,} of {len(items):,} items, drawn at random.",)


def _weigh(weights: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares by draw, population, item and answer, from those by draw, cell, item and answer."""
    n_draws, n_cells, n_items, n_answers = shares.shape
    weighted = weights @ shares.reshape(n_draws, n_cells, n_items * n_answers)
    return np.asarray(weighted.reshape(n_draws, len(weights), n_items, n_answers))


def _describe(
    populations: Sequence[Population], shares: NDArray[np.float64], categories: Sequence[str], confidence: float
) -> Iterator[PredictedShare]:
    """Yield the mean and interval of each share, and of its difference from the largest group of the axis."""
    members: dict[str | None, list[int]] = {}
    for index, population in enumerate(populations):
        members.setdefault(population.axis, []).append(index)
    highest = {axis: _rank_first(shares[:, indices]) for axis, indices in members.items()}
    for index, population in enumerate(populations):
        rivals = members[population.axis]
        base = None if population.axis is None else max(rivals, key=lambda rival: populations[rival].n_raters)
        for answer, name in enumerate(categories):
            share = _summarise(shares[:, index, answer], confidence)
            difference: tuple[float | None, float | None, float | None] = (None, None, None)
            if base is not None and base != index:
                difference = _summarise(shares[:, index, answer] - shares[:, base, answer], confidence)
            yield PredictedShare(
                axis=population.axis,
                group=population.name,
                answer=name,
                estimate=share[0],
                ci_low=share[1],
                ci_high=share[2],
                difference=difference[0],
                difference_ci_low=difference[1],
                difference_ci_high=difference[2],
                probability_highest=(
                    float(highest[population.axis][rivals.index(index), answer]) if len(rivals) > 1 else None
                ),
                n_raters=population.n_raters,
            )


def _rank_first(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that each population has the largest share, by answer, from shares by draw."""
    return np.asarray((shares.argmax(1)[:, None] == np.arange(shares.shape[1])[:, None]).mean(0))


def _label(
    items: Sequence[str], population: str, shares: NDArray[np.float64], categories: Sequence[str], confidence: float
) -> list[PredictedLabel]:
    """Return the share of each answer to each item, given shares by item, draw and answer."""
    means = shares.mean(1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(shares, [tail, 1 - tail], axis=1)
    best = means.argmax(1)
    probability = (shares.argmax(2) == best[:, None]).mean(1)
    return [
        PredictedLabel(
            item_id=item,
            population=population,
            answer=name,
            estimate=float(means[row, answer]),
            ci_low=float(low[row, answer]),
            ci_high=float(high[row, answer]),
            label=categories[best[row]],
            probability=float(probability[row]),
        )
        for row, item in enumerate(items)
        for answer, name in enumerate(categories)
    ]


def _summarise(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Return mean and central interval of draws."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(values.mean()), float(low), float(high)


def _warn_of_cells(named: NamedDesign, cells: RaterCells, populations: Sequence[Population]) -> Iterator[str]:
    """Yield a warning for each population with crossed groups of no rater, or without a margin of an attribute."""
    for population in populations:
        if population.assumed:
            yield (
                f"The population {population.name} has no margin of {format_list(population.assumed)}, so its shares "
                "there are those of the raters."
            )
        empty = np.flatnonzero((population.weights > 0) & (cells.n_raters == 0))
        if empty.size:
            names = [
                CROSSED.join(named.rows.columns[name].levels[codes[cell]] for name, codes in cells.codes.items())
                for cell in empty
            ]
            share = f"{100 * population.weights[empty].sum():.3g} %"
            yield (
                f"{share} of the population {population.name} are in crossed groups without a rater, whose answers "
                f"come from the model alone: {format_list(names, MOST_NAMED)}."
            )


def _note_levels(named: NamedDesign, cells: RaterCells, populations: Sequence[Population]) -> Iterator[str]:
    """Yield a note on the groups of raters that a population lacks."""
    for population in populations:
        for name, codes in cells.codes.items():
            weights = np.bincount(codes, population.weights)
            absent = [named.rows.columns[name].levels[code] for code in np.unique(codes) if not weights[code] > 0]
            if absent:
                yield (
                    f"The population {population.name} has nobody with {name} = {format_list(absent, MOST_NAMED)}, so "
                    "these raters do not stand for it."
                )
