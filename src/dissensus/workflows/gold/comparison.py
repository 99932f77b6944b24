"""Compare gold labels with the crowd, and import platinum labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.export_table import export_form, to_frame
from dissensus.campaign.platinum import parse_platinum
from dissensus.errors import Conflict, DissensusError, NotFound
from dissensus.pipeline.aggregate import GoldAgainstCrowd, gold_against_crowd
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import compared_column
from dissensus.schema.hints import count_rest, format_value
from dissensus.schema.ratings.columns import GOLD, ITEM_ID, PLATINUM, RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.store import export, gold
from dissensus.store import items as items_store
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.ratings import add_gold_attributes
from dissensus.workflows.gold.labelling import gold_columns_by_item, gold_settings_of
from dissensus.workflows.platform.platform import Platform

LABEL_COLUMNS: Final = {"gold": GOLD, "platinum": PLATINUM}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldComparison:
    """Gold labels compared with the crowd so far and with platinum labels."""

    n_gold: int
    n_platinum: int
    n_items: int
    found: GoldAgainstCrowd | None = None  # None if nothing can be compared
    with_platinum: GoldAgainstCrowd | None = None  # items with both labels only
    reason: str = ""  # why nothing is compared


def compare_gold(platform: Platform, name: str, *, staff_id: str) -> GoldComparison:
    """Compare gold with finished ratings of consenting raters, and with platinum."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, campaign_row)
        gold_settings_of(campaign)
        settled = gold_columns_by_item(tx, campaign, campaign_row)
        every = {one.name: {**settled[one.name], **one.attributes} for one in gold.list_targets(tx, campaign_row.id)}
        has = {
            kind: {item for item, known in every.items() if column in known} for kind, column in LABEL_COLUMNS.items()
        }
        counted = GoldComparison(n_gold=len(has["gold"]), n_platinum=len(has["platinum"]), n_items=len(every))
        try:
            ratings = _collect_ratings(tx, campaign_row, campaign, settled)
            both = has["gold"] & has["platinum"] & set(ratings.items[ITEM_ID])
            unsafe = gold_settings_of(campaign).scale[-1]
            found = gold_against_crowd(ratings, unsafe=unsafe)
            three = gold_against_crowd(ratings, unsafe=unsafe, platinum=PLATINUM) if both else None
        except DissensusError as error:
            return replace(counted, reason=str(error))
        return replace(counted, found=found, with_platinum=three)


def _collect_ratings(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, settled: dict[str, dict[str, str]]
) -> Ratings:
    question = compared_column(campaign.questionnaire)
    if question is None:
        raise NotFound("Raters are asked several questions and no overall one, so that no answer stands beside gold.")
    frames = list(_rating_frames(tx, campaign_row, campaign, question, settled))
    if not frames:
        raise NotFound("Nobody has rated an item yet.")
    return Ratings.from_frame(pl.concat(frames), questions=[question])


def _rating_frames(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, question: str, settled: dict[str, dict[str, str]]
) -> Iterator[pl.DataFrame]:
    form, wanted = export_form(campaign), (GOLD, PLATINUM)
    purposes = [purpose.name for purpose in campaign.consent.purposes if purpose.required]
    for window in export.iterate_ratings(tx, campaign_row.id, purposes):
        rated = [replace(one, item=add_gold_attributes(one.item, settled)) for one in window]
        told = {name: [one.item.attributes.get(name) for one in rated] for name in wanted}
        answers = to_frame(rated, form).select(ITEM_ID, RATER_ID, question)
        yield answers.with_columns(pl.Series(name, values, pl.String) for name, values in told.items())


def add_platinum(
    platform: Platform,
    name: str,
    frame: pl.DataFrame,
    *,
    source: str,
    label: str | None = None,
    replacing: bool = False,
    staff_id: str,
    now: datetime,
) -> int:
    """Store platinum labels as item attributes, all or none, and return their number."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        scale = gold_settings_of(platform.definitions.of(tx, campaign_row)).scale
        items = {one.name: one for one in gold.list_targets(tx, campaign_row.id)}
        brought = parse_platinum(frame, scale, items, label=label, source=source)
        known = [item for item in brought if PLATINUM in items[item].attributes]
        if known and not replacing:
            raise Conflict(
                f"Item {format_value(known[0])} has a label of an earlier crowd, and nothing was kept. Leave it out, "
                f"or say that labels are to be replaced.{count_rest(len(known) - 1, 'such item')}"
            )
        items_store.set_item_attributes(
            tx,
            campaign_row.id,
            {items[item].id: {**_without_platinum(items[item].attributes), **said} for item, said in brought.items()},
        )
        log_staff_event(tx, campaign_row.id, "items_changed", staff_id, now, platinum=len(brought), source=source)
    return len(brought)


def _without_platinum(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in attributes.items() if not name.startswith(PLATINUM)}
