"""Raters of a campaign for staff: lists, and one rater with all answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import select_submitted
from dissensus.campaign.filters.rater_filter import RaterCursor, RaterFilter
from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.monitor import (
    CampaignFigures,
    GroupFigures,
    QuestionScales,
    RaterFigures,
    encode_answers,
    read_scales,
)
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value, parse_choice
from dissensus.schema.questionnaire.question import Answer
from dissensus.stats.suppression import MIN_CELL
from dissensus.store import answer_drafts, flags, monitoring, raters
from dissensus.store.flags import FlagDecisionRow
from dissensus.store.lists import raters as store
from dissensus.store.lists.raters import ListedRater, RaterCounts, RaterDates, RaterItem, RaterNotice
from dissensus.store.overview import RATER_STATES
from dissensus.store.raters import RaterRow, RaterState
from dissensus.workflows.campaign.members import load_member_campaign
from dissensus.workflows.campaign.monitoring import monitoring_axes, to_monitored_rater
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterListing:
    """A part of the list of raters, and the choices for another one."""

    campaign: Campaign
    raters: tuple[ListedRater, ...]
    n_rated: Mapping[str, int]  # By rater id; empty unless asked for
    cells: tuple[str, ...]  # Quota cells
    states: tuple[RaterState, ...]
    updated_at: datetime | None  # Time of the figures


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAnswer:
    """The answer of a rater about one item, beside those of all raters."""

    item: RaterItem
    answer: Answer | None  # None if the item was skipped or the question not answered
    code: int | None  # Index of the answer on the scale
    time_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterComparison:
    """Figures of all raters, or of a group of the rater."""

    label: str
    figures: GroupFigures
    agreement: float | None  # Voting agreement of the rater with these


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterView:
    """One rater with their figures beside those of others, and a part of their answers."""

    campaign: Campaign
    rater: RaterRow
    dates: RaterDates
    counts: RaterCounts
    bulk_share: float | None  # Share of answers given in bulk; None where that is not offered
    figures: RaterFigures | None  # None before the first figures, or without ratings
    groups: Mapping[str, str]  # By axis
    comparisons: tuple[RaterComparison, ...]
    question: str | None  # Question of the listed answers
    questions: tuple[str, ...]
    scale: tuple[str, ...]  # Of the question; empty without one
    answers: tuple[RaterAnswer, ...]
    notices: tuple[RaterNotice, ...]
    decisions: tuple[FlagDecisionRow, ...]  # Latest first


def list_raters(
    platform: Platform,
    name: str,
    rater_filter: RaterFilter,
    *,
    after: RaterCursor | None,
    staff_id: str,
    most: int,
    rated: bool = False,
) -> RaterListing:
    """Return raters in the order of a filter after one of them; with `rated` the ratings of each are counted."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        cells = () if campaign.quota is None else tuple(campaign.quota.targets)
        if rater_filter.cell and rater_filter.cell not in cells:
            allowed = f"Choose one of {format_list(cells)}." if cells else "The campaign has no quota."
            raise InvalidInput(f"{format_value(rater_filter.cell)} is not a quota cell of {name}. {allowed}")
        if rater_filter.state:
            parse_choice(rater_filter.state, RATER_STATES, "a state of raters")
        rows = store.list_raters(tx, campaign_row.id, rater_filter, after=after, most=most)
        return RaterListing(
            campaign=campaign,
            raters=rows,
            n_rated=store.count_ratings(tx, [row.id for row in rows]) if rated else {},
            cells=cells,
            states=RATER_STATES,
            updated_at=monitoring.find_snapshot_time(tx, campaign_row.id),
        )


