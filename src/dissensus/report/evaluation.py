"""Report of the evaluation of a preference model."""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Final

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable, format_short
from dissensus.preference.evaluation.accuracy import HUMAN_AGREEMENT, Evaluation
from dissensus.preference.evaluation.diagnostics import Diagnostics
from dissensus.preference.evaluation.group_accuracy import GroupAccuracy
from dissensus.preference.evaluation.paired import RivalModel, describe_comparison
from dissensus.preference.evaluation.soft_labels import SoftLabelDistance, SoftLabelEvaluation
from dissensus.report.figures.reliability import reliability
from dissensus.report.figures.slices import slices
from dissensus.report.groups import format_count
from dissensus.report.methods import Method
from dissensus.report.result import Document, Size
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable
from dissensus.stats.cluster_robust import ClusteredEstimate, Mean

WORDS: Final = (
    "Pairs are p with weight w and dialogue g; m is the score of the chosen less that of the rejected answer, in log "
    "odds. Logarithms are natural."
)
BAI: Final = "Bai et al. (2022), Training a Helpful and Harmless Assistant"
GROUP_HEADINGS = ("by group", "pairs", "as their group", "as all", "difference", "interval")
SOFT_LABEL_HEADINGS = ("several raters", "distance", "interval", "cross-entropy", "interval", "error rate", "interval")
SoftLabelLines = tuple[tuple[str, SoftLabelDistance], ...]
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
        title=title or f"How well {escape_unprintable(model)} knows what people choose",
        summary=f"{format_count(found.accuracy.n, 'pair')} of {format_count(found.accuracy.clusters, 'dialogue')}.",
        sizes=(
            Size("pairs", f"{found.accuracy.n:,}"),
            Size("dialogues", f"{found.accuracy.clusters:,}"),
            Size("accuracy", format_short(found.accuracy.estimate, 3)),
            Size("log-loss", format_short(found.log_loss, 3)),
            Size("ECE", format_short(found.ece, 3)),
            *(() if told.r_squared is None else (Size("r²", format_short(told.r_squared, 3)),)),
        ),
        sections=made,
        command=command or "dissensus.report.evaluation.evaluation_report(…)",
        notes=tuple(f"{format_count(n, 'pair')} left out: {why}." for why, n in (excluded or {}).items()),
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
        lead = (
            f"{escape_unprintable(model)} and {escape_unprintable(rival.name)} on the same pairs, so that "
            "hard ones are hard for both."
        )
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
    lines.append(("people with each other", format_short(HUMAN_AGREEMENT), "", "", ""))
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
        escape_unprintable(name),
        format_short(share.estimate, 3),
        _interval(share),
        format_short(loss, 3),
        "" if ece is None else format_short(ece, 3),
    )


def _interval(share: ClusteredEstimate) -> str:
    return f"{format_short(share.ci_low, 3)} to {format_short(share.ci_high, 3)}"


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
        reading=describe_comparison(escape_unprintable(model), escape_unprintable(rival.name), rival.difference),
        grids=(
            Grid(
                ("", "difference", "interval"),
                tuple((name, format_short(one.estimate, 4), _interval(one)) for name, one in rows),
            ),
        ),
        notes=("Above 0 the first is right more often; below 0 its log-loss is smaller, and it knows better.",),
        table=pl.DataFrame(
            [{"measure": n, "difference": d.estimate, "ci_low": d.ci_low, "ci_high": d.ci_high} for n, d in rows]
        ),
    )


def group_accuracy_grid(findings: Diagnostics) -> Grid:
    """Return a line for all pairs and for each group."""
    return Grid(
        GROUP_HEADINGS, tuple(map(_group_line, findings.by_group)), "Accuracy with the effects of groups, and without."
    )


def group_accuracy_table(findings: Diagnostics) -> ReportTable:
    """Return the same as a table of a report, with a reading."""
    every = findings.by_group[0].difference
    known = every is not None and not every.ci_low <= 0 <= every.ci_high
    more = "more" if every is not None and every.estimate > 0 else "less"
    return ReportTable(
        name="by_group",
        title="Each group by itself",
        reading=f"Who knows the group of a rater is right {more} often."
        if known
        else "On these pairs it is not shown that who knows the group of a rater is right more often.",
        grids=(group_accuracy_grid(findings),),
        notes=("Both on the same pairs, without what is known of single raters. Intervals are for other dialogues.",),
        table=pl.DataFrame([_group_row(one) for one in findings.by_group]),
    )


