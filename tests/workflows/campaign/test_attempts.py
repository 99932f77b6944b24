"""Attempts of a campaign without those of raters who withdrew."""

from tests.support.attack_attempts import ATTACK, add_attempt
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.raters import enter

from dissensus.workflows.campaign.attempts import summarise_attempts
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal


def test_withdrawn_raters_are_in_no_figure(platform: Platform) -> None:
    campaign = open_chat_campaign(platform, chat={"max_conversations": 9})
    first, second = enter(platform, campaign.key), enter(platform, campaign.key)
    add_attempt(platform, first, f"{ATTACK} ann@example.org", 4)
    add_attempt(platform, first, "Something else entirely, which nobody tried before.", None)
    add_attempt(platform, second, "Insult me.", 3)
    before = summarise_attempts(platform, "pilot", staff_id=campaign.staff_id)
    assert before is not None
    assert (before.analysis.n_attempts, [one.n for one in before.red_teamers]) == (3, [2, 1])
    assert sum(before.personal.values()) == 1
    withdrawal.withdraw_rater(platform, first.id, now=NOW)
    after = summarise_attempts(platform, "pilot", staff_id=campaign.staff_id)
    assert after is not None
    assert (after.analysis.n_attempts, [one.n for one in after.red_teamers]) == (1, [1])
    assert after.personal == {}
