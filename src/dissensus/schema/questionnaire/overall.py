"""The rule by which several answers of a rater become one overall answer."""

import polars as pl


def worst_answer(answers: pl.DataFrame) -> pl.Series:
    """Return the last answer on the scale in each row: with No, Unsure, Yes, any Yes is Yes, else any Unsure is Unsure.

    Where an answer is missing, the result is the top of the scale if any other answer is, and null otherwise: what was
    not answered might have been worse.

    Examples
    --------
    >>> scale = pl.Enum(["No", "Unsure", "Yes"])
    >>> answers = pl.DataFrame({"Q2": ["No", "Yes", "No"], "Q3": ["Unsure", None, None]})
    >>> worst(answers.cast(scale)).to_list()
    ['Unsure', 'Yes', None]
    """
    scale = answers.dtypes[0]
    assert isinstance(scale, pl.Enum)  # noqa: S101 - what the caller promises
    codes = answers.select(pl.all().to_physical().cast(pl.Int16))
    highest = codes.max_horizontal()
    complete = ~codes.select(pl.any_horizontal(pl.all().is_null())).to_series()
    top = len(scale.categories) - 1
    known = (complete | (highest == top)).fill_null(value=False)
    return pl.Series(scale.categories, dtype=scale).gather(highest.set(~known, None)).alias("overall")
