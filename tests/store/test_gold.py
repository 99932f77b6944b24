"""Gold labels in the store: those of one campaign."""

from tests.support.campaigns import NOW, definition, items
from tests.support.gold_campaigns import SMALL, create_disputed_item

from dissensus.store import gold
from dissensus.store.campaigns import get_campaign_by_name
from dissensus.store.core.database import Database
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.gold import adjudication
from dissensus.workflows.platform.platform import Platform


def test_labels_and_decisions_are_counted_by_campaign(database: Database) -> None:
    platform = Platform(database)
    owner, _ = create_disputed_item(platform)
    other = campaigns.create_campaign(platform, definition("other", gold=SMALL), items(1), staff_id=owner, now=NOW)
    with database.reading() as tx:
        pilot = get_campaign_by_name(tx, "pilot")
        assert gold.count_labels_and_decisions(tx, pilot.id) == 7
    decision = {"safety": "No", "reason": "I looked."}
    adjudication.decide_gold(platform, "pilot", 0, decision, revision=0, staff_id=owner, now=NOW)
    with database.reading() as tx:
        assert [gold.count_labels_and_decisions(tx, campaign.id) for campaign in (pilot, other)] == [8, 0]
        assert [gold.has_labels(tx, campaign.id) for campaign in (pilot, other)] == [True, False]
        assert (sum(map(len, gold.load_labels(tx, pilot.id).values())), gold.load_labels(tx, other.id)) == (7, {})
