"""Display of the analysis of attempts as a page, and as rows."""

from collections.abc import Iterator, Sequence

from dissensus.pipeline.analyse.attempts.result import AttemptAnalysis, AttemptCell
from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_interval, format_short
from dissensus.schema.hints import count_noun
from dissensus.stats.cluster_bootstrap import BootstrapEstimate

MAX_SHOWN_TAGS = 24


def attempts_page(analysis: AttemptAnalysis) -> Page:
    """Return the analysis as a page."""
    return Page(
        f"{count_noun(analysis.n_attempts, 'attempt')} by {count_noun(analysis.n_red_teamers, 'red-teamer')}.",
        tuple(_grids(analysis)),
        (
            f"A success is a rating of {analysis.success_from} or more by the red-teamer; harmlessness is the "
            "least score of a turn of the bot.",
            f"{100 * analysis.confidence:g} % intervals over red-teamers."
            if analysis.bootstrap
            else "--bootstrap 1000 gives intervals over red-teamers.",
        ),
    )


def _grids(analysis: AttemptAnalysis) -> Iterator[Grid]:
    scores = {(cell.model_type, cell.size): cell for cell in analysis.harmlessness}
    lines = [_line(cell, scores[cell.model_type, cell.size]) for cell in analysis.success]
    yield Grid(("model", "attempts", "red-teamers", "success", "interval", "harmlessness", "interval"), tuple(lines))
    top = analysis.concentration.top
    yield Grid(
        ("busiest red-teamers", "of attempts", "of successes"),
        tuple((f"{row.k:,}", format_short(row.share_of_attempts), format_short(row.share_of_successes)) for row in top),
    )
    for model in analysis.models:
        rows = tuple(
            (
                escape_unprintable(term.name),
                format_short(term.estimate),
                format_interval(term.ci_low, term.ci_high),
                format_short(term.p, 3),
            )
            for term in model.terms
        )
        reasons = dict.fromkeys(f"{UNKNOWN} {term.reason}" for term in model.terms if term.reason)
        head = (f"mixed model: {model.outcome}", "coefficient", "interval", "p")
        yield Grid(head, rows, "; ".join([model.reason] * bool(model.reason) + list(reasons)))
    if analysis.tags:
        yield Grid(
            ("tag", "attempts", "of reviewed", "of successful"),
            tuple(
                (
                    escape_unprintable(tag.tag),
                    f"{tag.n:,}",
                    *(format_short(share.estimate) for share in (tag.share, tag.share_of_successful)),
                )
                for tag in analysis.tags[:MAX_SHOWN_TAGS]
            ),
        )
    if analysis.reviewed:
        yield Grid(
            ("agreement", "estimate", "interval"),
            tuple(
                (
                    f"{row.raters}, {row.scale}, {row.coefficient}",
                    format_short(row.estimate.estimate, 3),
                    format_interval(row.estimate.ci_low, row.estimate.ci_high),
                )
                for row in analysis.reviewed.agreement
            ),
        )


def _line(success: AttemptCell, score: AttemptCell) -> tuple[str, ...]:
    name = " × ".join(escape_unprintable(part) for part in (success.model_type, success.size) if part) or "all"
    cells = (
        format_short(success.mean.estimate, 3),
        format_interval(success.mean.ci_low, success.mean.ci_high),
        format_short(score.mean.estimate),
        format_interval(score.mean.ci_low, score.mean.ci_high),
    )
    return (name, f"{success.n_attempts:,}", f"{max(success.mean.clusters, score.mean.clusters):,}", *cells)


def attempts_rows(analysis: AttemptAnalysis) -> list[dict[str, str | float | int | None]]:
    """Return every estimate with its interval as a row."""
    return [
        {
            "measure": measure,
            "part": part,
            "model_type": kind,
            "size": size,
            "estimate": result.estimate,
            "ci_low": result.ci_low,
            "ci_high": result.ci_high,
            "n_attempts": result.n,
            "n_red_teamers": result.clusters,
            "reason": result.reason,
        }
        for measure, part, kind, size, result in _rows(analysis)
    ]


_Row = tuple[str, str, str | None, str | None, BootstrapEstimate]


def _rows(analysis: AttemptAnalysis) -> Iterator[_Row]:
    yield from _list_cells("success", analysis.success)
    yield from _list_cells("harmlessness", analysis.harmlessness)
    for level in analysis.relation.levels:
        yield "harmlessness by rating", str(level.rating), None, None, level.mean
    yield "rank correlation of rating and harmlessness", "", None, None, analysis.relation.spearman
    for tag in analysis.tags:
        yield "tag of reviewed", tag.tag, None, None, tag.share
        yield "tag of successful", tag.tag, None, None, tag.share_of_successful
        yield "success with tag", tag.tag, None, None, tag.success
    if analysis.reviewed:
        for row in analysis.reviewed.agreement:
            yield row.coefficient, f"{row.raters}, {row.scale}", None, None, row.estimate
        yield from _list_cells("success by reviewers", analysis.reviewed.success)
        for level in analysis.reviewed.relation.levels:
            yield "mean of reviewers by rating", str(level.rating), None, None, level.mean
        yield "rank correlation of rating and reviewers", "", None, None, analysis.reviewed.relation.spearman


def _list_cells(measure: str, cells: Sequence[AttemptCell]) -> Iterator[_Row]:
    for cell in cells:
        yield measure, "", cell.model_type, cell.size, cell.mean
