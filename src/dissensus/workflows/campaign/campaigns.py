"""Create, change, clone, open and close campaigns."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.decision_rule_adoption import AdoptedRule
from dissensus.campaign.lifecycle import check_transition
from dissensus.campaign.planning import CampaignPlan
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.campaign.definition import Campaign, CampaignState, Pay
from dissensus.schema.campaign.shipped import rename_campaign
from dissensus.schema.hints import count_rest, format_list, format_value, suggest
from dissensus.schema.records.item import Item
from dissensus.store import campaigns as store
from dissensus.store import consents, erasure, gold, images, raters, recruits, seats
from dissensus.store import items as items_store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.orm import new_key
from dissensus.store.planning import campaign_plans
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.images import check_item_images
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.gold.item_sample import draw_gold_sample
from dissensus.workflows.platform.platform import Platform

MAX_INVITATIONS = 10_000
"""Personal links made at once."""

FROZEN_FIELDS = (
    "name",
    "languages",
    "questionnaire",
    "chat",
    "pair",
    "demographics",
    "demographics_position",
    "response_format",
    "replication",
    "seed",
)
"""Fields that are fixed after opening: else answers would not be comparable, or plans not reproducible."""

CLONE_HINT = "Clone the campaign and change the clone."
REMOVE_HINT = "Remove the items first."
ITEMS_STAY = "its items cannot change"
LARGE_LOAD: Final = 10_000
"""Items after whose import the database samples them."""


def create_campaign(  # noqa: PLR0913 - options are keyword-only
    platform: Platform,
    campaign: Campaign,
    items: Sequence[Item],
    *,
    staff_id: str,
    open_link: bool = True,
    copy_id: str | None = None,
    copy_revision: int = 0,
    plan: CampaignPlan | None = None,
    now: datetime,
) -> CampaignRow:
    """Create a draft with its items; without `open_link` only personal links let raters enter.

    The working copy that it was made from is deleted, and `Conflict` raised if its revision is another one.
    """
    _check_items(campaign, items)
    with platform.database.writing() as tx:
        key = new_key() if open_link else None
        campaign_id = store.add_campaign(tx, campaign, staff_id=staff_id, key=key, now=now)
        check_item_images(items, frozenset())
        items_store.add_items(tx, campaign_id, items, now=now)
        content = {"items": len(items), **_describe_items(tx, campaign_id, campaign)}
        log_staff_event(tx, campaign_id, "created", staff_id, now, definition=campaign.digest, **content)
        if plan is not None:
            record_adoption(tx, campaign_id, plan, staff_id=staff_id, now=now)
        if copy_id is not None:
            store.delete_working_copy(tx, copy_id, revision=copy_revision)
        campaign_row = store.get_campaign(tx, campaign_id)
    _update_statistics(platform, len(items))
    return campaign_row


def _update_statistics(platform: Platform, n_items: int) -> None:
    """Let the database sample the items after a large load, by which it plans lists and searches."""
    if n_items >= LARGE_LOAD:
        platform.database.update_statistics(tables=["item"])


def record_adoption(
    tx: Connection, campaign_id: str, plan: CampaignPlan, *, plan_id: str | None = None, staff_id: str, now: datetime
) -> None:
    """Store the plan that a draft follows, unless it has an id, and log it."""
    if plan_id is None:
        new = campaign_plans.NewPlan(question=plan.question, file=plan.file)
        plan_id = campaign_plans.add_plan(tx, campaign_id, new, staff_id=staff_id, now=now)
    campaign_plans.mark_adopted(tx, campaign_id, plan_id, now=now)
    log_staff_event(tx, campaign_id, "planned", staff_id, now, **plan.as_event())


def adopt_rule(platform: Platform, name: str, rule: AdoptedRule, *, staff_id: str, now: datetime) -> None:
    """Log that a member adopted a decision rule; a later one supersedes it, and nothing is overwritten."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        log_staff_event(tx, campaign_row.id, "rule_adopted", staff_id, now, **rule.as_event())


