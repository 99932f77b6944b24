"""Report of the evaluation of a preference model."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Final

import polars as pl

from dissensus.pipeline.tables import Grid, escape_unprintable, format_interval, format_short
from dissensus.preference.evaluation.accuracy import HUMAN_AGREEMENT, Evaluation
from dissensus.preference.evaluation.diagnostics import Diagnostics
from dissensus.preference.evaluation.paired import RivalModel, describe_comparison
from dissensus.report.evaluation_tables import group_accuracy_table, soft_label_table
from dissensus.report.figures.reliability import reliability
from dissensus.report.figures.slices import slices
from dissensus.report.methods import Method
from dissensus.report.result import Document, Size
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable
from dissensus.schema.hints import count_noun
from dissensus.stats.cluster_robust import ClusteredEstimate

WORDS: Final = (
    "Pairs are p with weight w and dialogue g; m is the score of the chosen less that of the rejected answer, in log "
    "odds. Logarithms are natural."
)
BAI: Final = "Bai et al. (2022), Training a Helpful and Harmless Assistant"
METHODS: Final = (
    Method(
        "Accuracy",
        r"\frac{\sum_p w_p \left( \left[ m_p > 0 \right] + \frac{1}{2} \left[ m_p = 0 \right] \right)}{\sum_p w_p}",
        "The share of pairs whose chosen answer scores higher; a tie is half a hit. The interval is Wilson's with as "
        "many independent pairs as have the variance between dialogues and between raters, if raters are known.",
        "Korn and Graubard (1998), Confidence Intervals for Proportions",
        ("accuracy",),
    ),
    Method(
        "Log-loss",
        r"\frac{\sum_p w_p \ln \left( 1 + e^{-m_p} \right)}{\sum_p w_p}",
        "Mean negative log-likelihood of the choices; ln 2 = 0.693 without any knowledge.",
        "Bradley and Terry (1952), Rank Analysis of Incomplete Block Designs",
        ("accuracy",),
    ),
    Method(
        "Expected calibration error",
        r"\sum_b \frac{\left| \sum_{p \in b} w_p \left( c_p - r_p \right) \right|}{\sum_p w_p}, \quad "
        r"c = \frac{1}{1 + e^{-|m|}}",
        "Over ten bins b of equal width from one half to 1: distance of mean confidence, c, and accuracy, r.",
        "Guo et al. (2017), On Calibration of Modern Neural Networks",
        ("reliability",),
    ),
    Method(
        "Difference of two models",
        r"\hat d \pm t_\nu \sqrt{\hat v}, \quad \hat v = \hat v_{\mathrm{dialogues}} + \hat v_{\mathrm{raters}} - "
        r"\hat v_{\mathrm{both}}, \quad \hat v_{\mathrm{dialogues}} = \frac{\sum_g f_g \left( \sum_{p \in g} w_p "
        r"\left( d_p - \hat d \right) \right)^2}{\left( \sum_p w_p \right)^2}",
        "On the same pairs, with d the difference on each; pairs that both get right, or wrong, add nothing. Clusters "
        "are dialogues, and raters if they are known; f and ν correct for few and unequal clusters.",
        "Cameron, Gelbach and Miller (2011), Robust Inference with Multiway Clustering",
        ("difference", "groups"),
    ),
    Method(
        "Distance from the shares of raters",
        r"\frac{\sum_c w_c \, 2 \left| P_c - t_c \right|}{\sum_c w_c}, \quad "
        r"\frac{\sum_c w_c \left( -t_c \ln P_c - (1 - t_c) \ln (1 - P_c) \right)}{\sum_c w_c}",
        "Over comparisons c by several raters: the Manhattan distance and the cross-entropy of what the model says, P, "
        "and the share of raters who chose the same answer, t.",
        "Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives",
        ("soft_labels",),
    ),
)


def evaluation_report(
    evaluation: Evaluation,
    *,
    model: str,
    rival: RivalModel | None = None,
    diagnostics: Diagnostics | None = None,
    excluded: Mapping[str, int] | None = None,
    title: str | None = None,
    command: str = "",
    seed: int = 0,
) -> Document:
    """Make a report of the evaluation of a preference model."""
    diagnostics = diagnostics or Diagnostics()
    n_pairs, n_dialogues = evaluation.accuracy.n, evaluation.accuracy.clusters
    sections = (
        *_sections(evaluation, model, rival),
        *_show_groups(diagnostics),
        *_soft_labels(evaluation, model, rival),
    )
    names = {section.name for section in sections}
    return Document(
        title=title or f"Evaluation of {escape_unprintable(model)}",
        summary=f"{count_noun(n_pairs, 'pair')} of {count_noun(n_dialogues, 'dialogue')}.",
        sizes=(
            Size("pairs", f"{n_pairs:,}"),
            Size("dialogues", f"{n_dialogues:,}"),
            Size("accuracy", format_short(evaluation.accuracy.estimate, 3)),
            Size("log-loss", format_short(evaluation.log_loss, 3)),
            Size("ECE", format_short(evaluation.ece, 3)),
            *(() if diagnostics.r_squared is None else (Size("r²", format_short(diagnostics.r_squared, 3)),)),
        ),
        sections=sections,
        command=command or "dissensus.report.evaluation.evaluation_report(…)",
        notes=tuple(f"{count_noun(n, 'pair')} left out: {reason}." for reason, n in (excluded or {}).items()),
        version=version("dissensus"),
        seed=seed,
        methods=tuple(method for method in METHODS if names & set(method.shown_by)),
        words=WORDS,
    )


def _sections(evaluation: Evaluation, model: str, rival: RivalModel | None) -> Iterator[Section]:
    yield Section(
        "accuracy",
        "Accuracy",
        "Share of pairs in which the answer that people chose scores higher.",
        (_all_pairs_table(evaluation, model, rival), slices(evaluation, other=rival.evaluation if rival else None)),
    )
    yield Section(
        "reliability",
        "Calibration",
        "Differences of scores are log odds, so they give a probability for each pair.",
        (reliability(evaluation),),
    )
    if rival:
        lead = f"{escape_unprintable(model)} and {escape_unprintable(rival.name)} on the same pairs."
        yield Section("difference", "Comparison with the other model", lead, (_difference(model, rival),))


def _show_groups(diagnostics: Diagnostics) -> Iterator[Section]:
    if diagnostics.by_group:
        lead = "Accuracy with and without knowledge of the groups of raters."
        yield Section("groups", "Accuracy by group", lead, (group_accuracy_table(diagnostics),))


def _soft_labels(evaluation: Evaluation, model: str, rival: RivalModel | None) -> Iterator[Section]:
    if evaluation.soft_labels is not None:
        lead = "Distance of the predicted shares from the shares of raters."
        other = None if rival is None else (rival.name, rival.evaluation)
        yield Section(
            "soft_labels", "Shares of raters", lead, (soft_label_table(evaluation.soft_labels, model, other),)
        )


def _all_pairs_table(evaluation: Evaluation, model: str, rival: RivalModel | None) -> ReportTable:
    models = [(model, evaluation), *([(rival.name, rival.evaluation)] if rival else [])]
    lines = [
        (*_line(name, one.accuracy, one.log_loss), format_short(one.ece, 3), format_short(one.calibrated_ece, 3))
        for name, one in models
    ]
    lines.append((*_line("length alone", evaluation.length_alone, evaluation.length_log_loss), "", ""))
    lines.append(("people with each other", format_short(HUMAN_AGREEMENT), "", "", "", ""))
    return ReportTable(
        name="whole",
        title="All pairs",
        reading=_beyond_length(evaluation),
        grids=(Grid(("", "accuracy", "interval", "log-loss", "ECE", "if calibrated"), tuple(lines)),),
        notes=(
            "Length alone: a model that knows only the lengths of the answers.",
            "If calibrated: mean ECE of a calibrated model on as many independent pairs.",
            f"People with each other: researchers and crowd workers on average, in other pairs ({BAI}).",
        ),
    )


def _line(name: str, share: ClusteredEstimate, loss: float) -> tuple[str, ...]:
    interval = format_interval(share.ci_low, share.ci_high, 3)
    return escape_unprintable(name), format_short(share.estimate, 3), interval, format_short(loss, 3)


def _beyond_length(evaluation: Evaluation) -> str:
    better = evaluation.accuracy.ci_low > evaluation.length_alone.ci_high
    return (
        "The model is right more often than length alone, beyond both intervals."
        if better
        else "The interval of the model reaches that of length alone: little more than length is shown to be learned."
    )


def _difference(model: str, rival: RivalModel) -> ReportTable:
    difference = rival.difference
    rows = (("accuracy", difference.accuracy), ("log-loss", difference.log_loss))
    return ReportTable(
        name="paired",
        title="Paired difference",
        reading=describe_comparison(escape_unprintable(model), escape_unprintable(rival.name), rival.difference),
        grids=(
            Grid(
                ("", "difference", "interval"),
                tuple(
                    (name, format_short(value.estimate, 4), format_interval(value.ci_low, value.ci_high, 3))
                    for name, value in rows
                ),
            ),
        ),
        notes=("Above 0 the first is right more often; below 0 its log-loss is smaller.",),
        table=pl.DataFrame(
            [
                {"measure": name, "difference": value.estimate, "ci_low": value.ci_low, "ci_high": value.ci_high}
                for name, value in rows
            ]
        ),
    )
