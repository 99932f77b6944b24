"""Groups of DICES-350: names, sizes and results."""

import numpy as np

from dissensus.pipeline.analyse import Analysis, Row
from dissensus.schema.ratings.table import Ratings

NAMES = {
    "gen z": "Gen Z",
    "millenial": "Millennial",
    "gen x+": "Gen X+",
    "Woman": "Woman",
    "Man": "Man",
    "Asian/Asian subcontinent": "Asian",
    "Black/African American": "Black",
    "LatinX, Latino, Hispanic or Spanish Origin": "Latine",
    "Multiracial": "Multiracial",
    "White": "White",
}
RACES = ("Asian", "Black", "Latine", "Multiracial", "White")
AGES = ("Gen Z", "Millennial", "Gen X+")


def sizes(ratings: Ratings, axis: str) -> dict[tuple[str, ...], int]:
    """Return the number of raters in each group of an axis, or of crossed axes."""
    codes, groups = ratings.group_codes(axis)
    counts = np.bincount(codes[codes >= 0], minlength=len(groups)).tolist()
    names = (tuple(NAMES[part] for part in group.split(" × ")) for group in groups)
    return dict(zip(names, counts, strict=True))


def index_rows(analysis: Analysis) -> dict[tuple[str, str], Row]:
    """Return the rows of the groups by name and metric."""
    return {(NAMES[row.group], row.metric): row for row in analysis.rows if row.group}


def estimate(row: Row) -> float:
    """Return the estimate of a row that has one."""
    assert row.estimate is not None
    return row.estimate


def format_p(row: Row) -> str:
    """Return the p-value of a row that was tested, as tables show it."""
    assert row.p is not None
    return format_three_digits(row.p)


def format_three_digits(value: float) -> str:
    """Return a number with three decimals, and no 0 before the point."""
    return f"{value:.3f}".removeprefix("0")
