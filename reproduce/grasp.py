"""Published values of GRASP on DICES-350 beside computed ones, as docs/generated/grasp.md.

    DISSENSUS_DATA=FOLDER python reproduce/grasp.py

Prabhakaran et al. (2024), NAACL, arXiv 2311.05074: tables 2 and 5.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, get_args

import numpy as np

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.pipeline.analyse import Row as AnalysisRow
from dissensus.pipeline.analyse.settings import Family
from dissensus.schema.ratings.table import Ratings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reproduce.comparison import Row, Section, count_line, grid, highlight_difference, notes, table
from reproduce.groups import AGES, RACES, estimate, format_p, format_three_digits, index_rows, sizes
from reproduce.rules import Counts, counts, p_of_whole_items, ties_at_random, whole_items_left_out

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "grasp.md"
AXES = ("age", "gender", "race")
METRICS = {
    "irr": "IRR",
    "xrr": "XRR",
    "negentropy": "Neg.",
    "cross_negentropy": "Cross-neg.",
    "plurality_size": "Plurality",
    "voting_agreement": "Voting",
    "gai": "GAI",
}
# Table 5, with its stars: * is p < .05, ** stays so after Benjamini–Hochberg.
TABLE_5 = {
    "Gen X+": (".166", ".171", ".402", ".365", ".693", ".731", ".975"),
    "Gen Z": (".166", ".172", ".386", ".392", ".698", ".776", ".966"),
    "Millennial": (".189", ".179", ".415", ".381", ".703", ".751", "1.052"),
    "Man": (".187", ".175", ".419", ".394", ".707", ".800", "1.071"),
    "Woman": (".160", ".175", ".362", ".404", ".685", ".800", ".916"),
    "Asian": (".145", ".166", ".368", ".323", ".675", ".740", ".872"),
    "Black": (".193", ".181", ".411", ".361", ".705", ".796", "1.063"),
    "Latine": (".215*", ".189*", ".467", ".412", ".716", ".747", "1.139*"),
    "Multiracial": (".153", ".168", ".355*", ".250*", ".661*", ".592", ".916"),
    "White": (".145", ".159*", ".498*", ".417*", ".744*", ".552**", ".908"),
}
DSI = {"age": "1.052", "gender": "1.071", "race": "1.139"}
# Table 2: women and men; then Gen Z, millennials and Gen X+, as printed.
BY_GENDER = {"Asian": "9 12", "Black": "16 7", "Latine": "12 10", "Multiracial": "4 9", "White": "16 9"}
BY_AGE = {"Asian": "4 12 5", "Black": "13 5 5", "Latine": "6 7 9", "Multiracial": "6 2 5", "White": "5 2 18"}
REVERSED = (
    "In these rows of table 2 the ages are reversed: read from the right they have the counts of the ratings. As "
    "printed the columns sum to 34, 28 and 42 raters; the paper of DICES has 49, 28 and 27, and so have the ratings."
)
ANY_TIES = "By the definition, ties to the first answer. No rule for ties is found that gives the column."


@dataclass(frozen=True, slots=True)
class Data:
    """The ratings of the 104 raters, and their analysis by GRASP's rule and by the two-sided test."""

    ratings: Ratings
    by_rule: Analysis
    two_sided: Analysis

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read the ratings from the folder of shared data, and analyse them."""
        ratings = read_ratings(folder / "dices-350" / "ratings.csv").exclude_flagged()
        return cls(ratings, _by_rule(ratings, "metric"), analyse(ratings, by=AXES, permutations=1000))

    @property
    def counts(self) -> dict[str, tuple[Counts, Counts]]:
        """Counts of each group of each axis, and of all others."""
        return {group: pair for axis in AXES for group, pair in counts(self.ratings, axis).items()}


def _by_rule(ratings: Ratings, family: Family) -> Analysis:
    return analyse(ratings, by=AXES, permutations=1000, method="grasp", family=family)


def table_5(data: Data) -> dict[str, tuple[Row, ...]]:
    """Return the values of table 5, group by group."""
    rows_by_metric, counts_by_group = index_rows(data.by_rule), data.counts
    rows = {}
    for group, cells in TABLE_5.items():
        values = {metric: estimate(rows_by_metric[group, metric]) for metric in METRICS}
        values["cross_negentropy"] = whole_items_left_out(*counts_by_group[group])
        rows[group] = tuple(
            Row(
                f"{group}, {METRICS[metric]}", cell.rstrip("*"), value, ANY_TIES if metric == "voting_agreement" else ""
            )
            for (metric, value), cell in zip(values.items(), cells, strict=True)
        )
    return rows


def dsi(data: Data) -> Iterator[Row]:
    """Yield the diversity sensitivity index of each axis."""
    estimates = {row.axis: estimate(row) for row in data.by_rule.rows if row.metric == "dsi"}
    yield from (Row(axis.capitalize(), value, estimates[f"rater_{axis}"]) for axis, value in DSI.items())


def stars(data: Data) -> Iterator[Row]:
    """Yield each star of table 5, and how many of its other cells have none here."""
    by_rule, two_sided = index_rows(data.by_rule), index_rows(data.two_sided)
    blank, starred = 0, []
    for group, cells in TABLE_5.items():
        for metric, cell in zip(METRICS, cells, strict=True):
            row, label = by_rule[group, metric], f"{group}, {METRICS[metric]}"
            if "*" in cell:
                yield _star(label, cell, row, two_sided[group, metric], data.ratings)
            elif row.stars:
                starred.append(f"{label} (p {format_p(row)})")
            else:
                blank += 1
    n = sum("*" not in cell for cells in TABLE_5.values() for cell in cells)
    note = f"Near the border, and starred here alone: {', '.join(starred)}." if starred else ""
    yield Row("Cells without a star", str(n), blank, note, ("", "", ""))


def _star(label: str, cell: str, row: AnalysisRow, two_sided: AnalysisRow, ratings: Ratings) -> Row:
    published, ours = r"\*" * cell.count("*"), row.stars.replace("*", r"\*") or "–"
    note = ""
    if published != ours and row.metric == "cross_negentropy":
        p = format_three_digits(p_of_whole_items(ratings, row.axis or "", label.partition(",")[0]))
        note = f"Tested is the value by the definition. With the rule for zeros below p is {p}."
    return Row(label, published, ours, note, (row.direction or "–", format_p(row), format_p(two_sided)))


def table_2(ratings: Ratings) -> tuple[dict[str, tuple[Row, ...]], dict[str, tuple[Row, ...]]]:
    """Return the raters of table 2: race by gender, race by age."""
    gender, age = sizes(ratings, "race*gender"), sizes(ratings, "race*age")
    return (
        {race: _cells(race, BY_GENDER[race], ("Woman", "Man"), gender) for race in RACES},
        {race: _cells(race, BY_AGE[race], AGES, age) for race in RACES},
    )


def _cells(
    race: str, published: str, groups: tuple[str, ...], sizes_by_group: dict[tuple[str, ...], int]
) -> tuple[Row, ...]:
    counts = [sizes_by_group.get((race, group), 0) for group in groups]
    printed = published.split()
    is_reversed = printed[::-1] == [str(count) for count in counts]
    return tuple(
        Row(f"{race}, {group}", text, count, REVERSED if is_reversed and text != str(count) else "")
        for group, text, count in zip(groups, printed, counts, strict=True)
    )


def _zeros(data: Data, values: dict[str, tuple[Row, ...]]) -> Iterator[str]:
    definition, column = index_rows(data.by_rule), list(METRICS).index("cross_negentropy")
    lines = []
    for group, (_, y) in data.counts.items():
        row, own = values[group][column], estimate(definition[group, "cross_negentropy"])
        unused = int((y == 0).any(axis=1).sum())
        lines.append(
            (group, row.published, format_three_digits(own), highlight_difference(row.display, row), f"{unused}")
        )
    yield "### Cross-negentropy: a rule for zeros\n"
    yield (
        "The definition takes the logarithm of the others' share $q$. Where none of them gave an answer, that is "
        "$-\\infty$, and Dissensus leaves the term out. The published column comes out if the whole sum of an item is "
        "left out as soon as one $q$ is zero, even if nobody in the group gave that answer either. It then counts "
        "$\\ln K$, the maximum. The rule is inferred from the values. It raises most the groups whose others are few "
        "and so leave more answers unused.\n"
    )
    head = ("Group", "Published", "Term left out", "Item left out", "Items with an unused answer")
    yield from table(head, lines, right=range(1, 5))
    yield ""


def _ties(data: Data) -> Iterator[str]:
    definition, column = index_rows(data.by_rule), list(METRICS).index("voting_agreement")
    lines, inside, attained = [], 0, []
    for group, (x, y) in data.counts.items():
        row, drawn = definition[group, "voting_agreement"], ties_at_random(x, y)
        published = TABLE_5[group][column].rstrip("*")
        low, high = np.quantile(drawn, [0.025, 0.975])
        nearest = Row(group, published, float(drawn[np.abs(drawn - float(published)).argmin()]))
        inside += bool(low <= float(published) <= high)
        attained += [group] if nearest.verdict == "reproduced" else []
        spread = f"{format_three_digits(low)} to {format_three_digits(high)}"
        lines.append(
            (
                group,
                published,
                format_three_digits(estimate(row)),
                spread,
                highlight_difference(nearest.display, nearest),
                f"{row.ties}",
            )
        )
    yield "### Voting agreement: ties\n"
    yield (
        "The value rests on how tied votes are broken. Dissensus gives ties to the first answer, No before Unsure "
        "before Yes, and neither this nor another order of the answers gives the published column. Ties are enough to "
        f"explain the differences, though. Broken at random 1,000 times, {inside} of the {len(lines)} published values "
        f"lie within 95 % of what comes out, and {len(attained)} are equal to one of the results.\n"
    )
    head = ("Group", "Published", "First answer", "95 % at random", "Nearest", "Items with a tie")
    yield from table(head, lines, right=range(1, 6))
    yield ""


def _families(ratings: Ratings) -> Iterator[str]:
    printed = [(g, m) for g, cells in TABLE_5.items() for m, cell in zip(METRICS, cells, strict=True) if "**" in cell]
    significant = {
        family: [
            (group, metric)
            for (group, metric), row in index_rows(_by_rule(ratings, family)).items()
            if row.stars == "**" and metric in METRICS
        ]
        for family in get_args(Family)
    }
    alike = [f"`{family}`" for family, cells in significant.items() if cells == printed]
    yield (
        r"The paper does not say over which family it adjusts. What stays significant, \*\*, by "
        f"[family](methods/permutation.md#families); as printed with {' and '.join(alike)}:\n"
    )
    lines = (
        (f"`{f}`", "; ".join(f"{g}, {METRICS[m]}" for g, m in cells) or "nothing") for f, cells in significant.items()
    )
    yield from table(("Family", "Significant after Benjamini–Hochberg"), lines, right=())
    yield ""


_TABLE_5 = (
    "104 raters, 350 items, each group against all others. In each cell published / computed, bold where they differ. "
    "Cross-negentropy follows the rule for zeros below, all else the definitions of Dissensus."
)
_STARS = (
    r"\* is p < .05 before, \*\* after adjustment by Benjamini–Hochberg over the groups and axes of each metric. "
    "GRASP's rule, 1,000 permutations, seed 0. Its size is about twice the nominal one; the two-sided p stands beside."
)
_BESIDE = ("Direction", "p, GRASP's rule", "p, two-sided")


def page(folder: Path) -> str:
    """Return the whole page, from the folder of shared data."""
    data = Data.of(folder)
    values, (by_gender, by_age) = table_5(data), table_2(data.ratings)
    pool_irr = next(row for row in data.by_rule.overall if row.metric == "irr")
    index, marks = Section("DSI", tuple(dsi(data))), Section("Stars", tuple(stars(data)), _STARS, _BESIDE)
    grids = [row for part in (values, by_gender, by_age) for rows in part.values() for row in rows]
    return "\n".join(
        [
            "% Made by `reproduce/grasp.py`; do not edit.\n",
            count_line([*grids, *index.rows, *marks.rows]),
            "The ten values of cross-negentropy are among them by a rule that is not in the definition; see below.\n",
            "### Table 5\n",
            f"{_TABLE_5} IRR of the whole pool is {format_three_digits(estimate(pool_irr))}.\n",
            *grid("Group", tuple(METRICS.values()), values),
            *index.lines(),
            *marks.lines(),
            *_families(data.ratings),
            *_zeros(data, values),
            *_ties(data),
            *("### Table 2\n", "Raters of each race by gender and by age.\n"),
            *grid("Race", ("Woman", "Man"), by_gender),
            *grid("Race", AGES, by_age),
            *notes(row for rows in by_age.values() for row in rows),
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(Path(os.environ["DISSENSUS_DATA"])), encoding="utf-8")
    print(f"Wrote {PAGE}.")
