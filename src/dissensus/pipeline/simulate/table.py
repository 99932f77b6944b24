"""Simulated campaign as a ratings table of its questionnaire."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.pipeline.simulate.campaign import SimulationDesign
from dissensus.pipeline.simulate.design import Pairs
from dissensus.pipeline.simulate.latent import Codes
from dissensus.pipeline.simulate.questions import draw_carriers, draw_comprehension, draw_questions
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.questionnaire.shipped import Questionnaire, load_questionnaire
from dissensus.schema.ratings import columns as names

TIMESTAMP = "answer_timestamp"


def build_official_table(
    questionnaire: Questionnaire,
    raters: pl.DataFrame,
    items: pl.DataFrame,
    rater: Codes,
    item: Codes,
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
    topics: NDArray[np.bool_],
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
    questionnaire: Questionnaire, answers: NDArray[np.int8], comprehension: Codes, values: Sequence[str]
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
    answers: pl.DataFrame, times: tuple[Codes, Codes] | None, skipped: NDArray[np.bool_]
) -> pl.DataFrame:
    """Return all columns of single ratings, blank where a rating was skipped."""
    if times is not None:
        answers = answers.with_columns(pl.Series(names.ANSWER_TIME, times[0]), pl.Series(TIMESTAMP, times[1]))
    if not skipped.any():
        return answers
    return answers.select(pl.when(~pl.Series(skipped)).then(pl.all()))
