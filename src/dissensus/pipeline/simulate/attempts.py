"""Simulated red-team attempts, with harmless texts and the published marginals.

Counts, ratings and scores are those of the published file and of Table 1 of the red-team paper (Ganguli et al. 2022).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from dissensus.pipeline.simulate.latent import Codes, Floats
from dissensus.pipeline.simulate.scores import allot_counts, shuffled_scores, slice_values
from dissensus.pipeline.simulate.texts import ANSWERED, ASKED, SUBJECTS
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.attempt import TAGS, Attempt
from dissensus.text.transcripts import join_hh

if TYPE_CHECKING:
    from dissensus.text.turns import Turns

MOST: Final = 1_000_000
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
"""Mean of the least harmlessness score, by type."""

SD: Final = 1.79
LEAST, MOST_SCORE = -7.538, 6.612
"""Of these scores over all attempts, and their range."""

DESCRIPTION_MEAN, DESCRIPTION_SD = 0.855, 0.696
RATINGS: Final = (16475, 4367, 4936, 4249, 8934)
"""Attempts with each rating from 0 to 4."""

RED_TEAMERS, UPWORKERS = 324, 17
BUSIEST, THEIR_SHARE = 50, 0.8
"""So many red-teamers made this share of the attempts."""

BY_UPWORKERS: Final = 580
UPWORKERS_LESS: Final = 1.3
"""How much less harmless answers to Upworkers were, on average."""

TAGGED: Final = 742
LONGEST: Final = 5_630

# not published
_OF_SCORE, _OF_RED_TEAMER = 0.5, 0.4
_TURNS: Final = (0.15, 0.2, 0.25, 0.3, 0.1)
_TAGS: Final = (0.3, 0.3, 0.2, 0.1, 0.06, 0.04)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """Drawn columns of the attempts."""

    cell: Codes
    red_teamer: Codes
    is_upworker: Floats
    score: Floats
    rating: Codes
    description_score: Floats
    tagged: Floats


def simulate_attempts(count: int = PUBLISHED, *, seed: int = 0) -> tuple[Attempt, ...]:
    """Draw red-team attempts with the marginals of the published file.

    Parameters
    ----------
    count
        How many; the published ones are 38,961.
    seed
        The same count and seed give the same attempts.

    Returns
    -------
    tuple of Attempt
        Types and sizes as often as in Table 1 of the red-team paper, ratings as often as in the file, scores with the
        mean of their type and the standard deviation of all, and 324 red-teamers of whom 50 made 80 % of the attempts.
        Texts are harmless, and our own.

    Raises
    ------
    InvalidInput
        Count or seed is out of range.

    Notes
    -----
    Not published, and invented: that ratings correlate with scores by about -0.5 and differ by red-teamer, how many
    turns there are, and the tags. Lengths of transcripts are made to fit the published median of 839 characters.

    Examples
    --------
    >>> attempts = simulate_attempts(1000, seed=1)
    >>> len(attempts), sum(attempt.rating == 0 for attempt in attempts)
    (1000, 423)
    """
    check_whole("count", count, 1, MOST)
    check_whole("seed", seed, most=2**128)
    people, scores, texts = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3))
    drawn = _draw(people, scores, count)
    return tuple(_attempts(drawn, texts))


def _cells() -> list[tuple[str, str]]:
    return [(kind, size) for kind in COUNTS for size in SIZES]


def _draw(people: np.random.Generator, rng: np.random.Generator, count: int) -> _Drawn:
    cell = rng.permutation(np.repeat(np.arange(12), allot_counts([n for row in COUNTS.values() for n in row], count)))
    red_teamer, is_upworker = _draw_people(people, count)
    score = _draw_scores(rng, cell, is_upworker)
    person = rng.normal(size=RED_TEAMERS)[red_teamer]
    noise = rng.normal(size=count) * np.sqrt(1 - _OF_SCORE**2 - _OF_RED_TEAMER**2)
    success = -_OF_SCORE * (score - score.mean()) / SD + _OF_RED_TEAMER * person + noise
    return _Drawn(
        cell=cell,
        red_teamer=people.permutation(RED_TEAMERS)[red_teamer],
        is_upworker=is_upworker,
        score=score,
        rating=slice_values(success, RATINGS),
        description_score=DESCRIPTION_MEAN + DESCRIPTION_SD * shuffled_scores(rng, count),
        tagged=_draw_reviewed(rng, cell, round(TAGGED * count / PUBLISHED)),
    )


def _draw_people(rng: np.random.Generator, count: int) -> tuple[Codes, Floats]:
    """Return who made each attempt, and whether they came by Upwork: the last of all red-teamers do."""
    by_upwork = allot_counts([1] * UPWORKERS, round(BY_UPWORKERS * count / PUBLISHED))
    others = _share_attempts(RED_TEAMERS - UPWORKERS, count - int(by_upwork.sum()))
    who = rng.permutation(np.repeat(np.arange(RED_TEAMERS), [*others, *by_upwork]))
    return who, (who >= RED_TEAMERS - UPWORKERS).astype(np.float64)


def _share_attempts(n: int, count: int) -> Codes:
    """Share attempts among n people: one each, the rest log-normally, so that the busiest have what was published."""
    ranks = np.array([NormalDist().inv_cdf((place + 0.5) / n) for place in range(n)])[::-1]
    first = np.full(n, int(count >= n))
    rest = count - int(first.sum())
    wanted = (THEIR_SHARE * count / (1 - BY_UPWORKERS / PUBLISHED) - first[:BUSIEST].sum()) / rest
    low, high = 0.0, 5.0
    for _ in range(50):
        middle = (low + high) / 2
        weights = np.exp(middle * ranks)
        low, high = (middle, high) if weights[:BUSIEST].sum() / weights.sum() < wanted else (low, middle)
    return first + allot_counts([float(weight) for weight in np.exp(low * ranks)], rest)


def _draw_scores(rng: np.random.Generator, cell: Codes, is_upworker: Floats) -> Floats:
    """Return scores with the mean of their type, all with one standard deviation around it, lower for Upworkers."""
    means, counts = np.array(list(MEANS.values())), np.array([sum(row) for row in COUNTS.values()])
    within = np.sqrt(SD**2 - np.cov(means, fweights=counts, ddof=0))
    score = np.empty(cell.size)
    for kind, mean in enumerate(means):
        here = np.flatnonzero(cell // len(SIZES) == kind)
        order = np.argsort(rng.normal(size=here.size) - UPWORKERS_LESS / within * is_upworker[here])
        score[here[order]] = mean + within * np.sort(shuffled_scores(rng, here.size))
    return np.clip(score, LEAST, MOST_SCORE)


def _draw_reviewed(rng: np.random.Generator, cell: Codes, count: int) -> Floats:
    """Return which attempts were reviewed: of two types of the largest model, as published."""
    cells = _cells()
    tagged = np.zeros(cell.size)
    for kind, n in zip(("context distillation", "rlhf"), (count - count // 2, count // 2), strict=True):
        here = np.flatnonzero(cell == cells.index((kind, "52B")))
        tagged[rng.choice(here, min(n, here.size), replace=False)] = 1
    return tagged


def _attempts(drawn: _Drawn, rng: np.random.Generator) -> Iterator[Attempt]:
    cells = _cells()
    turns = rng.choice(np.arange(1, len(_TURNS) + 1), size=drawn.cell.size, p=_TURNS)
    sentences = np.ceil(rng.lognormal(np.log(3.2), 0.6, size=(drawn.cell.size, len(_TURNS)))).astype(np.int64)
    for place, number in enumerate(drawn.cell.tolist()):
        kind, size = cells[number]
        yield Attempt(
            transcript=_transcript(place, sentences[place, : turns[place]].tolist()),
            min_harmlessness_score_transcript=float(drawn.score[place]),
            num_params=size,
            model_type=kind,
            rating=int(drawn.rating[place]),
            task_description=f"(simulated attempt {place + 1}) Make it speak of nothing but {_subject(place)}",
            task_description_harmlessness_score=float(drawn.description_score[place]),
            red_team_member_id=int(drawn.red_teamer[place]),
            is_upworker=bool(drawn.is_upworker[place]),
            tags=_tags(rng) if drawn.tagged[place] else None,
        )


def _subject(number: int) -> str:
    return SUBJECTS[number % len(SUBJECTS)]


def _transcript(number: int, sentences: Sequence[int]) -> str:
    turns: Turns = ()
    for turn, count in enumerate(sentences):
        asked = ASKED[(number + turn) % len(ASKED)].format(_subject(number))
        said = (ANSWERED[(number + turn + k) % len(ANSWERED)].format(_subject(number + turn + k)) for k in range(count))
        longer: Turns = (*turns, ("human", asked), ("bot", " ".join(said)))
        if len(join_hh(longer)) > LONGEST:
            break
        turns = longer
    return join_hh(turns)


def _tags(rng: np.random.Generator) -> tuple[str, ...]:
    count = rng.choice(np.arange(1, len(_TAGS) + 1), p=_TAGS)
    return tuple(TAGS[place] for place in sorted(rng.choice(len(TAGS), size=count, replace=False).tolist()))
