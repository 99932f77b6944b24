"""Checks of a design before its model is fitted: refusals, warnings and notes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.model.columns import ModelColumn
from dissensus.pipeline.model.contrasts import EffectName, first_rows, fold_codes
from dissensus.schema.formula import Formula, GroupTerm, Term
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.ratings.columns import CROSSED, ITEM_ID, RATER_ID
from dissensus.stats.multilevel.design import RandomTerm
from dissensus.stats.result import Int32Array, Int64Array

FEWEST_RATERS: Final = 5
"""Fewest raters of a group whose effect does not rest on few people."""
FEWEST_GROUPS: Final = 5
"""Fewest groups with which a standard deviation of random effects is well determined."""

Columns = Mapping[str, ModelColumn]


def require_levels(columns: Sequence[ModelColumn]) -> None:
    """Refuse a column with one value, whose effect nothing determines."""
    for column in columns:
        if len(column.levels) < 2:
            raise UndefinedEstimate(
                f"{column.name} has one value, {column.levels[0]!r}, among the ratings of the model, and an effect "
                "needs two. Leave it out of the formula."
            )


def require_finite(
    columns: Columns,
    terms: Sequence[Term],
    codes: Mapping[str, Int32Array],
    counts: Int64Array,
    categories: Sequence[str],
) -> None:
    """Refuse separation: a level whose answers are all the lowest or all the highest has no finite effect.

    `codes` are those of the distinct rows of a design, and `counts` their answers, shape (rows, categories).
    """
    for term in terms:
        if not all(columns[name].is_factor for name in term):
            continue
        cell, n_cells = fold_codes([(codes[name], len(columns[name].levels)) for name in term], len(counts))
        by_cell = np.zeros((n_cells, len(categories)), dtype=np.int64)
        np.add.at(by_cell, cell, counts)
        for end in (0, len(categories) - 1):
            separate = np.flatnonzero(by_cell[:, end] == by_cell.sum(axis=1))
            if separate.size:
                row = first_rows(cell, n_cells)[separate[0]]
                levels = CROSSED.join(columns[name].levels[codes[name][row]] for name in term)
                n = int(by_cell[separate[0], end])
                raise UndefinedEstimate(
                    f"Separation: {n:,} of {n:,} answers of {':'.join(term)} = {levels} are {categories[end]!r}, so "
                    f"its effect has no finite estimate. Leave the term {':'.join(term)} out, or join this level with "
                    'another: --rename COLUMN:OLD=NEW. A prior gives a finite estimate: --prior "b=student_t(3, 0, 1)".'
                )


def require_varying(columns: Columns, effects: GroupTerm) -> None:
    """Refuse slopes of an attribute of which each group has a single value."""
    owners = {columns[name].owner for name in effects.group if name in (RATER_ID, ITEM_ID)}
    for term in effects.terms:
        if {columns[name].owner for name in term} <= owners:
            owner = columns[term[0]].owner
            other = "items" if owner == "rater" else "raters"
            name, group = ":".join(term), ITEM_ID if owner == "rater" else RATER_ID
            raise UndefinedEstimate(
                f"{effects} lets the effect of {name} vary by {owner}, and each {owner} has one value of it. Name an "
                f"attribute of {other}, or write ({name} | {group})."
            )


def warn_of_dropped(empty: Sequence[EffectName], determined: Sequence[EffectName]) -> Iterator[str]:
    """Yield warnings of columns that have no effect of their own."""
    if empty:
        yield f"No rating belongs to {_list_effects(empty)}, so the model has no such effect."
    if determined:
        yield f"Other effects determine {_list_effects(determined)} (collinear), so the model leaves it out."


def _list_effects(effects: Sequence[EffectName]) -> str:
    return format_list([term if level is None else f"{term} = {level}" for term, level in effects])


def warn_of_small_groups(columns: Columns, terms: Sequence[Term], rater: Int32Array) -> Iterator[str]:
    """Yield a warning for each term of raters with a group of few of them."""
    raters = np.flatnonzero(np.bincount(rater))
    highest = [term for term in terms if not any(set(term) < set(other) for other in terms)]
    for term in highest:
        factors = [columns[name] for name in term if columns[name].is_factor and columns[name].owner == "rater"]
        if not factors:
            continue
        cell, n_cells = fold_codes([(c.codes[raters], len(c.levels)) for c in factors], raters.size)
        first, counts = first_rows(cell, n_cells), np.bincount(cell, minlength=n_cells)
        small = {
            CROSSED.join(c.levels[c.codes[raters[first[code]]]] for c in factors): int(counts[code])
            for code in np.flatnonzero(counts < FEWEST_RATERS)
        }
        if small:
            listed = ", ".join(f"{name!r} ({count_noun(n, 'rater')})" for name, n in small.items())
            yield (
                f"Few raters: {':'.join(c.name for c in factors)} = {listed}. Estimates of such groups are of these "
                "people, and their intervals rest on the assumption that raters are normally distributed."
            )


def check_random_effects(random_terms: Sequence[RandomTerm]) -> Iterator[str]:
    """Refuse random effects that nothing determines, and yield warnings of those with few groups."""
    for term in random_terms:
        n_ratings = term.groups.size
        if term.n_groups == 1:
            raise UndefinedEstimate(
                f"All ratings belong to one group of {term.name}, so its random effects have no standard deviation. "
                f"Leave (… | {term.name}) out, or add ratings of others."
            )
        if term.n_groups == n_ratings and term.covariates is None:
            raise UndefinedEstimate(
                f"Each rating has a group of {term.name} of its own, so that its effect cannot be told from chance. "
                f"Leave (1 | {term.name}) out."
            )
        if term.n_groups < FEWEST_GROUPS:
            yield (
                f"{term.name} has {term.n_groups} groups, which say little about their standard deviation. An "
                "attribute with few values is better a fixed effect."
            )


def warn_of_absent_random_effects(formula: Formula) -> Iterator[str]:
    """Yield a warning if raters or items have no random effect."""
    groups = {name for effects in formula.random for name in effects.group}
    for name, whose in ((RATER_ID, "of one rater"), (ITEM_ID, "to one item")):
        if name not in groups:
            yield (
                f"The formula has no (1 | {name}): answers {whose} count as independent, and standard errors are too "
                "small."
            )


def describe_numbers(columns: Columns, names: Sequence[str]) -> Iterator[str]:
    """Yield a note on each column that is taken as a number."""
    for name in names:
        if not columns[name].is_factor:
            level = columns[name].levels[0]
            yield (
                f"{name} is taken as a number. For levels name the first: --base {name}={level} (in Python: base=); "
                f"for intervals: --bins {name}=A,B,…."
            )
