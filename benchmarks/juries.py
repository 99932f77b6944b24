"""Evaluate jury models on conversations held out of training, and write the parts of their page.

    DISSENSUS_DATA=data .venv/bin/python -m benchmarks.juries [juries] [jury-coverage] …

DICES-350 by group, DICES-990 without raters, and simulated ratings of 3,000 texts by groups that take words
differently; coverage of intervals; pairs of hh-rlhf without raters; simulated ratings and choices together, and
DICES-350 with those pairs.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from benchmarks.joint_juries import describe_joint
from scipy.special import ndtr

from dissensus.files.pairs.votes import read_pair_files
from dissensus.files.ratings.reader import read_ratings
from dissensus.preference.jury.composition import seat_mix
from dissensus.preference.jury.evaluation import JuryEvaluation, evaluate_jury
from dissensus.preference.jury.pair_evaluation import evaluate_pair_jury
from dissensus.preference.jury.prediction import predict_opinions
from dissensus.preference.jury.texts import read_rated_texts
from dissensus.preference.jury.training import train_jury
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.cluster_robust import Mean
from dissensus.stats.jury.model import TextAnswers, fit_text_model

GENERATED: Final = Path(__file__).resolve().parent.parent / "docs" / "generated"
SIMULATIONS: Final = ((120, 30, 10, 4, 25), (300, 60, 20, 40, 8))
N_UNSEEN: Final = 60
N_ITEMS, N_RATERS, N_RATINGS, N_WORDS = 3_000, 200, 10, 150


def simulate_ratings(n_items: int = N_ITEMS, seed: int = 0) -> Ratings:
    """Draw texts of 12 words with harms that differ for women, and ratings by 10 of 200 raters of each."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, N_WORDS, (n_items, 12))
    harm, of_women = rng.normal(0, 0.3, N_WORDS), rng.normal(0, 0.2, N_WORDS)
    level, own = harm[words].sum(axis=1), of_women[words].sum(axis=1)
    raters = np.argsort(rng.random((n_items, N_RATERS)), axis=1)[:, :N_RATINGS].ravel()
    items, woman = np.repeat(np.arange(n_items), N_RATINGS), raters % 2 == 0
    location = level[items] + np.where(woman, own[items], 0.0) + rng.normal(0, 0.4, n_items)[items]
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
    columns = {"item_id": [str(item) for item in range(n_items)], "response": texts}
    return Ratings.from_frame(table).with_items(pl.DataFrame(columns))


def describe(name: str, evaluation: JuryEvaluation) -> Iterator[str]:
    """Yield the table of an evaluation."""
    yield f"**{name}**: {evaluation.verdict()} {_abstention(evaluation)}"
    yield ""
    rivals = " | ".join(rival.replace("_", "-") for rival in evaluation.rivals)
    yield f"| group | log-loss | {rivals} | ECE | by chance |"
    yield f"|---|---|{'---|' * len(evaluation.rivals)}---|---|"
    for row in evaluation.rows:
        gains = " | ".join(_format(row.gains[rival]) for rival in evaluation.rivals)
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


def describe_juries(ratings: Ratings, name: str = "DICES-350", axis: str = "race") -> str:
    """Return how often two juries of 12 differ on items that the model was not trained on, and whom they overrule."""
    rng = np.random.default_rng(0)
    training = pl.Series(rng.permutation(ratings.n_items) % 2 == 0)
    model = train_jury(ratings.select_items(training), by=[axis])
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
        f"Trained on half of the items of {name}, two juries of 12 raters are expected to differ on {differ:.0%} of "
        f"the others. The verdict is expected to overrule the majority of {most.partition('=')[2]} most often "
        f"({by_group[most]:.0%} of the items), and that of {least.partition('=')[2]} least ({by_group[least]:.0%})."
    )


