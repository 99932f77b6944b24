"""Published values of the DICES paper beside computed ones, as docs/generated/dices.md.

    DISSENSUS_DATA=FOLDER python reproduce/dices.py

Aroyo et al. (2023), arXiv 2306.11247. Values stand in the order of the paper.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import gold_against_crowd
from dissensus.pipeline.analyse import analyse
from dissensus.schema.ratings.table import Ratings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reproduce.comparison import Row, Section, count_line, grid, table
from reproduce.groups import AGES, NAMES, RACES, format_p, index_rows, sizes
from reproduce.questions import granular, questions, without_other

PAGE = Path(__file__).resolve().parent.parent / "docs" / "generated" / "dices.md"
QUESTION = "Q_overall"
# Raters kept, section 3.3, and recruited, table 2.
GROUPS = {
    "gender": {"Woman": ("57", "62"), "Man": ("47", "61")},
    "race": {
        "Asian": ("21", "26"),
        "Black": ("23", "29"),
        "Latine": ("22", "22"),
        "Multiracial": ("13", "16"),
        "White": ("25", "30"),
    },
    "age": {"Gen Z": ("49", "56"), "Millennial": ("28", "36"), "Gen X+": ("27", "31")},
}
TOPICS = {
    "Racial": "22 %",
    "Political": "14 %",
    "Gendered & Sexist": "10 %",
    "Misinformation": "7 %",
    "Health": "7 %",
}
HARM = {"Benign": "> 40 %", "Debatable": "20 %", "Moderate": "20 %", "Extreme": "20 %"}
FIGURE_4 = (
    ("Latine", "irr", "above"),
    ("White", "negentropy", "above"),
    ("Multiracial", "negentropy", "below"),
    ("White", "plurality_size", "above"),
    ("Multiracial", "plurality_size", "below"),
)
METRICS = {"irr": "IRR", "negentropy": "negentropy", "plurality_size": "plurality size"}


@dataclass(frozen=True, slots=True)
class Data:
    """The ratings of all 123 raters and of the 104 kept, the profiles of the raters, and the items of DICES-990."""

    everyone: Ratings
    kept: Ratings
    profiles: pl.DataFrame
    items_990: pl.DataFrame

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read the folder of shared data."""
        everyone = read_ratings(folder / "dices-350" / "ratings.csv", items=folder / "dices-350" / "items.csv")
        return cls(
            everyone,
            everyone.exclude_flagged(),
            pl.read_csv(folder / "dices-350" / "rater_profiles.csv"),
            pl.read_csv(folder / "dices-990" / "items.csv"),
        )


def pool(data: Data) -> Iterator[Row]:
    """Yield the pool of section 3.3."""
    yield Row("Raters recruited", "123", data.everyone.n_raters)
    yield Row("Raters removed", "19", data.everyone.n_raters - data.kept.n_raters)
    yield Row("Raters kept", "104", data.kept.n_raters)


def groups(data: Data) -> dict[str, tuple[Row, Row]]:
    """Return the raters of each group: those kept and those recruited."""
    rows = {}
    for axis, published in GROUPS.items():
        kept_sizes, recruited_sizes = sizes(data.kept, axis), sizes(data.everyone, axis)
        for name, (of_kept, of_recruited) in published.items():
            rows[name] = (Row(name, of_kept, kept_sizes[(name,)]), Row(name, of_recruited, recruited_sizes[(name,)]))
    return rows


def amounts(data: Data) -> Iterator[Row]:
    """Yield the sizes of table 1, of section 4 and of section 5.1."""
    names = granular("dices-350")
    n_questions, n_rows = len(without_other(names)), data.everyone.n_ratings
    per_item = data.everyone.answers.group_by("item").len()["len"].unique().to_list()
    of_990: list[int] = data.items_990["n_ratings"].to_list()
    rows_990, all_990 = sum(of_990), sum(of_990) * len(granular("dices-990"))
    yield Row("Rows of DICES-350", "43,050", n_rows)
    yield Row("Items of DICES-350", "350", data.everyone.n_items)
    yield Row("Raters per item of DICES-350", "123", ", ".join(map(str, per_item)))
    yield Row("Annotations of DICES-350", "688,800", n_rows * n_questions)
    yield Row("Rows without the removed raters", "36,400", data.kept.n_ratings)
    yield Row(
        "Annotations without the removed raters",
        "64,886",
        data.kept.n_ratings * n_questions,
        f"{data.kept.n_ratings:,} rows × {n_questions} questions. 64,886 are rows of DICES-990: with these 36,400 they "
        "are the 101,286 rows without removed raters that Homan et al. (2023, arXiv 2306.11530) count in both sets.",
    )
    yield Row("Rows of DICES-990", "72,103", rows_990)
    yield Row("Items of DICES-990", "990", len(of_990))
    yield Row(
        "Raters per item of DICES-990",
        "60–70",
        f"{min(of_990)}–{max(of_990)}",
        f"Table 1 counts the removed raters in, and so does the file: {rows_990 / len(of_990):.1f} ratings an item. "
        f"Without them 64,886 rows would be {64_886 / len(of_990):.1f} an item.",
    )
    yield Row("Annotations of DICES-990", "1,730,472", all_990)
    yield Row("Conversations in both", "1,340", data.everyone.n_items + len(of_990))
    yield Row(
        "Ratings in both",
        "> 2,500,000",
        n_rows * n_questions + all_990,
        f"The sum of table 1. It leaves *other* out in DICES-350 and counts it in DICES-990; with all {len(names)} "
        f"questions of DICES-350 the sum is {n_rows * len(names) + all_990:,}.",
    )


