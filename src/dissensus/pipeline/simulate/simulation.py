"""Simulation of a campaign."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.pipeline.simulate.campaign import SimulationDesign
from dissensus.pipeline.simulate.careless import CAREFUL, KINDS
from dissensus.pipeline.simulate.design import Pairs, draw_design
from dissensus.pipeline.simulate.effects import draw_groups, tabulate_group_effects, tabulate_group_item_effects
from dissensus.pipeline.simulate.items import draw_items
from dissensus.pipeline.simulate.latent import compute_latent
from dissensus.pipeline.simulate.questions import draw_carriers, draw_comprehension, draw_questions
from dissensus.pipeline.simulate.raters import draw_overall, draw_raters
from dissensus.pipeline.simulate.times import draw_times
from dissensus.schema.numbers import check_whole
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.result import BoolArray, Int64Array

TIMESTAMP = "answer_timestamp"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """True parameters of a simulated campaign.

    The same `campaign`, `seed` and `version` of the package give the same campaign.
    """

    campaign: SimulationDesign
    seed: int
    version: str
    cut: float  # The latent value above which an answer is Yes
    width: float  # Width of an average rater's band of Unsure below the cut
    # One row each: ``rater_id``, ``kind`` (careful, speeder, straight-liner, clicker), ``effect``, ``unsure_width``
    # (their band of Unsure as a multiple of `width`), ``pace`` (their time as a multiple of the pool's, if the campaign
    # has times), ``answer`` (of a straight-liner) and ``n_ratings``
    raters: pl.DataFrame
    # One row each: ``item_id``, ``effect``, ``severity`` (a normal score), and degree of harm, topics and gold label,
    # released or not
    items: pl.DataFrame
    groups: pl.DataFrame  # ``axis``, ``group``, ``main`` and ``severity``: the effects of each group
    group_items: pl.DataFrame  # ``axis``, ``group``, ``item_id`` and ``effect``: group × item effects

    def to_json(self) -> str:
        """Return all fields as JSON."""
        head = {"schema_version": 1, "dissensus_version": self.version}
        body = {field.name: _to_plain(getattr(self, field.name)) for field in fields(self) if field.name != "version"}
        return json.dumps(head | body, ensure_ascii=False, indent=1)


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A simulated campaign with its true parameters.

    Parameters
    ----------
    frame
        One row per rating, with the columns of the released file in its order and spelling.
    truth
        The parameters it was drawn from.
    """

    frame: pl.DataFrame
    truth: Truth

    def ratings(self, questions: Sequence[str] | Literal["all"] | None = None) -> Ratings:
        """Return the ratings, with the careless raters flagged.

        Parameters
        ----------
        questions
            As for `Ratings.from_frame`; the overall answer by default.
        """
        careless = self.truth.raters.select(names.RATER_ID, (pl.col("kind") != KINDS[CAREFUL]).alias(names.FLAG))
        frame = self.frame.join(careless, on=names.RATER_ID, how="left", maintain_order="left")
        return Ratings.from_frame(frame, questions=questions)


def simulate(campaign: SimulationDesign, *, seed: int = 0) -> Simulation:
    r"""Draw a campaign in the official schema of its questionnaire.

    The latent value of a rating is

    .. math:: \eta_{ri} = u_r + v_i + \sum_a \bigl(\beta_{g_a(r)} + \gamma_{g_a(r)} s_i + w_{g_a(r) i}\bigr)
              + \varepsilon_{ri}

    with effects u of raters and v of items, and for each axis a the effects of the rater's group g: main
    (:math:`\beta`), by severity s (:math:`\gamma`) and by item (w). The overall answer is Yes where
    :math:`\eta > c`, else Unsure where :math:`\eta > c - \omega\,t_r`, with the width t of rater r, else No. The
    questions are drawn next, so that every overall follows from its questions by the DICES rule.

    Parameters
    ----------
    campaign
        The settings: a `preset`, which `dataclasses.replace` can change.
    seed
        The same campaign and seed give the same ratings.

    Returns
    -------
    Simulation
        The table and the truth.

    Raises
    ------
    InvalidInput
        The seed is below 0.

    Notes
    -----
    Effects of raters and items are shuffled normal scores, and c and :math:`\omega` are quantiles of the latent values,
    without straight-liners and clickers: standard deviations and shares of answers are exact in each campaign, not on
    average. Two campaigns of one setting therefore differ less than two samples of one population; for the size of
    tests and the coverage of intervals draw from `simulate_ratings`.

    A missing rating keeps its row, with blank answers and times. A rater who drops out has no later rows.

    Examples
    --------
    >>> from dissensus.pipeline.simulate import preset, simulate
    >>> campaign = simulate(preset("dices-350"), seed=1)
    >>> campaign.frame.shape
    (43050, 41)
    >>> campaign.ratings().exclude_flagged()
    Ratings(36,400 ratings of 350 items by 104 raters; questions: Q_overall; axes: rater_gender, rater_race,
    rater_raw_race, rater_age, rater_education)
    """
    check_whole("seed", seed, most=2**128)
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(8)]
    questionnaire = load_questionnaire(campaign.questionnaire)
    items = draw_items(streams[0], campaign.items, campaign.effects)
    raters = draw_raters(streams[1], campaign)
    groups = [
        draw_groups(streams[2], axis, effects, raters.table[axis], items.severity)
        for axis, effects in campaign.effects.groups.items()
    ]
    rater, item = draw_design(streams[3], campaign.items.count, raters.cell, campaign.per_item, campaign.dropout)
    latent = compute_latent(raters.effect, items.effect, [(group.code, group.effect) for group in groups], rater, item)
    overall, cut, width = draw_overall(streams[4], campaign, raters, rater, latent)
    answers = draw_answer_columns(streams[5], campaign, overall, (rater, item), items.topics)
    times = None
    if campaign.times is not None and raters.pace is not None:
        times = draw_times(streams[6], campaign.times, raters.pace, rater, item, campaign.items.count)
    rating_columns = build_rating_columns(answers, times, streams[7].random(rater.size) < campaign.missing)
    truth = Truth(
        campaign=campaign,
        seed=seed,
        version=version("dissensus"),
        cut=cut,
        width=width,
        raters=raters.truth(rater),
        items=items.truth,
        groups=tabulate_group_effects(groups),
        group_items=tabulate_group_item_effects(groups, items.truth[names.ITEM_ID]),
    )
    return Simulation(
        build_official_table(questionnaire, raters.table, items.table, rater, item, rating_columns), truth
    )


