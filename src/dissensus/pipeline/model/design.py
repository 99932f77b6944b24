"""Design of a model from a ratings table and a formula."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.model import design_checks
from dissensus.pipeline.model.columns import (
    MOST_LEVELS,
    ModelColumn,
    parse_base,
    read_effect,
    read_group,
    resolve_column,
)
from dissensus.pipeline.model.contrasts import (
    INTERCEPT,
    WIDTH,
    Coding,
    EffectName,
    code_terms,
    first_rows,
    fold_codes,
    list_columns,
    select_independent,
)
from dissensus.schema.formula import Formula, GroupTerm, Term
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.ratings.columns import ITEM_ID, RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.result import BoolArray, Int32Array

MOST_CATEGORIES: Final = 100
IDS: Final = (RATER_ID, ITEM_ID)


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """Rows of the ratings in a model: their rater and item, and the columns by full name."""

    rater: Int32Array
    item: Int32Array
    columns: Mapping[str, ModelColumn]

    def codes(self, name: str) -> Int32Array:
        """Return the code of each rating in a column."""
        column = self.columns[name]
        codes: Int32Array = column.codes[self.rater if column.owner == "rater" else self.item]
        return codes

    def fold(self, names: Sequence[str]) -> tuple[Int32Array, int]:
        """Return the combination of columns of each rating; those of one owner are combined first."""
        parts = []
        for owner, row in (("rater", self.rater), ("item", self.item)):
            own = [self.columns[name] for name in names if self.columns[name].owner == owner]
            if own:
                n_owners = own[0].codes.size
                profile, n = fold_codes([(column.codes, len(column.levels)) for column in own], n_owners)
                parts.append((profile[row], n))
        return fold_codes(parts, self.rater.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedDesign:
    """The arrays of a model with the names of their columns."""

    design: ModelDesign
    ratings: Ratings  # All that answer the question; codes of raters and items in `rows` are indices of theirs
    rows: ModelRows
    formula: Formula  # With full names of columns
    categories: tuple[str, ...]  # Answers that occur, in order
    effects: tuple[EffectName, ...]  # Columns of the fixed covariates
    random: tuple[tuple[EffectName, ...], ...]  # Effects of a group of each random term
    base: Mapping[str, str]  # First level of each factor
    n_raters: int
    n_items: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def item_ids(self) -> list[str]:
        """Id of each code of an item."""
        return self.ratings.items[ITEM_ID].to_list()


def build_design(
    ratings: Ratings,
    formula: Formula,
    *,
    base: Mapping[str, str] | None = None,
    widths: bool = False,
    has_prior: bool = False,
) -> NamedDesign:
    """Return the design of a formula on the ratings that have a value in each of its columns.

    `widths` adds to the effects of each rater one on the logarithm of the distances between thresholds. `has_prior` is
    True if all coefficients have a prior, under which those of separated levels are finite.
    """
    ratings.require_raters("A multilevel model")
    question = ratings.resolve_question(formula.response)
    ratings = ratings.select_question(question)
    formula, names = _resolve(ratings, formula)
    bases = parse_base(base or {}, names)
    columns = {name: read_effect(ratings, name, bases.get(name)) for name in _effect_columns(formula)}
    columns |= {name: read_group(ratings, name) for name in formula.columns if name not in columns}
    item, rater, answer = ratings.codes(question)
    rows, known, dropped = _select_known(ModelRows(rater, item, columns), ratings)
    _require_bases(rows, bases)
    answers, categories, unused = _select_categories(answer[known], ratings.scale(question))
    design_checks.require_levels([rows.columns[name] for name in _effect_columns(formula)])
    coding, profile, determined = code_effects(rows, formula.terms, answers, categories, has_prior=has_prior)
    random = [_build_random(rows, effects) for effects in formula.random]
    if widths:
        random = _add_widths(random, categories)
    return NamedDesign(
        design=ModelDesign(
            answers=answers,
            n_categories=len(categories),
            fixed=Covariates(values=coding.values, row=profile),
            random=tuple(term for term, _ in random),
        ),
        ratings=ratings,
        rows=rows,
        formula=formula,
        categories=categories,
        effects=coding.names,
        random=tuple(effects for _, effects in random),
        base={name: rows.columns[name].levels[0] for name in _effect_columns(formula) if rows.columns[name].is_factor},
        n_raters=int(np.count_nonzero(np.bincount(rows.rater))),
        n_items=int(np.count_nonzero(np.bincount(rows.item))),
        notes=(*ratings.notes, *design_checks.describe_numbers(rows.columns, _effect_columns(formula))),
        warnings=(
            *dropped,
            *unused,
            *determined,
            *design_checks.warn_of_small_groups(rows.columns, formula.terms, rows.rater),
            *design_checks.check_random_effects([term for term, _ in random]),
            *design_checks.warn_of_absent_random_effects(formula),
        ),
    )


def _resolve(ratings: Ratings, formula: Formula) -> tuple[Formula, dict[str, str]]:
    """Return the formula with full names, and the full name of each name of an effect."""
    full = {name: resolve_column(ratings, name) for name in formula.columns}

    def rename(term: Term) -> Term:
        return tuple(dict.fromkeys(full[name] for name in term))

    resolved = Formula(
        formula.response,
        tuple({frozenset(term): rename(term) for term in formula.terms}.values()),
        tuple(GroupTerm(tuple(map(rename, e.terms)), e.intercept, rename(e.group)) for e in formula.random),
    )
    if not resolved.random:
        raise InvalidInput(
            "The formula has no random effect, and answers of one rater, or to one item, are not independent. Add "
            f"(1 | {RATER_ID}) + (1 | {ITEM_ID})."
        )
    return resolved, {name: full[name] for name in _effect_columns(formula)}


def _effect_columns(formula: Formula) -> tuple[str, ...]:
    """Return the columns of fixed effects and of slopes."""
    return tuple(list_columns((*formula.terms, *(term for effects in formula.random for term in effects.terms))))


def _select_known(rows: ModelRows, ratings: Ratings) -> tuple[ModelRows, BoolArray, tuple[str, ...]]:
    """Return the rows with a value in each column, their mask, and warnings that name who is left out."""
    known = np.ones(rows.rater.size, dtype=np.bool_)
    warnings = []
    for column in rows.columns.values():
        missing = column.codes < 0
        if missing.any():
            known &= ~missing[rows.rater if column.owner == "rater" else rows.item]
            ids = (ratings.raters[RATER_ID] if column.owner == "rater" else ratings.items[ITEM_ID]).filter(missing)
            n = f"1 {column.owner} has" if len(ids) == 1 else f"{len(ids):,} {column.owner}s have"
            warnings.append(f"{n} no {column.name}, and their ratings are left out: {format_list(ids.to_list(), 5)}.")
    if not known.any():
        raise InvalidInput(f"No rating has a value in each column of the formula. {' '.join(warnings)}")
    if not warnings:
        return rows, known, ()
    warnings.append(f"{int((~known).sum()):,} of {known.size:,} ratings are left out of the model.")
    rater, item = rows.rater[known], rows.item[known]
    columns = {
        name: _drop_unused_levels(column, rater if column.owner == "rater" else item)
        for name, column in rows.columns.items()
    }
    return ModelRows(rater, item, columns), known, tuple(warnings)


def _require_bases(rows: ModelRows, bases: Mapping[str, str]) -> None:
    """Refuse a base that is left out with the ratings that lack a value in another column."""
    for name, base in bases.items():
        levels = rows.columns[name].levels
        if base not in levels:
            raise InvalidInput(
                f"The base of {name} is {format_value(base)}, and no rating with a value in each column of the formula "
                f"has this level. Others have {format_list(levels, 30)}."
            )


def _drop_unused_levels(column: ModelColumn, owners: Int32Array) -> ModelColumn:
    """Return a column with the levels of some owners; others keep the code -1."""
    occurs = np.zeros(len(column.levels), dtype=np.bool_)
    occurs[column.codes[owners]] = True
    rank = np.append(np.where(occurs, np.cumsum(occurs) - 1, -1), -1).astype(np.int32)
    levels = tuple(level for level, used in zip(column.levels, occurs, strict=True) if used)
    numbers = None if column.numbers is None else column.numbers[occurs]
    codes = rank[column.codes]
    unseen = np.ones(codes.size, dtype=np.bool_)
    unseen[owners] = False
    codes[unseen] = -1
    return replace(column, codes=codes, levels=levels, numbers=numbers)


def _select_categories(
    answer: NDArray[np.int16], scale: Sequence[str]
) -> tuple[NDArray[np.int8], tuple[str, ...], tuple[str, ...]]:
    """Return the answers as codes of the categories that occur, these categories, and a warning of others."""
    if len(scale) > MOST_CATEGORIES:
        raise InvalidInput(
            f"The answers have {len(scale):,} categories, and an ordered model takes at most {MOST_CATEGORIES}. Join "
            "them to intervals in the file."
        )
    counts = np.bincount(answer, minlength=len(scale))
    categories = tuple(name for name, n in zip(scale, counts, strict=True) if n)
    if len(categories) < 2:
        raise UndefinedEstimate(
            f"All {answer.size:,} answers are {categories[0]!r}, so nothing differs. Model a question whose answers do."
        )
    unused = [name for name in scale if name not in categories]
    warning = f"Nobody answered {format_list(unused)}, so no threshold of this answer is estimated."
    rank = np.cumsum(counts > 0) - 1
    return rank[answer].astype(np.int8), categories, (warning,) * bool(unused)


def code_effects(
    rows: ModelRows,
    terms: Sequence[Term],
    answers: NDArray[np.int8],
    categories: Sequence[str],
    *,
    has_prior: bool = False,
) -> tuple[Coding, Int32Array, tuple[str, ...]]:
    """Return the columns of fixed effects on distinct rows, the row of each rating, and warnings of those dropped."""
    names = tuple(list_columns(terms))
    profile, n = rows.fold(names)
    first = first_rows(profile, n)
    codes = {name: rows.codes(name)[first] for name in names}
    counts = np.bincount(profile * np.int64(len(categories)) + answers, minlength=n * len(categories))
    if not has_prior:
        design_checks.require_finite(rows.columns, terms, codes, counts.reshape(n, -1), categories)
    coding = code_terms(terms, rows.columns, codes, n, intercept=True)
    independent, empty, determined = select_independent(coding)
    # Thresholds stand for the intercept, which is the first column.
    fixed = Coding(independent.names[1:], np.ascontiguousarray(independent.values[:, 1:]))
    return fixed, profile, tuple(design_checks.warn_of_dropped(empty, determined))


def _build_random(rows: ModelRows, effects: GroupTerm) -> tuple[RandomTerm, tuple[EffectName, ...]]:
    """Return a random term, and the names of the effects of a group."""
    design_checks.require_varying(rows.columns, effects)
    split = _split_group(rows, effects)
    if split is not None:
        group, factor = split
        groups, n_groups = rows.fold([group])
        coding, profile = _code_slopes(rows, ((factor,),), intercept=False)
        return (
            RandomTerm(
                name=":".join(effects.group),
                groups=groups,
                n_groups=n_groups,
                covariates=Covariates(values=coding.values, row=profile),
                structure="identity",
            ),
            (EffectName(INTERCEPT, None),),
        )
    groups, n_groups = rows.fold(effects.group)
    name = ":".join(effects.group)
    if not effects.terms:
        return RandomTerm(name=name, groups=groups, n_groups=n_groups), (EffectName(INTERCEPT, None),)
    coding, profile = _code_slopes(rows, effects.terms, intercept=effects.intercept)
    covariates = Covariates(values=coding.values, row=profile)
    return RandomTerm(name=name, groups=groups, n_groups=n_groups, covariates=covariates), coding.names


def _add_widths(
    random: Sequence[tuple[RandomTerm, tuple[EffectName, ...]]], categories: Sequence[str]
) -> list[tuple[RandomTerm, tuple[EffectName, ...]]]:
    """Add an effect on the width to the first term of raters."""
    if len(categories) < 3:
        raise InvalidInput(
            f"Widths of raters are distances between thresholds, and {len(categories)} answers have a single "
            "threshold. Leave widths out."
        )
    index = next((index for index, (term, _) in enumerate(random) if term.name == RATER_ID), None)
    if index is None:
        raise InvalidInput(f"Widths are effects of raters, and the formula has none. Add (1 | {RATER_ID}).")
    term, names = random[index]
    widened = (replace(term, width=True), (*names, EffectName(WIDTH, None)))
    return [*random[:index], widened, *random[index + 1 :]]


def toggle_widths(named: NamedDesign) -> NamedDesign | None:
    """Return a design with widths of raters if it has none, else without; None where the model can have none."""
    random = list(zip(named.design.random, named.random, strict=True))
    if any(term.width for term, _ in random):
        random = [(replace(term, width=False), names[:-1] if term.width else names) for term, names in random]
    elif len(named.categories) > 2 and any(term.name == RATER_ID for term, _ in random):
        random = _add_widths(random, named.categories)
    else:
        return None
    design = replace(named.design, random=tuple(term for term, _ in random))
    return replace(named, design=design, random=tuple(names for _, names in random))


def _split_group(rows: ModelRows, effects: GroupTerm) -> tuple[str, str] | None:
    """Return the ids and the factor of `(1 | factor:ids)`, an effect of each id for each level with one variance.

    These are coded as effects of the id's group, which take less time to solve for than as many groups of their own.
    """
    if effects.terms or len(effects.group) != 2:
        return None
    for group, factor in (effects.group, effects.group[::-1]):
        column = rows.columns[factor]
        if group in IDS and column.owner != rows.columns[group].owner and len(column.levels) <= MOST_LEVELS:
            return group, factor
    return None


def _code_slopes(rows: ModelRows, terms: Sequence[Term], *, intercept: bool) -> tuple[Coding, Int32Array]:
    names = tuple(list_columns(terms))
    profile, n = rows.fold(names)
    first = first_rows(profile, n)
    codes = {name: rows.codes(name)[first] for name in names}
    coding, _, _ = select_independent(code_terms(terms, rows.columns, codes, n, intercept=intercept))
    return coding, profile