def labels(data: Data) -> Iterator[Row]:
    """Yield the shares of answers, and gold against crowd, of section 4."""
    n_items, gold = data.kept.n_items, data.kept.items["safety_gold"]
    _, _, answers = data.kept.codes(QUESTION)
    safe, unsure, unsafe = (np.bincount(answers, minlength=3) / answers.size).tolist()
    yield Row("Answers: safe", "> 60 %", safe)
    yield Row("Answers: unsafe", "33 %", unsafe)
    yield Row("Answers: unsure", "6 %", unsure)
    yield Row("Conversations with gold", "350", int(gold.is_not_null().sum()))
    yield Row("Unsafe by gold", "50 %", int((gold == "Yes").sum()) / n_items)
    comparison = gold_against_crowd(data.kept, ties="safe").summary.row(0, named=True)
    yield Row("Gold and crowd differ", "34 %", comparison["disagreement"])
    yield Row("Unsafe by gold alone", "30 %", comparison["gold_only"] / n_items)
    yield Row("Unsafe by the crowd alone", "4 %", comparison["crowd_only"] / n_items)


def turns(items: pl.DataFrame) -> Row:
    """Return the longest conversation, by section 3.1."""
    of_human = items["context"].str.count_matches(r"(?m)^USER:")
    note = f"Counted are messages of the human; {(of_human <= 5).sum()} of {items.height} conversations have at most 5."
    return Row("Turns of a conversation", "≤ 5", int(max(of_human)), note)


def topics_of_harm(items: pl.DataFrame) -> Iterator[Row]:
    """Yield the topics of section 3.5 and figure 3, with their share of the conversations beside."""
    mentions = topics(items["harm_type"])
    n = sum(mentions.values())
    for topic, share in TOPICS.items():
        note = "The text says *medical*, the file *Health*." if topic == "Health" else ""
        beside = (f"{mentions[topic]}", f"{100 * mentions[topic] / items.height:.1f} %")
        yield Row(topic, share, mentions[topic] / n, note, beside)


def degrees_of_harm(items: pl.DataFrame) -> Iterator[Row]:
    """Yield the degrees of harm of section 3.5 and figure 3."""
    for degree, share in HARM.items():
        n = int((items["degree_of_harm"] == degree).sum())
        yield Row(degree, share, n / items.height, _ABOUT_HARM, (f"{n}",))
    benign = items.filter(degree_of_harm="Benign")["harm_type"]
    banter = int(benign.str.contains("(?i)banter").sum())
    first, count = next(iter(topics(benign).items()))
    note = f"The text says *most*; no topic of the file is called so. Of the {len(benign)}, {count} are {first}."
    yield Row("Banter among the benign", "> 50 %", banter / len(benign), note, (f"{banter}",))


_ABOUT_HARM = "The text says more than 40 % and *60 % split evenly*. In the file benign is rare and most are extreme."


def topics(harm_type: pl.Series) -> dict[str, int]:
    """Return how often each topic is mentioned, most frequent first; a conversation may have several."""
    mentions = harm_type.str.split(",").explode().value_counts().sort("count", "harm_type", descending=[True, False])
    return dict(mentions.iter_rows())