def _group_line(one: GroupAccuracy) -> tuple[str, ...]:
    name = f"{escape_unprintable(one.axis)}: {escape_unprintable(one.group)}" if one.axis else "all pairs"
    shares = format_short(one.as_group.estimate, 3), format_short(one.as_all.estimate, 3)
    if one.difference is None:
        return (name, f"{one.as_group.n:,}", *shares, UNKNOWN, UNKNOWN)
    interval = f"{format_short(one.difference.ci_low, 3)} to {format_short(one.difference.ci_high, 3)}"
    return (name, f"{one.as_group.n:,}", *shares, format_short(one.difference.estimate, 3), interval)


def _group_row(one: GroupAccuracy) -> dict[str, str | int | float | None]:
    apart = one.difference
    return {
        "axis": one.axis,
        "group": one.group,
        "n": one.as_group.n,
        "as_group": one.as_group.estimate,
        "as_all": one.as_all.estimate,
        "difference": None if apart is None else apart.estimate,
        "ci_low": None if apart is None else apart.ci_low,
        "ci_high": None if apart is None else apart.ci_high,
    }


def soft_label_lines(
    found: SoftLabelEvaluation, model: str, rival: tuple[str, Evaluation] | None = None
) -> SoftLabelLines:
    """Return by name how near each comes: the model, another one, length alone and one half."""
    other = rival[1].soft_labels if rival else None
    beside = ((rival[0], other.model),) if rival and other else ()
    return ((model, found.model), *beside, ("length alone", found.length_alone), ("always one half", found.one_half))


def soft_label_grid(found: SoftLabelEvaluation, lines: SoftLabelLines) -> Grid:
    """Return a line for each that says how sure it is."""
    raters = f" by {found.n_raters:,} raters" if found.n_raters else ""
    caption = (
        f"{found.n_comparisons:,} comparisons{raters}, of which cross-entropy cannot be below "
        f"{format_short(found.entropy, 3)}, the entropy of their shares."
    )
    return Grid(
        SOFT_LABEL_HEADINGS, tuple((escape_unprintable(name), *_soft_label_cells(one)) for name, one in lines), caption
    )


def soft_label_table(
    found: SoftLabelEvaluation, model: str, rival: tuple[str, Evaluation] | None = None
) -> ReportTable:
    """Return the same as a table of a report, with a reading."""
    lines = soft_label_lines(found, model, rival)
    return ReportTable(
        name="soft_labels",
        title="Where several raters compared the same answers",
        reading=_soft_label_reading(found),
        grids=(soft_label_grid(found, lines),),
        notes=(
            "Distance: Manhattan, from 0 to 2. Error rate: share of the raters of a comparison whose choice is "
            "foretold wrongly. Intervals are for other dialogues.",
        ),
        table=pl.DataFrame([_soft_label_row(name, one) for name, one in lines]),
    )


def _soft_label_reading(found: SoftLabelEvaluation) -> str:
    ends = found.model.distance.ci_high, found.one_half.distance.ci_low
    if ends[0] is not None and ends[1] is not None and ends[0] < ends[1]:
        return "The model is nearer to the shares of raters than who always says one half, beyond both intervals."
    return "It is not shown that the model is nearer to the shares of raters than who always says one half."


def _soft_label_cells(one: SoftLabelDistance) -> tuple[str, ...]:
    return tuple(
        cell
        for value in (one.distance, one.cross_entropy, one.error_rate)
        for cell in (format_short(value.estimate, 3), _known_interval(value))
    )


def _known_interval(value: Mean | ClusteredEstimate) -> str:
    known = value.ci_low is not None and value.ci_high is not None
    return f"{format_short(value.ci_low, 3)} to {format_short(value.ci_high, 3)}" if known else UNKNOWN


def _soft_label_row(name: str, one: SoftLabelDistance) -> dict[str, str | float | None]:
    row: dict[str, str | float | None] = {"of": name}
    for measure, value in (
        ("distance", one.distance),
        ("cross_entropy", one.cross_entropy),
        ("error_rate", one.error_rate),
    ):
        row |= {measure: value.estimate, f"{measure}_ci_low": value.ci_low, f"{measure}_ci_high": value.ci_high}
    return row
