"""Overall answers of each rater from the granular questions."""

from collections.abc import Sequence

import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.hints import format_list
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings.table import Ratings


def worst_answer(ratings: Ratings, questions: Sequence[str]) -> pl.Series:
    """Aggregate several questions by the DICES rule: any Yes is Yes, else any Unsure is Unsure, else No.

    Parameters
    ----------
    ratings
        The ratings, with the questions read.
    questions
        Questions of one common scale, ordered from safe to unsafe.

    Returns
    -------
    Series of Enum, one value per rating
        In the order of ``ratings.answers``: the last answer on the scale among the answers to the questions.

    Raises
    ------
    InvalidInput
        No questions, or questions with different scales.
    NotFound
        A question that was not read.

    Notes
    -----
    Source: Aroyo et al. (2023), section 4. If an answer is missing, the aggregate is the top of the scale if another
    answer is, and missing otherwise, since the missing answer might have been worse.

    Examples
    --------
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1", "2", "3"], "rater_id": ["a", "a", "a"],
    ...     "Q2": ["No", "Unsure", "No"], "Q3": ["Yes", "No", "No"],
    ... }), questions=["Q2", "Q3"])
    >>> worst_answer(ratings, ["Q2", "Q3"]).to_list()
    ['Yes', 'Unsure', 'No']
    """
    if not questions:
        raise InvalidInput("questions is empty; give the questions to aggregate.")
    scale = ratings.scale(questions[0])
    for question in questions:
        if ratings.scale(question) != scale:
            raise InvalidInput(
                f"{question} has the scale {', '.join(ratings.scale(question))} and {questions[0]} has "
                f"{', '.join(scale)}; the rule needs a common scale."
            )
    return take_worst(ratings.answers.select(questions)).alias("worst_answer")


def overall_answers(ratings: Ratings, questionnaire: Questionnaire | None = None) -> pl.DataFrame:
    """Aggregate the granular questions of a questionnaire into its overalls by the DICES rule.

    Parameters
    ----------
    ratings
        The ratings, with all granular questions read (``questions="all"``).
    questionnaire
        Questionnaire with the questions of each overall; by default the shipped one whose questions were read.

    Returns
    -------
    DataFrame
        ``item_id``, ``rater_id`` and one column for each overall, one row per rating.

    Raises
    ------
    NotFound
        A granular question was not read, or no shipped questionnaire has the questions that were read.
    InvalidInput
        Ratings without raters.
    """
    ratings.require_raters("An overall answer of each rater")
    questionnaire = questionnaire or _questionnaire_of(ratings)
    missing = _list_missing(ratings, questionnaire)
    if missing:
        raise NotFound(
            f"The overalls of {questionnaire.name} need questions that were not read: {format_list(missing, 1)}. Read "
            'them with questions="all".'
        )
    ids = pl.DataFrame(
        {
            "item_id": ratings.items["item_id"].gather(ratings.answers["item"]),
            "rater_id": ratings.raters["rater_id"].gather(ratings.answers["rater"]),
        }
    )
    return ids.with_columns(
        worst_answer(ratings, parts).alias(overall) for overall, parts in questionnaire.overalls.items()
    )


def _questionnaire_of(ratings: Ratings) -> Questionnaire:
    """Return the shipped questionnaire whose granular questions were all read."""
    shipped = [load_questionnaire(name) for name in published_questionnaires()]
    for questionnaire in shipped:
        if not _list_missing(ratings, questionnaire):
            return questionnaire
    nearest = min(shipped, key=lambda questionnaire: len(_list_missing(ratings, questionnaire)))
    raise NotFound(
        "The DICES rule makes overall answers from granular questions, and no questionnaire has all of its granular "
        f"questions among those read ({format_list(ratings.questions, 5)}). Shipped questionnaires are "
        f"{format_list(published_questionnaires())}; {nearest.name} would also need "
        f"{format_list(_list_missing(ratings, nearest), 3)}."
    )


def _list_missing(ratings: Ratings, questionnaire: Questionnaire) -> list[str]:
    """Return the granular questions of the overalls that were not read."""
    needed = dict.fromkeys(name for parts in questionnaire.overalls.values() for name in parts)
    return [name for name in needed if name not in ratings.questions]
