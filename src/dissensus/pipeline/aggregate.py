"""From granular questions to overall answers, and from raters to the labels of an item."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.questionnaire import Questionnaire
from dissensus.schema.ratings import Ratings
from dissensus.stats.counts import count_answers


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
    Series of Enum, one value a rating
        In the order of ``ratings.answers``: the last answer on the scale that was given to any of the questions.

    Raises
    ------
    InvalidInput
        No question, or scales that differ.
    NotFound
        A question that was not read.

    Notes
    -----
    Source: Aroyo et al. (2023), section 4. Where an answer is missing, the aggregate is the top of the scale if any
    other answer is, and missing otherwise: what was not answered might have been worse.

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
        raise InvalidInput("Name the questions to aggregate; none was given.")
    scale = ratings.scale(questions[0])
    for question in questions:
        if ratings.scale(question) != scale:
            raise InvalidInput(
                f"{question} has the scale {', '.join(ratings.scale(question))} and {questions[0]} has "
                f"{', '.join(scale)}; the rule needs one scale."
            )
    codes = ratings.answers.select(pl.col(list(questions)).to_physical().cast(pl.Int16))
    worst = codes.max_horizontal()
    complete = ~codes.select(pl.any_horizontal(pl.all().is_null())).to_series()
    known = (complete | (worst == len(scale) - 1)).fill_null(value=False)
    labels = pl.Series(scale, dtype=pl.Enum(scale))
    return labels.gather(worst.set(~known, None)).alias("worst_answer")


def overall_answers(ratings: Ratings, questionnaire: Questionnaire) -> pl.DataFrame:
    """Aggregate the granular questions of a questionnaire into its overalls by the DICES rule.

    Parameters
    ----------
    ratings
        The ratings, with all granular questions read (``questions="all"``).
    questionnaire
        Tells which questions enter which overall.

    Returns
    -------
    DataFrame
        ``item_id``, ``rater_id`` and one column for each overall, one row a rating.

    Raises
    ------
    NotFound
        A granular question was not read.
    """
    missing = [name for parts in questionnaire.overalls.values() for name in parts if name not in ratings.questions]
    if missing:
        raise NotFound(
            f"The overalls of {questionnaire.name} need {missing[0]}"
            + (f" and {len(set(missing)) - 1} more questions" if len(set(missing)) > 1 else "")
            + ' that were not read. Read them with questions="all".'
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


def soft_labels(ratings: Ratings, question: str, *, by: str | None = None) -> pl.DataFrame:
    """Return the shares of answers to each item, of the whole pool or of each group.

    Parameters
    ----------
    ratings
        The ratings.
    question
        The question.
    by
        An axis or crossed axes; None for the whole pool.

    Returns
    -------
    DataFrame
        ``item_id``, ``group`` (with `by`), ``n_ratings`` and one share a category, in the order of the scale. Items
        that a group did not rate have no row for it. Raters without a known group are left out.

    Examples
    --------
    >>> from dissensus.pipeline.simulate import simulate_ratings
    >>> ratings = simulate_ratings(n_items=2, raters_per_cell=5, seed=3)
    >>> soft_labels(ratings, "Q_overall").row(0, named=True)
    {'item_id': 'item-01', 'n_ratings': 30, 'No': 0.7666666666666667, 'Unsure': 0.1, 'Yes': 0.13333333333333333}
    """
    counts = _counts(ratings, question, by)
    scale = list(ratings.scale(question))
    return counts.with_columns(pl.col(category) / pl.col("n_ratings") for category in scale)


def plurality(ratings: Ratings, question: str, *, by: str | None = None) -> pl.DataFrame:
    """Return the most frequent answers to each item, of the whole pool or of each group; ties are reported.

    Parameters
    ----------
    ratings, question, by
        As for `soft_labels`.

    Returns
    -------
    DataFrame
        ``item_id``, ``group`` (with `by`), ``n_ratings``, ``answers`` (list, in the order of the scale: more than one
        is a tie), ``share`` of each of them, and ``tied``.

    Notes
    -----
    A tie is never broken here. Who needs one label must choose a rule, and say so.

    Examples
    --------
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1", "1"], "rater_id": ["a", "b"], "Q_overall": ["Yes", "No"],
    ... }))
    >>> plurality(ratings, "Q_overall").row(0)
    ('1', 2, ['No', 'Yes'], 0.5, True)
    """
    counts = _counts(ratings, question, by)
    scale = list(ratings.scale(question))
    top = pl.max_horizontal(scale)
    winners = [pl.when(pl.col(category) == top).then(pl.lit(category)) for category in scale]
    keys = [name for name in counts.columns if name not in scale]
    return counts.select(
        *keys,
        pl.concat_list(winners).list.drop_nulls().alias("answers"),
        (top / pl.col("n_ratings")).alias("share"),
    ).with_columns((pl.col("answers").list.len() > 1).alias("tied"))


def _counts(ratings: Ratings, question: str, by: str | None) -> pl.DataFrame:
    """Return how many raters gave each answer to each item, by group: item_id, group, n_ratings, one column each."""
    scale = list(ratings.scale(question))
    keys = ["item_id", "n_ratings"] if by is None else ["item_id", "group", "n_ratings"]
    if clash := set(scale) & set(keys):
        raise InvalidInput(f"The answer {min(clash)!r} is also the name of a column of the result; rename the answer.")
    item, rater, answer = ratings.coded(question)
    codes, groups = (np.zeros(ratings.n_raters, np.int32), ("",)) if by is None else ratings.group_codes(by)
    cell = codes[rater].astype(np.int64) + item.astype(np.int64) * len(groups)
    used, place = np.unique(cell[codes[rater] >= 0], return_inverse=True)
    counts = count_answers(place, answer[codes[rater] >= 0], n_items=len(used), n_categories=len(scale))
    columns = [ratings.items["item_id"].gather(used // len(groups))]
    if by is not None:
        columns.append(pl.Series("group", groups).gather(used % len(groups)))
    columns.append(pl.Series("n_ratings", counts.sum(axis=1), dtype=pl.UInt32))
    return pl.DataFrame([*columns, *(pl.Series(name, counts[:, k]) for k, name in enumerate(scale))])
