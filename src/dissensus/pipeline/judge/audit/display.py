"""Display of the audit of a judge as a page of tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dissensus.pipeline.judge.audit.rows import AuditRow
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_short

FEW: Final = "†"
PROBE_NAMES: Final = {
    "repeat": "another seed",
    "options": "last answer listed first",
    "questions": "asked later",
    "wording": "other instructions",
    "length": "longer response",
    "responses": "response B first",
}
OUTCOME_NAMES: Final = {
    "answered": "answered",
    "refused": "refused",
    "not_json": "not one JSON object",
    "not_valid": "answers missing or not on the scale",
    "cut": "cut at the limit of length",
}
_AGREEMENTS: Final = ("agreement", "human_agreement", "constant_agreement", "agreement_difference")
_AGREEMENT_HEAD: Final = (
    *("raters", "judge and rater agree, %", "two raters agree, %", "constant answer, %", "difference"),
)
_DISTANCES: Final = ("distribution_distance", "nearer_share")
_PERSONA_COLUMNS: Final = ("toward_group", "toward_others", "toward_group_more", "human_spread", "spread_difference")


def audit_page(
    summary: str, rows: Sequence[AuditRow], outcomes: Mapping[str, int], confidence: float, notes: Sequence[str]
) -> Page:
    """Return the audit as a page: responses, consistency, probes, groups, personas."""
    grids = (
        outcome_grid(outcomes),
        *consistency_grids(rows),
        *effect_grids(rows),
        *group_grids(rows),
        *persona_grids(rows),
    )
    return Page(summary, grids, (*explain_audit(rows, confidence), *(f"Note: {note}" for note in notes)))


def outcome_grid(outcomes: Mapping[str, int]) -> Grid:
    """Return the table of outcomes of the requests."""
    total = sum(outcomes.values())
    lines = (
        (name, f"{outcomes[key]:,}", format_short(100 * outcomes[key] / total, 1))
        for key, name in OUTCOME_NAMES.items()
        if outcomes.get(key)
    )
    return Grid(("responses", "requests", "%"), tuple(lines))


def consistency_grids(rows: Sequence[AuditRow]) -> Iterator[Grid]:
    """Yield the table of consistency over seeds, with and without personas."""
    own = [row for row in rows if row.metric == "consistency"]
    if own:
        lines = (
            (escape_unprintable(row.persona or "no persona"), f"{row.n_items:,}", format_estimate(row)) for row in own
        )
        yield Grid(("two seeds agree", "items", "%"), tuple(lines))


def effect_grids(rows: Sequence[AuditRow]) -> Iterator[Grid]:
    """Yield the table of the effects of presentation."""
    probes = dict.fromkeys(row.probe for row in rows if row.probe)
    if probes:
        head = ("one thing changed", "pairs", "answers changed, %", "beyond another seed", "shift on the scale, %")
        metrics = ("changed", "changed_beyond_repeat", "shift")
        yield Grid(head, tuple(_effect_line(rows, str(probe), metrics) for probe in probes))


def _effect_line(rows: Sequence[AuditRow], probe: str, metrics: Sequence[str]) -> tuple[str, ...]:
    own = {row.metric: row for row in rows if row.probe == probe}
    cells = (format_estimate(own[metric]) if metric in own else UNKNOWN for metric in metrics)
    return (PROBE_NAMES[probe], f"{own['changed'].n_answers:,}", *cells)


def group_grids(rows: Sequence[AuditRow]) -> Iterator[Grid]:
    """Yield, for each axis, a table of agreement and one of distance and rank."""
    own = [row for row in rows if row.metric in (*_AGREEMENTS, *_DISTANCES) and row.persona is None]
    axes: list[str | None] = list(dict.fromkeys(row.axis for row in own if row.axis is not None))
    for axis in axes or ([None] if own else []):
        keys = dict.fromkeys((row.axis, row.group) for row in own if row.axis in (None, axis))
        groups = [{row.metric: row for row in own if (row.axis, row.group) == key} for key in keys]
        title = escape_unprintable(axis or "whole pool")
        yield Grid((title, *_AGREEMENT_HEAD), tuple(map(_agreement_line, groups)))
        yield Grid((title, "distance", "nearer than", "p", "adjusted p"), tuple(map(_distance_line, groups)))


def _agreement_line(rows: Mapping[str, AuditRow]) -> tuple[str, ...]:
    n_raters = max(row.n_raters for row in rows.values())
    cells = (format_estimate(rows[metric]) for metric in _AGREEMENTS)
    return (_name_group(rows["agreement"]), f"{n_raters:,}" if n_raters else UNKNOWN, *cells)


def _distance_line(rows: Mapping[str, AuditRow]) -> tuple[str, ...]:
    rank = rows["nearer_share"]
    nearer = UNKNOWN if rank.estimate is None else f"{100 * rank.estimate:.0f} %"
    p_values = (format_short(rank.p, 3), format_short(rank.p_adjusted, 3))
    return (_name_group(rank), format_estimate(rows["distribution_distance"]), nearer, *p_values)


def _name_group(row: AuditRow) -> str:
    return "everybody" if row.group is None else escape_unprintable(row.group)


def persona_grids(rows: Sequence[AuditRow]) -> Iterator[Grid]:
    """Yield the table of personas."""
    own = [row for row in rows if row.persona is not None and row.metric in _PERSONA_COLUMNS]
    if own:
        head = (
            "persona",
            "nearer to its group",
            "to others",
            "more to its group",
            "spread of people",
            "spread less that",
            "p",
            "adjusted p",
        )
        personas = dict.fromkeys(str(row.persona) for row in own)
        yield Grid(head, tuple(_persona_line(own, persona) for persona in personas))


def _persona_line(rows: Sequence[AuditRow], persona: str) -> tuple[str, ...]:
    own = {row.metric: row for row in rows if row.persona == persona}
    cells = (format_estimate(own[metric]) if metric in own else UNKNOWN for metric in _PERSONA_COLUMNS)
    more = own.get("toward_group_more")
    p_values = (None, None) if more is None else (more.p, more.p_adjusted)
    return (escape_unprintable(persona), *cells, *(format_short(p, 3) for p in p_values))


def format_estimate(row: AuditRow) -> str:
    """Return a value in per cent of its range, with its interval below."""
    if row.estimate is None:
        return UNKNOWN
    mark = FEW if row.warning else ""
    if row.ci_low is None or row.ci_high is None:
        return f"{100 * row.estimate:.1f}{mark}"
    return f"{100 * row.estimate:.1f}{mark}\n{100 * row.ci_low:.1f} to {100 * row.ci_high:.1f}"


def explain_audit(rows: Sequence[AuditRow], confidence: float) -> Iterator[str]:
    """Yield the notes below the tables."""
    metrics = {row.metric for row in rows}
    yield f"Intervals: {100 * confidence:g} %, over other items and, where raters are compared, other raters."
    if "shift" in metrics:
        yield (
            "Shift: change of the position on the scale, whose first answer is 0 % and last 100 %; above 0 toward "
            "its last answer. Probes change one thing of a request that is otherwise the same."
        )
    if "agreement" in metrics:
        yield (
            "Constant answer: agreement of the most frequent answer of the group, given to every item; a judge that "
            "does not surpass it tells nothing of items. Difference: below 0 if the judge agrees less with raters of "
            "the group than they do with each other. "
            "Distance: of the distributions of answers on the ordered scale, unbiased in the numbers of answers, so "
            "that 0 is the same distribution and an estimate may be below 0. Nearer than: share of the raters of the "
            "group than whom the judge is nearer to the rest of it; p: of the judge as one more rater of the group."
        )
    if "toward_group" in metrics:
        yield (
            "Personas: the distance on the scale between judge and raters that the persona takes away, for raters of "
            "its group, for others, and the difference on the items that both rated, with its p-value, also adjusted "
            "over personas. Spread: distance between two raters of the group on one item; "
            "below 0, two answers of the persona differ less than those of two people do."
        )
    yield from (f"{FEW} {warning}" for warning in dict.fromkeys(row.warning for row in rows if row.warning))
    yield from (f"{UNKNOWN} {reason}" for reason in dict.fromkeys(row.reason for row in rows if row.reason))
