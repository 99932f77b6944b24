"""Evaluate jury models on conversations held out of training, and write their page.

    DISSENSUS_DATA=data .venv/bin/python -m benchmarks.juries

DICES-350 by group, DICES-990 without raters, and simulated ratings of 3,000 texts by groups that take some words
differently.
"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from dissensus.files.ratings.reader import read_ratings
from dissensus.preference.jury.composition import seat_mix
from dissensus.preference.jury.evaluation import RIVALS, JuryEvaluation, evaluate_jury
from dissensus.preference.jury.prediction import predict_opinions
from dissensus.preference.jury.texts import read_rated_texts
from dissensus.preference.jury.training import train_jury
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.cluster_robust import Mean

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "generated" / "juries.md"
N_ITEMS, N_RATERS, N_RATINGS, N_WORDS = 3_000, 200, 10, 150


def simulate_ratings(seed: int = 0) -> Ratings:
    """Draw texts of 12 words with harms that differ for women, and ratings by 10 of 200 raters of each."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, N_WORDS, (N_ITEMS, 12))
    harm, of_women = rng.normal(0, 0.3, N_WORDS), rng.normal(0, 0.2, N_WORDS)
    level, own = harm[words].sum(axis=1), of_women[words].sum(axis=1)
    raters = np.argsort(rng.random((N_ITEMS, N_RATERS)), axis=1)[:, :N_RATINGS].ravel()
    items, woman = np.repeat(np.arange(N_ITEMS), N_RATINGS), raters % 2 == 0
    location = level[items] + np.where(woman, own[items], 0.0) + rng.normal(0, 0.4, N_ITEMS)[items]
    answers = np.digitize(location + rng.normal(0, 0.6, N_RATERS)[raters] + rng.normal(size=len(items)), [0.2, 0.6])
    table = pl.DataFrame(
        {
            "item_id": items.astype(str),
            "rater_id": raters.astype(str),
            "rater_gender": np.where(woman, "Woman", "Man"),
            "Q_overall": np.array(["No", "Unsure", "Yes"])[answers],
        }
    )
    texts = [" ".join(f"w{word}" for word in row) for row in words.tolist()]
    columns = {"item_id": [str(item) for item in range(N_ITEMS)], "response": texts}
    return Ratings.from_frame(table).with_items(pl.DataFrame(columns))


def describe(name: str, evaluation: JuryEvaluation) -> Iterator[str]:
    """Yield the table of an evaluation."""
    yield f"**{name}**: {evaluation.verdict()} {_abstention(evaluation)}"
    yield ""
    rivals = " | ".join(rival.replace("_", "-") for rival in RIVALS)
    yield f"| group | log-loss | {rivals} | ECE | by chance |"
    yield f"|---|---|{'---|' * len(RIVALS)}---|---|"
    for row in evaluation.rows:
        gains = " | ".join(_format(row.gains[rival]) for rival in RIVALS)
        group = "all" if row.group is None else row.group
        errors = f"{row.calibration_error:.3f} | {row.calibration_by_chance:.3f}"
        yield f"| {group} | {row.log_loss:.3f} | {gains} | {errors} |"
    yield ""


def _abstention(evaluation: JuryEvaluation) -> str:
    text = f"It answers {evaluation.n_answered:,} of {evaluation.n_items:,} items"
    if evaluation.loss_answered is None or evaluation.loss_abstained is None:
        return f"{text}."
    return f"{text}, with log-loss {evaluation.loss_answered:.3f} there and {evaluation.loss_abstained:.3f} elsewhere."


def _format(mean: Mean) -> str:
    interval = "" if mean.ci_low is None else f" [{mean.ci_low:.3f}, {mean.ci_high:.3f}]"
    return f"{mean.estimate:.3f}{interval}"


def describe_juries(ratings: Ratings) -> str:
    """Return how often two juries of 12 differ on items that the model was not trained on, and whom they overrule."""
    rng = np.random.default_rng(0)
    training = pl.Series(rng.permutation(ratings.n_items) % 2 == 0)
    model = train_jury(ratings.select_items(training), by=["race"])
    held_out = ratings.select_items(~training)
    item_ids = held_out.items["item_id"].to_list()
    rows = predict_opinions(model, item_ids, read_rated_texts(held_out), jury=seat_mix(model)).rows
    differ = np.mean([row.differ for row in rows if row.differ is not None])
    by_group = {
        group: np.mean([row.overruled for row in rows if row.model == group and row.overruled is not None])
        for group in model.group_names
    }
    most, least = max(by_group, key=lambda name: by_group[name]), min(by_group, key=lambda name: by_group[name])
    return (
        f"Trained on half of the items of DICES-350, two juries of 12 raters are expected to differ on {differ:.0%} of "
        f"the others. The verdict is expected to overrule the majority of {most.partition('=')[2]} most often "
        f"({by_group[most]:.0%} of the items), and that of {least.partition('=')[2]} least ({by_group[least]:.0%})."
    )


def main() -> None:
    """Evaluate, and write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    folder = Path(os.environ["DISSENSUS_DATA"])
    dices = read_ratings(folder / "dices-350/ratings.csv", items=folder / "dices-350/items.csv").exclude_flagged()
    pooled = read_ratings(folder / "dices-990/ratings.csv", items=folder / "dices-990/items.csv", rater=None)
    cases = {
        "DICES-350, 104 raters": (dices, ["race", "gender", "age"]),
        "DICES-990, counts without raters": (pooled, []),
        f"{N_ITEMS:,} simulated texts, {N_RATINGS} of {N_RATERS} raters each": (simulate_ratings(), ["gender"]),
    }
    lines = ["% Made by `benchmarks/juries.py`; do not edit.", "", "Gains in log-loss, in nats a rating, over:", ""]
    for name, (ratings, axes) in cases.items():
        begin = time.process_time()
        evaluation = evaluate_jury(ratings, by=axes)
        lines += describe(name, evaluation)
        print(f"{name}: {time.process_time() - begin:.0f} s of processor time")
    PAGE.write_text("\n".join([*lines, describe_juries(dices), ""]), "utf-8")


if __name__ == "__main__":
    main()
