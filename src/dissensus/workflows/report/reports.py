"""Reports of a campaign for staff: requests, pages and figures."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.campaign.report_request import ReportRequest
from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.monitor import read_scales
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value
from dissensus.store import overview
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.orm import new_id
from dissensus.store.lists import reports as store
from dissensus.store.lists.reports import ReportRow
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.campaign.monitoring import monitoring_axes
from dissensus.workflows.platform.platform import Platform

MAX_UNFINISHED: Final = 3
"""Reports of a campaign that wait or are made."""
MAX_REPORTS: Final = 20
"""Finished reports of a campaign that are kept."""
FigureKind: TypeAlias = Literal["svg", "narrow.svg", "dark.svg", "narrow.dark.svg", "png", "csv"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportChoices:
    """Reports of a campaign, and the choices for another one."""

    campaign: Campaign
    reports: tuple[ReportRow, ...]
    questions: tuple[str, ...]
    primary_question: str | None
    axes: Mapping[str, tuple[str, ...]]  # Groups by axis
    attributes: tuple[str, ...]  # Of items


def list_reports(platform: Platform, name: str, *, with_raters: bool, staff_id: str) -> ReportChoices:
    """Return the reports of a campaign, and the choices for another one."""
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        reader = _only_reader(campaign, staff_id)
        reports = store.list_reports(tx, campaign_row.id, with_raters=with_raters, staff_id=reader)
        return _list_choices(tx, campaign_row, campaign, reports)


def _only_reader(campaign: Campaign, staff_id: str) -> str | None:
    """Return the only member who may read a report they ask for, None if all may.

    A report of attempts has reviews from the campaigns whose results its member may see.
    """
    return staff_id if campaign.chat else None


def _list_choices(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, reports: tuple[ReportRow, ...]
) -> ReportChoices:
    questionnaire = campaign.questionnaire
    scaled = [question.name for question in questionnaire.questions if question.scale]
    return ReportChoices(
        campaign=campaign,
        reports=reports,
        questions=() if campaign.chat else (*questionnaire.overalls, *scaled),
        primary_question=read_scales(questionnaire).primary_question,
        axes={} if campaign.chat else _report_axes(campaign),
        attributes=() if campaign.chat else overview.list_attribute_names(tx, campaign_row.id),
    )


def _report_axes(campaign: Campaign) -> dict[str, tuple[str, ...]]:
    """Return the axes that an export has a column for: answers about raters, not their quota cell."""
    axes = monitoring_axes(campaign)
    return {axis: groups for axis, groups in axes.items() if axis.startswith("rater_")}


def request_report(
    platform: Platform, name: str, request: ReportRequest, *, with_raters: bool, staff_id: str, now: datetime
) -> str:
    """Ask for a report and return its id; the same one if it is under way already."""
    with platform.database.writing() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id, lock=True)
        reports = store.list_reports(tx, campaign_row.id, with_raters=True)
        _check_request(request, _list_choices(tx, campaign_row, campaign, reports))
        text = request.to_json()
        reader = _only_reader(campaign, staff_id)
        unfinished = [row for row in reports if row.state in ("waiting", "working")]
        for row in unfinished:
            if (row.request, row.with_raters) == (text, with_raters) and reader in (None, row.staff_id):
                return row.id
        if len(unfinished) >= MAX_UNFINISHED:
            raise InvalidInput(f"{MAX_UNFINISHED} reports of {name} wait or are under way. Ask again when one is done.")
        report_id = new_id(now)
        store.add_report(tx, report_id, campaign_row.id, text, with_raters=with_raters, staff_id=staff_id, now=now)
        store.delete_oldest_reports(tx, campaign_row.id, most=MAX_REPORTS)
    return report_id


def _check_request(request: ReportRequest, choices: ReportChoices) -> None:
    """Raise `InvalidInput` for a question, axis, group or attribute that the campaign does not have."""
    axes = list(choices.axes)
    crossed = [axis for cross in request.cross for axis in cross.split("*")]
    for value, noun, allowed in (
        (request.question, "a question with a scale", list(choices.questions)),
        *((axis, "an axis", axes) for axis in (*request.axes, *crossed, request.axis)),
        (request.group, f"a group of {request.axis or 'an axis'}", list(choices.axes.get(request.axis, ()))),
        (request.attribute, "an attribute of items", list(choices.attributes)),
    ):
        if value and value not in allowed:
            rest = f"Choose one of {format_list(allowed)}." if allowed else "The campaign has none."
            raise InvalidInput(f"{format_value(value)} is not {noun}. {rest}")
    for cross in request.cross:
        parts = cross.split("*")
        if "" in parts or len(parts) < 2 or len(set(parts)) < len(parts):
            raise InvalidInput(f"{format_value(cross)} does not cross axes. Choose two or more different ones.")
    for first, second in (("attribute", "value"), ("axis", "group")):
        if bool(getattr(request, first)) != bool(getattr(request, second)):
            raise InvalidInput(f"A filter needs both {first} and {second}. Give both, or leave both out.")


def load_report(
    platform: Platform, name: str, report_id: str, *, section: str | None = None, with_raters: bool, staff_id: str
) -> tuple[ReportRow, Any, Any]:
    """Return a report with its first page and one section, each None where there is none.

    Without `with_raters`, reports that show single raters are unknown.
    """
    with platform.database.reading() as tx:
        row = _find_report(platform, tx, name, report_id, with_raters=with_raters, staff_id=staff_id)
        content = store.find_report_content(tx, report_id)
        text = None if section is None else store.find_report_content(tx, report_id, section)
    if section is not None and text is None:
        raise NotFound("The report has no such section. Open one from its first page.")
    return row, content and json.loads(content), text and json.loads(text)


def load_figure(
    platform: Platform, name: str, report_id: str, figure: str, kind: FigureKind, *, with_raters: bool, staff_id: str
) -> tuple[ReportRow, bytes]:
    """Return a report with one of its figures as a drawing, or its numbers."""
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.report.graphics.render import to_dark_svg, to_png

    with platform.database.reading() as tx:
        report = _find_report(platform, tx, name, report_id, with_raters=with_raters, staff_id=staff_id)
        row = store.find_report_figure(tx, report_id, figure)
    if row is None:
        raise NotFound("The report has no such figure. Open one from its pages.")
    if kind == "csv":
        return report, str(row.numbers).encode()
    svg: str = row.narrow if kind.startswith("narrow") else row.wide
    if kind == "png":
        return report, to_png(svg)
    return report, (to_dark_svg(svg) if "dark" in kind else svg).encode()


def _find_report(
    platform: Platform, tx: Connection, name: str, report_id: str, *, with_raters: bool, staff_id: str
) -> ReportRow:
    campaign_row, _ = campaign_for_member(tx, name, staff_id)
    row = store.find_report(tx, campaign_row.id, report_id)
    reader = _only_reader(platform.definitions.load(tx, campaign_row), staff_id)
    if row is None or (row.with_raters and not with_raters) or reader not in (None, row.staff_id):
        raise NotFound(f"{name} has no such report. A withdrawal deletes reports, and old ones make room for new ones.")
    return row
