"""Enrolment of raters, and their consent."""

from datetime import timedelta

import pytest
from tests.support.campaigns import AGREED, NOW, definition, items, open_campaign

from dissensus.errors import Conflict, NotAllowed
from dissensus.store import campaigns as store
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.invite_links import check_entry

LATER = NOW + timedelta(minutes=5)


def test_a_repeated_entry_returns_the_rater_and_keeps_the_first_consent(platform: Platform) -> None:
    campaign, rater_id = open_campaign(platform), enrolment.new_entry_id(NOW)
    assert rater_id != enrolment.new_entry_id(NOW)
    key = str(campaign.key)
    first, session = enrolment.enrol_rater(platform, Arrival("pilot", key, "en", rater_id), AGREED, now=NOW)
    other = {"rating": True, "release": True}
    again, another = enrolment.enrol_rater(platform, Arrival("pilot", key, "de", rater_id), other, now=LATER)
    assert (again, again.id) == (first, rater_id)
    for session_key in (session, another):
        assert enrolment.rater_of_session(platform, session_key, now=LATER) == first
    (consent,) = enrolment.list_consents(platform, first)
    assert (consent.version, dict(consent.agreed), consent.at) == (1, AGREED, NOW)
    assert consent.consent == definition().consent
    with platform.database.reading() as tx:
        assert store.get_campaign(tx, campaign.id).n_raters == 1


def test_consent_to_a_text_that_has_changed_is_refused(platform: Platform) -> None:
    campaign, digest = open_campaign(platform), definition().consent.digest
    arrival = Arrival("pilot", str(campaign.key), "en")
    with pytest.raises(Conflict, match="The text has changed since you read it, and nothing was stored"):
        enrolment.enrol_rater(platform, arrival, AGREED, text_digest="0" * 64, now=NOW)
    with platform.database.reading() as tx:
        assert store.get_campaign(tx, campaign.id).n_raters == 0
    rater, _ = enrolment.enrol_rater(platform, arrival, AGREED, text_digest=digest, now=NOW)
    with pytest.raises(Conflict, match="The text has changed since you read it, and nothing was stored"):
        enrolment.renew_consent(platform, rater, AGREED, text_digest="0" * 64, now=NOW)


def test_an_entry_id_is_valid_in_one_campaign(platform: Platform) -> None:
    campaign, rater_id = open_campaign(platform), enrolment.new_entry_id(NOW)
    campaigns.create_campaign(platform, definition("second"), items(1), staff_id=campaign.staff_id, now=NOW)
    second = campaigns.change_state(platform, "second", "open", staff_id=campaign.staff_id, now=NOW)
    enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en", rater_id), AGREED, now=NOW)
    with pytest.raises(NotAllowed, match="of another campaign"):
        enrolment.enrol_rater(platform, Arrival("second", str(second.key), "en", rater_id), AGREED, now=NOW)


def test_a_closed_campaign_admits_only_returning_raters(platform: Platform) -> None:
    campaign, rater_id = open_campaign(platform), enrolment.new_entry_id(NOW)
    key = str(campaign.key)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en", rater_id), AGREED, now=NOW)
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=NOW)
    assert check_entry(platform, "pilot", key, now=NOW).state == "closed"
    again, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en", rater_id), AGREED, now=NOW)
    assert again == rater
    with pytest.raises(Conflict, match="pilot takes no raters now: it is closed"):
        enrolment.enrol_rater(platform, Arrival("pilot", key, "en", enrolment.new_entry_id(NOW)), AGREED, now=NOW)
