"""Simulated experts and the owner of the demo."""

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, owner
from tests.support.monitored_campaigns import add_crowd, open_monitored_campaign

from dissensus.demo.simulation import simulate_demo_campaign
from dissensus.demo.staff import decide_flags, label_all
from dissensus.errors import Unavailable
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.store.core.database import Database
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.monitoring import MonitoringCache, load_monitoring, refresh_snapshots
from dissensus.workflows.gold.queue import list_labels
from dissensus.workflows.platform.platform import Platform

pytestmark = sqlite_only


def test_experts_label_all_items_and_the_owner_decides_where_they_differ(database: Database) -> None:
    platform, owner_id = Platform(database), owner(database)
    definition, simulated = load_campaign("dices-350"), simulate_demo_campaign(12, 3, seed=1)
    campaigns.create_campaign(platform, definition, simulated.items, staff_id=owner_id, now=NOW)
    campaigns.change_state(platform, definition.name, "open", staff_id=owner_id, now=NOW)
    n_experts, n_decided = label_all(platform, definition, simulated.gold, owner_id=owner_id, seed=1, now=NOW)
    assert n_experts == 6
    assert 0 < n_decided < 12
    assert not list_labels(platform, definition.name, only="disputed", most=12, staff_id=owner_id)
    decided = list_labels(platform, definition.name, most=12, staff_id=owner_id)
    settled = [labels.progress["safety"].settled or {} for labels in decided]
    assert [label["safety"] for label in settled] == [label["safety"] for label in simulated.gold]


def test_fast_raters_are_excluded_and_straight_liners_kept(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = Platform(database)
    campaign = open_monitored_campaign(platform)
    hasty, stubborn = add_crowd(platform, campaign, 6)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    assert decide_flags(platform, "pilot", 8, owner_id=campaign.staff_id, clock=lambda: NOW) == (2, 1)
    decisions = load_monitoring(platform, "pilot", staff_id=campaign.staff_id, now=NOW).decisions
    assert {rater_id: row.verdict for rater_id, row in decisions.items()} == {hasty: "exclude", stubborn: "keep"}
    monkeypatch.setattr("dissensus.demo.staff.TIMEOUT_S", 0.01)
    with pytest.raises(Unavailable, match="made no figures of all 9 raters within 0 seconds"):
        decide_flags(platform, "pilot", 9, owner_id=campaign.staff_id, clock=lambda: NOW)
