"""Inference and validation of the ordered answer scale of a question."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.advice import Advice
from dissensus.schema.hints import format_list, format_value, join_fields, quote_options
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings.cleaning import (
    AS_WRITTEN,
    CleanColumn,
    CleaningRules,
    find_sentinels,
    find_spellings,
    fold,
    shorten_whole_number,
)

NO_UNSURE_YES = ("No", "Unsure", "Yes")
NO_YES = ("No", "Yes")
USUAL = (NO_YES, NO_UNSURE_YES, ("False", "True"))
"""Scales that are recognised under any name of the question, and in any case."""
INTEGER = re.compile(r"[+-]?\d+")
MAX_LABELS = 30
"""Distinct texts that may be the answers of a scale."""
MAX_REMEDY_LENGTH = 900
"""Characters of a remedy with options to paste; instead of a longer one another column is suggested."""
MAX_NUMBERS = 1000
"""Distinct numbers of a scale; more are a measurement."""


def check_categories(categories: Sequence[str], rules: CleaningRules = AS_WRITTEN) -> tuple[str, ...]:
    """Validate categories, and return them as a tuple, as answers are cleaned."""
    if isinstance(categories, str) or not isinstance(categories, Iterable):
        raise InvalidInput(f"categories must be a list of answers in order, not {format_value(categories)}.")
    names = tuple(str(name) for name in categories)
    if not rules.as_written:
        names = tuple(name.strip() for name in names)
        if all(INTEGER.fullmatch(shorten_whole_number(name)) for name in names):
            names = tuple(map(shorten_whole_number, names))
    if not names or "" in names:
        raise InvalidInput(f"categories must name at least one answer, and none may be empty: got {names!r}.")
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(
            f"categories names {format_value(duplicate)} twice: {format_list(names)}. Name each answer once."
        )
    return names


def find_scale(column: CleanColumn) -> tuple[str, ...] | None:
    """Return the scale of a question, None if the order of its answers is unknown.

    It is that of the shipped questionnaires, else the declared order of an Enum, else No, Unsure, Yes or No, Yes, else
    the order of numbers.
    """
    scale = known_scale(column.text.name)
    if scale is not None:
        return scale
    if column.order is not None:
        return column.order
    return _usual_scale(column.values) or _numeric_scale(column.values)


def complete_scales(scales: Sequence[tuple[str, ...] | None]) -> list[tuple[str, ...] | None]:
    """Return the scales of questions that were read together: No, Yes gets Unsure if another one has it.

    Examples
    --------
    >>> complete_scales([("No", "Yes"), ("No", "Unsure", "Yes"), ("low", "high")])
    [('No', 'Unsure', 'Yes'), ('No', 'Unsure', 'Yes'), ('low', 'high')]
    """
    complete: dict[tuple[str, ...], tuple[str, ...]] = {}
    for scale in scales:
        if scale is not None and tuple(map(fold, scale)) == tuple(map(fold, NO_UNSURE_YES)):
            complete[scale[0], scale[2]] = scale
    return [None if scale is None else complete.get(scale, scale) for scale in scales]


def _usual_scale(values: pl.Series) -> tuple[str, ...] | None:
    """Return the usual scale that holds all values, in their own spelling."""
    for scale in USUAL:
        spelling = {name.casefold(): name for name in scale}
        own = {fold(value): value for value in values if fold(value) in spelling} if len(values) <= len(scale) else {}
        if len(own) == len(values) and len(values):
            return tuple(own.get(plain, _spell_like(values, name)) for plain, name in spelling.items())
    return None


def _spell_like(values: pl.Series, name: str) -> str:
    """Return an answer that nobody gave in the case of those that were given."""
    if (values.str.to_lowercase() == values).all():
        return name.lower()
    return name.upper() if (values.str.to_uppercase() == values).all() else name


def unknown_scale_error(question: str, answers: pl.Series) -> InvalidInput:
    """Return the error for a question of unknown scale, with options to paste."""
    values = answers.unique().drop_nulls().sort().to_list()
    known = f"The order of the answers to {question} is not known. It has {format_list(values)}."
    if len(values) > MAX_LABELS and len(values) > len(answers) / 10:
        unlike = f"{known} These look like free text or numbers with units, not like answers of a scale."
        remedy = "Is it the right column? --answer names another (in Python: answer=...)."
        return InvalidInput(Advice(f"{unlike} {remedy}", site=unlike))
    spellings = find_spellings(values)
    merged = [value for value in values if not any(value in group[1:] for group in spellings)]
    options = ("--normalise",) * bool(spellings) + ("--categories", join_fields(merged))
    line = quote_options(options)
    in_python = f"{'normalise=True, ' * bool(spellings)}categories={merged}"
    remedy = (
        f"Name them in their own order, not the alphabet's: {line} (in Python: {in_python}). If they have none, read "
        "one against the others: --has-label ANSWER (in Python: has_label=...)."
    )
    if len(remedy) > MAX_REMEDY_LENGTH:
        return InvalidInput(Advice(f"{known} Is it the right column? --answer names another.", site=known))
    if spellings:
        remedy = f"Some differ only in case or spaces: {'; '.join(map(format_list, spellings))}. {remedy}"
    sentinels = find_sentinels(merged)
    if sentinels:
        words = quote_options(("--missing", join_fields(sentinels)))
        remedy = f"{remedy} If {format_list(sentinels)} means that there is no answer: {words}."
    return InvalidInput(Advice(f"{known} {remedy}", site=known), options=options)


def _numeric_scale(values: pl.Series) -> tuple[str, ...] | None:
    numbers = values.cast(pl.Float64, strict=False)
    if len(values) > MAX_NUMBERS or numbers.null_count() or not numbers.is_finite().all():
        return None
    exact = {value: Decimal(value) for value in values}
    if len(set(exact.values())) < len(exact):
        spelt = Counter(exact.values())
        duplicates = sorted(value for value, number in exact.items() if spelt[number] > 1)
        raise InvalidInput(f"{format_list(duplicates)} are one number written differently. Write each number one way.")
    return tuple(sorted(exact, key=lambda value: (exact[value], value)))


def describe_unused_answers(questions: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a note for the questions of assumed scales with the same answers that nobody gave."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for question, unused in questions.items():
        alike.setdefault(tuple(unused), []).append(question)
    for unused, names in alike.items():
        if unused:
            listed = names[0] if len(names) == 1 else format_list(names)
            assumed = f"Nobody answered {format_list(unused)} to {listed}. It is assumed that raters could have"
            yield Advice(f"{assumed}; if not, name the possible answers with --categories.", site=f"{assumed}.")


def describe_inferred_scale(question: str, scale: Sequence[str]) -> str | None:
    """Return a note if a scale that was inferred from all its answers may lack others."""
    steps = pl.Series(scale).cast(pl.Float64, strict=False).diff().drop_nulls()
    if tuple(map(fold, scale)) == tuple(map(fold, NO_YES)):
        others = "others, such as 'Unsure',"
    elif len(steps) == len(scale) - 1 and steps.n_unique() > 1:
        others = "others"
    else:
        return None
    known = f"The answers to {question} are {format_list(scale)}"
    return Advice(
        f"{known}; if {others} were possible, name all with --categories.",
        site=f"{known}. It is assumed that no others were possible.",
    )


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