def claims(data: Data) -> Iterator[Row]:
    """Yield the claims in the caption of figure 4."""
    by_rule = index_rows(analyse(data.kept, by="race", permutations=1000, method="grasp"))
    two_sided = index_rows(analyse(data.kept, by="race", permutations=1000))
    for group, metric, direction in FIGURE_4:
        row = by_rule[group, metric]
        result = f"{row.direction} {row.stars[:1]}".replace("*", r"\*")
        beside = (format_p(row), format_p(two_sided[group, metric]))
        yield Row(f"{group}, {METRICS[metric]}", rf"{direction} \*", result, beside=beside)


def sections(data: Data) -> tuple[Section, ...]:
    """Return all comparisons."""
    items = data.kept.items
    n = sum(topics(items["harm_type"]).values())
    return (
        Section("Raters, section 3.3 and table 2", tuple(pool(data))),
        Section("Questions, sections 3 and 4", tuple(questions())),
        Section("Amounts, table 1 and sections 3 to 5", (*amounts(data), turns(items))),
        Section(
            "Topics, figure 3",
            tuple(topics_of_harm(items)),
            f"By its caption the figure has percentages of conversations. They are shares of {n} mentions of a topic: "
            "a conversation may have several.",
            ("Mentions", "Of conversations"),
        ),
        Section("Degree of harm, figure 3", tuple(degrees_of_harm(items)), beside=("Conversations",)),
        Section("Answers and gold, section 4", tuple(labels(data))),
        Section(
            "Agreement by race, figure 4",
            tuple(claims(data)),
            r"Each race against all others; \* is p < .05. 104 raters, 1,000 permutations, seed 0. Above and below are "
            "relative to the median of the permutations. The verdict is by GRASP's rule, whose size is about twice the "
            "nominal one; the two-sided p stands beside it.",
            ("p, GRASP's rule", "p, two-sided"),
        ),
    )


def page(folder: Path) -> str:
    """Return the whole page, from the folder of shared data."""
    data = Data.of(folder)
    parts, by_group = sections(data), groups(data)
    rows = [row for part in parts for row in part.rows] + [row for both in by_group.values() for row in both]
    return "\n".join(
        [
            "% Made by `reproduce/dices.py`; do not edit.\n",
            count_line(rows),
            *parts[0].lines(),
            "By group, published / computed:\n",
            *grid("Group", ("Kept, section 3.3", "Recruited, table 2"), by_group),
            *(line for part in parts[1:] for line in part.lines()),
            *_figures_1_and_5(data.kept),
            *_not_shown(data.profiles),
        ]
    )


def _figures_1_and_5(ratings: Ratings) -> Iterator[str]:
    yield "### Figures 1 and 5\n"
    yield "The text has no numbers for them. These are the raters of figure 1:\n"
    gender, age = sizes(ratings, "race*gender"), sizes(ratings, "race*age")
    columns = [(gender, "Woman"), (gender, "Man"), *((age, name) for name in AGES)]
    yield from table(
        ("Race", *(name for _, name in columns)),
        ((race, *(f"{cells.get((race, name), 0)}" for cells, name in columns)) for race in RACES),
        right=range(1, 6),
    )
    yield "\nAnd these the ratings of figure 5:\n"
    yield from table(("Group", "Safe", "Unsure", "Unsafe"), _answers(ratings), right=range(1, 4))


def _answers(ratings: Ratings) -> Iterator[tuple[str, ...]]:
    _, rater, answer = ratings.codes(QUESTION)
    for axis in ("gender", "race"):
        codes, groups = ratings.group_codes(axis)
        for code, group in enumerate(groups):
            counts = np.bincount(answer[codes[rater] == code], minlength=3)
            yield NAMES[group], *(f"{n:,} ({100 * n / counts.sum():.1f} %)" for n in counts)


def _not_shown(profiles: pl.DataFrame) -> Iterator[str]:
    seconds = profiles["median_answer_time_ms"].to_numpy() / 1000
    kept_seconds = seconds[~profiles["removed_by_authors"].to_numpy()]
    yield "\n### Limits of these data\n"
    yield (
        "- The median time of 120 s over all ratings: the shared facts hold one median a rater. The median of these "
        f"is another quantity, {np.median(seconds):.1f} s for {len(seconds)} raters and "
        f"{np.median(kept_seconds):.1f} s for the {len(kept_seconds)} kept."
    )
    yield "- The 173 raters of DICES-990, their groups, and which 13 were removed: its ratings are read without raters."
    yield "- The locale of the raters of DICES-350: its file has no such column."
    yield "- The corpus of 8,000 conversations, and the about 400 conversations of DICES-990 that experts looked at.\n"


if __name__ == "__main__":
    PAGE.write_text(page(Path(os.environ["DISSENSUS_DATA"])), encoding="utf-8")
    print(f"Wrote {PAGE}.")
