"""Setting up a campaign, and taking it through its life."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.lifecycle import moved
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.campaign.definition import Campaign, State
from dissensus.schema.campaign.pay import Pay
from dissensus.schema.campaign.shipped import renamed
from dissensus.schema.hints import suggest, format_list, count_rest, format_value
from dissensus.schema.records.item import Item
from dissensus.store import campaigns as store
from dissensus.store import gold, seats
from dissensus.store.campaigns import Kept
from dissensus.store.core.ids import new_key
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

MAX_INVITATIONS = 10_000
"""Personal links made at once."""

FROZEN_FIELDS = (
    *(
        "name",
        "languages",
        "questionnaire",
        "chat",
        "pair",
        "demographics",
        "demographics_placed",
        "replication",
        "seed",
    ),
)
"""What cannot change once raters may come: answers would not be comparable, or plans not repeatable."""

CLONE_HINT = "Clone the campaign and change the clone."
REMOVE_HINT = "Remove the items first."
ITEMS_STAY = "its items cannot change"


def create_campaign(
    platform: Platform, campaign: Campaign, items: Sequence[Item], *, staff_id: str, by_link: bool = True, now: datetime
) -> Kept:
    """Keep a new draft with its items."""
    _check_items(campaign, items)
    with platform.database.writing() as tx:
        key = new_key() if by_link else None
        campaign_id = store.add_campaign(tx, campaign, staff_id=staff_id, key=key, now=now)
        store.add_items(tx, campaign_id, items, now=now)
        log_staff_event(tx, campaign_id, "create", staff_id, now, definition=campaign.digest, items=len(items))
        return store.campaign_of(tx, campaign_id)


def add_items(platform: Platform, name: str, items: Sequence[Item], *, staff_id: str, now: datetime) -> int:
    """Add items to a draft, and return how many it has."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _check_state(kept, ("draft",), ITEMS_STAY)
        _check_items(platform.definitions.of(tx, kept), items)
        store.add_items(tx, kept.id, items, now=now)
        log_staff_event(tx, kept.id, "items", staff_id, now, added=len(items))
        return store.n_items(tx, kept.id)


def _check_items(campaign: Campaign, items: Sequence[Item]) -> None:
    """Refuse pairs where one response is rated, and single responses where two are compared."""
    wrong = [
        (place, item)
        for place, item in enumerate(items, start=1)
        if (item.response_b is None) != (campaign.pair is None)
    ]
    if wrong:
        place, item = wrong[0]
        has = (
            "has two responses, and this campaign rates one. Write a table [pair] into it, or leave response B out"
            if campaign.pair is None
            else "has one response, and with [pair] two are compared. Give it a response B, or take [pair] out"
        )
        raise InvalidInput(f"Item {format_value(item.item_id)}, number {place:,}, {has}.{count_rest(len(wrong) - 1, 'such item')}")


