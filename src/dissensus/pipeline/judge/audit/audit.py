"""Audit of a judge: consistency, effects of presentation, agreement with groups, personas."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.pipeline.judge.audit.answers import MATCH_KEYS, JudgeAnswers, align_ratings, read_answers
from dissensus.pipeline.judge.audit.groups import PanelGroups
from dissensus.pipeline.judge.audit.personas import measure_personas
from dissensus.pipeline.judge.audit.result import AuditSettings, JudgeAudit
from dissensus.pipeline.judge.audit.rows import AuditRow, build_mean_row, build_rating_row, fill_mean_row
from dissensus.pipeline.judge.presentation import PROBES
from dissensus.pipeline.judge.records import JudgeRecord, JudgeResponses
from dissensus.schema.hints import format_list
from dissensus.schema.numbers import check_whole
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.cluster_robust import Mean, clustered_mean
from dissensus.stats.judge.agreement import (
    distance_between,
    distance_within,
    distribution_distance,
    spread_difference,
    subtract_distances,
)
from dissensus.stats.judge.answers import PanelRatings, equality_distance, step_distance
from dissensus.stats.judge.effects import estimate_consistency, estimate_effect
from dissensus.stats.judge.rank import rank_judge
from dissensus.stats.multiple_testing import adjust_tests, benjamini_hochberg
from dissensus.stats.result import FloatArray, check_confidence
from dissensus.stats.score.pseudo_values import PseudoValues


def audit_judge(
    responses: JudgeResponses,
    ratings: Ratings | None = None,
    *,
    question: str | None = None,
    by: str | Sequence[str] = (),
    min_raters: int = 8,
    suppress_below: int = 0,
    confidence: float = 0.95,
) -> JudgeAudit:
    """Audit the answers of a judge to one question.

    Parameters
    ----------
    responses
        Responses of the judge, as `read_judge_run` reads them.
    ratings
        Ratings of people of the same items; without them agreement and personas are left out.
    question
        The question; by default the overall one, else the only one.
    by
        Axes, and crossed axes, of raters; those of personas are added.
    min_raters
        Fewest raters of a group that is compared with the judge.
    suppress_below
        Groups with fewer raters are withheld, with the numbers from which theirs could be computed.
    confidence
        Confidence level of the intervals.

    Returns
    -------
    JudgeAudit

    Raises
    ------
    NotFound
        An unknown question or axis.
    InvalidInput
        No answer of the judge, a scale of the ratings that is not that of the judge, no item in common, or an option
        that is out of range.
    """
    check_whole("min_raters", min_raters)
    check_whole("suppress_below", suppress_below)
    check_confidence(confidence)
    answers = read_answers(responses.records, responses.questionnaire, question)
    notes = list(_describe_responses(responses.records))
    by = (by,) if isinstance(by, str) else by
    rows = [*_measure_consistency(answers, confidence), *_measure_effects(answers, confidence)]
    axes: tuple[str, ...] = ()
    if ratings is not None:
        axes = _list_axes(ratings, answers, by)
        panel, note = _read_panel(ratings, answers)
        notes += [*ratings.notes, *([note] if note else [])]
        groups = PanelGroups(ratings, panel, answers.count(), axes, min_raters, suppress_below)
        rows += _adjust(list(_measure_groups(answers, groups, confidence)))
        rows += _adjust(list(measure_personas(answers, groups, confidence)))
    elif by:
        raise InvalidInput("Groups are those of ratings of people. Give them, or leave the axes out.")
    return JudgeAudit(
        judge=responses.judge,
        rows=tuple(rows),
        outcomes=dict(Counter(record.outcome for record in responses.records)),
        settings=AuditSettings(
            question=answers.question,
            scale=answers.scale,
            axes=axes,
            min_raters=min_raters,
            suppress_below=suppress_below,
            confidence=confidence,
        ),
        n_items=len(answers.item_ids),
        n_raters=0 if ratings is None else ratings.n_raters,
        notes=tuple(notes),
        version=version("dissensus"),
    )


def _describe_responses(records: Sequence[JudgeRecord]) -> Iterator[str]:
    lost = sum(record.outcome != "answered" for record in records)
    if lost:
        yield (
            f"{lost:,} of {len(records):,} requests have no answer that counts and are left out; if the judge refuses "
            "what is worse, the rest is milder than the items are."
        )
    models = list(dict.fromkeys(record.model for record in records if record.model))
    if len(models) > 1:
        yield (f"The server reported {len(models):,} models, which are audited as one judge: {format_list(models)}.")


def _measure_consistency(answers: JudgeAnswers, confidence: float) -> Iterator[AuditRow]:
    for persona in (None, *answers.personas):
        estimate = partial(
            estimate_consistency, answers.count(persona), equality_distance(len(answers.scale)), confidence=confidence
        )
        yield build_mean_row(AuditRow(metric="consistency", persona=persona), estimate)


def _measure_effects(answers: JudgeAnswers, confidence: float) -> Iterator[AuditRow]:
    """Yield, for each probe, the share of answers that it changed and the shift on the scale."""
    repeated = answers.match_probe("repeat").select(*MATCH_KEYS, noise=pl.col("answer") != pl.col("answer_after"))
    for probe in PROBES:
        pairs = answers.match_probe(probe)
        if pairs.is_empty():
            continue
        items, before, after = (pairs[name].to_numpy() for name in ("item", "answer", "answer_after"))
        effect = estimate_effect(items, before, after, len(answers.scale), confidence=confidence)
        yield fill_mean_row(AuditRow(metric="changed", probe=probe), effect.changed)
        if probe == "repeat":
            continue
        yield build_mean_row(
            AuditRow(metric="shift", probe=probe), partial(_estimate_shift, answers, pairs, probe, confidence)
        )
        if repeated.height:
            yield build_mean_row(
                AuditRow(metric="changed_beyond_repeat", probe=probe),
                partial(_measure_excess, pairs, repeated, confidence),
            )


def _estimate_shift(answers: JudgeAnswers, pairs: pl.DataFrame, probe: str, confidence: float) -> Mean:
    """Return the shift on the scale over the pairs in which something moved."""
    if probe == "questions" and len(answers.parts) > 1:
        raise UndefinedEstimate("no shift: an overall answer follows from several questions, which change places")
    signs = _sign_pairs(pairs, probe)
    moved = pairs.filter(pl.Series(signs != 0))
    if moved.is_empty():
        raise UndefinedEstimate("no shift: the question is at the same place in all orders")
    items, before, after = (moved[name].to_numpy() for name in ("item", "answer", "answer_after"))
    return estimate_effect(
        items, before, after, len(answers.scale), signs=signs[signs != 0], confidence=confidence
    ).shift


def _measure_excess(pairs: pl.DataFrame, repeated: pl.DataFrame, confidence: float) -> Mean:
    """Return the share of changed answers less that between two seeds."""
    joined = pairs.join(repeated, on=MATCH_KEYS)
    changed = (joined["answer"] != joined["answer_after"]).cast(pl.Float64) - joined["noise"].cast(pl.Float64)
    return clustered_mean(changed.to_numpy(), joined["item"].to_numpy(), confidence=confidence)


def _sign_pairs(pairs: pl.DataFrame, probe: str) -> FloatArray:
    """Return the direction of the change in each pair: last answer or response B first, question asked later."""
    if probe in ("options", "responses"):
        flag = "is_reversed_after" if probe == "options" else "is_swapped_after"
        return np.where(pairs[flag].to_numpy(), 1.0, -1.0)
    if probe == "questions":
        return np.asarray(np.sign(pairs["position_after"].to_numpy() - pairs["position"].to_numpy()))
    return np.ones(pairs.height)


def _list_axes(ratings: Ratings, answers: JudgeAnswers, by: Sequence[str]) -> tuple[str, ...]:
    """Return the named axes with those of the personas."""
    of_personas = (persona.partition("=")[0] for persona in answers.personas)
    return tuple(dict.fromkeys(ratings.axis_name(axis) for axis in (*by, *of_personas)))


def _read_panel(ratings: Ratings, answers: JudgeAnswers) -> tuple[PanelRatings, str | None]:
    """Return the ratings of judged items, with the codes of the judge's items."""
    ratings.require_raters("An audit with ratings")
    question = answers.question if answers.question in ratings.questions else ratings.resolve_question()
    scale = ratings.scale(question)
    if scale != answers.scale:
        raise InvalidInput(
            f"The answers to {question} are {format_list(list(scale))} in the ratings, and those to {answers.question} "
            f"{format_list(list(answers.scale))} in the questionnaire of the judge. Both must have the same scale: "
            "--categories, or --rename COLUMN:OLD=NEW."
        )
    item, rater, answer = (codes.astype(np.int64) for codes in ratings.codes(question))
    own, note = align_ratings(answers, ratings.items["item_id"], item)
    return PanelRatings(items=own, raters=rater, answers=answer).select(own >= 0), note


