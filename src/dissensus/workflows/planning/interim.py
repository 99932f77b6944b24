"""Interim look at a running campaign: intervals that hold at every look, from the figures of its raters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from dissensus.pipeline.monitor import CELL, MonitoredRater, QuestionScales, read_scales
from dissensus.pipeline.plan.interim import ADVISED_ITEMS, FewestRatings, InterimLook, WatchedAnswer, look_at_shares
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.quota import REST
from dissensus.schema.hints import parse_choice
from dissensus.store import monitoring
from dissensus.store.campaigns import CampaignRow
from dissensus.store.lists import raters as rater_lists
from dissensus.store.planning import finish_order
from dissensus.store.planning.finish_order import FinishedRater
from dissensus.workflows.campaign.members import load_member_campaign
from dissensus.workflows.campaign.monitoring import monitoring_axes, to_monitored_rater
from dissensus.workflows.platform.platform import Platform

DEFAULT_HALF_WIDTH = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class InterimRequest:
    """Choices of an interim look; empty texts for the defaults."""

    axis: str = ""
    answer: str = ""
    half_width: float = DEFAULT_HALF_WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class InterimView:
    """An interim look with its choices."""

    campaign_row: CampaignRow
    axes: Mapping[str, tuple[str, ...]]
    axis: str  # empty for all raters
    is_by_cell: bool  # a quota decides who comes next, so that all raters together have no interval
    answers: tuple[str, ...]  # of the question; empty if none has a scale
    n_finished: int  # raters with figures
    is_waiting: bool  # raters finished after the last figures, or a withdrawal deleted these
    look: InterimLook | None  # None without a scale, or without a rater who finished and has figures


def load_interim(platform: Platform, name: str, request: InterimRequest, *, staff_id: str) -> InterimView:
    """Return an interim look at the raters who finished, by the cells of a quota if no axis is chosen."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        scales, axes = read_scales(campaign.questionnaire), _list_axes(campaign)
        if campaign.quota is not None and not request.axis:
            request = replace(request, axis=CELL)
        finished = finish_order.list_finished_raters(tx, campaign_row.id)
        current = _select_current(tx, campaign_row.id, finished)
        shares, people = _load_shares(tx, campaign_row, campaign, scales, axes, request, current)
        loads = _find_fewest_ratings(tx, campaign_row)
    question = scales.primary_question
    answers = tuple(scales.all[question]) if question else ()
    look = None
    if question and shares:
        groups = axes.get(request.axis, ())
        codes = {group: code for code, group in enumerate(groups)}
        look = look_at_shares(
            np.array(shares),
            np.array([codes.get(rater.groups.get(request.axis, ""), -1) for rater in people], np.int64),
            groups,
            watched_answer=WatchedAnswer(
                question=question, answer=request.answer or answers[-1], axis=request.axis or None
            ),
            half_width=request.half_width,
            loads=loads,
        )
    return InterimView(
        campaign_row=campaign_row,
        axes=axes,
        axis=request.axis,
        is_by_cell=campaign.quota is not None,
        answers=answers,
        n_finished=len(shares),
        is_waiting=len(current) < len(finished),
        look=look,
    )


def _list_axes(campaign: Campaign) -> dict[str, tuple[str, ...]]:
    """Return the axes of monitoring without the answers that decline: raters are not recruited by these."""
    questions = campaign.demographics.questions if campaign.demographics else ()
    declined = {question.name: question.decline for question in questions}
    return {
        axis: tuple(group for group in groups if group not in (declined.get(axis), REST))
        for axis, groups in monitoring_axes(campaign).items()
    }


def _select_current(tx: Connection, campaign_id: str, finished: Sequence[FinishedRater]) -> tuple[str, ...]:
    """Return the raters who finished before the figures were computed, none if a withdrawal deleted these."""
    read_at = monitoring.find_snapshot_time(tx, campaign_id)
    return tuple(rater.id for rater in finished if read_at is not None and rater.at <= read_at)


def _load_shares(
    tx: Connection,
    campaign_row: CampaignRow,
    campaign: Campaign,
    scales: QuestionScales,
    axes: Mapping[str, tuple[str, ...]],
    request: InterimRequest,
    rater_ids: Sequence[str],
) -> tuple[list[float], list[MonitoredRater]]:
    """Return the share of the answer among the ratings of each rater."""
    question = scales.primary_question
    if question is None:
        return [], []
    scale = tuple(scales.all[question])
    if request.axis:
        parse_choice(request.axis, list(axes), "an axis")
    index = scale.index(parse_choice(request.answer, scale, "an answer")) if request.answer else len(scale) - 1
    purposes = [purpose.name for purpose in campaign.consent.purposes if purpose.required]
    participants = {rater.rater_id: rater for rater in monitoring.list_participants(tx, campaign_row.id, purposes)}
    figures = rater_lists.load_rater_figures(tx, campaign_row.id)
    shares, people = [], []
    for rater_id in rater_ids:
        counts: tuple[int, ...] = figures[rater_id].answers.get(question, ()) if rater_id in figures else ()
        total = sum(counts)
        if rater_id in participants and total:
            shares.append(counts[index] / total)
            people.append(to_monitored_rater(participants[rater_id], axes))
    return shares, people


def _find_fewest_ratings(tx: Connection, campaign_row: CampaignRow) -> FewestRatings | None:
    extremes = finish_order.find_extreme_loads(tx, campaign_row.id)
    if extremes is None:
        return None
    least, most = extremes
    n_least, names = finish_order.list_items_of_load(tx, campaign_row.id, least, most=ADVISED_ITEMS)
    return FewestRatings(least=least, most=most, n_least=n_least, names=tuple(names))
