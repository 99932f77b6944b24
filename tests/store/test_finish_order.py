"""Raters in the order in which they finished, and items by the number of their assignments, in the store."""

from datetime import timedelta

from sqlalchemy import update
from tests.support.campaigns import NOW, definition, open_campaign
from tests.support.raters import enter

from dissensus.store.core.database import Database
from dissensus.store.items import ItemTable
from dissensus.store.planning import finish_order
from dissensus.store.planning.finish_order import FinishedRater
from dissensus.store.raters import set_rater_state
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform


def test_raters_are_in_the_order_in_which_they_first_finished(database: Database) -> None:
    platform = Platform(database)
    campaign = open_campaign(platform)
    first, second, third, _ = (enter(platform, campaign.key) for _ in range(4))
    times = [NOW + timedelta(minutes=minutes) for minutes in range(4)]
    with database.writing() as tx:
        for rater, now in ((second, times[1]), (third, times[2]), (first, times[2]), (second, times[3])):
            set_rater_state(tx, rater.id, "finished", now=now)
        # Of those who finish at the same time, the one who entered first comes first.
        assert finish_order.list_finished_raters(tx, campaign.id) == (
            FinishedRater(id=second.id, at=times[1]),
            FinishedRater(id=first.id, at=times[2]),
            FinishedRater(id=third.id, at=times[2]),
        )


def test_withheld_items_are_not_among_those_with_the_fewest_assignments(database: Database) -> None:
    platform = Platform(database)
    campaign = open_campaign(platform, 5)
    other = campaigns.create_campaign(platform, definition("other"), (), staff_id=campaign.staff_id, now=NOW)
    with database.writing() as tx:
        for position, load in enumerate((2, 0, 1, 1, 9)):
            item = (ItemTable.campaign_id == campaign.id) & (ItemTable.position == position)
            tx.execute(update(ItemTable).where(item).values(load=load, withheld=load in (0, 9)))
        assert finish_order.find_extreme_loads(tx, campaign.id) == (1, 2)
        assert finish_order.find_extreme_loads(tx, other.id) is None
        assert finish_order.list_items_of_load(tx, campaign.id, 1, most=1) == (2, ["item-2"])
        assert finish_order.list_items_of_load(tx, campaign.id, 1, most=9) == (2, ["item-2", "item-3"])
        assert finish_order.list_items_of_load(tx, campaign.id, 0, most=9) == (0, [])
        assert finish_order.list_items_of_load(tx, other.id, 1, most=9) == (0, [])
