"""Inference and validation of the ordered answer scale of a question."""

from collections.abc import Iterable, Sequence

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.shipped import known_scale

NO_UNSURE_YES = ("No", "Unsure", "Yes")
MAX_NUMBERS = 1000
"""Distinct numbers of a scale; more are a measurement."""


def check_categories(categories: Sequence[str]) -> tuple[str, ...]:
    """Validate categories, and return them as a tuple."""
    if isinstance(categories, str) or not isinstance(categories, Iterable):
        raise InvalidInput(f"categories must be a list of answers in order, not the text {format_value(categories)}.")
    names = tuple(str(name) for name in categories)
    if not names or "" in names:
        raise InvalidInput(f"categories must name at least one answer, and none may be empty: got {names!r}.")
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(
            f"categories names {format_value(duplicate)} twice: {format_list(names)}. Name each answer once."
        )
    return names


def find_scale(column: pl.Series, answers: pl.Series) -> tuple[str, ...] | None:
    """Return the scale of a question, None if the order of its answers is unknown.

    It is that of the shipped questionnaires, else of an Enum, else No, Unsure, Yes, else the order of numbers.
    """
    scale = known_scale(column.name)
    if scale is not None:
        return scale
    if isinstance(column.dtype, pl.Enum):
        return tuple(column.dtype.categories)
    values = answers.unique().drop_nulls()
    if values.is_in(NO_UNSURE_YES).all():
        return NO_UNSURE_YES
    return _numeric_scale(values)


def unknown_scale_error(question: str, answers: pl.Series) -> InvalidInput:
    """Return the error for a question of unknown scale, with an option to paste."""
    values = answers.unique().drop_nulls().sort().to_list()
    line = ",".join(f'"{name}"' if set(name) & set(',"') else name for name in values)
    option = f"Name them in their own order, not the alphabet's: --categories '{line}' (in Python: categories={values})"
    remedy = option if len(option) < 500 else "Is it the right column? --answer names another"
    return InvalidInput(f"The order of the answers to {question} is not known. It has {format_list(values)}. {remedy}.")


def _numeric_scale(values: pl.Series) -> tuple[str, ...] | None:
    numbers = values.cast(pl.Float64, strict=False)
    if len(values) > MAX_NUMBERS or numbers.null_count() or not numbers.is_finite().all():
        return None
    if numbers.n_unique() < len(values):
        duplicates = sorted(values.filter(numbers.is_duplicated()).to_list())
        raise InvalidInput(f"{format_list(duplicates)} are one number written differently. Write each number one way.")
    return tuple(values.to_frame().sort(numbers, values).to_series())


def describe_assumed_scale(question: str, scale: Sequence[str], answers: pl.Series) -> str | None:
    """Return a note if an inferred scale may lack answers."""
    if known_scale(question) is not None:
        return None
    used = set(answers.unique().drop_nulls())
    unused = [name for name in scale if name not in used]
    if unused:
        return f"Nobody answered {format_list(unused)} to {question}, which counts as possible; or use --categories."
    steps = pl.Series(scale).cast(pl.Float64, strict=False).diff().drop_nulls()
    if len(steps) == len(scale) - 1 and steps.n_unique() > 1:
        return (
            f"The answers to {question} are {format_list(scale)}; if others were possible, name all with --categories."
        )
    return None


def take_worst(answers: pl.DataFrame) -> pl.Series:
    """Return the last answer on the scale in each row: with No, Unsure, Yes, any Yes is Yes, else any Unsure is Unsure.

    If an answer is missing, the result is the top of the scale if another answer is, and null otherwise: the missing
    answer might have been worse.

    Examples
    --------
    >>> scale = pl.Enum(["No", "Unsure", "Yes"])
    >>> answers = pl.DataFrame({"Q2": ["No", "Yes", "No"], "Q3": ["Unsure", None, None]})
    >>> take_worst(answers.cast(scale)).to_list()
    ['Unsure', 'Yes', None]
    """
    scale = answers.dtypes[0]
    assert isinstance(scale, pl.Enum)  # noqa: S101 - contract of the caller
    codes = answers.select(pl.all().to_physical().cast(pl.Int16))
    highest = codes.max_horizontal()
    complete = ~codes.select(pl.any_horizontal(pl.all().is_null())).to_series()
    top = len(scale.categories) - 1
    determined = (complete | (highest == top)).fill_null(value=False)
    return pl.Series(scale.categories, dtype=scale).gather(highest.set(~determined, None)).alias("overall")
