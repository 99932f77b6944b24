"""Figure of the coefficients of a mixed model."""

from collections.abc import Iterator

import polars as pl

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.attempts.mixed import CROSSED, INTERCEPT
from dissensus.pipeline.analyse.attempts.result import MixedModel, Term
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.means import MeanRow, MeanRows, ScaleStyle, draw_means
from dissensus.report.groups import join_with_and, make_slug
from dissensus.schema.hints import count_noun
from dissensus.stats.cluster_bootstrap import BootstrapEstimate


def mixed_model(model: MixedModel) -> Figure:
    """Draw the coefficients of a mixed model."""
    if model.reason:
        raise UndefinedEstimate(f"No model of the {model.outcome}: {model.reason}")
    terms = [term for term in model.terms if term.name != INTERCEPT]
    lines = tuple(
        MeanRow(
            name=escape_unprintable(term.name).replace(CROSSED, f"\n{CROSSED.lstrip()}"),
            marks={"": _as_mark(term, model)},
        )
        for term in terms
    )
    blocks = [MeanRows("", lines)]
    beyond = [escape_unprintable(term.name) for term in terms if (term.ci_low or 0) > 0 or (term.ci_high or 0) < 0]
    statement = f"Beyond 0 are {join_with_and(beyond)}" if beyond else "No coefficient is beyond 0"
    share = 100 * (model.share_of_red_teamers or 0.0)
    return Figure(
        name=f"model-{make_slug(model.outcome)}",
        title=f"Mixed model of the {model.outcome}",
        reading=f"{statement}; {share:.0f} % of the residual variance lies between red-teamers.",
        table=pl.DataFrame(
            [
                {
                    "term": term.name,
                    "estimate": term.estimate,
                    "standard_error": term.standard_error,
                    "df": term.df,
                    "ci_low": term.ci_low,
                    "ci_high": term.ci_high,
                    "p": term.p,
                    "reason": term.reason,
                }
                for term in model.terms
            ],
            infer_schema_length=None,
        ),
        draw=lambda width: draw_means(blocks, width, ScaleStyle(reference=0)),
        notes=tuple(_model_notes(model)),
    )


def _as_mark(term: Term, model: MixedModel) -> BootstrapEstimate:
    return BootstrapEstimate(
        estimate=term.estimate,
        ci_low=term.ci_low,
        ci_high=term.ci_high,
        n=model.n,
        clusters=model.n_red_teamers,
        effective=float(model.n_red_teamers),
    )


def _model_notes(model: MixedModel) -> Iterator[str]:
    base = next(term for term in model.terms if term.name == INTERCEPT)
    yield (
        f"{count_noun(model.n, 'attempt')} by {count_noun(model.n_red_teamers, 'red-teamer')}. "
        "Coefficients are differences "
        "from the first type and the first size, at whose intercept the outcome is "
        f"{format_short(base.estimate)}; crossed ones are interactions of type and size. "
        "Intervals are cluster-robust by red-teamer, and p-values are not adjusted."
    )
    for reason in dict.fromkeys(term.reason for term in model.terms if term.reason):
        names = join_with_and([escape_unprintable(term.name) for term in model.terms if term.reason == reason])
        yield f"No interval of {names}: {reason}."
    yield (
        f"Standard deviation of red-teamers {format_short(model.sd_red_teamers, 3)}, of what is left "
        f"{format_short(model.sd_residual, 3)}."
    )
    if model.n_dropped:
        yield f"{count_noun(model.n_dropped, 'attempt')} left out, since a value of them is unknown."
    if model.left_out:
        yield f"Not in the model: {'; '.join(map(escape_unprintable, model.left_out))}."