def add_items(platform: Platform, name: str, items: Sequence[Item], *, staff_id: str, now: datetime) -> int:
    """Add items to a draft and return the number of its items."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _check_state(campaign_row, ("draft",), ITEMS_STAY)
        campaign = platform.definitions.load(tx, campaign_row)
        _check_items(campaign, items)
        if _has_sample(campaign) and gold.has_labels(tx, campaign_row.id):
            raise Conflict(
                f"Experts have labelled items of {name}, and further items would change the sample. {CLONE_HINT}"
            )
        check_item_images(items, images.list_image_names(tx, campaign_row.id))
        items_store.add_items(tx, campaign_row.id, items, now=now)
        content = _describe_items(tx, campaign_row.id, campaign)
        log_staff_event(tx, campaign_row.id, "items_changed", staff_id, now, added=len(items), **content)
        n_items = items_store.count_items(tx, campaign_row.id)
    _update_statistics(platform, len(items))
    return n_items


def _describe_items(tx: Connection, campaign_id: str, campaign: Campaign) -> dict[str, str]:
    """Draw the sample for gold labels anew, and return what the log records of the items."""
    sample = draw_gold_sample(tx, campaign_id, campaign) if _has_sample(campaign) else {}
    return {"items_digest": items_store.digest_items(tx, campaign_id), **sample}


def _has_sample(campaign: Campaign) -> bool:
    return campaign.gold is not None and campaign.gold.sample is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemComparison:
    """Items to be added, beside those that a campaign has already."""

    new: tuple[Item, ...]
    equal: tuple[Item, ...]
    differing: tuple[Item, ...]  # Another item has the id


def compare_items(platform: Platform, name: str, items: Sequence[Item], *, staff_id: str) -> ItemComparison:
    """Compare items with those that a campaign has already."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        existing = items_store.find_items(tx, campaign_row.id, [item.item_id for item in items])
    return ItemComparison(
        new=tuple(item for item in items if item.item_id not in existing),
        equal=tuple(item for item in items if existing.get(item.item_id) == item),
        differing=tuple(item for item in items if existing.get(item.item_id, item) != item),
    )


def _check_items(campaign: Campaign, items: Sequence[Item]) -> None:
    """Refuse items in a campaign with chats, and items whose number of responses is not that of the campaign."""
    if campaign.chat is not None and items:
        raise InvalidInput(f"In {campaign.name} raters talk with chatbots and rate no items. Leave the items out.")
    misfits = [
        (number, item)
        for number, item in enumerate(items, start=1)
        if (item.response_b is None) != (campaign.pair is None)
    ]
    if misfits:
        number, item = misfits[0]
        fault = (
            "has two responses, and this campaign rates one. Add a table [pair] to it, or omit response B"
            if campaign.pair is None
            else "has one response, and with [pair] two are compared. Add a response B, or remove [pair]"
        )
        raise InvalidInput(
            f"Item {format_value(item.item_id)}, number {number:,}, {fault}.{count_rest(len(misfits) - 1, 'such item')}"
        )


