"""Conversations that other campaigns rate: what they take over, and what of it a withdrawal erases."""

import pytest
from sqlalchemy import select
from tests.workflows.campaigns import AGREED, NOW, definition
from tests.workflows.talking import talking
from tests.workflows.test_chat_exporting import talked
from tests.workflows.test_rating import enter

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.collect.chatting import Pick
from dissensus.schema.conversation import Conversation
from dissensus.schema.item import Item
from dissensus.store import tables as t
from dissensus.store.campaigns import ERASED, Kept
from dissensus.workflows import auditing, campaigns, chat_items, entering, steps, withdrawing
from dissensus.workflows.entering import Arrival
from dissensus.workflows.platform import Platform


def rated(platform: Platform, items: tuple[Item, ...], owner: Kept, name: str = "review") -> Kept:
    """A campaign of these items, open."""
    campaigns.create(platform, definition(name), items, staff_id=owner.staff_id, now=NOW)
    return campaigns.move(platform, name, "open", staff_id=owner.staff_id, now=NOW)


def test_conversations_that_ended_are_items_that_say_what_was_tried(platform: Platform) -> None:
    kept = talking(platform)
    rater = enter(platform, kept.key)
    talked(platform, rater, Pick(strength=3))
    talked(platform, rater, Pick(strength=1), "helpful", ends=False)
    (item,) = chat_items.items_of(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    assert [turn.text for turn in item.conversation.turns] == ["Talk of red team.", "Response B"]
    assert item.attributes.keys() == {"phase", "item_model_type", "item_num_params", "item_intent"}
    assert (item.attributes["phase"], item.attributes["item_intent"]) == ("red team", "Insults.")
    with platform.database.reading() as tx:
        told = tx.scalars(select(t.Event.content).where(t.Event.kind == "export")).all()
    assert [one["with_text"] for one in told] == [True]


def test_there_may_be_none(platform: Platform) -> None:
    kept = talking(platform)
    with pytest.raises(NotFound, match="pilot has no conversation that has ended"):
        chat_items.items_of(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    rated(platform, (Item("one", Conversation.from_turns([("human", "Hi"), ("bot", "Ho")])),), kept)
    with pytest.raises(InvalidInput, match="In review raters rate items"):
        chat_items.items_of(platform, "review", staff_id=kept.staff_id, now=NOW)
    with pytest.raises(NotFound, match="There is no campaign"):
        chat_items.items_of(platform, "pilot", staff_id="somebody else", now=NOW)


def test_who_withdraws_takes_their_conversations_back_from_where_they_are_rated(platform: Platform) -> None:
    kept = talking(platform)
    one, other = enter(platform, kept.key), enter(platform, kept.key)
    for rater in (one, other):
        talked(platform, rater, Pick(strength=3))
    items = chat_items.items_of(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    review = rated(platform, items, kept)
    # Somebody else's conversation, whose id the page of a rater could have chosen.
    alike = tuple(Item(item.item_id, Conversation.from_turns([("human", "Mine"), ("bot", "!")])) for item in items)
    rated(platform, alike, kept, "other")
    reviewer, _ = entering.agree(platform, Arrival("review", str(review.key), "en"), AGREED, now=NOW)
    steps.step(platform, reviewer, now=NOW)
    withdrawing.withdraw(platform, one.id, now=NOW)
    with platform.database.reading() as tx:
        rows = tx.execute(select(t.Item).join(t.Campaign).where(t.Campaign.name == "review")).all()
        assert sorted(row.withheld for row in rows) == [False, True]
        (gone,) = [row for row in rows if row.withheld]
        assert {turn["text"] for turn in gone.content["turns"]} == {ERASED}
        assert gone.content["attributes"] == {}
        assert (
            tx.scalars(select(t.Item.withheld).join(t.Campaign).where(t.Campaign.name == "other")).all() == [False] * 2
        )
    step = steps.step(platform, reviewer, now=NOW)
    assert step.assignment is not None
    assert step.assignment.item.item_id != gone.name
    assert step.following is None
    for name in ("pilot", "review", "other"):
        assert not auditing.audit(platform, name).faults