def _measure_groups(answers: JudgeAnswers, groups: PanelGroups, confidence: float) -> Iterator[AuditRow]:
    """Yield agreement, distance and rank of the judge for the pool and each group."""
    counts, n = answers.count(), len(answers.scale)
    equality, steps = equality_distance(n), step_distance(n)
    for axis, group, ratings, refusal in groups.split():
        for metric, compute in (
            ("agreement", lambda ratings=ratings: _complement(distance_between(ratings, counts, equality))),
            ("human_agreement", lambda ratings=ratings: _complement(distance_within(ratings, counts, equality))),
            (
                "constant_agreement",
                lambda ratings=ratings: _complement(distance_between(ratings, _repeat_mode(ratings, counts), equality)),
            ),
            (
                "agreement_difference",
                lambda ratings=ratings: subtract_distances(
                    distance_within(ratings, counts, equality), distance_between(ratings, counts, equality)
                ),
            ),
            ("distribution_distance", lambda ratings=ratings: distribution_distance(ratings, counts, steps)),
            ("spread_difference", lambda ratings=ratings: spread_difference(ratings, counts, steps)),
        ):
            row = AuditRow(metric=metric, axis=axis, group=group)
            built = replace(row, reason=refusal) if refusal else build_rating_row(row, compute, confidence)
            yield groups.withhold(built)
        rank = AuditRow(metric="nearer_share", axis=axis, group=group)
        yield groups.withhold(_build_rank(rank, ratings, counts, steps, refusal))


