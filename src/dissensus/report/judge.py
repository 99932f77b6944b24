"""Report of the audit of a judge: responses, effects of presentation, agreement with groups, personas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from dissensus.pipeline.judge.audit.display import (
    PROBE_NAMES,
    consistency_grids,
    effect_grids,
    explain_audit,
    group_grids,
    outcome_grid,
    persona_grids,
)
from dissensus.pipeline.judge.audit.result import JudgeAudit
from dissensus.pipeline.judge.audit.rows import AuditRow
from dissensus.pipeline.tables import Grid, escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.groups import EVERYBODY
from dissensus.report.methods import Method
from dissensus.report.result import Document, Size
from dissensus.report.score.group_points import Blocks, PointRow, Value, draw_group_points
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun

WORDS: Final = (
    "J and J' are answers of the judge to an item, Y and Y' those of two raters of a group, d their distance: steps on "
    "the scale over all steps, or 1 for any two that differ. Items have the same weight."
)
METHODS: Final = (
    Method(
        "Agreement",
        r"1 - E \, d(J, Y), \quad 1 - E \, d(Y, Y')",
        "The share of equal answers of the judge and a rater, and of two raters, on the same items. The interval of "
        "their difference is for other raters and other items.",
        "Cameron, Gelbach and Miller (2011), Robust Inference with Multiway Clustering",
        ("groups",),
    ),
    Method(
        "Distance of distributions",
        r"2 E \, d(J, Y) - E \, d(Y, Y') - E \, d(J, J')",
        "The energy distance on the ordered scale, over pairs of distinct answers, so that few answers do not make it "
        "larger; it may be below 0.",
        "Székely and Rizzo (2013), Energy Statistics",
        ("groups",),
    ),
    Method(
        "Rank among raters",
        r"p = \frac{1 + \#\{r : d_r \ge d_J^{(r)}\}}{R + 1}",
        "The distance of each rater from the others of the group, beside that of the judge on the same items.",
        "Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge",
        ("groups",),
    ),
)


def judge_report(audit: JudgeAudit, *, command: str = "") -> Document:
    """Make a report of the audit of a judge."""
    sections = [_response_section(audit), *_effect_sections(audit), *_group_sections(audit), *_persona_sections(audit)]
    shown = {section.name for section in sections}
    return Document(
        title=f"Audit of {escape_unprintable(audit.judge)}",
        summary=f"Answers of a model to {audit.settings.question}: {', '.join(audit.settings.scale)}.",
        sizes=(
            Size("items", f"{audit.n_items:,}"),
            Size("requests", f"{sum(audit.outcomes.values()):,}"),
            Size("answered", f"{audit.outcomes.get('answered', 0):,}"),
            Size("raters", f"{audit.n_raters:,}"),
        ),
        sections=tuple(sections),
        command=command or "dissensus.report.judge",
        notes=audit.notes,
        version=audit.version,
        methods=tuple(method for method in METHODS if shown & set(method.shown_by)),
        words=WORDS,
    )


def _response_section(audit: JudgeAudit) -> Section:
    n, total = audit.outcomes.get("answered", 0), sum(audit.outcomes.values())
    reading = f"{n:,} of {count_noun(total, 'request')} have answers to every question."
    grids = (outcome_grid(audit.outcomes), *consistency_grids(audit.rows))
    tables = (_table(audit, "responses", "Responses", reading, grids, ("consistency",)),)
    return Section("responses", "Responses", "Requests with answers that count, and agreement of two seeds.", tables)


def _effect_sections(audit: JudgeAudit) -> Iterator[Section]:
    rows = [row for row in audit.rows if row.probe is not None and row.metric == "changed" and row.estimate is not None]
    if not rows:
        return
    reading = _read_effects(rows)
    blocks: Blocks = [("", [PointRow(PROBE_NAMES[str(row.probe)], {"changed": _value(row)}) for row in rows])]
    figure = Figure(
        name="changed-answers",
        title="Answers changed by the presentation",
        reading=reading,
        table=_tabulate(rows),
        draw=lambda width: draw_group_points(blocks, width, series=["changed"], per_cent=True),
        notes=("Lines: intervals for other items. Another seed alone is the noise of the judge.",),
    )
    metrics = ("changed", "shift", "changed_beyond_repeat")
    table = _table(audit, "effects", "Effects of presentation", reading, tuple(effect_grids(audit.rows)), metrics)
    lead = "One thing of a request is changed, and the rest is the same."
    yield Section("effects", "Effects of presentation", lead, (figure, table))


def _read_effects(rows: Sequence[AuditRow]) -> str:
    """Return a sentence on the probe that changed most answers, beside another seed."""
    noise_share = next((row.estimate or 0 for row in rows if row.probe == "repeat"), None)
    noise = "" if noise_share is None else f"; another seed alone {100 * noise_share:.1f} %"
    largest = max(rows, key=lambda row: (row.probe != "repeat", row.estimate or 0))
    if largest.probe == "repeat":
        return f"Another seed alone turns {100 * (noise_share or 0):.1f} % of answers; nothing else was changed."
    return (
        f"Of all changes but the seed, {PROBE_NAMES[str(largest.probe)]} turns most answers: "
        f"{100 * (largest.estimate or 0):.1f} %{noise}."
    )


def _group_sections(audit: JudgeAudit) -> Iterator[Section]:
    names = {
        "agreement": "judge and rater",
        "human_agreement": "two raters",
        "constant_agreement": "constant answer",
    }
    rows = [row for row in audit.rows if row.metric in names and row.estimate is not None]
    if not rows:
        return
    blocks = [
        ("" if axis is None else f"Raters by {format_axis(axis)}", _list_points(rows, axis, names))
        for axis in dict.fromkeys(row.axis for row in rows)
    ]
    reading = _read_differences([row for row in audit.rows if row.metric == "agreement_difference"])
    figure = Figure(
        name="agreement-with-groups",
        title="Agreement with each group",
        reading=reading,
        table=_tabulate(rows),
        draw=lambda width: draw_group_points(blocks, width, series=list(names.values()), per_cent=True),
        notes=("Lines: intervals for other raters and other items. All marks are for the same ratings.",),
    )
    metrics = (
        *("agreement", "human_agreement", "constant_agreement", "agreement_difference"),
        *("distribution_distance", "nearer_share"),
    )
    table = _table(audit, "agreement", "Judge and groups", reading, tuple(group_grids(audit.rows)), metrics)
    lead = "How often the judge gives the answer of a rater, beside how often two raters give the same one."
    yield Section("groups", "Agreement with groups", lead, (figure, table))


def _list_points(rows: Sequence[AuditRow], axis: str | None, names: Mapping[str, str]) -> list[PointRow]:
    own = [row for row in rows if row.axis == axis]
    return [
        PointRow(
            EVERYBODY if group is None else escape_unprintable(group),
            {names[row.metric]: _value(row) for row in own if row.group == group},
        )
        for group in dict.fromkeys(row.group for row in own)
    ]


def _read_differences(rows: Sequence[AuditRow]) -> str:
    """Return a sentence on the groups with which the judge surely agrees less than they do."""
    below = [row for row in rows if row.ci_high is not None and row.ci_high < 0]
    if not below:
        return "With no group is the judge shown to agree less than its raters do with each other."
    least = min(below, key=lambda row: row.estimate or 0)
    name = EVERYBODY if least.group is None else escape_unprintable(least.group)
    return (
        f"The judge agrees less with raters than they do with each other in {len(below):,} of {len(rows):,} "
        f"comparisons, most so with {name}: by {-100 * (least.estimate or 0):.1f} points."
    )


def _persona_sections(audit: JudgeAudit) -> Iterator[Section]:
    rows = [row for row in audit.rows if row.metric == "toward_group"]
    known = [row for row in rows if row.estimate is not None]
    if not known:
        return
    sure = sum(row.ci_low is not None and row.ci_low > 0 for row in known)
    reading = f"{sure:,} of {count_noun(len(rows), 'persona')} surely move the judge nearer to their group."
    others = {row.persona: row for row in audit.rows if row.metric == "toward_others" and row.estimate is not None}
    points = [
        PointRow(
            escape_unprintable(str(row.persona)),
            {"to its group": _value(row)}
            | ({"to others": _value(others[row.persona])} if row.persona in others else {}),
        )
        for row in known
    ]
    figure = Figure(
        name="persona-shift",
        title="Distance that a persona takes away",
        reading=reading,
        table=_tabulate([*known, *others.values()]),
        draw=lambda width: draw_group_points(
            [("", points)], width, series=["to its group", "to others"], per_cent=True
        ),
        notes=("Above 0: nearer than without the persona. Lines: intervals for other raters and other items.",),
    )
    metrics = ("toward_group", "toward_others", "toward_group_more", "human_spread", "spread_difference")
    table = _table(audit, "personas", "Personas", reading, tuple(persona_grids(audit.rows)), metrics)
    lead = "Whether the label of a group moves the judge toward the group, and whether its answers vary as people's do."
    yield Section("personas", "Personas", lead, (figure, table))


def _table(
    audit: JudgeAudit, name: str, title: str, reading: str, grids: tuple[Grid, ...], metrics: Sequence[str]
) -> ReportTable:
    rows = [row for row in audit.rows if row.metric in metrics]
    notes = tuple(explain_audit(rows, audit.settings.confidence))
    return ReportTable(name=name, title=title, reading=reading, grids=grids, notes=notes, table=_tabulate(rows))


def _value(row: AuditRow) -> Value:
    return Value(row.estimate or 0.0, row.ci_low, row.ci_high)


def _tabulate(rows: Sequence[AuditRow]) -> pl.DataFrame:
    names = ("metric", "probe", "persona", "axis", "group", "estimate", "ci_low", "ci_high", "n_items", "n_raters")
    return pl.DataFrame([{name: getattr(row, name) for name in names} for row in rows], infer_schema_length=None)
