"""Labels of an earlier crowd brought in, and experts compared with the crowd so far."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.export_table import form_of, frame_of
from dissensus.campaign.platinum import platinum_from
from dissensus.errors import Conflict, DissensusError, NotFound
from dissensus.pipeline.aggregate import GoldAgainstCrowd, gold_against_crowd
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import judged
from dissensus.schema.hints import count_rest, format_value
from dissensus.schema.ratings.columns import GOLD, ITEM_ID, PLATINUM, RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.store import export, gold
from dissensus.store.campaigns import Kept
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.ratings import add_gold_attributes
from dissensus.workflows.gold.labelling import gold_columns_by_item, gold_settings_of
from dissensus.workflows.platform.platform import Platform

LABEL_COLUMNS: Final = {"gold": GOLD, "platinum": PLATINUM}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldComparison:
    """Experts beside the crowd so far, and beside an earlier one.

    Parameters
    ----------
    n_gold, n_platinum, n_items
        How many items have a label of either kind, and how many there are.
    found, with_platinum
        The comparison, and that of items with both labels; None where there is none.
    reason
        Why nothing is compared.
    """

    n_gold: int
    n_platinum: int
    n_items: int
    found: GoldAgainstCrowd | None = None
    with_platinum: GoldAgainstCrowd | None = None
    reason: str = ""


def compare_gold(platform: Platform, name: str, *, staff_id: str) -> GoldComparison:
    """Compare gold with the finished ratings so far of raters who agreed to what is required, and with platinum."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        gold_settings_of(campaign)
        settled = gold_columns_by_item(tx, campaign, kept)
        every = {one.name: {**settled[one.name], **one.attributes} for one in gold.targets_of(tx, kept.id)}
        has = {kind: {item for item, known in every.items() if column in known} for kind, column in LABEL_COLUMNS.items()}
        counted = GoldComparison(n_gold=len(has["gold"]), n_platinum=len(has["platinum"]), n_items=len(every))
        try:
            ratings = _collect_ratings(tx, kept, campaign, settled)
            both = has["gold"] & has["platinum"] & set(ratings.items[ITEM_ID])
            unsafe = gold_settings_of(campaign).scale[-1]
            found = gold_against_crowd(ratings, unsafe=unsafe)
            three = gold_against_crowd(ratings, unsafe=unsafe, platinum=PLATINUM) if both else None
        except DissensusError as error:
            return replace(counted, reason=str(error))
        return replace(counted, found=found, with_platinum=three)


def _collect_ratings(tx: Connection, kept: Kept, campaign: Campaign, settled: dict[str, dict[str, str]]) -> Ratings:
    question = judged(campaign.questionnaire)
    if question is None:
        raise NotFound("Raters are asked several questions and no overall one, so that no answer stands beside gold.")
    frames = list(_rating_frames(tx, kept, campaign, question, settled))
    if not frames:
        raise NotFound("Nobody has rated an item yet.")
    return Ratings.from_frame(pl.concat(frames), questions=[question])


def _rating_frames(
    tx: Connection, kept: Kept, campaign: Campaign, question: str, settled: dict[str, dict[str, str]]
) -> Iterator[pl.DataFrame]:
    form, wanted = form_of(campaign), (GOLD, PLATINUM)
    purposes = [purpose.name for purpose in campaign.consent.purposes if purpose.required]
    for window in export.rated_of(tx, kept.id, purposes):
        rated = [replace(one, item=add_gold_attributes(one.item, settled)) for one in window]
        told = {name: [one.item.attributes.get(name) for one in rated] for name in wanted}
        answers = frame_of(rated, form).select(ITEM_ID, RATER_ID, question)
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
    """Keep labels of an earlier crowd as attributes of items, all or none, and return of how many."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        scale = gold_settings_of(platform.definitions.of(tx, kept)).scale
        items = {one.name: one for one in gold.targets_of(tx, kept.id)}
        brought = platinum_from(frame, scale, items, label=label, source=source)
        known = [item for item in brought if PLATINUM in items[item].attributes]
        if known and not replacing:
            raise Conflict(
                f"Item {format_value(known[0])} has a label of an earlier crowd, and nothing was kept. Leave it out, or say "
                f"that labels are to be replaced.{count_rest(len(known) - 1, 'such item')}"
            )
        gold.set_attributes(
            tx,
            kept.id,
            {items[item].id: {**_without_platinum(items[item].attributes), **said} for item, said in brought.items()},
        )
        log_staff_event(tx, kept.id, "items", staff_id, now, platinum=len(brought), source=source)
    return len(brought)


def _without_platinum(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in attributes.items() if not name.startswith(PLATINUM)}
