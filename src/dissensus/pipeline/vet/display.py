"""Display of vetting and of a filter audit as blocks of cells."""

from collections.abc import Iterator
from math import isinf

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, Page, printable, short
from dissensus.pipeline.vet.audit_result import AxisRemoval, FilterAudit, GroupRemoval
from dissensus.pipeline.vet.result import AGREEMENT, Vetting
from dissensus.schema.ratings.columns import FLAG, RATER_ID, RATER_PREFIX
from dissensus.stats.criteria import SHARES

HEADINGS = {
    "median_time_ms": "median s",
    "below_half": "< 1/2",
    "below_third": "< 1/3",
    "below_quarter": "< 1/4",
    "same_label": "one label",
    "label_entropy": "entropy",
    "non_comprehension": "unclear",
    "flat": "flat",
}
# Reasons that a note lists.
LISTED = 8
# Wording of each measure of how labels move, and the digits that it is shown with.
MEASURES = {
    "mean_total_variation": ("mean total variation", 5),
    "mean_jensen_shannon": ("mean Jensen–Shannon, nats", 6),
    "changed": ("items whose most frequent answers change", 0),
    "disjoint": ("… to none of those before", 0),
}


def vetting_page(vetting: Vetting) -> Page:
    """Return the flagged raters below the middle of the pool."""
    shown = [name for name in (*HEADINGS, *_agreements(vetting)) if name not in vetting.absent]
    known = vetting.raters["flagged_in_file"].null_count() == 0
    head = ("rater", "ratings", *(_heading(name) for name in shown), *(["file"] if known else []))
    middle = vetting.raters.select(pl.col("n_ratings", *shown).median()).row(0, named=True)
    lines = [("median of the pool", *_cells(middle, shown, vetting), *([""] if known else []))]
    by_weight = vetting.raters.filter(FLAG).sort(pl.col("flagged_for").list.len(), descending=True, maintain_order=True)
    for row in by_weight.iter_rows(named=True):
        of_file = ["flagged" if row["flagged_in_file"] else ""] if known else []
        lines.append((printable(row[RATER_ID]), *_cells(row, shown, vetting), *of_file))
    return Page(_summary(vetting), (Grid(head, tuple(lines)),), tuple(_notes(vetting)))


def audit_page(audit: FilterAudit) -> Page:
    """Return one block an axis, and one for the labels."""
    n = len(audit.removed)
    summary = (
        f"Filter of {n:,} of {audit.n_raters:,} raters, flagged by {audit.source}; {audit.question} of "
        f"{audit.n_items:,} items"
    )
    interval = f"{100 * audit.level:g} % interval"
    grids = [_removal(axis, interval) for axis in audit.axes]
    return Page(summary, (*grids, _moves(audit)), tuple(_audit_notes(audit)))


def _agreements(vetting: Vetting) -> list[str]:
    return [f"{AGREEMENT}{name}" for name in ("pool", *vetting.axes)]


def _heading(name: str) -> str:
    return HEADINGS.get(name) or "with " + printable(name.removeprefix(AGREEMENT).replace(RATER_PREFIX, ""))


def _cells(row: dict[str, float | None], names: list[str], vetting: Vetting) -> Iterator[str]:
    """Yield the cells of a rater, with a star where a criterion is met."""
    yield f"{row['n_ratings']:,.0f}"
    for name in names:
        value = row[name]
        if name == "median_time_ms" and value is not None:
            yield f"{value / 1000:.1f}"
            continue
        met = name in SHARES and value is not None and row.get(FLAG) and _meets(row, name, vetting)
        yield short(value) + ("*" if met else "")


def _meets(row: dict[str, float | None], name: str, vetting: Vetting) -> bool:
    n = row["n_ratings" if name == "same_label" else "n_timed"]
    value, criteria = row[name], vetting.criteria
    return value is not None and value >= getattr(criteria, name) and (n or 0) >= criteria.min_ratings


