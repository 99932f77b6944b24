"""Reports of attempts for tests."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dissensus.pipeline.analyse.attempts import analyse_attempts, attempt_map
from dissensus.pipeline.simulate import simulate_attempts
from dissensus.report.attempts import attempts_report
from dissensus.report.result import Document
from dissensus.schema.records.attempt import Attempt, Review


def draw_attempts(n: int = 900, *, seed: int = 2) -> list[Attempt]:
    """Simulate attempts of sixty equally busy red-teamers."""
    attempts = simulate_attempts(n, seed=seed)
    return [replace(attempt, red_team_member_id=number % 60) for number, attempt in enumerate(attempts)]


def draw_reviews(attempts: Sequence[Attempt], n: int = 200) -> list[Review]:
    """Simulate three reviews of each of the first `n` attempts."""
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
    """Return a report of attempts with the given types, sizes, tags and texts."""
    n = len(names)
    attempts = [
        replace(
            attempt,
            model_type=names[number % n].strip() or "x",
            num_params=("52B", names[0])[number % 2],
            tags=(names[(number + 1) % n],) if number % 2 else None,
            task_description=f"{names[number % n]} {attempt.task_description}",
        )
        for number, attempt in enumerate(draw_attempts())
    ]
    analysis = analyse_attempts(attempts, reviews=draw_reviews(attempts), bootstrap=30)
    layout = attempt_map(attempts, regions=6, bootstrap=30)
    return attempts_report(attempts, analysis, layout, text=True, title=names[0], command="dissensus report a.jsonl")
