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
        plain, acted = _keep_common(answers.count(), answers.count(persona))
        for part in _measure_persona(row, plain, acted, ratings, others, confidence):
            yield groups.withhold(part)
        yield _measure_more(row, plain, acted, ratings, others, groups, confidence)


def _keep_common(plain: FloatArray, acted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the answers without and with a persona to the items that have both."""
    both = (plain.sum(axis=1, keepdims=True) > 0) & (acted.sum(axis=1, keepdims=True) > 0)
    return np.where(both, plain, 0), np.where(both, acted, 0)


def _measure_persona(
    row: AuditRow, plain: FloatArray, acted: FloatArray, own: PanelRatings, others: PanelRatings, confidence: float
) -> Iterator[AuditRow]:
    steps = step_distance(plain.shape[1])
    for metric, compute in (
        ("toward_group", lambda: _approach(own, plain, acted)),
        ("toward_others", lambda: _approach(others, plain, acted)),
        ("human_spread", lambda: distance_within(own, acted, steps)),
        ("spread_difference", lambda: spread_difference(own, acted, steps)),
    ):
        yield build_rating_row(replace(row, metric=metric), compute, confidence)


def _measure_more(
    row: AuditRow,
    plain: FloatArray,
    acted: FloatArray,
    own: PanelRatings,
    others: PanelRatings,
    groups: PanelGroups,
    confidence: float,
) -> AuditRow:
    """Return how much nearer a persona moves the judge to its group than to others, on the items that both rated."""
    row = replace(row, metric="toward_group_more")
    n = len(plain)
    common = (np.bincount(own.items, minlength=n) > 0) & (np.bincount(others.items, minlength=n) > 0)
    plain, acted = (np.where(common[:, None], counts, 0) for counts in (plain, acted))
    try:
        sides = [_approach(side, plain, acted, least=1) for side in (own, others)]
    except UndefinedEstimate:
        return replace(row, reason="no item was rated by the group and by others")
    fewest = min(len(np.unique(side.raters)) for side in sides)
    return groups.withhold(build_difference_row(row, sides[0], sides[1], confidence), fewest)


def _approach(ratings: PanelRatings, plain: FloatArray, acted: FloatArray, *, least: int = 2) -> PseudoValues:
    """Return the distance between judge and raters that a persona takes away."""
    steps = step_distance(plain.shape[1])
    return subtract_distances(
        distance_between(ratings, plain, steps, least=least), distance_between(ratings, acted, steps, least=least)
    )
