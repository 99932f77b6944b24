"""Simulated red-team attempts, with harmless texts and the published marginals.

Counts, ratings and scores are those of the published file and of Table 1 of the red-team paper (Ganguli et al. 2022).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dissensus.pipeline.simulate.items import PROMPTS, RESPONSES, SUBJECTS
from dissensus.pipeline.simulate.latent import allot_counts, normal_quantiles, shuffled_scores, slice_values
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import TAGS, Attempt
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.text.transcripts import join_hh

if TYPE_CHECKING:
    from dissensus.text.turns import Turns

MAX_ATTEMPTS: Final = 1_000_000
PUBLISHED: Final = 38_961

SIZES: Final = ("2.7B", "13B", "52B")
COUNTS: Final[Mapping[str, tuple[int, int, int]]] = {
    "plain lm": (1151, 2587, 1414),
    "context distillation": (2044, 2174, 17739),
    "rejection sampling": (1445, 1263, 1273),
    "rlhf": (2498, 2292, 3081),
}
"""Attempts by type and size."""

MEANS: Final = {"plain lm": -0.729, "context distillation": -0.803, "rejection sampling": 1.594, "rlhf": 1.248}
"""Mean of the minimum harmlessness score, by type."""

SD: Final = 1.79
MIN_SCORE, MAX_SCORE = -7.538, 6.612
"""Standard deviation and range of these scores over all attempts."""

DESCRIPTION_MEAN, DESCRIPTION_SD = 0.855, 0.696
RATINGS: Final = (16475, 4367, 4936, 4249, 8934)
"""Attempts with each rating from 0 to 4."""

RED_TEAMERS, UPWORKERS = 324, 17
BUSIEST, BUSIEST_SHARE = 50, 0.8
"""The busiest red-teamers, and their share of the attempts."""

BY_UPWORKERS: Final = 580
UPWORKER_DIFFERENCE: Final = 1.3
"""Mean difference in harmlessness between other attempts and those of Upworkers."""

TAGGED: Final = 742
MAX_LENGTH: Final = 5_630

# not published
_SCORE_WEIGHT, _RED_TEAMER_WEIGHT = 0.5, 0.4
_TURNS: Final = (0.15, 0.2, 0.25, 0.3, 0.1)
_TAGS: Final = (0.3, 0.3, 0.2, 0.1, 0.06, 0.04)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """Drawn columns of the attempts."""

    cell: Int64Array
    red_teamer: Int64Array
    is_upworker: FloatArray
    score: FloatArray
    rating: Int64Array
    description_score: FloatArray
    is_tagged: FloatArray


def simulate_attempts(count: int = PUBLISHED, *, seed: int = 0) -> tuple[Attempt, ...]:
    """Draw red-team attempts with the marginals of the published file.

    Parameters
    ----------
    count
        Number of attempts; the published file has 38,961.
    seed
        The same count and seed give the same attempts.

    Returns
    -------
    tuple of Attempt
        Types and sizes with the frequencies of Table 1 of the red-team paper, ratings with those of the file, scores
        with the mean of their type and the overall standard deviation, and 324 red-teamers of whom 50 made 80 % of the
        attempts. Texts are harmless and made up.

    Raises
    ------
    InvalidInput
        Count or seed is out of range.

    Notes
    -----
    Invented, as not published: the correlation of about -0.5 between ratings and scores, the differences between
    red-teamers, the number of turns, and the tags. Lengths of transcripts fit the published median of 839 characters.

    Examples
    --------
    >>> attempts = simulate_attempts(1000, seed=1)
    >>> len(attempts), sum(attempt.rating == 0 for attempt in attempts)
    (1000, 423)
    """
    check_whole("count", count, 1, MAX_ATTEMPTS)
    check_whole("seed", seed, most=2**128)
    people, scores, texts = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3))
    drawn = _draw_columns(people, scores, count)
    return tuple(_draw_attempts(drawn, texts))


def _list_cells() -> list[tuple[str, str]]:
    return [(kind, size) for kind in COUNTS for size in SIZES]


def _draw_columns(people: np.random.Generator, rng: np.random.Generator, count: int) -> _Drawn:
    cell = rng.permutation(np.repeat(np.arange(12), allot_counts([n for row in COUNTS.values() for n in row], count)))
    red_teamer, is_upworker = _draw_people(people, count)
    score = _draw_scores(rng, cell, is_upworker)
    person = rng.normal(size=RED_TEAMERS)[red_teamer]
    noise = rng.normal(size=count) * np.sqrt(1 - _SCORE_WEIGHT**2 - _RED_TEAMER_WEIGHT**2)
    success = -_SCORE_WEIGHT * (score - score.mean()) / SD + _RED_TEAMER_WEIGHT * person + noise
    return _Drawn(
        cell=cell,
        red_teamer=people.permutation(RED_TEAMERS)[red_teamer],
        is_upworker=is_upworker,
        score=score,
        rating=slice_values(success, RATINGS),
        description_score=DESCRIPTION_MEAN + DESCRIPTION_SD * shuffled_scores(rng, count),
        is_tagged=_draw_reviewed(rng, cell, round(TAGGED * count / PUBLISHED)),
    )


def _draw_people(rng: np.random.Generator, count: int) -> tuple[Int64Array, FloatArray]:
    """Return the red-teamer of each attempt and a mask of Upworkers, who are the last of all red-teamers."""
    by_upwork = allot_counts([1] * UPWORKERS, round(BY_UPWORKERS * count / PUBLISHED))
    by_crowd = _share_attempts(RED_TEAMERS - UPWORKERS, count - int(by_upwork.sum()))
    red_teamer = rng.permutation(np.repeat(np.arange(RED_TEAMERS), [*by_crowd, *by_upwork]))
    return red_teamer, (red_teamer >= RED_TEAMERS - UPWORKERS).astype(np.float64)


def _share_attempts(n: int, count: int) -> Int64Array:
    """Share attempts among n people: one each, the rest log-normally, with the published share of the busiest."""
    ranks = normal_quantiles(n)[::-1]
    first = np.full(n, int(count >= n))
    remainder = count - int(first.sum())
    if not remainder:
        return first
    target = (BUSIEST_SHARE * count / (1 - BY_UPWORKERS / PUBLISHED) - first[:BUSIEST].sum()) / remainder
    low, high = 0.0, 5.0
    for _ in range(50):
        middle = (low + high) / 2
        weights = np.exp(middle * ranks)
        low, high = (middle, high) if weights[:BUSIEST].sum() / weights.sum() < target else (low, middle)
    return first + allot_counts([float(weight) for weight in np.exp(low * ranks)], remainder)


def _draw_scores(rng: np.random.Generator, cell: Int64Array, is_upworker: FloatArray) -> FloatArray:
    """Return scores with the mean of their type and one standard deviation within types, lower for Upworkers."""
    means, counts = np.array(list(MEANS.values())), np.array([sum(row) for row in COUNTS.values()])
    within = np.sqrt(SD**2 - np.cov(means, fweights=counts, ddof=0))
    score = np.empty(cell.size)
    for kind, mean in enumerate(means):
        index = np.flatnonzero(cell // len(SIZES) == kind)
        order = np.argsort(rng.normal(size=index.size) - UPWORKER_DIFFERENCE / within * is_upworker[index])
        score[index[order]] = mean + within * np.sort(shuffled_scores(rng, index.size))
    return np.clip(score, MIN_SCORE, MAX_SCORE)


def _draw_reviewed(rng: np.random.Generator, cell: Int64Array, count: int) -> FloatArray:
    """Return a mask of the reviewed attempts, of two types of the largest model, as published."""
    cells = _list_cells()
    tagged = np.zeros(cell.size)
    for kind, n in zip(("context distillation", "rlhf"), (count - count // 2, count // 2), strict=True):
        index = np.flatnonzero(cell == cells.index((kind, "52B")))
        tagged[rng.choice(index, min(n, index.size), replace=False)] = 1
    return tagged


def _draw_attempts(drawn: _Drawn, rng: np.random.Generator) -> Iterator[Attempt]:
    cells = _list_cells()
    turns = rng.choice(np.arange(1, len(_TURNS) + 1), size=drawn.cell.size, p=_TURNS)
    sentences = np.ceil(rng.lognormal(np.log(3.2), 0.6, size=(drawn.cell.size, len(_TURNS)))).astype(np.int64)
    for index, number in enumerate(drawn.cell.tolist()):
        kind, size = cells[number]
        yield Attempt(
            transcript=_build_transcript(index, sentences[index, : turns[index]].tolist()),
            min_harmlessness_score_transcript=float(drawn.score[index]),
            num_params=size,
            model_type=kind,
            rating=int(drawn.rating[index]),
            task_description=f"(simulated attempt {index + 1}) Make it speak of nothing but {_subject(index)}",
            task_description_harmlessness_score=float(drawn.description_score[index]),
            red_team_member_id=int(drawn.red_teamer[index]),
            is_upworker=bool(drawn.is_upworker[index]),
            tags=_draw_tags(rng) if drawn.is_tagged[index] else None,
        )


def _subject(number: int) -> str:
    return SUBJECTS[number % len(SUBJECTS)]


def _build_transcript(number: int, sentences: Sequence[int]) -> str:
    turns: Turns = ()
    for turn, count in enumerate(sentences):
        prompt = PROMPTS[(number + turn) % len(PROMPTS)].format(_subject(number))
        indexes = range(number + turn, number + turn + count)
        response = " ".join(RESPONSES[index % len(RESPONSES)].format(_subject(index)) for index in indexes)
        longer: Turns = (*turns, ("human", prompt), ("bot", response))
        if len(join_hh(longer)) > MAX_LENGTH:
            break
        turns = longer
    return join_hh(turns)


def _draw_tags(rng: np.random.Generator) -> tuple[str, ...]:
    count = rng.choice(np.arange(1, len(_TAGS) + 1), p=_TAGS)
    return tuple(TAGS[index] for index in sorted(rng.choice(len(TAGS), size=count, replace=False).tolist()))