def _to_plain(value: Any) -> Any:
    """Return settings and tables as dictionaries and lists."""
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if is_dataclass(value):
        return {field.name: _to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _to_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_to_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def build_official_table(
    questionnaire: Questionnaire,
    raters: pl.DataFrame,
    items: pl.DataFrame,
    rater: Int64Array,
    item: Int64Array,
    rating_columns: pl.DataFrame,
) -> pl.DataFrame:
    """Return a table with one row per rating and all columns of the questionnaire in order; undrawn ones are blank.

    Numbers are numbers and everything else is text. `rating_columns` has the columns of single ratings.
    """
    columns = {
        "id": pl.Series(np.arange(rater.size)),
        **{series.name: series.gather(rater) for series in raters},
        **{series.name: series.gather(item) for series in items},
        **{series.name: series for series in rating_columns},
    }
    blank = pl.repeat(None, rater.size, dtype=pl.String, eager=True)
    return pl.DataFrame({name: columns.get(name, blank) for name in questionnaire.columns})


def draw_answer_columns(
    rng: np.random.Generator,
    campaign: SimulationDesign,
    overall: NDArray[np.int16],
    pairs: Pairs,
    topics: BoolArray,
) -> pl.DataFrame:
    """Draw the questions that carry the overall answers; return the columns of all questions and overalls."""
    rater, item = pairs
    questionnaire = load_questionnaire(campaign.questionnaire)
    counting = [question.name for question in questionnaire.questions if question.in_overall]
    carried = np.bincount(item[overall > 0], minlength=campaign.items.count)
    shares = draw_carriers(campaign.questions, counting, campaign.items.topics, topics, carried)
    answers = draw_questions(rng, campaign.questions, overall, item, shares)
    comprehension = draw_comprehension(rng, campaign.questions, rater, campaign.pool.size)
    return _answer_columns(questionnaire, answers, comprehension, list(campaign.questions.comprehension))


def _answer_columns(
    questionnaire: Questionnaire, answers: NDArray[np.int8], comprehension: Int64Array, values: Sequence[str]
) -> pl.DataFrame:
    """Return the columns of all questions and all overalls, as text."""
    counting = [question for question in questionnaire.questions if question.in_overall]
    other = [question.name for question in questionnaire.questions if not question.in_overall]
    granular = pl.DataFrame(
        {
            question.name: pl.Series(question.scale, dtype=pl.Enum(question.scale)).gather(answers[:, index])
            for index, question in enumerate(counting)
        }
    )
    overalls = {name: take_worst(granular.select(parts)) for name, parts in questionnaire.overalls.items()}
    text = pl.Series(values).gather(comprehension)
    return granular.with_columns(**overalls).cast(pl.String).with_columns(text.alias(name) for name in other)


def build_rating_columns(
    answers: pl.DataFrame, times: tuple[Int64Array, Int64Array] | None, skipped: BoolArray
) -> pl.DataFrame:
    """Return all columns of single ratings, blank where a rating was skipped."""
    if times is not None:
        answers = answers.with_columns(pl.Series(names.ANSWER_TIME, times[0]), pl.Series(TIMESTAMP, times[1]))
    if not skipped.any():
        return answers
    return answers.select(pl.when(~pl.Series(skipped)).then(pl.all()))