def remove_items(platform: Platform, name: str, *, staff_id: str, now: datetime) -> int:
    """Remove all items of a draft, with the rows that previews and dry runs made, and return their number."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _check_state(campaign_row, ("draft",), ITEMS_STAY)
        if gold.has_labels(tx, campaign_row.id):
            raise Conflict(f"Experts have labelled items of {name}, and labels are never erased. {CLONE_HINT}")
        n = erasure.remove_items(tx, campaign_row.id)
        content = _describe_items(tx, campaign_row.id, platform.definitions.load(tx, campaign_row))
        log_staff_event(tx, campaign_row.id, "items_changed", staff_id, now, removed=n, **content)
        return n


def revise_campaign(
    platform: Platform, name: str, campaign: Campaign, *, staff_id: str, copy_revision: int = 0, now: datetime
) -> CampaignRow:
    """Change a campaign: everything of a draft; of a paused one only texts and limits.

    A changed consent text is a new version, which every rater is asked about before going on. With a `copy_revision`
    the definition is that of the working copy, which is deleted; `Conflict` is raised if its revision is another one.
    """
    if campaign.name != name:
        raise InvalidInput(
            f"The definition is of {campaign.name}, and this campaign is {name}. Write name = {name}, or clone the "
            "campaign for another name."
        )
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _check_state(campaign_row, ("draft", "paused"), "cannot be changed")
        old = platform.definitions.load(tx, campaign_row)
        if _changes_gold(old, campaign) and gold.has_labels(tx, campaign_row.id):
            raise Conflict(
                f"gold cannot change after experts labelled items: labels would not be comparable. {CLONE_HINT}"
            )
        if (old.pair is None) != (campaign.pair is None) and items_store.count_items(tx, campaign_row.id):
            raise Conflict(
                f"pair cannot be added or removed while {name} has items, which have one response or two. {REMOVE_HINT}"
            )
        if campaign_row.state == "paused":
            _check_frozen(old, campaign)
            _check_sample(tx, campaign_row, campaign)
            _check_recruiter(tx, campaign_row, old, campaign)
            consents.ensure_consent_text(tx, campaign_row.id, campaign.consent, now=now)
            _resize_cells(tx, campaign_row, campaign, now)
        store.set_definition(tx, campaign_row.id, campaign, now=now)
        if copy_revision:
            store.delete_campaign_copy(tx, campaign_row.id, revision=copy_revision)
        sample = draw_gold_sample(tx, campaign_row.id, campaign)
        log_staff_event(tx, campaign_row.id, "revised", staff_id, now, definition=campaign.digest, **sample)
        return store.get_campaign(tx, campaign_row.id)


def _changes_gold(old: Campaign, new: Campaign) -> bool:
    """Return whether a change affects gold labels: their table, or the seed of their sample."""
    return old.gold != new.gold or (_has_sample(old) and old.seed != new.seed)


def _check_sample(tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> None:
    n_items = items_store.count_items(tx, campaign_row.id)
    n = None if campaign.gold is None else campaign.gold.sample
    if n is not None and n > n_items:
        raise Conflict(f"gold.sample asks for {n:,} items, and {campaign_row.name} has {n_items:,}. Lower the number.")


def _check_recruiter(tx: Connection, campaign_row: CampaignRow, old: Campaign, new: Campaign) -> None:
    """Keep the recruiter while participants may have to return to it, and until their ids are erased."""
    if old.recruit is None or (new.recruit is not None and new.recruit.kind == old.recruit.kind):
        return
    if n := recruits.count_submissions(tx, campaign_row.id):
        raise Conflict(
            f"recruit cannot be removed or become of another kind while ids of {old.recruit.name} are stored, now of "
            f"{n:,} {'participant' if n == 1 else 'participants'}. Close the campaign and erase these ids first."
        )


def _check_frozen(old: Campaign, new: Campaign) -> None:
    changed = [name for name in FROZEN_FIELDS if getattr(old, name) != getattr(new, name)]
    changed += ["the cells of the quota"] * (_list_cell_rules(old) != _list_cell_rules(new))
    changed += ["the correct answers and positions of the checks"] * (_list_check_rules(old) != _list_check_rules(new))
    if not set(new.registered_models) <= set(old.registered_models):
        raise Conflict(
            "registered_models can only be removed after raters entered: the raters were not informed of others. "
            f"{CLONE_HINT}"
        )
    if changed:
        raise Conflict(
            f"{' and '.join(changed)} cannot change after raters entered: answers would not be comparable. {CLONE_HINT}"
        )
    if (new.release_signers or 0) < (old.release_signers or 0):
        raise Conflict(
            f"release_signers is {old.release_signers}, and can only grow after raters entered: one owner could undo "
            "what asks for several."
        )
    _check_pay(old.pay, new.pay)


def _check_pay(old: Pay | None, new: Pay | None) -> None:
    if old is None:
        return
    amounts = ("hourly_rate", "finished", "screened_out")
    if new is None or new.currency != old.currency or any(getattr(new, name) < getattr(old, name) for name in amounts):
        raise Conflict("pay cannot be reduced or change its currency after raters entered. It can be increased.")


def _list_cell_rules(campaign: Campaign) -> tuple[object, ...]:
    """Return the rules that assign raters to cells; the number of seats may change."""
    quota = campaign.quota
    return () if quota is None else (quota.axes, quota.source, quota.balanced)


def _list_check_rules(campaign: Campaign) -> list[tuple[object, ...]]:
    """Return the rules that decide who passes a check; its wording may change."""
    return [(check.name, check.kind, check.scale, check.correct_answers, check.after) for check in campaign.checks]


def _resize_cells(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, now: datetime) -> None:
    if campaign.quota is not None:
        seats.set_seats(tx, campaign_row.id, campaign.quota.capacities, now=now)


def change_state(platform: Platform, name: str, to: CampaignState, *, staff_id: str, now: datetime) -> CampaignRow:
    """Open, pause or close a campaign."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        if campaign_row.archived_at is not None:
            raise Conflict(f"{name} is archived. Take it out of the archive before you reopen it.")
        check_transition(campaign_row.state, to)
        if to == "open":
            campaign = platform.definitions.load(tx, campaign_row)
            if campaign.chat is None and not items_store.count_items(tx, campaign_row.id):
                raise Conflict(f"{name} has no items to rate. Add some, then open it.")
            consents.ensure_consent_text(tx, campaign_row.id, campaign.consent, now=now)
            _resize_cells(tx, campaign_row, campaign, now)
        store.set_campaign_state(tx, campaign_row.id, to, now=now)
        log_staff_event(tx, campaign_row.id, "state_changed", staff_id, now, state=to)
        return store.get_campaign(tx, campaign_row.id)


