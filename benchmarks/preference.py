"""Measure the linear preference model on the real harmless-base test split, and write docs/generated/preference.md.

Run it with `DISSENSUS_DATA=… .venv/bin/python benchmarks/preference.py`; it takes no options and uses one core.
"""

import os
import platform
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from dissensus.files.pairs import read_pairs
from dissensus.preference.evaluation import Evaluation, evaluate
from dissensus.preference.features import Kind
from dissensus.preference.fitting import FEATURES
from dissensus.preference.pairs import Pair
from dissensus.preference.training import Plan, cross_validate, train
from dissensus.stats.proportion import Share

PAGE = Path(__file__).parent.parent / "docs" / "generated" / "preference.md"
FOLDS, SEEDS = 5, (0, 1, 2)
MODELS: tuple[tuple[str, tuple[tuple[Kind, ...], ...]], ...] = (
    ("**linear**: features chosen among the three below", FEATURES),
    ("characters and words", (("characters", "words"),)),
    ("characters", (("characters",),)),
    ("words", (("words",),)),
)


def cells(share: Share) -> str:
    """Return a share with its interval."""
    return f"{share.estimate:.3f} | {share.ci_low:.3f} – {share.ci_high:.3f}"


def models(pairs: tuple[Pair, ...]) -> Iterator[tuple[int, str, Evaluation, float]]:
    """Yield for each seed what each model finds in folds of dialogues, and its CPU time."""
    for seed in SEEDS:
        for name, features in MODELS:
            start = time.process_time()
            tested = cross_validate(pairs, n_folds=FOLDS, plan=Plan(features=features), seed=seed)
            seconds = time.process_time() - start
            found = evaluate(pairs, tested.margins, tested.length)
            print(seed, name, found.accuracy, f"{found.log_loss:.4f} {found.ece:.4f} {seconds:.1f} s", flush=True)
            yield seed, name, found, seconds


def accuracies(found: list[tuple[int, str, Evaluation, float]]) -> Iterator[str]:
    """Yield the rows of the table of models, by seed."""
    for seed, name, one, seconds in found:
        yield f"| {seed} | {name} | {cells(one.accuracy)} | {one.log_loss:.4f} | {one.ece:.3f} | {seconds:.1f} |"
        if name == MODELS[-1][0]:
            yield f"| {seed} | length alone | {cells(one.length_alone)} | {one.length_log_loss:.4f} | | |"


def parts(found: Evaluation) -> Iterator[str]:
    """Yield the rows of the table of slices."""
    for one in found.slices:
        right = f"{one.length_alone.estimate:.3f}"
        yield f"| {one.by} | {one.value} | {one.accuracy.n:,} | {cells(one.accuracy)} | {right} |"


def costs(pairs: tuple[Pair, ...]) -> Iterator[str]:
    """Yield what training and scoring take."""
    start = time.process_time()
    model = train(pairs, purpose="harmless")
    yield f"Training on all {len(pairs):,} pairs, with its card: {time.process_time() - start:.1f} s."
    start = time.process_time()
    model.margins(pairs)
    yield f"Scoring all of them: {1e3 * (time.process_time() - start) / len(pairs):.2f} ms a pair;"
    start = time.process_time()
    for pair in pairs[:500]:
        model.margins([pair])
    yield f"one pair at a time: {1e3 * (time.process_time() - start) / 500:.2f} ms."


def main() -> None:
    """Run everything and write the page."""
    read = read_pairs(Path(os.environ["DISSENSUS_DATA"]) / "hh-rlhf" / "harmless-base-test.jsonl.gz")
    cross_validate(read.pairs[:100], n_folds=2)  # compiles
    found = list(models(read.pairs))
    first = found[0][2]
    machine = f"Python {platform.python_version()}, NumPy {version('numpy')}, {platform.machine()}"
    PAGE.write_text(
        "\n".join(
            [
                "% Made by `benchmarks/preference.py`; do not edit.",
                "",
                f"{len(read.pairs):,} pairs of {first.accuracy.clusters:,} dialogues; " + " ".join(read.notes),
                f"{FOLDS} folds of dialogues, dealt by each of {len(SEEDS)} seeds; seconds are CPU time of all folds "
                f"({machine}).",
                "",
                "| Seed | Model | Accuracy | 95 % interval | Log-loss | ECE | Seconds |",
                "|--:|---|--:|--:|--:|--:|--:|",
                *accuracies(found),
                "",
                *costs(read.pairs),
                "",
                f"The linear model by seed {SEEDS[0]}, on parts of the pairs:",
                "",
                "| By | | Pairs | Accuracy | 95 % interval | Length alone |",
                "|---|---|--:|--:|--:|--:|",
                *parts(first),
                "",
                "Reliability, how sure the model is beside how often it is right:",
                "",
                "| Confidence | Pairs | Mean | Accuracy | 95 % interval |",
                "|---|--:|--:|--:|--:|",
                *(
                    f"| {b.low:.2f} – {b.high:.2f} | {b.accuracy.n:,} | {b.confidence:.3f} | {cells(b.accuracy)} |"
                    for b in first.bins
                ),
                "",
            ]
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
