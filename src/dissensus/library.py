"""Public functions of ratings that also take the path of a file or a table in memory."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.table_reader import is_path
from dissensus.pipeline import aggregate, score
from dissensus.pipeline import analyse as analyse_stage
from dissensus.pipeline import model as model_stage
from dissensus.pipeline import vet as vet_stage
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.schema.formula import Formula, parse_formula
from dissensus.schema.ratings.table import Ratings

P = ParamSpec("P")
R = TypeVar("R")

_SOURCE: Final = """ratings
        Ratings from `read_ratings`, or what it takes: the path of a file, a pandas, polars or Arrow table, a list of
        dicts, or a list of files and tables, which are read as one.
"""
_READING: Final = """    **reading
        How the ratings are read, as for `read_ratings`: `item`, `rater`, `answer`, `rater_attributes`, `categories`,
        `missing`, `bins` and the others. Only for files and tables.

"""


def accept_sources(function: Callable[Concatenate[Any, P], R], *, partitions: bool = False) -> Callable[..., R]:
    """Return a function of ratings that also takes a file or a table, with the options of `read_ratings`.

    `PartitionedRatings` are refused, unless the function takes `partitions`.
    """
    own = inspect.signature(function).parameters
    options = {
        name: parameter
        for name, parameter in inspect.signature(read_ratings).parameters.items()
        if name not in own and name != "source"
    }

    @wraps(function)
    def with_sources(ratings: Any, *arguments: Any, **keywords: Any) -> R:
        reading = {name: keywords.pop(name) for name in options if name in keywords}
        if isinstance(ratings, PartitionedRatings) and not partitions:
            ratings.refuse(f"{function.__name__}()")
        if not isinstance(ratings, (Ratings, PartitionedRatings)):
            bound = inspect.signature(function).bind_partial(ratings, *arguments, **keywords)
            questions = _list_questions(bound.arguments) or ("all" if "questions" in own else None)
            ratings = _read(ratings, reading, questions)
        elif reading:
            raise InvalidInput(
                f"{next(iter(reading))} says how a file or a table is read, and these ratings have been read. Give it "
                "to read_ratings."
            )
        return function(ratings, *arguments, **keywords)

    parameters = [*own.values(), inspect.Parameter("reading", inspect.Parameter.VAR_KEYWORD, annotation=Any)]
    with_sources.__signature__ = inspect.signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    with_sources.__doc__ = _describe(function.__doc__ or "")
    return with_sources


def _list_questions(arguments: Mapping[str, Any]) -> list[str] | None:
    """Return the questions that the arguments of a function name; None without any."""
    formula = arguments.get("formula")
    if isinstance(formula, (str, Formula)):
        return [(parse_formula(formula) if isinstance(formula, str) else formula).response]
    named = arguments.get("questions") or arguments.get("question")
    return [named] if isinstance(named, str) else list(named) if isinstance(named, (list, tuple)) else None


def _read(source: Any, reading: Mapping[str, Any], questions: list[str] | str | None) -> Ratings:
    if not is_path(source) and isinstance(source, (tuple, set, int, float, type(None))):
        raise InvalidInput(
            f"Give ratings from read_ratings, the path of a file, or a table in memory, not {type(source).__name__}."
        )
    # Categories are the scale of a single question.
    single = {"questions", "answer", *(("categories",) if questions == "all" else ())}
    if questions is not None and not reading.keys() & single:
        reading = {**reading, "questions": questions}
    return read_ratings(source, **reading)


def _describe(doc: str) -> str:
    """Return a docstring with the sources that ratings may be, and the options of reading them."""
    doc = re.sub(r"(?<=\n    )ratings\n        .*\n", lambda _: _SOURCE, doc, count=1)
    return doc.replace("    Returns\n    -------\n", f"{_READING}    Returns\n    -------\n", 1).replace(
        "\n\n\n", "\n\n"
    )


analyse = accept_sources(analyse_stage.analyse, partitions=True)
compare_decisions = accept_sources(score.compare_decisions)
fit_model = accept_sources(model_stage.fit_model)
group_divergence = accept_sources(analyse_stage.group_divergence, partitions=True)
gold_against_crowd = accept_sources(aggregate.gold_against_crowd)
label_model = accept_sources(aggregate.label_model)
overall_answers = accept_sources(aggregate.overall_answers)
plurality = accept_sources(aggregate.plurality)
rater_curve = accept_sources(analyse_stage.rater_curve)
resampled_labels = accept_sources(aggregate.resampled_labels)
label_by_rule = accept_sources(score.label_by_rule)
score_chatbots = accept_sources(score.score_chatbots, partitions=True)
score_models = accept_sources(score.score_models, partitions=True)
soft_labels = accept_sources(aggregate.soft_labels)
vet = accept_sources(vet_stage.vet)
