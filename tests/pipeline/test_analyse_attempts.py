"""Analysis of red-team attempts: published values, simulated effects and undefined estimates."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student_t

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.files.attempts.tables import read_attempts
from dissensus.pipeline.analyse.attempts import AttemptAnalysis, analyse_attempts, attempt_map
from dissensus.pipeline.analyse.attempts.analysis import compute_gini
from dissensus.pipeline.analyse.attempts.cells import MOST_CELLS
from dissensus.pipeline.analyse.attempts.columns import read_columns
from dissensus.pipeline.analyse.attempts.result import AttemptCell
from dissensus.pipeline.simulate import simulate_attempts
from dissensus.report.figures.mixed_model import mixed_model
from dissensus.schema.records.attempt import Attempt, Review
from dissensus.stats.agreement import krippendorff_alpha_long

# The published file and Table 1 of Ganguli et al. (2022).
SIZES = ("2.7B", "13B", "52B")
COUNTS = {
    "plain lm": (1151, 2587, 1414),
    "context distillation": (2044, 2174, 17739),
    "rejection sampling": (1445, 1263, 1273),
    "rlhf": (2498, 2292, 3081),
}
MEAN_SCORES = {"plain lm": -0.729, "context distillation": -0.803, "rejection sampling": 1.594, "rlhf": 1.248}


@pytest.fixture(scope="module")
def published() -> tuple[Attempt, ...]:
    return simulate_attempts(seed=4)


@pytest.fixture(scope="module")
def analysis(published: tuple[Attempt, ...]) -> AttemptAnalysis:
    return analyse_attempts(published, bootstrap=100)


@pytest.fixture(scope="module")
def small_sample() -> tuple[Attempt, ...]:
    return simulate_attempts(600, seed=5)


def by_model(cells: tuple[AttemptCell, ...]) -> dict[tuple[str | None, str | None], AttemptCell]:
    return {(cell.model_type, cell.size): cell for cell in cells}


@pytest.mark.slow
def test_the_published_values_come_out(analysis: AttemptAnalysis) -> None:
    success, scores = by_model(analysis.success), by_model(analysis.harmlessness)
    assert (analysis.n_attempts, analysis.n_red_teamers, analysis.n_tagged) == (38961, 324, 742)
    assert success[None, None].mean.estimate == pytest.approx(0.338, abs=5e-4)
    for kind, counts in COUNTS.items():
        assert [success[kind, size].n_attempts for size in SIZES] == list(counts)
        assert scores[kind, None].mean.estimate == pytest.approx(MEAN_SCORES[kind], abs=2e-3)
    assert [cell.model_type for cell in analysis.success if cell.model_type and not cell.size] == list(COUNTS)
    assert [cell.size for cell in analysis.success if cell.size and not cell.model_type] == list(SIZES)
    assert scores[None, None].mean.estimate == pytest.approx(-0.134, abs=1e-3)
    assert [level.mean.n for level in analysis.relation.levels] == [16475, 4367, 4936, 4249, 8934]
    top = {one.k: one.share_of_attempts for one in analysis.concentration.top}
    assert top[50] == pytest.approx(0.8, abs=0.005)


def test_intervals_count_red_teamers(published: tuple[Attempt, ...], analysis: AttemptAnalysis) -> None:
    mean = analysis.success[0].mean
    assert mean.ci_low is not None
    assert mean.ci_high is not None
    assert mean.ci_low < 0.338 < mean.ci_high
    # attempts alone would give an interval of about .01
    assert 0.05 < mean.ci_high - mean.ci_low < 0.3
    one_per_member = [replace(attempt, red_team_member_id=number) for number, attempt in enumerate(published[:2000])]
    narrow = analyse_attempts(one_per_member, bootstrap=100).success[0].mean
    assert narrow.ci_low is not None
    assert narrow.ci_high is not None
    assert narrow.ci_high - narrow.ci_low == pytest.approx(2 * 1.96 * np.sqrt(0.34 * 0.66 / 2000), rel=0.3)


def test_the_mixed_model_recovers_coefficients(published: tuple[Attempt, ...], analysis: AttemptAnalysis) -> None:
    scores = {term.name: term for term in analysis.models[0].terms}
    assert scores["intercept"].estimate + scores["rlhf"].estimate == pytest.approx(1.248, abs=0.1)
    assert scores["came by Upwork"].estimate == pytest.approx(-1.3, abs=0.15)
    ratings = analysis.models[1]
    assert ratings.n == len(published)
    assert ratings.share_of_red_teamers == pytest.approx(0.4**2, abs=0.06)
    assert ratings.left_out == ()
    rng = np.random.default_rng(0)
    person, truth = rng.normal(size=40) * 2, {"rlhf": 3.0, "52B": -1.0, "rlhf × 52B": 0.5}
    simulated = []
    for attempt in published[:1500]:
        kind, size = ("rlhf", "plain lm")[rng.integers(2)], ("13B", "52B")[rng.integers(2)]
        member = int(rng.integers(40))
        effect = truth["rlhf"] * (kind == "rlhf") + truth["52B"] * (size == "52B")
        interaction = truth["rlhf × 52B"] * (kind == "rlhf" and size == "52B")
        score = float(effect + interaction + person[member] + rng.normal())
        simulated_attempt = replace(
            attempt, model_type=kind, num_params=size, red_team_member_id=member, is_upworker=None
        )
        simulated.append(replace(simulated_attempt, min_harmlessness_score_transcript=score))
    model = analyse_attempts(simulated, bootstrap=0).models[0]
    terms = {term.name: term for term in model.terms}
    for name, value in truth.items():
        term = terms[name]
        assert term.standard_error is not None
        assert term.df is not None
        assert abs(term.estimate - value) < 3.5 * term.standard_error
        assert 4 < term.df < 40
        half = student_t.ppf(0.975, term.df) * term.standard_error
        assert [term.ci_low, term.ci_high] == pytest.approx([term.estimate - half, term.estimate + half])
        assert term.p == pytest.approx(2 * student_t.sf(abs(term.estimate) / term.standard_error, term.df), rel=1e-5)
    assert model.sd_red_teamers == pytest.approx(2, rel=0.3)
    assert model.sd_residual == pytest.approx(1, rel=0.05)
    assert model.left_out == ("came by Upwork: unknown for all attempts",)


def test_the_real_attempts(real_data: Callable[[str], Path]) -> None:
    attempts, _ = read_attempts(real_data("red-team/red_team_attempts.sample.jsonl"))
    result = analyse_attempts(attempts)
    mean = result.success[0].mean
    assert (result.n_attempts, result.n_red_teamers) == (10, 3)
    assert mean.estimate == sum(attempt.succeeded is True for attempt in attempts) / 10
    assert mean.reason.startswith("no interval: 2.")
    assert "3 red-teamers are too few" in result.models[0].reason
    with pytest.raises(UndefinedEstimate, match="10 attempts are too few for a map"):
        attempt_map(attempts)


def test_tags_are_counted_once_an_attempt(small_sample: tuple[Attempt, ...]) -> None:
    tagged = [
        replace(attempt, tags=(("Theft", "Theft", "Other") if number % 3 == 0 else ("Other",) if number % 3 else None))
        for number, attempt in enumerate(small_sample)
    ]
    tagged[1] = replace(tagged[1], tags=())
    tagged[2] = replace(tagged[2], tags=None)
    result = analyse_attempts(tagged, bootstrap=50)
    theft = {tag.tag: tag for tag in result.tags}["Theft"]
    successes = [attempt for attempt in tagged if attempt.tags is not None and attempt.succeeded]
    assert result.n_tagged == 599
    assert theft.n == 200
    assert theft.share.estimate == pytest.approx(200 / 599)
    n_good = sum("Theft" in (attempt.tags or ()) for attempt in successes)
    assert theft.n_successful == n_good
    assert theft.share_of_successful.estimate == pytest.approx(n_good / len(successes))
    assert theft.success.estimate == pytest.approx(n_good / 200)
    assert result.tags[0].tag == "Other"
    assert analyse_attempts([replace(one, tags=None) for one in small_sample], bootstrap=0).tags == ()


def test_concentration_is_that_of_the_counts(small_sample: tuple[Attempt, ...]) -> None:
    result = analyse_attempts(small_sample, bootstrap=0).concentration
    attempts = Counter(attempt.red_team_member_id for attempt in small_sample)
    successes = Counter(attempt.red_team_member_id for attempt in small_sample if attempt.succeeded)
    assert list(result.attempts) == sorted(attempts.values(), reverse=True)
    five = {top.k: top for top in result.top}[5]
    assert five.share_of_attempts == sum(n for _, n in attempts.most_common(5)) / 600
    assert five.share_of_successes == sum(n for _, n in successes.most_common(5)) / successes.total()
    values = list(attempts.values())
    mean_difference = np.abs(np.subtract.outer(values, values)).mean()
    assert result.gini_attempts == pytest.approx(mean_difference / 2 / np.mean(values))
    assert compute_gini([0, 0, 10]) == pytest.approx(2 / 3)


def reviews_of(attempts: tuple[Attempt, ...], n: int = 3, *, noise: float = 1.0) -> list[Review]:
    rng = np.random.default_rng(0)
    return [
        Review(
            attempt_id=str(number + 1),
            reviewer_id=f"r{person}",
            success=int(np.clip(round((attempt.rating or 0) + noise * rng.normal()), 0, 4)),
            tags=("Weapons",) if person == 0 else (),
        )
        for number, attempt in enumerate(attempts)
        for person in rng.choice(6, size=n, replace=False).tolist()
    ]


def test_reviewers_agree_as_far_as_the_coefficients_say(small_sample: tuple[Attempt, ...]) -> None:
    untagged = [replace(attempt, tags=None) for attempt in small_sample]
    reviews = reviews_of(small_sample)
    result = analyse_attempts(untagged, reviews=reviews, bootstrap=60)
    reviewed = result.reviewed
    assert reviewed is not None
    assert (reviewed.n_reviews, reviewed.n_attempts, reviewed.n_reviewers) == (1800, 600, 6)
    agreement = {(row.raters, row.scale, row.coefficient): row.estimate for row in reviewed.agreement}
    alpha = agreement["reviewers", "five points", "Krippendorff's alpha, ordinal"]
    ids, ratings = [review.attempt_id for review in reviews], [float(review.success) for review in reviews]
    assert alpha.estimate == pytest.approx(krippendorff_alpha_long(ids, ratings, level="ordinal").estimate)
    ids += [str(number + 1) for number in range(600)]
    successes = [float(value >= 3) for value in (*ratings, *(attempt.rating or 0 for attempt in small_sample))]
    coefficient = agreement["reviewers and red-teamer", "success or not", "Krippendorff's alpha, nominal"]
    assert coefficient.estimate == pytest.approx(krippendorff_alpha_long(ids, successes, level="nominal").estimate)
    assert reviewed.success[0].mean.estimate == pytest.approx(np.mean([review.success >= 3 for review in reviews]))
    assert reviewed.relation.spearman.estimate is not None
    assert reviewed.relation.spearman.estimate > 0.7
    # tags of reviewers replace missing tags of the file
    assert [tag.tag for tag in result.tags] == ["Weapons"]
    assert result.n_tagged == 600


def test_undefined_agreement_has_a_reason(small_sample: tuple[Attempt, ...]) -> None:
    uneven = reviews_of(small_sample)[:-1]
    reviewed = analyse_attempts(small_sample, reviews=uneven, bootstrap=0).reviewed
    assert reviewed is not None
    kappas = [row.estimate for row in reviewed.agreement if row.coefficient == "Fleiss' kappa"]
    assert kappas
    assert all(kappa.estimate is None and "different numbers of ratings" in kappa.reason for kappa in kappas)
    unanimous = [replace(review, success=0) for review in uneven]
    reviewed = analyse_attempts(small_sample, reviews=unanimous, bootstrap=0).reviewed
    assert reviewed is not None
    assert "cannot be told from chance" in reviewed.agreement[0].estimate.reason


def test_reviews_of_unknown_attempts_are_counted_and_duplicates_refused(small_sample: tuple[Attempt, ...]) -> None:
    reviews = reviews_of(small_sample)
    strange = [*reviews, replace(reviews[0], attempt_id="x-9")]
    reviewed = analyse_attempts(small_sample, reviews=strange, bootstrap=0).reviewed
    assert reviewed is not None
    assert reviewed.notes == ("1 review left out: unknown attempts, 'x-9'.",)
    with pytest.raises(InvalidInput, match=r"'r\d' reviewed attempt '1' twice"):
        analyse_attempts(small_sample, reviews=[*reviews, reviews[0]], bootstrap=0)
    with pytest.raises(InvalidInput, match="No review is of any of the attempts"):
        analyse_attempts(small_sample, reviews=[replace(reviews[0], attempt_id="x")], bootstrap=0)
    with pytest.raises(InvalidInput, match="Two attempts have the id 'a'"):
        analyse_attempts(small_sample[:2], reviews=reviews, ids=["a", "a"], bootstrap=0)
    ids = [f"a-{number}" for number in range(600)]
    renamed = [replace(review, attempt_id=f"a-{int(review.attempt_id) - 1}") for review in reviews]
    by_position = analyse_attempts(small_sample, reviews=reviews, bootstrap=0)
    assert analyse_attempts(small_sample, reviews=renamed, ids=ids, bootstrap=0) == by_position


def test_each_attempt_needs_an_id(small_sample: tuple[Attempt, ...]) -> None:
    review = Review(attempt_id="11", reviewer_id="r", success=3)
    with pytest.raises(InvalidInput, match="There are 11 ids and 10 attempts"):
        analyse_attempts(small_sample[:10], reviews=[review], ids=[str(n) for n in range(1, 12)], bootstrap=0)


def test_a_type_named_like_a_size_has_a_coefficient_of_its_own(small_sample: tuple[Attempt, ...]) -> None:
    renamed = [
        replace(attempt, model_type=str(attempt.num_params) if attempt.model_type == "rlhf" else attempt.model_type)
        for attempt in small_sample
    ]
    model = analyse_attempts(renamed, bootstrap=0).models[1]
    names = [term.name for term in model.terms]
    assert names.count("52B") == 2


def test_missing_values_are_excluded_and_counted(small_sample: tuple[Attempt, ...]) -> None:
    unrated = [
        replace(attempt, rating=None) if number < 100 else attempt for number, attempt in enumerate(small_sample)
    ]
    unrated[-1] = replace(unrated[-1], min_harmlessness_score_transcript=None)
    result = analyse_attempts(unrated, bootstrap=0)
    assert result.success[0].mean.n == 500
    assert result.success[0].n_attempts == 600
    assert result.notes == (
        "100 of 600 attempts have no rating; they are left out of successes.",
        "1 of 600 attempts have no harmlessness score; they are left out of scores.",
    )
    assert [(model.n, model.n_dropped) for model in result.models] == [(599, 1), (500, 100)]
    without_ratings = analyse_attempts([replace(attempt, rating=None) for attempt in small_sample], bootstrap=20)
    assert without_ratings.success[0].mean.estimate is None
    assert without_ratings.success[0].mean.reason == "no cases"
    assert without_ratings.concentration.gini_successes is None
    assert without_ratings.models[1].reason == "It is unknown for all attempts."


def test_a_model_of_too_many_types_and_sizes_is_refused(small_sample: tuple[Attempt, ...]) -> None:
    attempts = [
        replace(attempt, model_type=f"type {number % 40}", num_params=f"{number // 40 % 45}B")
        for number, attempt in enumerate(small_sample * 3)
    ]
    model = analyse_attempts(attempts, bootstrap=0).models[0]
    assert model.terms == ()
    assert "more than 80 terms" in model.reason


def test_one_red_teamer_and_one_rating(small_sample: tuple[Attempt, ...]) -> None:
    one_member = analyse_attempts([replace(attempt, red_team_member_id=3) for attempt in small_sample], bootstrap=20)
    assert "1.0 effective" in one_member.success[0].mean.reason
    assert "1 red-teamers are too few" in one_member.models[0].reason
    assert one_member.concentration.gini_attempts == 0
    one_rating = analyse_attempts([replace(attempt, rating=4) for attempt in small_sample], bootstrap=20)
    assert (one_rating.success[0].mean.estimate, one_rating.success[0].mean.ci_low) == (1.0, None)
    assert one_rating.relation.spearman.estimate is None
    assert "constant" in one_rating.models[1].reason


def test_models_without_type_and_size_have_names(small_sample: tuple[Attempt, ...]) -> None:
    unnamed = [replace(attempt, model_type="", num_params=None) for attempt in small_sample]
    result = analyse_attempts(unnamed, bootstrap=0)
    assert {(cell.model_type, cell.size) for cell in result.success} >= {("type not known", "size not known")}
    sizes = ["52B", "x-large", "700M", "1.5B", "2T", "...", "350"]
    mixed = [replace(attempt, num_params=sizes[number % 7]) for number, attempt in enumerate(small_sample)]
    assert read_columns(mixed, 3).sizes == ("350", "700M", "1.5B", "52B", "2T", "...", "x-large")
    many_models = [
        replace(attempt, model_type=f"m{number}") for number, attempt in enumerate([*small_sample, *small_sample])
    ]
    with pytest.raises(InvalidInput, match=f"more than {MOST_CELLS:,} models to compare"):
        analyse_attempts(many_models, bootstrap=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"success_from": 0}, "success_from is 0"),
        ({"success_from": 5}, "from 1 to 4"),
        ({"bootstrap": 1}, "one replicate has no spread"),
        ({"confidence": 95}, "confidence is 95"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_options_out_of_range_are_refused(
    small_sample: tuple[Attempt, ...], options: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        analyse_attempts(small_sample, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=message):
        attempt_map(small_sample, **options)
    with pytest.raises(InvalidInput, match="There are no attempts"):
        analyse_attempts([])


def test_the_seed_decides_and_the_result_is_json(small_sample: tuple[Attempt, ...]) -> None:
    even = [replace(attempt, red_team_member_id=number % 60) for number, attempt in enumerate(small_sample)]
    first, same_seed, other_seed = (analyse_attempts(even, bootstrap=30, seed=seed) for seed in (1, 1, 2))
    assert first == same_seed
    assert first.success[0].mean.ci_low != other_seed.success[0].mean.ci_low
    plain = json.loads(json.dumps(first.to_dict(), allow_nan=False))
    assert plain["concentration"]["top"][0]["k"] == 1
    four = analyse_attempts(small_sample, bootstrap=0, success_from=4).success[0].mean.estimate
    assert four == np.mean([attempt.rating == 4 for attempt in small_sample])


def test_a_term_that_few_red_teamers_determine_has_no_interval(small_sample: tuple[Attempt, ...]) -> None:
    even = [
        replace(
            attempt,
            red_team_member_id=number % 30,
            model_type="rlhf" if number % 30 < 2 and number % 4 else "plain lm",
            num_params="52B",
        )
        for number, attempt in enumerate(small_sample)
    ]
    analysis = analyse_attempts(even, bootstrap=0)
    (term,) = (term for term in analysis.models[1].terms if term.name == "rlhf")
    assert term.reason == "too few red-teamers determine it: fewer than 4 degrees of freedom"
    assert (term.standard_error, term.df, term.ci_low, term.ci_high, term.p) == (None,) * 5
    assert term.reason in str(analysis)
    (row,) = (row for row in mixed_model(analysis.models[1]).table.to_dicts() if row["term"] == "rlhf")
    assert (row["p"], row["reason"]) == (None, term.reason)
    assert any(note.startswith("No interval of rlhf: too few") for note in mixed_model(analysis.models[1]).notes)


def test_a_term_without_variation_between_red_teamers_has_no_interval(small_sample: tuple[Attempt, ...]) -> None:
    """The outcomes of the reference type are all 0."""
    ratings = np.random.default_rng(0).integers(5, size=len(small_sample))
    even = [
        replace(
            attempt,
            rating=int(ratings[number]) if number % 2 else 0,
            red_team_member_id=number % 30,
            model_type="rlhf" if number % 2 else "plain lm",
            num_params="52B",
            task_description_harmlessness_score=None,
            is_upworker=None,
        )
        for number, attempt in enumerate(small_sample)
    ]
    intercept, other = analyse_attempts(even, bootstrap=0).models[1].terms
    assert intercept.estimate == pytest.approx(0, abs=1e-12)
    assert intercept.reason == "no standard error: it does not vary between red-teamers"
    assert (intercept.standard_error, intercept.df, intercept.ci_low, intercept.p) == (None,) * 4
    assert (other.name, other.reason) == ("rlhf", None)
    assert other.ci_low is not None
    assert other.ci_low < other.estimate


def test_a_map_puts_like_attempts_together(small_sample: tuple[Attempt, ...]) -> None:
    themes = ("pick a lock with a pin", "bake bread from stale flour", "fold a paper boat", "count sheep at night")
    embedded = [
        replace(attempt, task_description=themes[number % 4], transcript="\n\nHuman: x\n\nAssistant: same words")
        for number, attempt in enumerate(small_sample[:200])
    ]
    result = attempt_map(embedded, regions=4, bootstrap=0)
    assert [region.n for region in result.regions] == [50] * 4
    for theme in range(4):
        assert len(set(result.region[theme::4])) == 1
    words = {" ".join(region.words) for region in result.regions}
    assert any("lock" in text for text in words)
    assert not any("same" in text for text in words)  # turns of the bot are not included
    for region in result.regions:
        assert all(result.region[place] == region.number for place in region.nearest)
        assert len({embedded[place].red_team_member_id for place in region.nearest}) == len(region.nearest) == 3
    with_intervals = attempt_map(embedded, regions=4, bootstrap=20)
    assert (result.points == with_intervals.points).all()
    assert [region.success.ci_low for region in result.regions] == [None] * 4
    silent = [replace(attempt, task_description="", transcript="\n\nHuman: 1\n\nAssistant: 2") for attempt in embedded]
    with pytest.raises(UndefinedEstimate, match="share a word"):
        attempt_map(silent)
