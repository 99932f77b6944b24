"""Figures of a running campaign, independent of the order of ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tests.strategies import quick

from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.monitor import (
    CampaignFigures,
    FinishedRating,
    MonitoredRater,
    MonitorState,
    QuestionScales,
    TimeBucket,
    compute_figures,
    count_planned,
    forecast,
    measure_consistency,
    read_scales,
    suppress_figures,
)
from dissensus.pipeline.vet import vet
from dissensus.schema.campaign.quota import Quota
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.agreement import fleiss_kappa, krippendorff_alpha
from dissensus.stats.agreement_interval import agreement_interval

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCALE = ("No", "Unsure", "Yes")
SCALES = QuestionScales(
    questions={"Q1": SCALE, "Q2": SCALE}, overalls={"Q_overall": (0, 1)}, primary_question="Q_overall"
)
ITEMS = {f"i{n}": (*SCALE, None)[n % 4] for n in range(6)}
AXES = {"rater_age": ("young", "old"), "rater_gender": ("Woman", "Man")}
PEOPLE = tuple(
    MonitoredRater(
        rater_id=f"r{n}",
        number=n,
        groups={"rater_age": ("young", "old")[n % 2], **({"rater_gender": "Man"} if n else {})},
    )
    for n in range(5)
)
REPLICATES = 20


def rating(rater: int, item: int, *answers: str | None, ms: int = 1000, hour: int = 0) -> FinishedRating:
    answers_by_name = {name: answer for name, answer in zip(("Q1", "Q2"), answers, strict=False) if answer is not None}
    at = NOON + timedelta(hours=hour)
    return FinishedRating(
        assignment_id=f"{rater}-{item}",
        rater_id=f"r{rater}",
        item=f"i{item}",
        answers=answers_by_name,
        time_ms=ms,
        at=at,
    )


answers = st.sampled_from((*SCALE, None, "none of the scale"))
ratings = st.builds(
    rating, st.integers(0, 6), st.integers(0, 5), answers, answers, ms=st.integers(0, 10**7), hour=st.integers(0, 99)
)


def collect(*batches: list[FinishedRating]) -> MonitorState:
    state = MonitorState(SCALES)
    for batch in batches:
        state.add(batch)
    return state


def figures(state: MonitorState, people: tuple[MonitoredRater, ...] = PEOPLE) -> CampaignFigures:
    return compute_figures(state, people, ITEMS, AXES, replicates=REPLICATES)


@pytest.mark.slow
@quick
@given(st.lists(ratings, max_size=60, unique_by=lambda one: one.assignment_id), st.randoms(use_true_random=False))
def test_order_batches_repetitions_and_revisions_do_not_matter(batch: list[FinishedRating], random) -> None:  # type: ignore[no-untyped-def]
    plain = figures(collect(batch))
    earlier = [replace(one, answers={"Q1": "Yes"}, time_ms=7) for one in random.sample(batch, len(batch) // 2)]
    state = collect(earlier)
    mixed = random.sample(batch, len(batch)) + random.sample(batch, len(batch) // 3)
    while mixed:
        n = random.randint(1, 9)
        state.add(mixed[:n])
        mixed = mixed[n:]
    assert figures(state, tuple(random.sample(PEOPLE, len(PEOPLE)))) == plain
    assert len(state) == len(batch)


@pytest.mark.slow
@quick
@given(st.lists(ratings, max_size=60, unique_by=lambda one: one.assignment_id), st.sets(st.integers(0, 6)))
def test_a_removed_rater_leaves_no_trace(batch: list[FinishedRating], leaving: set[int]) -> None:
    state, rater_ids = collect(batch), {f"r{n}" for n in leaving}
    state.drop_raters(rater_ids)
    assert state.drop([("nobody", "i0"), ("r0", "no item")]) == set()
    remaining = [one for one in batch if one.rater_id not in rater_ids]
    people = tuple(one for one in PEOPLE if one.rater_id not in rater_ids)
    assert figures(state, people) == figures(collect(remaining), people)
    # A rater who comes back begins anew.
    state.add([replace(one, rater_id="back") for one in batch[:5]])
    assert state.drop([("back", one.item) for one in batch[:5]]) == ({"back"} if batch else set())
    assert figures(state, people) == figures(collect(remaining), people)


@pytest.mark.slow
@quick
@given(st.lists(ratings, max_size=40))
def test_figures_round_trip_through_json(batch: list[FinishedRating]) -> None:
    adapter = TypeAdapter(CampaignFigures)
    expected = figures(collect(batch))
    assert adapter.validate_json(adapter.dump_json(expected)) == expected


def make_batch(n_raters: int = 12, n_items: int = 40, seed: int = 3) -> list[FinishedRating]:
    rng = np.random.default_rng(seed)
    return [
        rating(
            r,
            i,
            *(SCALE[int(x)] for x in rng.choice(3, 2, p=[0.6, 0.1, 0.3])),
            ms=int(rng.integers(9_000, 90_000)),
            hour=r,
        )
        for r in range(n_raters)
        for i in range(n_items)
        if rng.random() < 0.8
    ]


def people(n: int = 12) -> list[MonitoredRater]:
    return [
        MonitoredRater(rater_id=f"r{r}", number=r, groups={"rater_age": "old" if r % 3 else "young"}) for r in range(n)
    ]


def test_agreement_and_its_intervals_are_those_of_analyse() -> None:
    batch = make_batch()
    rows = [{"item_id": one.item, "rater_id": one.rater_id, **one.answers} for one in batch]
    frame = pl.DataFrame(rows).with_columns(pl.col("Q1", "Q2").cast(pl.Enum(SCALE)))
    worst = pl.max_horizontal(pl.col("Q1", "Q2").to_physical()).replace_strict([0, 1, 2], SCALE, return_dtype=pl.String)
    age = pl.col("rater_id").replace_strict({one.rater_id: one.groups["rater_age"] for one in people()})
    table = frame.select("item_id", "rater_id", worst.alias("Q_overall"), age.alias("rater_age"))
    ratings = Ratings.from_frame(table)
    analysis = analyse(ratings, by="rater_age", bootstrap=200)
    # In the order in which analyse resamples them.
    items = dict.fromkeys(ratings.items["item_id"])
    order = {name: number for number, name in enumerate(ratings.raters["rater_id"])}
    ordered = [replace(one, number=order[one.rater_id]) for one in people()]
    result = compute_figures(collect(batch), ordered, items, {"rater_age": ("old", "young")}, replicates=200)
    expected = {row.group: row for row in (*analysis.overall, *analysis.rows) if row.metric == "irr"}
    for group in (result.pool, *result.groups):
        row = expected[group.group or None]
        assert group.agreement.estimate == pytest.approx(row.estimate, abs=1e-12)
        assert group.agreement.low == pytest.approx(row.ci_low, abs=1e-9)
        assert group.agreement.high == pytest.approx(row.ci_high, abs=1e-9)
        assert group.agreement.warning == row.warning == "interval too narrow: fewer than 100 items"


def test_raters_are_flagged_as_vet_flags_them() -> None:
    batch = make_batch(n_items=30) + [rating(12, i, "No", "No", ms=3000) for i in range(30)]
    rows = [
        {"item_id": one.item, "rater_id": one.rater_id, "Q_overall": max(one.answers.values(), key=SCALE.index)}
        | {"answer_time_ms": one.time_ms}
        for one in batch
    ]
    vetted = vet(Ratings.from_frame(pl.DataFrame(rows)))
    items = {f"i{n}": None for n in range(30)}
    (flagged,) = compute_figures(collect(batch), people(13), items, AXES, replicates=0).flagged
    by_vet = vetted.raters.row(by_predicate=pl.col("rater_id") == "r12", named=True)
    assert vetted.flagged == ("r12",)
    assert list(flagged.reasons) == by_vet["flagged_for"]
    assert flagged.agreement == pytest.approx(by_vet["agreement_pool"])
    assert flagged.median_ms == 3000


def test_counts_of_answers_loads_times_and_groups() -> None:
    batch = [rating(0, 0, "No", "No"), rating(1, 0, "Yes", None), rating(2, 0, "No", None, ms=5000, hour=1)]
    result = figures(collect(batch))
    assert result.pool.answers == {"Q1": (2, 0, 1), "Q2": (1, 0, 0), "Q_overall": (1, 0, 1)}
    assert result.loads == ((0, 5), (3, 1))
    assert (result.pool.min_ratings, result.pool.max_ratings, result.pool.n_raters) == (0, 3, 3)
    hours = [(one.start - int(NOON.timestamp()), one.n_ratings, one.n_raters) for one in result.hours]
    assert hours == [(0, 2, 2), (3600, 1, 1)]
    # One second and five seconds are in the bins that begin there.
    assert {place: n for place, n in enumerate(result.times) if n} == {1: 2, 4: 1}
    assert [(group.axis, group.group, group.n_ratings) for group in result.groups] == [
        ("rater_age", "young", 2),
        ("rater_age", "old", 1),
        ("rater_gender", "Man", 2),
    ]


def test_gold_is_tabulated_against_the_plurality_with_ties_apart() -> None:
    batch = [rating(r, 0, "No", "No") for r in range(3)] + [rating(0, 1, "No", "No"), rating(1, 1, "Yes", "Yes")]
    batch += [rating(r, 3, "No", "No") for r in range(3)]
    assert figures(collect(batch)).gold == ((1, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0))


def test_an_undeclared_group_comes_last() -> None:
    people = [replace(PEOPLE[0], groups={"rater_age": "<b>other</b>"}), *PEOPLE[1:]]
    result = compute_figures(
        collect([rating(r, 0, "No", "No") for r in range(5)]), people, ITEMS, AXES, replicates=REPLICATES
    )
    assert [group.group for group in result.axes["rater_age"]] == ["young", "old", "<b>other</b>"]


def test_undefined_agreement_has_a_reason() -> None:
    empty = figures(collect())
    assert empty.pool.agreement.reason == "Krippendorff's alpha is undefined: no item has two or more ratings."
    one_answer = figures(collect([rating(r, 0, "No", "No") for r in range(3)]))
    assert "gave the same answer" in str(one_answer.pool.agreement.reason)
    unscaled = MonitorState(QuestionScales(questions={}, overalls={}, primary_question=None))
    unscaled.add([rating(0, 0, "No")])
    text = compute_figures(unscaled, PEOPLE, ITEMS, AXES)
    assert (text.primary_question, text.gold, text.flagged, text.pool.n_ratings) == (None, None, (), 1)


def test_the_overall_of_all_questions_is_counted() -> None:
    scales = read_scales(load_questionnaire("dices-990"))
    assert scales.primary_question == "Q_overall"
    assert scales.all["Q_overall"] == SCALE


def test_ordinal_steps_are_measured_as_steps_and_in_two_classes() -> None:
    scales = read_scales(load_questionnaire("red-team-review"))
    assert (scales.primary_question, scales.steps, scales.cut) == ("Q_success", True, 3)
    rng = np.random.default_rng(5)
    steps = np.clip(rng.integers(0, 5, 40)[:, None] + rng.integers(-1, 2, (40, 3)), 0, 4)
    state = MonitorState(scales)
    state.add([_review(r, i, step) for i, ratings in enumerate(steps.tolist()) for r, step in enumerate(ratings)])
    state.add([_review(3, 0, 4)])
    result = compute_figures(state, people(4), {f"i{i}": None for i in range(40)}, {})
    ordinal, kappa, alpha_of_two, kappa_of_two = result.measures
    assert [one.n_items for one in result.measures] == [40, 39, 40, 39]
    counts = (steps[:, :, None] == np.arange(5)).sum(axis=1)
    counts[0, 4] += 1
    over_items = agreement_interval(counts, level="ordinal", replicates=200)
    assert ordinal.agreement.estimate == over_items.estimate.estimate
    assert kappa.agreement.estimate == fleiss_kappa(counts[1:]).estimate
    two = np.stack([counts[:, :3].sum(axis=1), counts[:, 3:].sum(axis=1)], axis=1)
    assert alpha_of_two.agreement.estimate == krippendorff_alpha(two).estimate
    assert kappa_of_two.agreement.estimate == fleiss_kappa(two[1:]).estimate
    assert kappa_of_two.name == "Fleiss' kappa, from 3 on or below it"
    assert figures(collect(make_batch())).measures == ()


def test_ordinal_agreement_has_the_interval_of_analyse_over_raters_and_items() -> None:
    steps = np.clip(np.random.default_rng(6).integers(0, 5, 12)[:, None] + np.arange(4) - 2, 0, 4)
    rows = [(f"i{i}", f"r{r}", str(step)) for i, of_item in enumerate(steps.tolist()) for r, step in enumerate(of_item)]
    table = pl.DataFrame(rows, schema=("item_id", "rater_id", "Q_success"), orient="row")
    ratings = Ratings.from_frame(table, categories=list("01234"))
    (expected,) = (row for row in analyse(ratings, level="ordinal", bootstrap=200).overall if row.metric == "irr")
    state = MonitorState(read_scales(load_questionnaire("red-team-review")))
    state.add([_review(int(rater[1:]), int(item[1:]), int(step)) for item, rater, step in rows])
    ordinal, *_ = compute_figures(state, people(4), dict.fromkeys(ratings.items["item_id"]), {}).measures
    assert ordinal.agreement.estimate == pytest.approx(expected.estimate, abs=1e-12)
    assert ordinal.agreement.low == pytest.approx(expected.ci_low, abs=1e-9)
    assert ordinal.agreement.high == pytest.approx(expected.ci_high, abs=1e-9)
    assert ordinal.agreement.warning == expected.warning


def test_agreement_without_shared_items_is_undefined() -> None:
    state = MonitorState(read_scales(load_questionnaire("red-team-review")))
    state.add([_review(r, r, 3) for r in range(4)])
    result = compute_figures(state, people(4), {f"i{i}": None for i in range(4)}, {})
    assert [one.agreement.estimate for one in result.measures] == [None] * 4
    assert result.measures[1].agreement.reason == "No item has two ratings."


def _review(rater: int, item: int, step: int) -> FinishedRating:
    return replace(rating(rater, item), answers={"Q_success": str(step)})


def test_a_forecast_uses_the_pace_of_the_last_day() -> None:
    hour = int(NOON.timestamp()) - 3600
    hours = [
        TimeBucket(start=hour - 86_400 * 2, n_ratings=900, n_raters=1),
        TimeBucket(start=hour, n_ratings=10, n_raters=1),
    ]
    result = forecast(hours, 910, 1000, now=NOON)
    assert (result.per_hour, result.missing) == (10 / 24, 90)
    assert result.completed_at is not None
    assert abs(result.completed_at - NOON - timedelta(hours=216)) < timedelta(seconds=1)
    started = forecast(hours[1:], 10, 100, now=NOON)
    assert (started.per_hour, started.completed_at) == (10.0, NOON + timedelta(hours=9))
    later = forecast(hours, 910, 1000, now=NOON + timedelta(days=2))
    assert (later.per_hour, later.completed_at) == (0, None)
    assert forecast(hours, 1001, 1000, now=NOON).missing == 0
    assert forecast(hours, 910, None, now=NOON).missing is None
    farthest = forecast(hours[1:], 10, 10 + 10 * 24_000, now=NOON)
    assert farthest.completed_at == NOON + timedelta(days=1000)
    assert forecast(hours[1:], 10, 10 + 10 * 24_000 + 1, now=NOON).completed_at is None


def test_ratings_are_planned_by_replication_or_else_by_the_quota() -> None:
    campaign = load_campaign("dices-350")
    quota = Quota(axes={"rater_gender": {"Woman": ("Woman",), "Man": ("Man",)}}, seats=10, rest=4, margin_percent=50)
    by_quota = replace(campaign, quota=quota, replication=None, max_items=20)
    assert [count_planned(by_quota, n_items) for n_items in (10, 20, 50)] == [24 * 10, 24 * 20, 24 * 20]
    assert count_planned(replace(by_quota, max_items=None), 50) == 24 * 50
    assert count_planned(replace(by_quota, replication=3), 50) == 3 * 50
    assert count_planned(replace(by_quota, quota=None), 50) is None


def test_hours_are_the_last_48_with_a_rating_and_days_are_all() -> None:
    batch = [rating(0, number, "No", "No", hour=2 * number) for number in range(60)]
    result = compute_figures(collect(batch), PEOPLE, {f"i{n}": None for n in range(60)}, AXES, replicates=0)
    noon = int(NOON.timestamp())
    assert [hour.start for hour in result.hours] == [noon + 7200 * number for number in range(12, 60)]
    assert [(day.start - noon) / 3600 for day in result.days] == [24 * number - 12 for number in range(6)]
    assert [day.n_ratings for day in result.days] == [6, 12, 12, 12, 12, 6]


def crowd(groups: Sequence[Mapping[str, str]]) -> tuple[MonitoredRater, ...]:
    return tuple(MonitoredRater(rater_id=f"r{n}", number=n, groups=group) for n, group in enumerate(groups))


def test_published_figures_hide_crossings_and_rare_answers() -> None:
    """Three young women are all women but nine, in two axes; only four people answer the second question."""
    cells = [("Woman", "young")] * 3 + [("Woman", "old")] * 9 + [("Man", "young")] * 5 + [("Man", "old")] * 4
    people = crowd([{"cell": f"{gender}/{age}", "rater_gender": gender} for gender, age in cells])
    axes = {"cell": tuple(dict.fromkeys("/".join(cell) for cell in cells)), "rater_gender": ("Woman", "Man")}
    state = MonitorState(SCALES)
    state.add([rating(n, 0, "No", *(["Yes"] if n < 4 else [])) for n in range(len(people))])
    figures = compute_figures(state, people, ITEMS, axes, replicates=0)
    published = suppress_figures(figures, state, people)
    assert published is not None
    assert [group.group for group in published.groups] == ["Woman", "Man"]
    assert list(published.scales) == ["Q1"]
    assert published.primary_question is None
    assert [dict(group.answers) for group in published.groups] == [{"Q1": (12, 0, 0)}, {"Q1": (9, 0, 0)}]
    assert (published.flagged, published.hours, published.gold) == ((), (), None)
    assert suppress_figures(figures, state, people[:4]) is None


def test_answers_of_a_group_are_hidden_where_few_of_it_answered() -> None:
    people = crowd([{"rater_gender": "Woman"}] * 8 + [{"rater_gender": "Man"}] * 8)
    state = MonitorState(SCALES)
    state.add([rating(n, 0, "No", *(["Yes"] if n < 10 else [])) for n in range(len(people))])
    figures = compute_figures(state, people, ITEMS, {"rater_gender": ("Woman", "Man")}, replicates=0)
    published = suppress_figures(figures, state, people)
    assert published is not None
    women, men = published.groups
    # Two men answered Q2, so its answers are shown of all raters alone.
    assert (set(women.answers), set(men.answers)) == ({"Q1"}, {"Q1"})
    assert sum(published.pool.answers["Q2"]) == 10
    assert women.agreement.reason == "Hidden, since few raters answered."


def test_five_raters_are_enough_for_figures_and_each_day_needs_as_many() -> None:
    people = crowd([{}] * 10)
    state = collect([rating(n, 0, "No", "Yes") for n in range(5)])
    figures = replace(
        compute_figures(state, people, ITEMS, {}, replicates=0),
        consistency=measure_consistency(state, state, people, list(ITEMS), {}),
    )
    published = suppress_figures(figures, state, people)
    assert published is not None
    assert list(published.scales) == ["Q1", "Q2", "Q_overall"]
    assert (published.primary_question, published.gold) == ("Q_overall", figures.gold)
    assert figures.gold is not None
    assert published.days == figures.days
    assert (published.flagged, published.hours, published.consistency) == ((), (), None)
    assert figures.consistency is not None
    state.add([rating(n, 1, "No", "Yes", hour=24) for n in range(5, 9)])
    next_day = suppress_figures(compute_figures(state, people, ITEMS, {}, replicates=0), state, people)
    assert next_day is not None
    assert next_day.days == ()


@pytest.mark.parametrize(("n_unknown", "share"), [(1, 0.75), (0, None)])
def test_consistency_of_few_raters_is_hidden(n_unknown: int, share: float | None) -> None:
    """Of six women and four men, the women are hidden too where all others are the four men."""
    people = crowd([{"rater_gender": "Woman"}] * 6 + [{"rater_gender": "Man"}] * 4 + [{}] * n_unknown)
    scales = QuestionScales(questions={"Q1": SCALE}, overalls={}, primary_question="Q1")
    first, second = MonitorState(scales), MonitorState(scales)
    first.add([rating(n, item, "No") for n in range(len(people)) for item in (0, 1)])
    # All repeat their answer to one item, and every second rater that to the other.
    second.add([rating(n, 0, "No") for n in range(len(people))])
    second.add([rating(n, 1, "No" if n % 2 else "Yes") for n in range(len(people))])
    second.add([rating(0, 2, "No"), rating(99, 0, "No")])
    axes = {"rater_gender": ("Woman", "Man")}
    result = measure_consistency(first, second, people, list(ITEMS), axes)
    assert result is not None
    women, men = result.groups
    assert (women.group, women.n_raters, women.share, women.n_repeats) == ("Woman", 6, share, share and 12)
    assert (men.group, men.n_raters, men.share, men.n_repeats) == ("Man", 4, None, None)
    assert (result.pool.n_raters, result.pool.n_repeats, result.pool.share) == (
        *(len(people), 2 * len(people)),
        (len(people) + 5) / (2 * len(people)),
    )
    assert [(rater.n_repeats, rater.n_equal) for rater in result.raters[:2]] == [(2, 1), (2, 2)]
    assert measure_consistency(first, MonitorState(scales), people, list(ITEMS), axes) is None
