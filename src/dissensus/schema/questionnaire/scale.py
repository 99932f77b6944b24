"""Inference and validation of the ordered answer scale of a question."""

from collections.abc import Iterable, Sequence

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.shipped import known_scale

NO_UNSURE_YES = ("No", "Unsure", "Yes")
MAX_NUMBERS = 1000
"""More distinct numbers than this are a measurement, not a scale."""


def check_categories(categories: Sequence[str]) -> tuple[str, ...]:
    """Return categories given by the caller, or say what is wrong with them."""
    if isinstance(categories, str) or not isinstance(categories, Iterable):
        raise InvalidInput(f"categories must be a list of answers in order, not the text {format_value(categories)}.")
    names = tuple(str(name) for name in categories)
    if not names or "" in names:
        raise InvalidInput(f"categories must name at least one answer, and none may be empty: got {names!r}.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(
            f"categories names {format_value(twice)} twice: {format_list(names)}. Name each answer once."
        )
    return names


def find_scale(column: pl.Series, answers: pl.Series) -> tuple[str, ...] | None:
    """Return the scale of a question, or None where neither its column nor its answers tell the order.

    A shipped questionnaire that knows the question decides, then the categories of an Enum; else answers
    among No, Unsure and Yes have that order, and numbers have their own.
    """
    known = known_scale(column.name)
    if known is not None:
        return known
    if isinstance(column.dtype, pl.Enum):
        return tuple(column.dtype.categories)
    found = answers.unique().drop_nulls()
    if found.is_in(NO_UNSURE_YES).all():
        return NO_UNSURE_YES
    return _numeric(found)


def unknown_scale_error(question: str, answers: pl.Series) -> InvalidInput:
    """Return the error for a question of unknown scale, with an option to paste."""
    found = answers.unique().drop_nulls().sort().to_list()
    line = ",".join(f'"{name}"' if set(name) & set(',"') else name for name in found)
    pasted = f"Name them in their own order, not the alphabet's: --categories '{line}' (in Python: categories={found})"
    remedy = pasted if len(pasted) < 500 else "Is it the right column? --answer names another"
    return InvalidInput(f"The order of the answers to {question} is not known. It has {format_list(found)}. {remedy}.")


def _numeric(found: pl.Series) -> tuple[str, ...] | None:
    numbers = found.cast(pl.Float64, strict=False)
    if len(found) > MAX_NUMBERS or numbers.null_count() or not numbers.is_finite().all():
        return None
    if numbers.n_unique() < len(found):
        twice = sorted(found.filter(numbers.is_duplicated()).to_list())
        raise InvalidInput(f"{format_list(twice)} are one number written differently. Write each number one way.")
    return tuple(found.to_frame().sort(numbers, found).to_series())


def describe_assumed_scale(question: str, scale: Sequence[str], answers: pl.Series) -> str | None:
    """Return a note where an inferred scale may lack answers."""
    if known_scale(question) is not None:
        return None
    found = set(answers.unique().drop_nulls())
    unused = [name for name in scale if name not in found]
    if unused:
        return (
            f"Nobody answered {format_list(unused)} to {question}, which counts as possible; --categories tells better."
        )
    steps = pl.Series(scale).cast(pl.Float64, strict=False).diff().drop_nulls()
    if len(steps) == len(scale) - 1 and steps.n_unique() > 1:
        return (
            f"The answers to {question} are {format_list(scale)}; if others were possible, name all with --categories."
        )
    return None


def take_worst(answers: pl.DataFrame) -> pl.Series:
    """Return the last answer on the scale in each row: with No, Unsure, Yes, any Yes is Yes, else any Unsure is Unsure.

    Where an answer is missing, the result is the top of the scale if any other answer is, and null otherwise: what was
    not answered might have been worse.

    Examples
    --------
    >>> scale = pl.Enum(["No", "Unsure", "Yes"])
    >>> answers = pl.DataFrame({"Q2": ["No", "Yes", "No"], "Q3": ["Unsure", None, None]})
    >>> take_worst(answers.cast(scale)).to_list()
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
