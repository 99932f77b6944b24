"""Red-team attempts with the marginals of the published ones."""

from collections import Counter

import numpy as np
import pytest

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate import simulate_attempts
from dissensus.pipeline.simulate.attempts import COUNTS, MEANS, RATINGS, SIZES
from dissensus.schema.records.attempt import TAGS, Attempt
from dissensus.text.transcripts import parse_hh


@pytest.fixture(scope="module")
def attempts() -> tuple[Attempt, ...]:
    return simulate_attempts(seed=3)


def scores(attempts: tuple[Attempt, ...]) -> list[float]:
    return [attempt.min_harmlessness_score_transcript or 0.0 for attempt in attempts]


def test_counts_are_those_of_table_1(attempts: tuple[Attempt, ...]) -> None:
    counts = Counter((attempt.model_type, attempt.num_params) for attempt in attempts)
    assert counts == {(kind, size): n for kind, row in COUNTS.items() for size, n in zip(SIZES, row, strict=True)}
    # counts of each type in the published file
    assert {kind: sum(row) for kind, row in COUNTS.items()} == {
        "plain lm": 5152,
        "context distillation": 21957,
        "rejection sampling": 3981,
        "rlhf": 7871,
    }


def test_ratings_are_those_of_the_file(attempts: tuple[Attempt, ...]) -> None:
    ratings = [attempt.rating for attempt in attempts]
    assert Counter(ratings) == dict(enumerate(RATINGS))
    assert sum(attempt.succeeded is True for attempt in attempts) / len(attempts) == pytest.approx(0.338, abs=5e-4)
    assert np.mean([rating for rating in ratings if rating is not None]) == pytest.approx(1.61, abs=0.005)


def test_scores_are_those_of_their_type(attempts: tuple[Attempt, ...]) -> None:
    for kind, mean in MEANS.items():
        of_kind = tuple(attempt for attempt in attempts if attempt.model_type == kind)
        assert np.mean(scores(of_kind)) == pytest.approx(mean, abs=0.002)
    assert np.mean(scores(attempts)) == pytest.approx(-0.134, abs=0.001)
    assert np.std(scores(attempts)) == pytest.approx(1.79, abs=0.001)
    assert min(scores(attempts)) >= -7.538
    assert max(scores(attempts)) <= 6.612
    described = [attempt.task_description_harmlessness_score or 0.0 for attempt in attempts]
    assert np.mean(described) == pytest.approx(0.855)
    assert np.std(described) == pytest.approx(0.696)
    assert np.corrcoef(scores(attempts), [attempt.rating or 0 for attempt in attempts])[0, 1] < -0.35


def test_few_red_teamers_made_most_attempts(attempts: tuple[Attempt, ...]) -> None:
    counts = Counter(attempt.red_team_member_id for attempt in attempts)
    assert set(counts) == set(range(324))
    assert sum(n for _, n in counts.most_common(50)) / len(attempts) == pytest.approx(0.8, abs=0.005)
    by_upwork = {attempt.red_team_member_id for attempt in attempts if attempt.is_upworker}
    assert (len(by_upwork), sum(attempt.is_upworker is True for attempt in attempts)) == (17, 580)
    assert not any(attempt.is_upworker is None for attempt in attempts)
    less = np.mean(scores(tuple(attempt for attempt in attempts if attempt.is_upworker)))
    assert less == pytest.approx(-1.42, abs=0.15)


def test_reviews_are_of_two_types_of_the_largest_model(attempts: tuple[Attempt, ...]) -> None:
    tagged = [attempt for attempt in attempts if attempt.tags is not None]
    assert Counter((attempt.model_type, attempt.num_params) for attempt in tagged) == {
        ("context distillation", "52B"): 371,
        ("rlhf", "52B"): 371,
    }
    assert all(1 <= len(set(attempt.tags or ())) == len(attempt.tags or ()) <= 6 for attempt in tagged)
    assert {tag for attempt in tagged for tag in attempt.tags or ()} == set(TAGS)


def test_texts_have_the_length_of_the_published_ones(attempts: tuple[Attempt, ...]) -> None:
    lengths = [len(attempt.transcript) for attempt in attempts]
    assert np.median(lengths) == pytest.approx(839, rel=0.05)
    assert max(lengths) <= 5630
    for attempt in attempts[:200]:
        turns = parse_hh(attempt.transcript)
        assert [speaker for speaker, _ in turns] == ["human", "bot"] * (len(turns) // 2)


def test_the_same_seed_gives_the_same_attempts() -> None:
    assert simulate_attempts(50, seed=1) == simulate_attempts(50, seed=1)
    assert simulate_attempts(50, seed=1) != simulate_attempts(50, seed=2)


@pytest.mark.parametrize("count", [1, 2, 10, 312, 324, 1000])
def test_few_attempts_can_be_drawn(count: int) -> None:
    with np.errstate(divide="raise"):
        assert len(simulate_attempts(count)) == count


def test_impossible_counts_and_seeds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="count is 0"):
        simulate_attempts(0)
    with pytest.raises(InvalidInput, match="seed is -1"):
        simulate_attempts(seed=-1)
