"""Display of the analysis of attempts, in a terminal and as rows."""

from collections.abc import Iterator, Sequence

from dissensus.pipeline.analyse.attempts.result import AttemptAnalysis, AttemptCell
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_short
from dissensus.stats.clustered import Clustered

FEW_TAGS = 24


def attempts_page(found: AttemptAnalysis) -> Page:
    """Return what was found as a page."""
    return Page(
        f"{found.n_attempts:,} attempts by {found.n_red_teamers:,} red-teamers.",
        tuple(_grids(found)),
        (
            f"A success is a rating of {found.success_from} or more by the red-teamer; harmlessness is the least score "
            "of a turn of the bot.",
            *(
                (f"Intervals are for other red-teamers, {100 * found.level:g} %.",)
                if found.bootstrap
                else ("--bootstrap 1000 gives intervals for other red-teamers.",)
            ),
        ),
    )


def _grids(found: AttemptAnalysis) -> Iterator[Grid]:
    scores = {(cell.model_type, cell.size): cell for cell in found.harmlessness}
    lines = [_line(cell, scores[cell.model_type, cell.size]) for cell in found.success]
    yield Grid(("model", "attempts", "red-teamers", "success", "interval", "harmlessness", "interval"), tuple(lines))
    top = found.concentration.top
    yield Grid(
        ("busiest red-teamers", "of attempts", "of successes"),
        tuple((f"{one.k:,}", format_short(one.share_of_attempts), format_short(one.share_of_successes)) for one in top),
    )
    for model in found.models:
        rows = tuple(
            (
                escape_unprintable(term.name),
                format_short(term.estimate),
                f"{format_short(term.ci_low)} to {format_short(term.ci_high)}",
            )
            for term in model.terms
        )
        yield Grid((f"mixed model: {model.outcome}", "coefficient", "interval"), rows, model.reason)
    if found.tags:
        yield Grid(
            ("tag", "attempts", "of reviewed", "of successful"),
            tuple(
                (
                    escape_unprintable(tag.tag),
                    f"{tag.n:,}",
                    *(format_short(of.estimate) for of in (tag.share, tag.share_of_successful)),
                )
                for tag in found.tags[:FEW_TAGS]
            ),
        )
    if found.reviewed:
        yield Grid(
            ("agreement", "estimate", "interval"),
            tuple(
                (
                    f"{row.raters}, {row.scale}, {row.coefficient}",
                    format_short(row.estimate.estimate, 3),
                    format_interval(row.estimate),
                )
                for row in found.reviewed.agreement
            ),
        )


def _line(success: AttemptCell, score: AttemptCell) -> tuple[str, ...]:
    name = " × ".join(escape_unprintable(part) for part in (success.model_type, success.size) if part) or "all"
    known = (
        format_short(success.mean.estimate, 3),
        format_interval(success.mean),
        format_short(score.mean.estimate),
        format_interval(score.mean),
    )
    return (name, f"{success.n_attempts:,}", f"{max(success.mean.clusters, score.mean.clusters):,}", *known)


def format_interval(of: Clustered) -> str:
    """Return the interval of an estimate, or a dash."""
    return UNKNOWN if of.ci_low is None else f"{format_short(of.ci_low)} to {format_short(of.ci_high)}"


def attempts_rows(found: AttemptAnalysis) -> list[dict[str, str | float | int | None]]:
    """Return every estimate with its interval as a row."""
    return [
        {
            "measure": measure,
            "part": part,
            "model_type": kind,
            "size": size,
            "estimate": of.estimate,
            "ci_low": of.ci_low,
            "ci_high": of.ci_high,
            "n_attempts": of.n,
            "n_red_teamers": of.clusters,
            "reason": of.reason,
        }
        for measure, part, kind, size, of in _rows(found)
    ]


_Row = tuple[str, str, str | None, str | None, Clustered]


def _rows(found: AttemptAnalysis) -> Iterator[_Row]:
    yield from _of_cells("success", found.success)
    yield from _of_cells("harmlessness", found.harmlessness)
    for level in found.relation.levels:
        yield "harmlessness by rating", str(level.rating), None, None, level.mean
    yield "rank correlation of rating and harmlessness", "", None, None, found.relation.spearman
    for tag in found.tags:
        yield "tag of reviewed", tag.tag, None, None, tag.share
        yield "tag of successful", tag.tag, None, None, tag.share_of_successful
        yield "success with tag", tag.tag, None, None, tag.success
    if found.reviewed:
        for row in found.reviewed.agreement:
            yield row.coefficient, f"{row.raters}, {row.scale}", None, None, row.estimate
        yield from _of_cells("success by reviewers", found.reviewed.success)
        for level in found.reviewed.relation.levels:
            yield "mean of reviewers by rating", str(level.rating), None, None, level.mean
        yield "rank correlation of rating and reviewers", "", None, None, found.reviewed.relation.spearman


def _of_cells(measure: str, cells: Sequence[AttemptCell]) -> Iterator[_Row]:
    for cell in cells:
        yield measure, "", cell.model_type, cell.size, cell.mean
