"""One rater for each who agrees, and what they said."""

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


def test_the_same_id_is_the_same_rater_and_what_was_said_first_holds(platform: Platform) -> None:
    kept, rater_id = open_campaign(platform), enrolment.new_entry_id(NOW)
    assert rater_id != enrolment.new_entry_id(NOW)
    key = str(kept.key)
    first, session = enrolment.enrol_rater(platform, Arrival("pilot", key, "en", rater_id), AGREED, now=NOW)
    other = {"rating": True, "release": True}
    again, another = enrolment.enrol_rater(platform, Arrival("pilot", key, "de", rater_id), other, now=LATER)
    assert (again, again.id) == (first, rater_id)
    for one in (session, another):
        assert enrolment.rater_of_session(platform, one, now=LATER) == first
    (said,) = enrolment.list_consents(platform, first)
    assert (said.version, dict(said.given), said.at) == (1, AGREED, NOW)
    assert said.consent == definition().consent
    with platform.database.reading() as tx:
        assert store.get_campaign(tx, kept.id).n_raters == 1


def test_an_id_is_good_for_one_campaign(platform: Platform) -> None:
    kept, rater_id = open_campaign(platform), enrolment.new_entry_id(NOW)
    campaigns.create_campaign(platform, definition("second"), items(1), staff_id=kept.staff_id, now=NOW)
    second = campaigns.change_state(platform, "second", "open", staff_id=kept.staff_id, now=NOW)
    enrolment.enrol_rater(platform, Arrival("pilot", str(kept.key), "en", rater_id), AGREED, now=NOW)
    with pytest.raises(NotAllowed, match="of another campaign"):
        enrolment.enrol_rater(platform, Arrival("second", str(second.key), "en", rater_id), AGREED, now=NOW)


def test_who_is_known_comes_back_where_nobody_new_is_let_in(platform: Platform) -> None:
    kept, rater_id = open_campaign(platform), enrolment.new_entry_id(NOW)
    key = str(kept.key)
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en", rater_id), AGREED, now=NOW)
    campaigns.change_state(platform, "pilot", "closed", staff_id=kept.staff_id, now=NOW)
    assert check_entry(platform, "pilot", key, now=NOW).state == "closed"
    again, _ = enrolment.enrol_rater(platform, Arrival("pilot", key, "en", rater_id), AGREED, now=NOW)
    assert again == rater
    with pytest.raises(Conflict, match="pilot takes no raters now: it is closed"):
        enrolment.enrol_rater(platform, Arrival("pilot", key, "en", enrolment.new_entry_id(NOW)), AGREED, now=NOW)
