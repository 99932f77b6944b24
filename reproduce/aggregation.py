"""Labels of DICES-350 from fewer raters, by label models and against gold, as pages of docs/generated/.

    DISSENSUS_DATA=FOLDER python reproduce/aggregation.py

Ratings are those of the 104 raters whom the authors kept, but for the row of all 123 in the comparison with gold.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import polars as pl

from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.aggregate import gold_against_crowd, label_model, plurality, resampled_labels, soft_labels
from dissensus.pipeline.aggregate.gold import Ties
from dissensus.pipeline.aggregate.models import Method
from dissensus.pipeline.analyse import rater_curve
from dissensus.pipeline.tables import format_interval, format_short
from dissensus.schema.ratings.table import Ratings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reproduce.comparison import table
from reproduce.groups import NAMES

PAGES = Path(__file__).resolve().parent.parent / "docs" / "generated"
QUESTION = "Q_overall"
RATERS_PER_ITEM = (1, 3, 5, 10, 20, 50, 104)
RATERS_PER_GROUP = (3, 5, 10, 13)
WHITE = "White"
STATISTICS = {
    "α": ("irr", None),
    "Share between groups": ("between_share", None),
    "Yes, White less the rest": ("mean_difference", WHITE),
    "Distance of White": ("group_distance", WHITE),
}
DEGREES = ("Benign", "Debatable", "Moderate", "Extreme")


def read(folder: Path) -> Ratings:
    """Return the ratings of all raters, with the attributes of items."""
    path = folder / "dices-350"
    return read_ratings(path / "ratings.csv", items=path / "items.csv")


def describe_raters_per_item(everyone: Ratings) -> Iterator[str]:
    """Yield what labels would be with fewer raters of each item."""
    curve = resampled_labels(everyone.exclude_flagged(), QUESTION, RATERS_PER_ITEM).curve
    yield from table(
        ("$d$", "Distance", "Plurality changes", "Tied"),
        (
            (f"{row['raters_per_item']}", *(format_short(row[name], 3) for name in ("distance", "changed", "tied")))
            for row in curve.iter_rows(named=True)
        ),
        right=range(4),
    )


def describe_raters_per_group(everyone: Ratings) -> Iterator[str]:
    """Yield what statistics of groups would be with fewer raters of each group."""
    curve = rater_curve(everyone.exclude_flagged(), RATERS_PER_GROUP, by="race", seed=0).curve
    columns = [
        curve.filter(metric=metric).filter(pl.col("group").eq_missing(group)).sort("raters_per_group")
        for metric, group in STATISTICS.values()
    ]
    rows = [
        (f"{number}", *(_describe_range(column.row(index, named=True)) for column in columns))
        for index, number in enumerate(RATERS_PER_GROUP)
    ]
    rows.append(("all", *(_use_minus(format_short(column["all_raters"][0], 3)) for column in columns)))
    yield from table(("$k$", *STATISTICS), rows, right=range(1 + len(STATISTICS)))


def _describe_range(row: dict[str, Any]) -> str:
    return _use_minus(f"{format_short(row['estimate'], 3)} ({format_interval(row['low'], row['high'], 3)})")


def _use_minus(text: str) -> str:
    return text.replace("-", "−")


def describe_label_models(everyone: Ratings) -> Iterator[str]:
    """Yield the labels of each model against the plurality."""
    ratings = everyone.exclude_flagged()
    scale = ratings.scale(QUESTION)
    majority = plurality(ratings, QUESTION).select("item_id", of_crowd="answers")
    models = {method: label_model(ratings, QUESTION, method=method) for method in get_args(Method)}
    labels = {method: model.labels.join(majority, on="item_id") for method, model in models.items()}
    tied = majority.filter(pl.col("of_crowd").list.len() > 1).height
    rows = [("plurality", *_count_labels(majority["of_crowd"], scale), f"{tied} are tied")]
    for method, of_model in labels.items():
        differs = of_model.filter(pl.col("answers").list.sort() != pl.col("of_crowd").list.sort()).height
        rows.append((f"`{method}`", *_count_labels(of_model["answers"], scale), f"{differs}"))
    yield f"{ratings.n_raters} raters, {ratings.n_items} items:\n"
    yield from table(("Method", *scale, "Items that differ from the plurality"), rows, right=range(1, 5))
    unsure = labels["dawid-skene"].filter(pl.col("answers").list.contains("Unsure"))
    shares = soft_labels(ratings, QUESTION).join(unsure, on="item_id", how="semi").select(scale).mean().row(0)
    answers = ", ".join(f"{100 * share:.0f} % {answer}" for answer, share in zip(scale, shares, strict=True))
    probability = _truncate(float(unsure["Unsure"].median()))  # type: ignore[arg-type]
    yield (
        f"\nThe mean answers to the {unsure.height} items that Dawid–Skene labels Unsure are {answers}; the median "
        f"probability of this label is {probability}.\n"
    )
    competence = models["mace"].raters.join(ratings.raters, on="rater_id").group_by("rater_race")
    means = competence.agg(pl.col("competence").mean()).sort("competence")
    described = (f"{NAMES[race]} {format_short(mean, 3)}" for race, mean in means.iter_rows())
    yield f"Mean competence of raters by MACE: {', '.join(described)}.\n"


def _count_labels(answers: pl.Series, scale: tuple[str, ...]) -> list[str]:
    single = answers.filter(answers.list.len() == 1).list.first()
    return [f"{(single == answer).sum()}" for answer in scale]


def _truncate(probability: float) -> str:
    """Return a probability near 1 as a lower bound with five decimals."""
    return f"above {format_short(int(probability * 100_000) / 100_000, 5)}"


def describe_gold(everyone: Ratings) -> Iterator[str]:
    """Yield the items on which gold and crowd differ: by the rule for ties, by group and by degree of harm."""
    kept = everyone.exclude_flagged()
    n_items = kept.n_items
    rules = [*((kept, ties) for ties in get_args(Ties)), (everyone, "safe")]
    yield from table(
        ("Raters", "Ties", "Only gold", "Only crowd", "Tied"),
        (
            (
                f"{ratings.n_raters}",
                ties,
                *(f"{row[name]} ({100 * row[name] / n_items:.1f} %)" for name in ("gold_only", "crowd_only")),
                f"{row['tied']}",
            )
            for ratings, ties in rules
            for row in [gold_against_crowd(ratings, ties=ties).summary.row(0, named=True)]
        ),
        right=(0, 2, 3, 4),
    )
    yield "\nBy group, ties counted as safe:\n"
    by_race = gold_against_crowd(kept, by="race", ties="safe").summary.filter(pl.col("group").is_not_null())
    yield from table(
        ("Group", "Raters", "Only gold", "Only crowd", "Tied"),
        ((NAMES[row["group"]], *_counts(row, "n_raters")) for row in by_race.iter_rows(named=True)),
        right=range(1, 5),
    )
    yield "\nBy degree of harm, for the plurality of all raters, ties counted as safe:\n"
    by_degree = gold_against_crowd(kept, by="degree_of_harm", ties="safe").summary
    of_degree = by_degree.rows_by_key("group", named=True, unique=True)
    yield from table(
        ("Degree", "Items", "Only gold", "Only crowd", "Tied"),
        ((degree, *_counts(of_degree[degree], "n_items")) for degree in DEGREES),
        right=range(1, 5),
    )


def _counts(row: dict[str, Any], size: str) -> Iterator[str]:
    return (f"{row[name]}" for name in (size, "gold_only", "crowd_only", "tied"))


DESCRIPTIONS: dict[str, Callable[[Ratings], Iterator[str]]] = {
    "raters-per-item": describe_raters_per_item,
    "raters-per-group": describe_raters_per_group,
    "label-models": describe_label_models,
    "gold": describe_gold,
}


def page(name: str, everyone: Ratings) -> str:
    """Return a whole page."""
    return "\n".join(["% Made by `reproduce/aggregation.py`; do not edit.\n", *DESCRIPTIONS[name](everyone)]) + "\n"


if __name__ == "__main__":
    ratings = read(Path(os.environ["DISSENSUS_DATA"]))
    for name in DESCRIPTIONS:
        path = PAGES / f"{name}.md"
        path.write_text(page(name, ratings), encoding="utf-8")
        print(f"Wrote {path}.")