def _summary(vetting: Vetting) -> str:
    raters = vetting.raters
    n, in_file = len(vetting.flagged), int(raters["flagged_in_file"].sum())
    both = raters.filter(pl.col(FLAG) & pl.col("flagged_in_file")).height
    text = (
        f"{vetting.question}: {vetting.n_ratings:,} ratings of {vetting.n_items:,} items by {raters.height:,} raters. "
        f"{n:,} {'rater meets' if n == 1 else 'raters meet'} a criterion"
    )
    known = raters["flagged_in_file"].null_count() == 0
    return text + (f"; the file flags {in_file:,}, {both:,} of them among these." if known else ".")


def _notes(vetting: Vetting) -> Iterator[str]:
    criteria = vetting.criteria
    limits = ", ".join(
        f"{HEADINGS[name]} {short(getattr(criteria, name))}" for name in SHARES if name not in vetting.absent
    )
    yield f"* meets a criterion, from these shares and {criteria.min_ratings:,} ratings on: {limits}."
    yield "Nobody is left out by that. What has no star flags nobody: whoever differs from the pool may be sincere."
    if vetting.pool_median_ms is not None:
        seconds = f"{vetting.pool_median_ms / 1000:.1f} s"
        yield f"< shares of items answered in less than that part of {seconds}, the pool's median time."
    for reason in dict.fromkeys(vetting.absent.values()):
        which = [_heading(name) for name, why in vetting.absent.items() if why == reason]
        yield f"{UNKNOWN} {', '.join(which)}: {reason}."
    yield from (f"Note: {note}" for note in vetting.notes)


def _removal(axis: AxisRemoval, interval: str) -> Grid:
    head = (printable(axis.axis), "removed", "of", "share", "odds ratio", interval, "against")
    lines = tuple(_group(group) for group in axis.groups)
    if axis.p is None:
        return Grid(head, lines, axis.reason or "")
    unknown = f" {axis.n_unknown:,} raters of unknown group take no part." if axis.n_unknown else ""
    adjusted = f"{short(axis.p_adjusted, 4)} after Benjamini–Hochberg over the axes"
    return Grid(head, lines, f"{axis.method} of independence: p {short(axis.p, 4)}, {adjusted}.{unknown}")


def _group(group: GroupRemoval) -> tuple[str, ...]:
    share = short(group.n_removed / group.n_raters, 3)
    counted = (printable(group.group), f"{group.n_removed:,}", f"{group.n_raters:,}", share)
    if group.odds_ratio is None or group.ci_low is None or group.ci_high is None:
        return (*counted, "", "", "")
    ends = f"[{_odds(group.ci_low)}, {_odds(group.ci_high)}]"
    return (*counted, _odds(group.odds_ratio), ends, printable(group.against or ""))


def _odds(value: float) -> str:
    return "∞" if isinf(value) else f"{value:.2f}"


def _moves(audit: FilterAudit) -> Grid:
    percent = f"{100 * audit.level:g} % of them"
    lines = []
    for move in audit.moves:
        wording, digits = MEASURES[move.measure]
        cells = [_number(value, digits) for value in (move.observed, move.null_median)]
        spread = f"{_number(move.null_low, digits)} to {_number(move.null_high, digits)}" if audit.draws else UNKNOWN
        lines.append((wording, *cells, spread, short(move.p, 3)))
    return Grid(("how labels move", "filter", "at random", percent, "p"), tuple(lines), _furthest(audit))


def _number(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}" if digits == 0 else short(value, digits)


def _furthest(audit: FilterAudit) -> str:
    found = audit.largest("total_variation")
    if found is None:
        return ""
    return f"largest total variation: {short(found[1], 5)}, item {printable(found[0])}"


def _audit_notes(audit: FilterAudit) -> Iterator[str]:
    if audit.draws:
        within = f" within the groups of {audit.within}" if audit.within else ""
        yield (
            f"At random: {audit.draws:,} times {len(audit.removed):,} raters{within}, seed {audit.seed}; median. "
            "p: how often chance moves labels as far or further."
        )
    if any(group.reason for axis in audit.axes for group in axis.groups):
        reasons = list(dict.fromkeys(f"{g.group}, {g.reason}" for axis in audit.axes for g in axis.groups if g.reason))
        rest = f"; and {len(reasons) - LISTED:,} more" * (len(reasons) > LISTED)
        yield f"Odds ratios of 0 or infinity: {printable('; '.join(reasons[:LISTED]))}{rest}."
    yield from (f"Note: {note}" for note in audit.notes)
