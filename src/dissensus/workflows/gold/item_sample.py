"""Sample of items that experts label: drawn by the rule of `curate` from the seed of the campaign."""

from collections.abc import Sequence

from sqlalchemy import Connection

from dissensus.errors import DissensusError, InvalidInput
from dissensus.pipeline.curate.plan import SamplePlan
from dissensus.pipeline.curate.sampler import curate
from dissensus.schema.advice import error_message, join_messages
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold
from dissensus.schema.records.item import Item
from dissensus.store import gold as store
from dissensus.store import items as items_store


def draw_gold_sample(tx: Connection, campaign_id: str, campaign: Campaign) -> dict[str, str]:
    """Mark the items that experts label, and return what the log records of a sample; the campaign must be locked."""
    gold = campaign.gold
    if gold is None or gold.sample is None:
        store.set_sample(tx, campaign_id, None)
        return {}
    items = tuple(items_store.iterate_items(tx, campaign_id))
    store.set_sample(tx, campaign_id, choose_sample(items, gold, gold.sample, campaign.seed))
    return {"gold_sample": store.digest_sample(tx, campaign_id)}


def choose_sample(items: Sequence[Item], gold: Gold, n: int, seed: int) -> tuple[str, ...]:
    """Return the names of the items of a sample, or of all items if there are at most `n`.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Conversation
    >>> items = [Item(name, Conversation.from_turns([("bot", "Hi")])) for name in "abcd"]
    >>> choose_sample(items, Gold(scale=("No", "Yes")), 2, 7)
    ('a', 'c')
    """
    if len(items) <= n:
        return tuple(item.item_id for item in items)
    try:
        selection = curate(items, SamplePlan(n=n, by=gold.sample_by, seed=seed))
    except DissensusError as error:
        raise InvalidInput(
            join_messages("The sample for gold labels cannot be drawn.", error_message(error))
        ) from error
    return tuple(item.item_id for item in selection.sample)
