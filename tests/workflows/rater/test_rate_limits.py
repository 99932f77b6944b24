"""Rate limits of what raters send: saves, notices and entries, counted in the database."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import AGREED, NOW, TWO_QUESTIONS, open_campaign
from tests.support.raters import enter, make_save

from dissensus.campaign.answer_drafts import DraftAnswer
from dissensus.campaign.rate_limits import HOUR_S, RateLimit, RaterLimits
from dissensus.errors import TooManyRequests
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.core.rate_limits import RateLimitTable
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rate_limits, rating
from dissensus.workflows.rater.enrolment import Arrival

ADDRESS = "digest of an address"


def limited(platform: Platform, **limits: RateLimit) -> Platform:
    """The same platform with other limits, as another worker would open it."""
    return replace(platform, rater_limits=replace(RaterLimits(), **limits))


def count(platform: Platform, table: type) -> int:
    with platform.database.reading() as tx:
        return tx.scalar(select(func.count()).select_from(table)) or 0


@pytest.mark.parametrize(("n", "wait"), [(0, 0), (1, 90), (60, 90)])
def test_zero_is_no_limit_and_one_is_the_smallest(n: int, wait: int) -> None:
    limit = RateLimit(n, period_s=60)
    assert limit.wait_s(150_000, 0) == wait
    assert limit.cost_ms() == {0: 0, 1: 60_000, 60: 1_000}[n]


def test_a_hostile_rater_cannot_save_without_end(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform).key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    slow = limited(platform, saves_per_rater=RateLimit(10, 60))
    for number in range(10):
        save = make_save(revision=number + 1)
        rating.save_answers(slow, rater, state.assignment.id, f"key {number}", save, now=NOW)
    # The count is in the database: another worker refuses too.
    for worker in (slow, limited(platform, saves_per_rater=RateLimit(10, 60))):
        with pytest.raises(TooManyRequests, match=r"What it confirmed is saved\. Try again in 6 seconds\.") as refused:
            rating.save_answers(worker, rater, state.assignment.id, "key 10", make_save(), now=NOW)
        assert refused.value.retry_after_s == 6
    n_saves = count(platform, SaveTable)
    later = NOW + timedelta(seconds=6)
    rating.save_answers(slow, rater, state.assignment.id, "key 10", make_save(revision=11), now=later)
    with pytest.raises(TooManyRequests, match="Try again in 6 seconds"):
        rating.skip_item(slow, rater, state.assignment.id, now=later)
    assert count(platform, SaveTable) <= n_saves + 1
    # Reading is not limited, nor are others.
    assert next_step.find_next_step(slow, rater, now=later).stage == "rate"


def test_large_saves_count_as_several(platform: Platform) -> None:
    questions = [{"name": "Why", "text": "Why?", "kind": "text", "max_length": 20_000}]
    rater = enter(platform, open_campaign(platform, questionnaire={**TWO_QUESTIONS, "questions": questions}).key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    long = replace(make_save(), answers={"Why": DraftAnswer(value="x" * 20_000)})
    slow = limited(platform, saves_per_rater=RateLimit(3, 60))
    rating.save_answers(slow, rater, state.assignment.id, "first", long, now=NOW)
    with pytest.raises(TooManyRequests, match="What it confirmed is saved"):
        rating.save_answers(slow, rater, state.assignment.id, "second", long, now=NOW)


def test_a_quick_rater_never_meets_the_limit(platform: Platform) -> None:
    """Two answers a second for ten minutes, with the limits as they ship."""
    rater = enter(platform, open_campaign(platform).key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    limit = platform.rater_limits.saves_per_rater
    full_at_ms = 0
    for number in range(1200):
        now_ms = 500 * number
        full_at_ms = max(full_at_ms, now_ms) + limit.cost_ms()
        limit.check(full_at_ms, now_ms, "")
    for number in range(60):
        save, now = make_save(revision=number + 1), NOW + timedelta(seconds=number / 2)
        rating.save_answers(platform, rater, state.assignment.id, f"key {number}", save, now=now)


def test_a_clock_that_was_set_back_locks_nobody_out(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform).key)
    ahead = NOW + timedelta(days=365)
    state = next_step.find_next_step(platform, rater, now=ahead)
    assert state.assignment is not None
    rating.save_answers(platform, rater, state.assignment.id, "ahead", make_save(), now=ahead)
    rating.save_answers(platform, rater, state.assignment.id, "now", make_save(), now=NOW)


def test_notices_of_a_rater_are_limited_by_kind(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform).key)
    slow = limited(platform, notices_per_rater=RateLimit(2, HOUR_S))
    for number in range(2):
        rating.report_item(slow, rater, "illegal", f"bad {number}", assignment_id=None, now=NOW)
    with pytest.raises(TooManyRequests, match="2 such messages within an hour"):
        rating.report_item(slow, rater, "illegal", "bad 2", assignment_id=None, now=NOW)
    rating.report_item(slow, rater, "help", "I need help", assignment_id=None, now=NOW)
    rating.report_item(slow, rater, "illegal", "bad 2", assignment_id=None, now=NOW + timedelta(hours=1))
    assert count(platform, NoticeTable) == 4


def test_notices_of_an_address_are_limited(platform: Platform) -> None:
    key = open_campaign(platform).key
    first, second = enter(platform, key), enter(platform, key)
    slow = limited(platform, notices_per_address=RateLimit(1, HOUR_S))
    rating.report_item(slow, first, "help", "", assignment_id=None, address=ADDRESS, now=NOW)
    with pytest.raises(TooManyRequests, match="from your network"):
        rating.report_item(slow, second, "help", "", assignment_id=None, address=ADDRESS, now=NOW)
    rating.report_item(slow, second, "help", "", assignment_id=None, address="another", now=NOW)
    assert count(platform, NoticeTable) == 2


@pytest.mark.parametrize(
    ("limit", "message"), [("entries_per_address", "from your network"), ("entries_per_link", "by this link")]
)
def test_entries_are_limited(platform: Platform, limit: str, message: str) -> None:
    campaign = open_campaign(platform)
    key, slow = campaign.key, limited(platform, **{limit: RateLimit(2, HOUR_S)})
    sessions = [enter(slow, key, address=ADDRESS) for _ in range(2)]
    with pytest.raises(TooManyRequests, match=message) as refused:
        enter(slow, key, address=ADDRESS)
    assert (count(platform, RaterTable), refused.value.retry_after_s) == (2, 1800)
    # Who entered before enters again, and the consent form sent twice is one entry.
    enrolment.enrol_rater(slow, Arrival("pilot", str(key), "en", sessions[0].id), AGREED, address=ADDRESS, now=NOW)
    if limit == "entries_per_address":
        enter(slow, key, address="another")
    # Neither are personal links limited, each of which admits one rater.
    for personal in campaigns.create_invitations(slow, "pilot", 3, staff_id=campaign.staff_id, now=NOW):
        enter(slow, personal, address=ADDRESS)


def test_full_buckets_are_deleted(platform: Platform) -> None:
    enter(platform, open_campaign(platform).key, address=ADDRESS)
    assert count(platform, RateLimitTable) == 2
    assert rate_limits.delete_full_buckets(platform, NOW) == 0
    assert rate_limits.delete_full_buckets(platform, NOW + timedelta(minutes=1)) == 2
    assert count(platform, RateLimitTable) == 0
