"""Measure the linear preference model on the real harmless-base test split, and write docs/generated/preference.md.

Run it with `DISSENSUS_DATA=… .venv/bin/python benchmarks/preference.py`; it uses one core. With `--embeddings` it
compares the embedding model with the linear one instead, which needs the extra embeddings, and writes
docs/generated/preference-embeddings.md.
"""

import argparse
import os
import platform
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from dissensus.files.pairs.reader import ReadPairs, read_pairs
from dissensus.preference.data.features import Kind
from dissensus.preference.data.pairs import Pair
from dissensus.preference.evaluation.accuracy import Evaluation, evaluate
from dissensus.preference.evaluation.paired import compare_models
from dissensus.preference.fit.linear import FEATURES
from dissensus.preference.fit.training import TrainingPlan, cross_validate, train
from dissensus.preference.models.encoder import EncodedTexts, Encoder
from dissensus.preference.models.mini_lm import load_minilm
from dissensus.stats.cluster_robust import ClusteredEstimate

GENERATED = Path(__file__).parent.parent / "docs" / "generated"
PAGE, EMBEDDINGS = GENERATED / "preference.md", GENERATED / "preference-embeddings.md"
FOLDS, SEEDS = 5, (0, 1, 2)
MODELS: tuple[tuple[str, tuple[tuple[Kind, ...], ...]], ...] = (
    ("**linear**: features chosen among the three below", FEATURES),
    ("characters and words", (("characters", "words"),)),
    ("characters", (("characters",),)),
    ("words", (("words",),)),
)


def cells(share: ClusteredEstimate) -> str:
    """Return a share with its interval."""
    return f"{share.estimate:.3f} | {share.ci_low:.3f} – {share.ci_high:.3f}"


def evaluate_models(pairs: tuple[Pair, ...]) -> Iterator[tuple[int, str, Evaluation, float]]:
    """Yield the cross-validated evaluation of each model by seed, with its CPU time."""
    for seed in SEEDS:
        for name, features in MODELS:
            start = time.process_time()
            tested = cross_validate(pairs, n_folds=FOLDS, plan=TrainingPlan(features=features), seed=seed)
            seconds = time.process_time() - start
            evaluation = evaluate(pairs, tested.margins, tested.length)
            print(
                seed,
                name,
                evaluation.accuracy,
                f"{evaluation.log_loss:.4f} {evaluation.ece:.4f} {seconds:.1f} s",
                flush=True,
            )
            yield seed, name, evaluation, seconds


def accuracy_rows(evaluations: list[tuple[int, str, Evaluation, float]]) -> Iterator[str]:
    """Yield the rows of the table of models, by seed."""
    for seed, name, evaluation, seconds in evaluations:
        losses = f"{evaluation.log_loss:.4f} | {evaluation.ece:.3f}"
        yield f"| {seed} | {name} | {cells(evaluation.accuracy)} | {losses} | {seconds:.1f} |"
        if name == MODELS[-1][0]:
            yield f"| {seed} | length alone | {cells(evaluation.length_alone)} | {evaluation.length_log_loss:.4f} | | |"


def slice_rows(evaluation: Evaluation) -> Iterator[str]:
    """Yield the rows of the table of slices."""
    for part in evaluation.slices:
        right = f"{part.length_alone.estimate:.3f}"
        yield f"| {part.by} | {part.value} | {part.accuracy.n:,} | {cells(part.accuracy)} | {right} |"


def measure_costs(pairs: tuple[Pair, ...]) -> Iterator[str]:
    """Yield sentences on the time of training and scoring."""
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


