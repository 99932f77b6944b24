"""Published models of DICES by Homan et al. (2023, arXiv 2306.11530), as formulas."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dissensus.errors import NotFound
from dissensus.schema.formula import Formula, GroupTerm, Term, parse_formula
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.ratings.columns import OVERALL
from dissensus.schema.ratings.table import Ratings

INTERCEPTS: Final = "(1 | rater_id) + (1 | item_id)"
GROUP_EFFECTS: Final = "(degree_of_harm | rater_id) + (1 | item_id)"
PRESETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AD-null": INTERCEPTS,
        "AD-linear": f"rater_raw_race + rater_gender + rater_age + rater_education + phase + {INTERCEPTS}",
        "AD-intersectional": f"rater_raw_race * (rater_gender + rater_age + phase) + rater_education + {INTERCEPTS}",
        "QS-linear": f"rater_race + rater_gender + rater_age + degree_of_harm + rater_education + {INTERCEPTS}",
        "QS-intersectional": (
            f"rater_race * (rater_gender + rater_age + degree_of_harm) + rater_education + {INTERCEPTS}"
        ),
        "GE-linear": f"rater_race + rater_gender + rater_age + degree_of_harm + rater_education + {GROUP_EFFECTS}",
        "GE-intersectional": (
            f"rater_race * (rater_gender + rater_age + degree_of_harm + rater_education) + {GROUP_EFFECTS}"
        ),
    }
)
"""AD: all data. QS: items whose severity experts judged. GE: its effect also varies by rater."""

SUBSTITUTES: Final = MappingProxyType({"rater_raw_race": "rater_race"})
"""Columns that take the place of others where ratings lack these."""


def preset_formula(ratings: Ratings, name: str) -> tuple[Formula, tuple[str, ...]]:
    """Return a published formula on the columns that ratings have, and warnings of those that they lack."""
    if name not in PRESETS:
        raise NotFound(
            f"There is no preset {format_value(name)}.{suggest(name, list(PRESETS))} Presets are "
            f"{format_list(list(PRESETS))}; any other model is a formula."
        )
    formula = parse_formula(f"{OVERALL} ~ {PRESETS[name]}")
    present = {*ratings.raters.columns, *ratings.items.columns}
    substitutes = {
        old: new for old, new in SUBSTITUTES.items() if old in formula.columns and old not in present and new in present
    }
    lacking = [column for column in formula.columns if column not in present and column not in substitutes]
    warnings = [
        f"{name} uses {old}, which these ratings lack; {new} takes its place." for old, new in substitutes.items()
    ]
    if lacking:
        warnings.append(f"{name} uses {format_list(lacking)}, which these ratings lack; the model leaves them out.")
    terms = _select(formula.terms, substitutes, lacking)
    random = tuple(
        GroupTerm(_select(part.terms, substitutes, lacking), part.intercept, part.group) for part in formula.random
    )
    return Formula(ratings.resolve_question(), terms, random), tuple(warnings)


def _select(terms: tuple[Term, ...], substitutes: Mapping[str, str], lacking: list[str]) -> tuple[Term, ...]:
    """Return the terms of columns that the ratings have, with the names of substitutes."""
    return tuple(
        tuple(substitutes.get(column, column) for column in term) for term in terms if not set(term) & set(lacking)
    )