def simulate_coverage(n_items: int, n_raters: int, n_ratings: int, n_features: int, n_simulations: int) -> str:
    """Return how often 95 % intervals cover the share of a group of unseen texts, in data of the model itself."""
    coverage = []
    for seed in range(n_simulations):
        rng = np.random.default_rng(seed)
        n = n_items + N_UNSEEN
        features = rng.normal(size=(n, n_features)) * np.sqrt(4 / n_features)
        shared = features @ rng.normal(0, 0.4, n_features) + rng.normal(0, 0.5, n)
        own = features @ rng.normal(0, 0.25, (n_features, 2)) + rng.normal(0, 0.3, (n, 2)) + [0.2, -0.2]
        locations = shared[:, None] + own
        group, of_raters = np.arange(n_raters) % 2, rng.normal(0, 0.6, n_raters)
        raters = np.argsort(rng.random((n_items, n_raters)), axis=1)[:, :n_ratings].ravel()
        items = np.repeat(np.arange(n_items), n_ratings)
        latent = locations[items, group[raters]] + of_raters[raters] + rng.normal(size=len(items))
        model = fit_text_model(
            TextAnswers(
                answers=(latent > 0.5).astype(np.int64),
                n_answers=2,
                items=items,
                raters=raters,
                features=features[:n_items],
                blocks=np.zeros(n_features, np.int64),
                groups=group[None],
                n_groups=(2,),
            )
        )
        draws = model.locate(features[n_items:]).draw(np.eye(2, dtype=bool), 500, rng)[..., 1]
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        shares = ndtr((locations[n_items:] - 0.5) / np.hypot(1, 0.6))
        coverage.append(float(((low <= shares) & (shares <= high)).mean()))
    return (
        f"{np.mean(coverage):.1%} with {n_items} items, {n_ratings} of {n_raters} raters each and {n_features} "
        f"features ({min(coverage):.0%} to {max(coverage):.0%} in each of {n_simulations} simulations)"
    )


def describe_coverage(simulations: Sequence[tuple[int, int, int, int, int]] = SIMULATIONS) -> str:
    """Return the coverage of intervals in small and in larger data."""
    parts = [simulate_coverage(*sizes) for sizes in simulations]
    return (
        "In data of the model itself, with two answers and two groups, 95% intervals cover a group's share of unseen "
        f"texts in {'; '.join(parts)}."
    )


def evaluate_ratings() -> Iterator[str]:
    """Yield the tables of jury models of ratings, and how often juries differ."""
    folder = Path(os.environ["DISSENSUS_DATA"])
    dices = read_ratings(folder / "dices-350/ratings.csv", items=folder / "dices-350/items.csv").exclude_flagged()
    pooled = read_ratings(folder / "dices-990/ratings.csv", items=folder / "dices-990/items.csv", rater=None)
    cases = {
        "DICES-350, 104 raters": (dices, ["race", "gender", "age"]),
        "DICES-990, counts without raters": (pooled, []),
        f"{N_ITEMS:,} simulated texts, {N_RATINGS} of {N_RATERS} raters each": (simulate_ratings(), ["gender"]),
    }
    yield "Gains in log-loss, in nats a rating, over:"
    yield ""
    for name, (ratings, axes) in cases.items():
        yield from describe(name, evaluate_jury(ratings, by=axes))
    yield describe_juries(dices)


def evaluate_pairs() -> Iterator[str]:
    """Yield the table of a jury model of preferences."""
    path = Path(os.environ["DISSENSUS_DATA"]) / "hh-rlhf/harmless-base-test.jsonl.gz"
    pairs = read_pair_files([path], purpose="harmless").pairs
    yield from describe("hh-rlhf, harmless, test split, without raters", evaluate_pair_jury(pairs))


def evaluate_joint() -> Iterator[str]:
    """Yield the table of a jury model of ratings and of the preferences of other people about other conversations."""
    folder = Path(os.environ["DISSENSUS_DATA"])
    dices = read_ratings(folder / "dices-350/ratings.csv", items=folder / "dices-350/items.csv").exclude_flagged()
    pairs = read_pair_files([folder / "hh-rlhf/harmless-base-test.jsonl.gz"], purpose="harmless").pairs
    yield from describe("DICES-350 with pairs of hh-rlhf, harmless, test split", evaluate_jury(dices, pairs))


PARTS: Final[Mapping[str, Callable[[], Iterable[str]]]] = {
    "juries": evaluate_ratings,
    "jury-coverage": lambda: [describe_coverage()],
    "jury-pairs": evaluate_pairs,
    "jury-joint": describe_joint,
    "jury-joint-dices": evaluate_joint,
}
"""Names of files in docs/generated, with the functions that yield their lines."""


def main() -> None:
    """Evaluate, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="files to write; by default all")
    for name in parser.parse_args().parts or PARTS:
        begin = time.process_time()
        lines = ["% Made by `benchmarks/juries.py`; do not edit.", "", *PARTS[name]()]
        (GENERATED / f"{name}.md").write_text("\n".join(lines).rstrip() + "\n", "utf-8")
        print(f"{name}: {time.process_time() - begin:.0f} s of processor time")


if __name__ == "__main__":
    main()