def load_rater(
    platform: Platform, name: str, rater_id: str, *, question: str = "", after: int = -1, staff_id: str, most: int
) -> RaterView:
    """Return a rater with answers to one question about items after a position in their order."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        rater = raters.find_rater(tx, rater_id)
        if rater is None or rater.campaign_id != campaign_row.id or rater.rehearsal:
            raise NotFound(f"{name} has no such rater. Open one from the list of raters.")
        scales = read_scales(campaign.questionnaire)
        questions = () if campaign.chat else (*(one.name for one in campaign.questionnaire.questions), *scales.overalls)
        question_name = _choose_question(question, questions, scales)
        figures = store.find_rater_figures(tx, campaign_row.id, rater_id)
        groups = _load_groups(tx, campaign, rater_id)
        snapshot = monitoring.find_snapshot(tx, campaign_row.id)
        items = store.list_rater_items(tx, campaign_row.id, rater_id, question_name, after=after, most=most)
        return RaterView(
            campaign=campaign,
            rater=rater,
            dates=store.find_rater_dates(tx, rater_id),
            counts=store.load_rater_counts(tx, [rater_id])[rater_id],
            bulk_share=_find_bulk_share(tx, campaign, rater_id),
            figures=figures,
            groups=groups,
            comparisons=() if snapshot is None else _compare(snapshot.figures, figures, groups),
            question=question_name,
            questions=questions,
            scale=scales.all.get(question_name or "", ()),
            answers=_load_answers(tx, items, question_name, scales),
            notices=store.list_rater_notices(tx, rater_id),
            decisions=flags.list_flag_decisions(tx, rater_id),
        )


def _find_bulk_share(tx: Connection, campaign: Campaign, rater_id: str) -> float | None:
    questions = [question.name for question in campaign.questionnaire.questions]
    return store.find_bulk_share(tx, rater_id, questions) if campaign.bulk_answers else None


def _choose_question(question: str, questions: Sequence[str], scales: QuestionScales) -> str | None:
    """Return the question, by default the primary one, or raise `InvalidInput` for another one."""
    if question:
        return parse_choice(question, questions, "a question")
    return scales.primary_question or next(iter(questions), None)


def _load_groups(tx: Connection, campaign: Campaign, rater_id: str) -> Mapping[str, str]:
    participant = monitoring.find_participant(tx, rater_id)
    return to_monitored_rater(participant, monitoring_axes(campaign)).groups


def _compare(
    snapshot: CampaignFigures, figures: RaterFigures | None, groups: Mapping[str, str]
) -> tuple[RaterComparison, ...]:
    """Return the figures of all raters, and of those groups of a rater that are large enough to compare with."""
    pool = RaterComparison(
        label="All raters", figures=snapshot.pool, agreement=None if figures is None else figures.agreement
    )
    own = [group for group in snapshot.groups if groups.get(group.axis) == group.group and group.n_raters >= MIN_CELL]
    return (
        pool,
        *(
            RaterComparison(
                label=group.group,
                figures=group,
                agreement=None if figures is None else figures.group_agreement.get(group.axis),
            )
            for group in own
        ),
    )


def _load_answers(
    tx: Connection, items: Sequence[RaterItem], question: str | None, scales: QuestionScales
) -> tuple[RaterAnswer, ...]:
    rated = [item.assignment_id for item in items if not item.skipped]
    ratings = list(monitoring.iterate_finished(tx, rated, scales.questions))
    times = {rating.assignment_id: rating.time_ms for rating in ratings}
    scale = scales.all.get(question or "", ())
    codes = encode_answers(scales, ratings, str(question)) if scale and ratings else {}
    texts = {key: scale[code] for key, code in codes.items()} if scale else _load_texts(tx, list(times), question)
    return tuple(
        RaterAnswer(
            item=item,
            answer=texts.get(item.assignment_id),
            code=codes.get(item.assignment_id),
            time_ms=times.get(item.assignment_id),
        )
        for item in items
    )


def _load_texts(tx: Connection, assignment_ids: Sequence[str], question: str | None) -> dict[str, Answer]:
    """Return the answers to a question without a scale by assignment."""
    finals = answer_drafts.load_saves(tx, assignment_ids, final=True)
    submitted = {key: select_submitted(saves).get(str(question)) for key, saves in finals.items() if saves}
    return {key: draft.value for key, draft in submitted.items() if draft is not None and draft.value is not None}