def _repeat_mode(ratings: PanelRatings, counts: FloatArray) -> FloatArray:
    """Return the answers of a judge that always gives the most frequent answer of the group."""
    judged = ratings.select((counts.sum(axis=1) > 0)[ratings.items])
    mode = np.bincount(judged.answers, minlength=counts.shape[1]).argmax()
    constant = np.zeros_like(counts)
    constant[counts.sum(axis=1) > 0, mode] = 1
    return constant


def _build_rank(
    row: AuditRow, ratings: PanelRatings, counts: FloatArray, distance: FloatArray, refusal: str | None
) -> AuditRow:
    if refusal:
        return replace(row, reason=refusal)
    try:
        rank = rank_judge(ratings, counts, distance)
    except UndefinedEstimate as error:
        return replace(row, reason=str(error))
    return replace(row, estimate=rank.nearer_share, p=rank.p, n_raters=rank.n_raters)


def _adjust(rows: Sequence[AuditRow]) -> list[AuditRow]:
    """Return rows with p-values adjusted over all groups."""
    adjusted = adjust_tests((row.p for row in rows), benjamini_hochberg)
    return [replace(row, p_adjusted=p) for row, p in zip(rows, adjusted, strict=True)]


def _complement(statistic: PseudoValues) -> PseudoValues:
    """Return one less a statistic."""
    return replace(statistic, values=1 - statistic.values)
