"""Compare gold labels with the crowd, and import platinum labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.export_table import export_form, to_frame
from dissensus.campaign.platinum import parse_platinum
from dissensus.errors import Conflict, DissensusError, NotFound
from dissensus.pipeline.aggregate import GoldAgainstCrowd, gold_against_crowd
from dissensus.pipeline.aggregate.gold_reasons import GoldReasons, compare_reasons
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import REASON, compared_column
from dissensus.schema.hints import count_rest, format_value
from dissensus.schema.questionnaire.gold_reasons import QUESTION_OF_REASON, find_question_of_reason
from dissensus.schema.ratings.columns import GOLD, ITEM_ID, PLATINUM, RATER_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.store import export, gold
from dissensus.store import items as items_store
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.export.ratings import add_gold_attributes
from dissensus.workflows.gold.labelling import gold_columns_by_item, gold_settings_of
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldComparison:
    """Gold labels compared with the crowd so far and with platinum labels."""

    n_gold: int
    n_platinum: int
    n_items: int
    with_crowd: GoldAgainstCrowd | None = None  # None if nothing can be compared
    with_platinum: GoldAgainstCrowd | None = None  # items with both labels only
    reason: str = ""  # reason if nothing is compared
    with_questions: GoldReasons | None = None  # reasons of experts beside the questions that they name
    reasons_fault: str = ""  # why reasons cannot be compared


def compare_gold(platform: Platform, name: str, *, staff_id: str) -> GoldComparison:
    """Compare gold with finished ratings of consenting raters, and with platinum."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        gold_settings_of(campaign)
        settled = gold_columns_by_item(tx, campaign, campaign_row)
        attributes_of = {
            target.name: {**settled[target.name], **target.attributes}
            for target in gold.list_targets(tx, campaign_row.id)
        }
        with_gold, with_platinum = (
            {item for item, attributes in attributes_of.items() if column in attributes} for column in (GOLD, PLATINUM)
        )
        counts = GoldComparison(n_gold=len(with_gold), n_platinum=len(with_platinum), n_items=len(attributes_of))
        try:
            question, frame = _collect_answers(tx, campaign_row, campaign, settled)
            ratings = Ratings.from_frame(
                frame.select(ITEM_ID, RATER_ID, question, GOLD, PLATINUM), questions=[question]
            )
            both = with_gold & with_platinum & set(ratings.items[ITEM_ID])
            unsafe = gold_settings_of(campaign).scale[-1]
            crowd = gold_against_crowd(ratings, unsafe=unsafe)
            platinum = gold_against_crowd(ratings, unsafe=unsafe, platinum=PLATINUM) if both else None
        except DissensusError as error:
            return replace(counts, reason=site_message(error))
        compared = replace(counts, with_crowd=crowd, with_platinum=platinum)
        try:
            return replace(compared, with_questions=_compare_reasons(frame, campaign, unsafe))
        except DissensusError as error:
            return replace(compared, reasons_fault=site_message(error))


def _compare_reasons(frame: pl.DataFrame, campaign: Campaign, unsafe: str) -> GoldReasons | None:
    """Compare reasons with the questions that they name; None if no expert gave one, or none names a question."""
    questions = _list_reason_questions(campaign)
    if not questions or frame[REASON].null_count() == frame.height:
        return None
    ratings = Ratings.from_frame(frame.select(ITEM_ID, RATER_ID, *questions, REASON), questions=questions)
    result = compare_reasons(ratings, unsafe=[unsafe])
    return result if result.rows["question"].count() else None


def _list_reason_questions(campaign: Campaign) -> list[str]:
    """Return the columns of answers that reasons can name, if the unsafe answer is on their scale."""
    gold_settings = gold_settings_of(campaign)
    named = {*QUESTION_OF_REASON.values(), *map(find_question_of_reason, gold_settings.reasons)}
    scale_of = campaign.questionnaire.scale
    return [
        name
        for name in export_form(campaign).schema
        if name in named and gold_settings.scale[-1] in (scale_of(name) or ())
    ]


def _collect_answers(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, settled: dict[str, dict[str, str]]
) -> tuple[str, pl.DataFrame]:
    """Return the question that gold answers too, and a table of the answers to it and to those that reasons name."""
    question = compared_column(campaign.questionnaire)
    if question is None:
        raise NotFound("Raters are asked several questions and no overall one, so no answer compares with gold.")
    questions = list(dict.fromkeys((question, *_list_reason_questions(campaign))))
    frames = list(_rating_frames(tx, campaign_row, campaign, questions, settled))
    if not frames:
        raise NotFound("Nobody has rated an item yet.")
    return question, pl.concat(frames)


def _rating_frames(
    tx: Connection,
    campaign_row: CampaignRow,
    campaign: Campaign,
    questions: list[str],
    settled: dict[str, dict[str, str]],
) -> Iterator[pl.DataFrame]:
    form = export_form(campaign)
    purposes = [purpose.name for purpose in campaign.consent.purposes if purpose.required]
    for window in export.iterate_ratings(tx, campaign_row.id, purposes):
        ratings = [replace(rating, item=add_gold_attributes(rating.item, settled)) for rating in window]
        answers = to_frame(ratings, form).select(ITEM_ID, RATER_ID, *questions)
        yield answers.with_columns(
            pl.Series(name, [rating.item.attributes.get(name) for rating in ratings], pl.String)
            for name in (GOLD, REASON, PLATINUM)
        )


def add_platinum(
    platform: Platform,
    name: str,
    frame: pl.DataFrame,
    *,
    source: str,
    label: str | None = None,
    replace: bool = False,
    staff_id: str,
    now: datetime,
) -> int:
    """Store platinum labels as item attributes, all or none, and return their number."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        scale = gold_settings_of(platform.definitions.load(tx, campaign_row)).scale
        targets = {target.name: target for target in gold.list_targets(tx, campaign_row.id)}
        platinum = parse_platinum(frame, scale, targets, label=label, source=source)
        labelled = [item for item in platinum if PLATINUM in targets[item].attributes]
        if labelled and not replace:
            raise Conflict(
                f"Item {format_value(labelled[0])} has a label of an earlier crowd, and nothing was stored. Leave it "
                f"out, or say that labels are to be replaced.{count_rest(len(labelled) - 1, 'such item')}"
            )
        attributes_of = {
            targets[item].id: {**_without_platinum(targets[item].attributes), **attributes}
            for item, attributes in platinum.items()
        }
        items_store.set_item_attributes(tx, campaign_row.id, attributes_of)
        digest = items_store.digest_items(tx, campaign_row.id)
        content = {"platinum": len(platinum), "source": source, "items_digest": digest}
        log_staff_event(tx, campaign_row.id, "items_changed", staff_id, now, **content)
    return len(platinum)


def _without_platinum(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in attributes.items() if not name.startswith(PLATINUM)}
