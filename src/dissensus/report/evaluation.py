"""Report of the evaluation of a preference model."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Final

import polars as pl

from dissensus.pipeline.tables import Grid, printable, short
from dissensus.preference.evaluation.accuracy import HUMAN_AGREEMENT, Evaluation
from dissensus.preference.evaluation.diagnostics import Diagnostics
from dissensus.preference.evaluation.paired import RivalModel, describe_comparison
from dissensus.report.evaluation_shares import soft_label_table
from dissensus.report.figures.reliability import reliability
from dissensus.report.figures.slices import slices
from dissensus.report.group_accuracy import group_accuracy_table
from dissensus.report.groups import counted
from dissensus.report.methods import Method
from dissensus.report.result import Document, Size
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable
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
        "many independent pairs as have the variance between dialogues.",
        "Korn and Graubard (1998), Confidence Intervals for Proportions",
        ("accuracy",),
    ),
    Method(
        "Log-loss",
        r"\frac{\sum_p w_p \ln \left( 1 + e^{-m_p} \right)}{\sum_p w_p}",
        "What it costs to have said what the model says; ln 2 = 0.693 is what knowing nothing costs.",
        "Bradley and Terry (1952), Rank Analysis of Incomplete Block Designs",
        ("accuracy",),
    ),
    Method(
        "Expected calibration error",
        r"\sum_b \frac{\left| \sum_{p \in b} w_p \left( c_p - r_p \right) \right|}{\sum_p w_p}, \quad "
        r"c = \frac{1}{1 + e^{-|m|}}",
        "Over ten bins b of equal width from one half to 1: how far being sure, c, and being right, r, are apart.",
        "Guo et al. (2017), On Calibration of Modern Neural Networks",
        ("reliability",),
    ),
    Method(
        "Difference of two models",
        r"\hat d \pm z \sqrt{\frac{G}{G - 1} \sum_g \left( \sum_{p \in g} w_p \left( d_p - \hat d \right) \right)^2} "
        r"\Big/ \sum_p w_p",
        "On the same pairs, with d the difference on each of them: what both get right, or wrong, adds nothing.",
        "Liang and Zeger (1986), Longitudinal Data Analysis Using Generalized Linear Models",
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
    found: Evaluation,
    *,
    model: str,
    rival: RivalModel | None = None,
    findings: Diagnostics | None = None,
    excluded: Mapping[str, int] | None = None,
    title: str | None = None,
    command: str = "",
    seed: int = 0,
) -> Document:
    """Make a report of the evaluation of a preference model."""
    told = findings or Diagnostics()
    made = (*_sections(found, model, rival), *_by_group(told), *_soft_labels(found, model, rival))
    names = {section.name for section in made}
    return Document(
        title=title or f"How well {printable(model)} knows what people choose",
        summary=f"{counted(found.accuracy.n, 'pair')} of {counted(found.accuracy.clusters, 'dialogue')}.",
        sizes=(
            Size("pairs", f"{found.accuracy.n:,}"),
            Size("dialogues", f"{found.accuracy.clusters:,}"),
            Size("accuracy", short(found.accuracy.estimate, 3)),
            Size("log-loss", short(found.log_loss, 3)),
            Size("ECE", short(found.ece, 3)),
            *(() if told.r_squared is None else (Size("r²", short(told.r_squared, 3)),)),
        ),
        sections=made,
        command=command or "dissensus.report.evaluation.evaluation_report(…)",
        notes=tuple(f"{counted(n, 'pair')} left out: {why}." for why, n in (excluded or {}).items()),
        version=version("dissensus"),
        seed=seed,
        methods=tuple(method for method in METHODS if names & set(method.shown_by)),
        words=WORDS,
    )


def _sections(found: Evaluation, model: str, rival: RivalModel | None) -> Iterator[Section]:
    yield Section(
        "accuracy",
        "How often it is right",
        "Of two answers to the same conversation, does the one that people chose score higher?",
        (_whole(found, model, rival), slices(found, other=rival.found if rival else None)),
    )
    yield Section(
        "reliability",
        "How well it knows how sure to be",
        "Differences of scores are log odds, so the model says how sure it is of each pair.",
        (reliability(found),),
    )
    if rival:
        lead = f"{printable(model)} and {printable(rival.name)} on the same pairs, so that hard ones are hard for both."
        yield Section("difference", "Beside the other model", lead, (_difference(model, rival),))


def _by_group(findings: Diagnostics) -> Iterator[Section]:
    if findings.by_group:
        lead = "Does it help to know to which groups those belong who chose?"
        yield Section("groups", "Group by group", lead, (group_accuracy_table(findings),))


def _soft_labels(found: Evaluation, model: str, rival: RivalModel | None) -> Iterator[Section]:
    if found.soft_labels is not None:
        lead = "People choose differently. Does the model say how many choose which answer?"
        other = None if rival is None else (rival.name, rival.found)
        yield Section("soft_labels", "Shares of raters", lead, (soft_label_table(found.soft_labels, model, other),))


def _whole(found: Evaluation, model: str, rival: RivalModel | None) -> ReportTable:
    lines = [_line(model, found.accuracy, found.log_loss, found.ece)]
    if rival:
        lines.append(_line(rival.name, rival.found.accuracy, rival.found.log_loss, rival.found.ece))
    lines.append(_line("length alone", found.length_alone, found.length_log_loss, None))
    lines.append(("people with each other", short(HUMAN_AGREEMENT), "", "", ""))
    return ReportTable(
        name="whole",
        title="All pairs",
        reading=_beyond_length(found),
        grids=(Grid(("", "accuracy", "interval", "log-loss", "ECE"), tuple(lines)),),
        notes=(
            "Length alone: a model that knows no more than how long the answers are.",
            f"People with each other: researchers and crowd workers on average, in other pairs ({BAI}).",
        ),
    )


def _line(name: str, share: ClusteredEstimate, loss: float, ece: float | None) -> tuple[str, ...]:
    return (
        printable(name),
        short(share.estimate, 3),
        _interval(share),
        short(loss, 3),
        "" if ece is None else short(ece, 3),
    )


def _interval(share: ClusteredEstimate) -> str:
    return f"{short(share.ci_low, 3)} to {short(share.ci_high, 3)}"


def _beyond_length(found: Evaluation) -> str:
    apart = found.accuracy.ci_low > found.length_alone.ci_high
    return (
        "The model is right more often than length alone, beyond both intervals."
        if apart
        else "The interval of the model reaches that of length alone: little more than length is shown to be learned."
    )


def _difference(model: str, rival: RivalModel) -> ReportTable:
    of = rival.difference
    rows = (("accuracy", of.accuracy), ("log-loss", of.log_loss))
    return ReportTable(
        name="paired",
        title="Paired difference",
        reading=describe_comparison(printable(model), printable(rival.name), rival.difference),
        grids=(
            Grid(
                ("", "difference", "interval"),
                tuple((name, short(one.estimate, 4), _interval(one)) for name, one in rows),
            ),
        ),
        notes=("Above 0 the first is right more often; below 0 its log-loss is smaller, and it knows better.",),
        table=pl.DataFrame(
            [{"measure": n, "difference": d.estimate, "ci_low": d.ci_low, "ci_high": d.ci_high} for n, d in rows]
        ),
    )
