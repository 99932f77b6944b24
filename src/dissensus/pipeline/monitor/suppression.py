"""Small-cell suppression of monitoring figures."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dissensus.pipeline.monitor.computation import MonitoredRater
from dissensus.pipeline.monitor.results import CampaignFigures, GroupFigures, PoolAgreement
from dissensus.pipeline.monitor.state import MonitorState
from dissensus.stats.suppression import MIN_CELL, select_publishable_groups

GroupKey = tuple[str, str]
"""Axis and group."""
HIDDEN: Final = PoolAgreement(estimate=None, reason="Hidden, since few raters answered.")


def suppress_figures(
    figures: CampaignFigures, state: MonitorState, people: Sequence[MonitoredRater]
) -> CampaignFigures | None:
    """Suppress what describes few raters, alone or in combination with other figures; None with few raters in all.

    What remains are groups that `select_publishable_groups` allows, and in each the answers to questions for which it
    is allowed among the raters who answered them. Questions that few raters answered are dropped; so are hours,
    flags and consistency, and days if any had few raters. The figures are computed from `state` for `people`.

    Figures of two times disclose the raters who came in between, so these may be published once only.
    """
    raters = state.raters([rater.rater_id for rater in people])
    rated = np.unique(raters[raters >= 0])
    if rated.size < MIN_CELL:
        return None
    answered = {
        question: np.unique(raters[(raters >= 0) & (state.answers(question) >= 0)]) for question in figures.scales
    }
    questions = {question: indices for question, indices in answered.items() if indices.size >= MIN_CELL}
    keys = [(group.axis, group.group) for group in figures.groups]
    publishable = {
        question: _select_groups(keys, [people[index] for index in indices]) for question, indices in questions.items()
    }
    visible = _select_groups(keys, [people[index] for index in rated])
    primary = figures.primary_question if figures.primary_question in questions else None
    return replace(
        figures,
        scales={question: figures.scales[question] for question in questions},
        primary_question=primary,
        hours=(),
        days=figures.days if all(day.n_raters >= MIN_CELL for day in figures.days) else (),
        pool=_select_answers(figures.pool, questions, primary),
        groups=tuple(
            _select_answers(group, [name for name in questions if key in publishable[name]], primary)
            for key, group in zip(keys, figures.groups, strict=True)
            if key in visible
        ),
        measures=figures.measures if primary else (),
        gold=figures.gold if primary else None,
        flagged=(),
        consistency=None,
    )


def _select_groups(keys: Sequence[GroupKey], people: Sequence[MonitoredRater]) -> frozenset[GroupKey]:
    """Return the groups that can be published together about these people."""
    axes = list(dict.fromkeys(axis for axis, _ in keys))
    groups = list(dict.fromkeys(group for _, group in keys))
    codes: npt.NDArray[np.integer[Any]] = np.array(
        [[groups.index(rater.groups[axis]) if axis in rater.groups else -1 for rater in people] for axis in axes]
    ).reshape(len(axes), len(people))
    publishable = select_publishable_groups(codes)
    return frozenset((axes[axis], groups[group]) for axis, group in np.argwhere(publishable))


def _select_answers(group: GroupFigures, questions: Collection[str], primary: str | None) -> GroupFigures:
    """Keep the answers of a group to some questions, and agreement if the primary question is among them."""
    answers = {name: counts for name, counts in group.answers.items() if name in questions}
    return replace(group, answers=answers, agreement=group.agreement if primary in questions else HIDDEN)
