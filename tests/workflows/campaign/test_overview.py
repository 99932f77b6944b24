"""Overview of a campaign: counts, notices and access."""

import pytest
from tests.support.campaigns import AGREED, NOW, definition, items, open_campaign

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import NotFound
from dissensus.workflows.campaign import campaigns, notices, overview
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating
from dissensus.workflows.rater.enrolment import Arrival


def rate_items(platform: Platform, key: str, n: int, *, rehearsal: bool = False) -> None:
    """Rate `n` items as a new rater, and ask for help at the next one."""
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en"), AGREED, rehearsal=rehearsal, now=NOW)
    step = next_step.find_next_step(platform, rater, now=NOW)
    for i in range(n):
        assert step.assignment is not None
        save = AnswerSave(revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")})
        step = rating.submit_answers(platform, rater, step.assignment.id, f"{rater.id[-20:]}-{i}", save, now=NOW)
    assert step.assignment is not None
    rating.report_item(platform, rater, "help", "It stays with me.", assignment_id=step.assignment.id, now=NOW)


def test_an_overview_counts_raters_and_assignments(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, replication=3)
    campaigns.create_invitations(platform, "pilot", 5, staff_id=campaign.staff_id, now=NOW)
    rate_items(platform, str(campaign.key), 2)
    rate_items(platform, str(campaign.key), 1)
    rate_items(platform, "", 1, rehearsal=True)
    campaign_overview = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id)
    numbers = campaign_overview.numbers
    assert (numbers.n_items, numbers.n_rehearsals, numbers.n_invited, numbers.n_entered) == (3, 1, 5, 0)
    assert numbers.raters == {"rating": 2, "finished": 0, "stopped": 0, "withdrawn": 0}
    assert numbers.n_done == 3
    assert sum(n for _, n in numbers.loads) == 3
    assert campaign_overview.allowed_states == ("paused", "closed")
    assert campaign_overview.sample == items(3)
    (line,) = overview.list_all_campaigns(platform)
    assert (line.campaign_row.name, line.owners) == ("pilot", ("owner",))
    assert (line.numbers.n_items, line.numbers.n_done, line.numbers.raters) == (3, 3, numbers.raters)
    tally = overview.count_platform(platform)
    assert (tally.n_saves, tally.raters["rating"]) == (4, 2)


def test_notices_stay_until_they_are_settled(platform: Platform) -> None:
    campaign = open_campaign(platform, 3)
    other = sign_in_links.create_sign_in_link(platform, "other", now=NOW).staff
    campaigns.create_campaign(platform, definition("another"), items(1), staff_id=other.id, now=NOW)
    rate_items(platform, str(campaign.key), 1)
    (notice,) = overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices
    assert (notice.kind, notice.text, notice.at) == ("help", "It stays with me.", NOW)
    assert notice.item in {"item-0", "item-1", "item-2"}
    with pytest.raises(NotFound, match="another has no such notice"):
        notices.settle_notice(platform, "another", notice.id, staff_id=other.id, now=NOW)
    assert overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices == (notice,)
    notices.settle_notice(platform, "pilot", notice.id, staff_id=campaign.staff_id, now=NOW)
    assert overview.load_overview(platform, "pilot", staff_id=campaign.staff_id).notices == ()


def test_campaigns_of_others_look_absent(platform: Platform) -> None:
    open_campaign(platform)
    other = sign_in_links.create_sign_in_link(platform, "other", now=NOW).staff
    messages = []
    for name in ("pilot", "nothing"):
        with pytest.raises(NotFound) as caught:
            overview.load_overview(platform, name, staff_id=other.id)
        messages.append(str(caught.value).replace(name, "NAME"))
        with pytest.raises(NotFound, match=f"There is no campaign '{name}'"):
            notices.settle_notice(platform, name, "x", staff_id=other.id, now=NOW)
    assert messages[0] == messages[1]
    assert overview.list_campaigns_of(platform, other) == ()