def remove_items(platform: Platform, name: str, *, staff_id: str, now: datetime) -> int:
    """Take all items out of a draft, with what previews and dry runs made of them, and return how many there were."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _check_state(kept, ("draft",), ITEMS_STAY)
        if gold.has_labels(tx, kept.id):
            raise Conflict(f"Experts have labelled items of {name}, and what they said is never erased. {CLONE_HINT}")
        n = store.remove_items(tx, kept.id)
        log_staff_event(tx, kept.id, "items", staff_id, now, removed=n)
        return n


def revise_campaign(platform: Platform, name: str, campaign: Campaign, *, staff_id: str, now: datetime) -> Kept:
    """Change a campaign: all of a draft, and of one that is paused only what raters read and their limits.

    A changed consent text is a new version, which every rater is asked about before going on.
    """
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _check_state(kept, ("draft", "paused"), "cannot be changed")
        old = platform.definitions.of(tx, kept)
        if old.gold != campaign.gold and gold.has_labels(tx, kept.id):
            raise Conflict(f"gold cannot change after experts labelled items: labels would not be comparable. {CLONE_HINT}")
        if (old.pair is None) != (campaign.pair is None) and store.n_items(tx, kept.id):
            raise Conflict(f"pair cannot come or go while {name} has items, which have one response or two. {REMOVE_HINT}")
        if kept.state == "paused":
            _check_frozen(old, campaign)
            store.consent_text(tx, kept.id, campaign.consent, now=now)
            _resize_cells(tx, kept, campaign, now)
        store.change_campaign(tx, kept.id, campaign, now=now)
        log_staff_event(tx, kept.id, "revise", staff_id, now, definition=campaign.digest)
        return store.campaign_of(tx, kept.id)


def _check_frozen(old: Campaign, new: Campaign) -> None:
    changed = [name for name in FROZEN_FIELDS if getattr(old, name) != getattr(new, name)]
    changed += ["the cells of the quota"] * (_cell_rules(old) != _cell_rules(new))
    changed += ["what passes the checks, and where they come,"] * (_check_rules(old) != _check_rules(new))
    if not set(new.lines) <= set(old.lines):
        raise Conflict(
            "lines can only be taken out after raters came: they did not know that others would learn from them. "
            f"{CLONE_HINT}"
        )
    if changed:
        raise Conflict(
            f"{' and '.join(changed)} cannot change after raters came: answers would not be comparable. {CLONE_HINT}"
        )
    _check_pay(old.pay, new.pay)


def _check_pay(old: Pay | None, new: Pay | None) -> None:
    if old is None:
        return
    amounts = ("hour", "finished", "screened_out")
    if new is None or new.currency != old.currency or any(getattr(new, one) < getattr(old, one) for one in amounts):
        raise Conflict("pay cannot become less, nor be in another currency, after raters came for it. It may be more.")


def _cell_rules(campaign: Campaign) -> tuple[object, ...]:
    """Return what decides who is in which cell; how many seats each has may change."""
    quota = campaign.quota
    return () if quota is None else (quota.axes, quota.source, quota.balanced)


def _check_rules(campaign: Campaign) -> list[tuple[object, ...]]:
    """Return what decides who passes a check; how it is worded may change."""
    return [(check.name, check.kind, check.scale, check.right, check.after) for check in campaign.checks]


def _resize_cells(tx: Connection, kept: Kept, campaign: Campaign, now: datetime) -> None:
    if campaign.quota is not None:
        seats.set_places(tx, kept.id, campaign.quota.places, now=now)


def change_state(platform: Platform, name: str, to: State, *, staff_id: str, now: datetime) -> Kept:
    """Open, pause or close a campaign."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        moved(kept.state, to)
        if to == "open":
            campaign = platform.definitions.of(tx, kept)
            if campaign.chat is None and not store.n_items(tx, kept.id):
                raise Conflict(f"{name} has no items to rate. Add some, then open it.")
            store.consent_text(tx, kept.id, campaign.consent, now=now)
            _resize_cells(tx, kept, campaign, now)
        store.set_state(tx, kept.id, to, now=now)
        log_staff_event(tx, kept.id, "move", staff_id, now, to=to)
        return store.campaign_of(tx, kept.id)


def clone_campaign(platform: Platform, name: str, new_name: str, *, staff_id: str, now: datetime) -> Kept:
    """Make a draft with the definition and the items of a campaign, and nothing of its raters."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = renamed(platform.definitions.of(tx, kept), new_name)
        key = None if kept.key is None else new_key()
        campaign_id = store.add_campaign(tx, campaign, staff_id=staff_id, key=key, now=now)
        store.add_items(tx, campaign_id, tuple(store.items_of(tx, kept.id)), now=now)
        log_staff_event(tx, campaign_id, "create", staff_id, now, definition=campaign.digest, of=name)
        return store.campaign_of(tx, campaign_id)


def create_invitations(
    platform: Platform, name: str, n: int, *, cell: str | None = None, staff_id: str, now: datetime
) -> tuple[str, ...]:
    """Return the keys of new personal links; they are shown once, since only their hashes are kept."""
    if not 1 <= n <= MAX_INVITATIONS:
        raise InvalidInput(f"{n:,} invitations were asked for; 1 to {MAX_INVITATIONS:,} can be made at once.")
    keys = tuple(new_key() for _ in range(n))
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        _check_cell(platform.definitions.of(tx, kept), cell)
        store.invite(tx, kept.id, keys, cell=cell, now=now)
        log_staff_event(tx, kept.id, "invite", staff_id, now, n=n, cell=cell)
    return keys


def _check_cell(campaign: Campaign, cell: str | None) -> None:
    cells = campaign.recruited_cells
    if cells and cell is None:
        raise InvalidInput(
            f"Raters come by the cells of the quota. Name the cell that the links are for: {format_list(cells)}."
        )
    if cell is not None and cell not in cells:
        allowed = f"Cells are {format_list(cells)}." if cells else "Only a quota that the recruiter fills has links by cell."
        raise NotFound(f"No link can be for the cell {format_value(cell)}.{suggest(cell, cells)} {allowed}")


def load_definition(platform: Platform, name: str, *, staff_id: str) -> Campaign:
    """Return the definition of a campaign."""
    with platform.database.reading() as tx:
        return platform.definitions.of(tx, campaign_for_member(tx, name, staff_id)[0])


def load_draft_definition(platform: Platform, name: str, *, staff_id: str) -> Campaign:
    """Return the definition of a campaign whose items can change."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        _check_state(kept, ("draft",), ITEMS_STAY)
        return platform.definitions.of(tx, kept)


def _check_state(kept: Kept, states: tuple[State, ...], what: str) -> None:
    if kept.state not in states:
        raise Conflict(f"{kept.name} is {kept.state}, and {what} now.")
