"""Reports of attempts for tests."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dissensus.pipeline.analyse.attempts import analyse_attempts, attempt_map
from dissensus.pipeline.simulate import simulate_attempts
from dissensus.report.attempts import attempts_report
from dissensus.report.result import Document
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.review import Review


def drawn(n: int = 900, *, seed: int = 2) -> list[Attempt]:
    """Attempts of sixty red-teamers who are about as busy."""
    attempts = simulate_attempts(n, seed=seed)
    return [replace(attempt, red_team_member_id=number % 60) for number, attempt in enumerate(attempts)]


def reviewed(attempts: Sequence[Attempt], n: int = 200) -> list[Review]:
    """Three reviews of each of the first few attempts."""
    rng = np.random.default_rng(0)
    return [
        Review(
            attempt_id=str(number + 1),
            reviewer_id=f"reviewer {person}",
            success=int(np.clip((attempt.rating or 0) + rng.integers(-1, 2), 0, 4)),
        )
        for number, attempt in enumerate(attempts[:n])
        for person in range(3)
    ]


def attempts_with(names: Sequence[str]) -> Document:
    """Return a report of attempts whose types, sizes, tags and texts are these."""
    n = len(names)
    attempts = [
        replace(
            attempt,
            model_type=names[number % n].strip() or "x",
            num_params=("52B", names[0])[number % 2],
            tags=(names[(number + 1) % n],) if number % 2 else None,
            task_description=f"{names[number % n]} {attempt.task_description}",
        )
        for number, attempt in enumerate(drawn())
    ]
    found = analyse_attempts(attempts, reviews=reviewed(attempts), bootstrap=30)
    laid_out = attempt_map(attempts, regions=6, bootstrap=30)
    return attempts_report(attempts, found, laid_out, text=True, title=names[0], command="dissensus report a.jsonl")
