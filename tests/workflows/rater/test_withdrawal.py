"""Withdrawals of several raters at their request."""

from functools import partial

import pytest
from tests.support.campaigns import NOW, definition, items, open_campaign
from tests.support.raters import enter, rate_all

from dissensus.errors import InvalidInput, NotFound
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal


def test_at_most_fifty_raters_withdraw_at_once(platform: Platform) -> None:
    campaign = open_campaign(platform, 2)
    idle, done, withdrawn, other = (enter(platform, campaign.key) for _ in range(4))
    rate_all(platform, done)
    withdrawal.withdraw_rater(platform, withdrawn.id, now=NOW)
    plan = partial(withdrawal.plan_withdrawals, platform, "pilot", staff_id=campaign.staff_id)
    for numbers, message in ((range(0), "No rater is selected"), (range(51), "51 raters are selected, and at most 50")):
        with pytest.raises(InvalidInput, match=message):
            plan(numbers)
    assert [(rater.id, n) for rater, n in plan(range(50)).raters] == [(idle.id, 0), (done.id, 2), (other.id, 0)]
    assert [rater.id for rater in plan(range(50)).withdrawn] == [withdrawn.id]
    by = {"staff_id": campaign.staff_id, "now": NOW}
    assert withdrawal.withdraw_raters_for(platform, "pilot", [0, 1, 2], **by) == 2  # type: ignore[arg-type]
    states = [withdrawal.preview_withdrawal(platform, rater.id).withdrawn for rater in (idle, done, other)]
    assert states == [True, True, False]


def test_raters_of_other_campaigns_and_previews_cannot_be_withdrawn(platform: Platform) -> None:
    campaign = open_campaign(platform, 1)
    campaigns.create_campaign(platform, definition("second"), items(1), staff_id=campaign.staff_id, now=NOW)
    rater, preview = enter(platform, campaign.key), enter(platform, "", rehearsal=True)
    for name, rater_id in (("second", rater.id), ("pilot", preview.id), ("pilot", "nobody")):
        with pytest.raises(NotFound, match=f"{name} has no rater"):
            withdrawal.withdraw_rater_for(platform, name, rater_id, staff_id=campaign.staff_id, now=NOW)
    withdrawal.withdraw_rater_for(platform, "pilot", rater.id, staff_id=campaign.staff_id, now=NOW)
    with pytest.raises(NotFound, match="This rater has withdrawn already"):
        withdrawal.preview_withdrawal_for(platform, "pilot", rater.id, staff_id=campaign.staff_id)