class CachingEncoder:
    """Encoder that encodes each text once across folds."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.cache, self.seconds = encoder, dict[str, tuple[np.ndarray, bool]](), 0.0
        self.name, self.dimension, self.sha256 = encoder.name, encoder.dimension, encoder.sha256

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        new_texts = [text for text in texts if text not in self.cache]
        start = time.process_time()
        encoded = self.encoder.encode(new_texts)
        self.seconds += time.process_time() - start
        self.cache |= dict(zip(new_texts, zip(encoded.vectors, encoded.cut.tolist(), strict=True), strict=True))
        vectors, cut = zip(*(self.cache[text] for text in texts), strict=True)
        return EncodedTexts(np.stack(vectors), np.array(cut))


def difference(estimate: ClusteredEstimate, digits: int) -> str:
    """Return a difference with its interval."""
    return f"{estimate.estimate:+.{digits}f} | {estimate.ci_low:+.{digits}f} to {estimate.ci_high:+.{digits}f}"


def embedding_rows(pairs: tuple[Pair, ...], encoder: CachingEncoder) -> Iterator[str]:
    """Yield rows of both models by seed, and of their paired differences."""
    for seed in SEEDS:
        linear = cross_validate(pairs, n_folds=FOLDS, seed=seed)
        plan = TrainingPlan(kind="embedding", encoder=encoder)
        embedding = cross_validate(pairs, n_folds=FOLDS, plan=plan, seed=seed)
        for name, result in (("linear", linear), ("embedding", embedding)):
            evaluation = evaluate(pairs, result.margins, result.length)
            losses = f"{evaluation.log_loss:.4f} | | {evaluation.ece:.3f}"
            yield f"| {seed} | {name} | {cells(evaluation.accuracy)} | {losses} |"
        comparison = compare_models(pairs, embedding.margins, linear.margins)
        context = sum(settings["context"] for settings in embedding.settings)
        name = f"difference, context in {context} of {FOLDS} folds"
        yield f"| {seed} | {name} | {difference(comparison.accuracy, 3)} | {difference(comparison.log_loss, 4)} | |"
        print(seed, comparison, embedding.settings, flush=True)


def embedding_page(read: ReadPairs) -> str:
    """Return the page of the embedding model."""
    encoder = CachingEncoder(load_minilm())
    rows = list(embedding_rows(read.pairs, encoder))
    cut = sum(cut for _, cut in encoder.cache.values())
    n = len(encoder.cache)
    return "\n".join(
        [
            "% Made by `benchmarks/preference.py --embeddings`; do not edit.",
            "",
            f"The same pairs and folds; {encoder.name} reads {n:,} texts, answers and last human turns, in "
            f"{1e3 * encoder.seconds / n:.0f} ms each (CPU time, {platform.machine()}); {cut:,} are longer than it "
            "reads. Differences are of the embedding less the linear model, on the same pairs.",
            "",
            "| Seed | Model | Accuracy | 95 % interval | Log-loss | 95 % interval | ECE |",
            "|--:|---|--:|--:|--:|--:|--:|",
            *rows,
            "",
        ]
    )


def main() -> None:
    """Run the benchmark and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embeddings", action="store_true", help="measure the embedding model instead")
    options = parser.parse_args()
    read = read_pairs(Path(os.environ["DISSENSUS_DATA"]) / "hh-rlhf" / "harmless-base-test.jsonl.gz")
    cross_validate(read.pairs[:100], n_folds=2)  # Compiles kernels
    if options.embeddings:
        EMBEDDINGS.write_text(embedding_page(read), encoding="utf-8")
    else:
        PAGE.write_text(linear_page(read), encoding="utf-8")


def linear_page(read: ReadPairs) -> str:
    """Return the page of the linear model."""
    results = list(evaluate_models(read.pairs))
    first = results[0][2]
    machine = f"Python {platform.python_version()}, NumPy {version('numpy')}, {platform.machine()}"
    return "\n".join(
        [
            "% Made by `benchmarks/preference.py`; do not edit.",
            "",
            f"{len(read.pairs):,} pairs of {first.accuracy.clusters:,} dialogues; " + " ".join(read.notes),
            f"{FOLDS} folds of dialogues, dealt by each of {len(SEEDS)} seeds; seconds are CPU time of all folds "
            f"({machine}).",
            "",
            "| Seed | Model | Accuracy | 95 % interval | Log-loss | ECE | Seconds |",
            "|--:|---|--:|--:|--:|--:|--:|",
            *accuracy_rows(results),
            "",
            *measure_costs(read.pairs),
            "",
            f"The linear model by seed {SEEDS[0]}, on parts of the pairs:",
            "",
            "| By | | Pairs | Accuracy | 95 % interval | Length alone |",
            "|---|---|--:|--:|--:|--:|",
            *slice_rows(first),
            "",
            "Reliability: confidence of the model and its accuracy:",
            "",
            "| Confidence | Pairs | Mean | Accuracy | 95 % interval |",
            "|---|--:|--:|--:|--:|",
            *(
                f"| {b.low:.2f} – {b.high:.2f} | {b.accuracy.n:,} | {b.confidence:.3f} | {cells(b.accuracy)} |"
                for b in first.bins
            ),
            "",
        ]
    )


if __name__ == "__main__":
    main()
