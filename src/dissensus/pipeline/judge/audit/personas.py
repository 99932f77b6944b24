"""Personas of a judge: whether a label moves it toward the group, and its spread beside the group's."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.judge.audit.answers import JudgeAnswers
from dissensus.pipeline.judge.audit.groups import PanelGroups
from dissensus.pipeline.judge.audit.rows import AuditRow, build_difference_row, build_rating_row
from dissensus.stats.judge.agreement import distance_between, distance_within, spread_difference, subtract_distances
from dissensus.stats.judge.answers import PanelRatings, step_distance
from dissensus.stats.result import FloatArray
from dissensus.stats.score.pseudo_values import PseudoValues


def measure_personas(answers: JudgeAnswers, groups: PanelGroups, confidence: float) -> Iterator[AuditRow]:
    """Yield, for each persona, whether it moves the judge toward its group, and its spread beside the group's."""
    parts = {(axis, group): (ratings, refusal) for axis, group, ratings, refusal in groups.split()}
    for persona in answers.personas:
        axis, _, group = persona.partition("=")
        ratings, refusal = parts.get((axis, group), (None, f"no ratings of {persona}"))
        row = AuditRow(metric="toward_group", persona=persona, axis=axis, group=group)
        if ratings is None or refusal:
            yield replace(row, reason=refusal)
            continue
        others = groups.others(axis, group)
        plain_counts, persona_counts = _select_common_items(answers.count(), answers.count(persona))
        for part in _measure_persona(row, plain_counts, persona_counts, ratings, others, confidence):
            yield groups.withhold(part)
        yield _measure_more(row, plain_counts, persona_counts, ratings, others, groups, confidence)


def _select_common_items(plain_counts: FloatArray, persona_counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the counts of answers without and with a persona to the items that have both."""
    both = (plain_counts.sum(axis=1, keepdims=True) > 0) & (persona_counts.sum(axis=1, keepdims=True) > 0)
    return np.where(both, plain_counts, 0), np.where(both, persona_counts, 0)


def _measure_persona(
    row: AuditRow,
    plain_counts: FloatArray,
    persona_counts: FloatArray,
    own: PanelRatings,
    others: PanelRatings,
    confidence: float,
) -> Iterator[AuditRow]:
    steps = step_distance(plain_counts.shape[1])
    for metric, compute in (
        ("toward_group", lambda: _approach(own, plain_counts, persona_counts)),
        ("toward_others", lambda: _approach(others, plain_counts, persona_counts)),
        ("human_spread", lambda: distance_within(own, persona_counts, steps)),
        ("spread_difference", lambda: spread_difference(own, persona_counts, steps)),
    ):
        yield build_rating_row(replace(row, metric=metric), compute, confidence)


def _measure_more(
    row: AuditRow,
    plain_counts: FloatArray,
    persona_counts: FloatArray,
    own: PanelRatings,
    others: PanelRatings,
    groups: PanelGroups,
    confidence: float,
) -> AuditRow:
    """Return how much nearer a persona moves the judge to its group than to others, on the items that both rated."""
    row = replace(row, metric="toward_group_more")
    n = len(plain_counts)
    common = (np.bincount(own.items, minlength=n) > 0) & (np.bincount(others.items, minlength=n) > 0)
    plain_counts, persona_counts = (np.where(common[:, None], counts, 0) for counts in (plain_counts, persona_counts))
    try:
        sides = [_approach(side, plain_counts, persona_counts, least=1) for side in (own, others)]
    except UndefinedEstimate:
        return replace(row, reason="no item was rated by the group and by others")
    fewest = min(len(np.unique(side.raters)) for side in sides)
    return groups.withhold(build_difference_row(row, sides[0], sides[1], confidence), fewest)


def _approach(
    ratings: PanelRatings, plain_counts: FloatArray, persona_counts: FloatArray, *, least: int = 2
) -> PseudoValues:
    """Return the distance between judge and raters that a persona takes away."""
    steps = step_distance(plain_counts.shape[1])
    return subtract_distances(
        distance_between(ratings, plain_counts, steps, least=least),
        distance_between(ratings, persona_counts, steps, least=least),
    )