def clone_campaign(platform: Platform, name: str, new_name: str, *, staff_id: str, now: datetime) -> CampaignRow:
    """Create a draft with the definition of a campaign and its items that are neither withheld nor erased."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = rename_campaign(platform.definitions.load(tx, campaign_row), new_name)
        key = None if campaign_row.key is None else new_key()
        campaign_id = store.add_campaign(tx, campaign, staff_id=staff_id, key=key, now=now)
        items_store.add_items(tx, campaign_id, tuple(items_store.iterate_visible_items(tx, campaign_row.id)), now=now)
        images.copy_images(tx, campaign_row.id, campaign_id)
        content = {"cloned_from": name, **_describe_items(tx, campaign_id, campaign)}
        log_staff_event(tx, campaign_id, "created", staff_id, now, definition=campaign.digest, **content)
        digests = {row.name: row.digest for row in images.list_images(tx, campaign_id)}
        if digests:
            log_staff_event(tx, campaign_id, "images_changed", staff_id, now, added=digests)
        return store.get_campaign(tx, campaign_id)


def create_invitations(
    platform: Platform, name: str, n: int, *, cell: str | None = None, staff_id: str, now: datetime
) -> tuple[str, ...]:
    """Create personal links, and return their keys; only hashes of these are stored."""
    if not 1 <= n <= MAX_INVITATIONS:
        raise InvalidInput(f"{n:,} invitations were requested; 1 to {MAX_INVITATIONS:,} can be made at once.")
    keys = tuple(new_key() for _ in range(n))
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        _check_cell(platform.definitions.load(tx, campaign_row), cell)
        raters.add_invitations(tx, campaign_row.id, keys, cell=cell)
        log_staff_event(tx, campaign_row.id, "links_created", staff_id, now, n=n, cell=cell)
    return keys


def _check_cell(campaign: Campaign, cell: str | None) -> None:
    cells = campaign.recruited_cells
    if cells and cell is None:
        raise InvalidInput(f"Raters enter by cells of the quota. Name the cell of the links: {format_list(cells)}.")
    if cell is not None and cell not in cells:
        allowed = (
            f"Cells are {format_list(cells)}." if cells else "Only a quota that the recruiter fills has links by cell."
        )
        raise NotFound(f"No link can be for the cell {format_value(cell)}.{suggest(cell, cells)} {allowed}")


def load_campaign(platform: Platform, name: str, *, staff_id: str) -> tuple[CampaignRow, Campaign]:
    """Return a campaign with its definition."""
    with platform.database.reading() as tx:
        return load_member_campaign(tx, platform, name, staff_id)


def load_definition(platform: Platform, name: str, *, staff_id: str) -> Campaign:
    """Return the definition of a campaign."""
    return load_campaign(platform, name, staff_id=staff_id)[1]


def load_draft_definition(platform: Platform, name: str, *, staff_id: str) -> Campaign:
    """Return the definition of a draft, whose items can still change."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        _check_state(campaign_row, ("draft",), ITEMS_STAY)
        return platform.definitions.load(tx, campaign_row)


def _check_state(campaign_row: CampaignRow, states: tuple[CampaignState, ...], consequence: str) -> None:
    if campaign_row.state not in states:
        raise Conflict(f"{campaign_row.name} is {campaign_row.state}, and {consequence} now.")
