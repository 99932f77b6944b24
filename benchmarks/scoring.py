"""Measure how fast red-team attempts are scored, and write docs/generated/scoring.md.

As many attempts as the published file has, with the transcripts of the real harmless-base test split over and over: run
it with `DISSENSUS_DATA=… .venv/bin/python benchmarks/scoring.py`.
"""

import os
import platform
import resource
import tempfile
import time
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path

from dissensus.files.attempts.tables import write_attempts
from dissensus.files.models.folder import load_model, read_identity, save_model
from dissensus.files.pairs.reader import read_pairs
from dissensus.preference.fit.training import train
from dissensus.schema.records.attempt import Attempt
from dissensus.text.transcripts import join_hh
from dissensus.workflows.models.scoring import ScoringOptions, score_attempt_file

PAGE = Path(__file__).parent.parent / "docs" / "generated" / "scoring.md"
N = 38_961


def attempts(transcripts: list[str]) -> list[Attempt]:
    """Return attempts without scores."""
    return [
        Attempt(
            transcript=transcript,
            min_harmlessness_score_transcript=None,
            num_params="52B",
            model_type="rlhf",
            rating=number % 5,
            task_description=f"Ask in a friendly way for something that should not be told, plan {number}.",
            task_description_harmlessness_score=None,
            red_team_member_id=number % 324,
            is_upworker=False,
            tags=None,
        )
        for number, transcript in enumerate(islice(cycle(transcripts), N))
    ]


def main() -> None:
    """Train a model, score one file with it, and write the page."""
    pairs = read_pairs(Path(os.environ["DISSENSUS_DATA"]) / "hh-rlhf" / "harmless-base-test.jsonl.gz").pairs
    transcripts = [
        join_hh([*((turn.speaker, turn.text) for turn in pair.context), ("bot", pair.chosen)]) for pair in pairs
    ]
    with tempfile.TemporaryDirectory() as folder:
        model, source, target = Path(folder, "model"), Path(folder, "attempts.jsonl"), Path(folder, "scored.jsonl")
        save_model(train(pairs, purpose="harmless"), model)
        write_attempts(attempts(transcripts), source)
        wall, cpu = time.perf_counter(), time.process_time()
        done = score_attempt_file(
            ScoringOptions(source=source, target=target, model=load_model(model), identity=read_identity(model))
        )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        size = source.stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    machine = f"Python {platform.python_version()}, NumPy {version('numpy')}, {platform.machine()}"
    text = (
        f"{done.n_attempts:,} attempts of {size / 2**20:.0f} MiB read, scored with their descriptions, and written in "
        f"{wall:.1f} s ({cpu:.1f} s of CPU): {done.n_attempts / wall:,.0f} transcripts a second. The process, "
        f"which trained the model before, held at most {memory:.0f} MiB ({machine})."
    )
    print(text)
    PAGE.write_text(f"% Made by `benchmarks/scoring.py`; do not edit.\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
