"""Items in the store: erased ones stay erased."""

import pytest
from sqlalchemy import select
from tests.support.campaigns import open_campaign

from dissensus.errors import Conflict
from dissensus.store import items
from dissensus.store.core.database import Database
from dissensus.workflows.platform.platform import Platform


def test_attributes_of_an_erased_item_do_not_restore_it(database: Database) -> None:
    campaign = open_campaign(Platform(database))
    with database.writing() as tx:
        first, second = tx.scalars(select(items.ItemTable.id).order_by(items.ItemTable.position).limit(2)).all()
        items.erase_item(tx, first)
        items.set_item_attributes(tx, campaign.id, {second: {"safety_platinum": "Yes"}})
        with pytest.raises(Conflict, match=r"item 'item-0' was erased at a withdrawal, and nothing was stored"):
            items.set_item_attributes(tx, campaign.id, {first: {"safety_platinum": "Yes"}})
        states = items.list_item_states(tx, campaign.id, [0, 1])
        items_by_name = items.find_items(tx, campaign.id, ["item-0", "item-1"])
    assert [state.erased for state in states] == [True, False]
    assert dict(items_by_name["item-0"].attributes) == {}
    assert dict(items_by_name["item-1"].attributes) == {"safety_platinum": "Yes"}
