"""Options shared by commands that read a ratings file."""

import csv
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from dissensus.cli.lazy_group import LazyCommand
from dissensus.cli.options import (
    READING,
    AnnotatorsOption,
    AnswerColumnOption,
    BinsOption,
    CategoriesOption,
    DuplicatesOption,
    EngineOption,
    HasLabelOption,
    ItemColumnOption,
    ItemColumnsOption,
    ItemTablesOption,
    KindOption,
    MissingOption,
    NoRatersOption,
    NormaliseOption,
    RaterAttributeOption,
    RaterColumnOption,
    RaterColumnsOption,
    RaterKindOption,
    RatersOption,
    RenameOption,
    SetsOption,
    TextColumnOption,
)
from dissensus.cli.partitions.loader import is_partitioned, load_partitions, refuse_engine, refuse_partitions
from dissensus.cli.standard_input import spool
from dissensus.errors import DissensusError, InvalidInput
from dissensus.schema.ratings.columns import OVERALL

if TYPE_CHECKING:
    from dissensus.pipeline.engine.ratings import PartitionedRatings
    from dissensus.schema.ratings.table import Ratings

# The CSV reader takes one line, so private-use characters stand for line breaks meanwhile.
_LINE_BREAKS = {"\n": "\ue000", "\r": "\ue001"}


def with_ratings_options(
    command: Callable[..., None],
    *,
    attempts: LazyCommand | None = None,
    pairs: LazyCommand | None = None,
    partitions: bool = False,
) -> Callable[..., None]:
    """Add the options of `load_ratings` to a command, whose first parameter gets a function that reads the ratings.

    A file of red-team attempts goes to the command `attempts` instead, if there is one, and files of preference pairs
    to `pairs`, with the options that these accept. Only with `partitions` is a folder or glob of Parquet files
    accepted: the function is then `load_folder`.
    """
    options = {
        **{
            name: option
            for name, option in inspect.signature(load_ratings).parameters.items()
            if name not in ("all_questions", "question_is_default", "table")
        },
        **inspect.signature(table_arguments).parameters,
        **({"engine": inspect.signature(load_folder).parameters["engine"]} if partitions else {}),
    }
    own = list(inspect.signature(command).parameters.values())[1:]
    ratings, *remaining = options.values()

    @wraps(command)
    def with_ratings(**values: Any) -> None:
        of_release = None
        if values["question"] is None and values["answer"] is None and len(values["ratings"]) == 1:
            of_release = values["question"] = find_release_question(values["ratings"][0])
        values["ratings"] = [find_ratings_file(spool(path)) for path in values["ratings"]]
        if any(map(is_partitioned, values["ratings"])):
            if not partitions:
                refuse_partitions(values["ratings"])
            reader_options = {name: values.pop(name) for name in options}
            resamples_items = bool(values.get("bootstrap")) and values.get("resample") != "raters"
            as_text = resamples_items or bool(values.get("permutations"))
            command(partial(load_folder, **reader_options, items_as_text=as_text), **values)
            return
        if partitions and values.pop("engine") == "spark":
            refuse_engine(values["ratings"][0])
        for path in values["ratings"]:
            kind = read_record_kind(path) or (pairs and detect_preferences(path))
            if kind == "red-team" and attempts is not None:
                record_command = attempts.load()
                options_of_attempts = _record_options(record_command, values, defaults, "red-team attempts")
                record_command(_require_one(values["ratings"]), **options_of_attempts)
                return
            if kind not in (None, "red-team"):
                if pairs is None:
                    refuse_pairs(path)
                _require_pairs(path, values["ratings"])
                record_command = pairs.load()
                options_of_pairs = _record_options(record_command, values, defaults, "preference pairs")
                record_command(values["ratings"], **options_of_pairs)
                return
        reader_options = {name: values.pop(name) for name in options if name in values}
        command(partial(load_ratings, **reader_options, question_is_default=of_release is not None), **values)

    set_options(with_ratings, [ratings, *own, *remaining])
    defaults = {parameter.name: parameter.default for parameter in (*own, *remaining)}
    return with_ratings


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `table_arguments` to a command, which gets those arguments as `table`."""
    options = inspect.signature(table_arguments).parameters

    @wraps(command)
    def with_table(**values: Any) -> None:
        command(table=table_arguments(**{name: values.pop(name) for name in options}), **values)

    own = [parameter for name, parameter in inspect.signature(command).parameters.items() if name != "table"]
    set_options(with_table, [*own, *options.values()])
    return with_table


def set_options(command: Callable[..., None], options: Sequence[inspect.Parameter]) -> None:
    """Set the signature of a command, from which Typer reads its options."""
    keyword = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    command.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in keyword}


def load_ratings(
    ratings: Annotated[
        list[Path],
        typer.Argument(
            metavar="RATINGS",
            help="Ratings, one per row; a wide table or a LeWiDi file: csv, tsv, jsonl, json (each also .gz), parquet, "
            "xlsx; the folder of a release; or - for standard input. Several files are read as one.",
        ),
    ],
    items: ItemTablesOption = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Question to use. Default: Q_overall, else the only one.", rich_help_panel=READING
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Keep ratings of items, or of raters, with this value; repeatable.",
            rich_help_panel=READING,
        ),
    ] = None,
    exclude_flagged: Annotated[
        bool, typer.Option("--exclude-flagged", help="Leave out flagged raters.", rich_help_panel=READING)
    ] = False,
    rater_kind: RaterKindOption = "person",
    all_questions: bool = False,
    question_is_default: bool = False,
    **table: Any,
) -> "Ratings":
    """Read ratings with these options and those of `table_arguments`: one question, or all of them.

    A question that is the default, that of a release, gives way to `all_questions`.
    """
    from dissensus.files.ratings.reader import read_ratings

    arguments = table_arguments(**table)
    answer = arguments["answer"]
    if all_questions and ((question and not question_is_default) or answer):
        raise InvalidInput("All questions are read here; leave out --question and --answer.")
    if question is not None and answer is not None and question != answer:
        raise InvalidInput(f"--question {question} and --answer {answer} name two columns; give one of them.")
    result = read_ratings(
        ratings if len(ratings) > 1 else ratings[0],
        items=items if items is None or len(items) > 1 else items[0],
        questions="all" if all_questions else None if question is None or answer is not None else [question],
        rater_kind=rater_kind,
        **arguments,
    )
    for column, value in split_conditions(where):
        result = result.where(column, value)
    return result.exclude_flagged() if exclude_flagged else result


def load_folder(
    ratings: Sequence[Path],
    items: Sequence[Path] | None,
    where: Sequence[str] | None,
    question: str | None,
    exclude_flagged: bool,
    rater_kind: str,
    *,
    engine: EngineOption = "local",
    items_as_text: bool = False,
    with_items: bool = False,
    with_times: bool = False,
    **table: Any,
) -> "PartitionedRatings":
    """Read a folder or glob of Parquet files with the options of `load_ratings`."""
    arguments = table_arguments(**table) | {
        "items": items,
        "question": question,
        "exclude_flagged": exclude_flagged,
        "rater_kind": rater_kind,
        "engine": engine,
        "items_as_text": items_as_text,
        "with_items": with_items,
        "with_times": with_times,
    }
    return load_partitions(ratings, split_conditions(where), arguments)


def collect_folder(load: "partial[Any]", **options: Any) -> "Ratings":
    """Read a folder or glob of Parquet files into memory, and join the table of items."""
    from dissensus.files.ratings.reader import join_item_table

    tables = load.keywords["items"]
    if tables and len(tables) > 1:
        raise InvalidInput(
            f"{len(tables)} tables of items are given, and those of a folder are one table. Name one with --items."
        )
    ratings: Ratings = load(items=None, items_as_text=True, with_items=True, **options).collect()
    return join_item_table(ratings, tables[0], load.keywords["item"]) if tables else ratings


def reads_folder(load: "partial[Any]") -> bool:
    """Return whether a function that reads ratings reads a folder or glob of Parquet files."""
    return load.func is load_folder


def table_arguments(
    raters: RatersOption = None,
    item: ItemColumnOption = "item_id",
    rater: RaterColumnOption = "rater_id",
    no_raters: NoRatersOption = False,
    answer: AnswerColumnOption = None,
    rater_attribute: RaterAttributeOption = None,
    categories: CategoriesOption = None,
    has_label: HasLabelOption = None,
    missing: MissingOption = None,
    normalise: NormaliseOption = False,
    duplicates: DuplicatesOption = "refuse",
    bins: BinsOption = None,
    sets: SetsOption = None,
    rename: RenameOption = None,
    text_column: TextColumnOption = None,
    kind: KindOption = None,
    rater_columns: RaterColumnsOption = None,
    item_columns: ItemColumnsOption = None,
    annotators: AnnotatorsOption = None,
) -> dict[str, Any]:
    """Turn options that describe a table of ratings into arguments of `read_ratings` and `validate`."""
    return {
        "raters": raters,
        "item": item,
        "rater": None if no_raters else rater,
        "answer": answer,
        "rater_attributes": rater_attribute or (),
        "categories": split_categories(categories),
        "has_label": has_label,
        "missing": split_categories(missing) or (),
        "normalise": normalise,
        "duplicates": duplicates,
        "bins": split_bins(bins),
        "sets": sets or (),
        "rename": split_renames(rename),
        "text": text_column,
        "kind": kind,
        "rater_columns": rater_columns,
        "item_columns": item_columns,
        "annotators": annotators,
    }


def find_ratings_file(path: Path) -> Path:
    """Return a path; for the folder of a release, return the path of its ratings."""
    if not path.is_dir():
        return path
    from dissensus.files.releases.folder import is_release
    from dissensus.pipeline.release.documents import CSV

    return path / CSV if is_release(path) else path


def find_release_question(path: Path) -> str | None:
    """Return the question of a release as its record states it; None for other paths and for the overall question."""
    if not path.is_dir():
        return None
    from dissensus.files.releases.folder import is_release, read_record

    question = str(read_record(path)["question"]) if is_release(path) else OVERALL
    return None if question == OVERALL else question


def read_record_kind(path: Path) -> str | None:
    """Return the kind of pairs or attempts in a file; None for ratings and for one that cannot be read."""
    from dissensus.files.record_kinds import detect_record_kind, read_column_names

    try:
        return detect_record_kind(read_column_names(path))
    except DissensusError:
        return None


def detect_preferences(path: Path) -> str | None:
    """Return the kind of a file of exported preferences; None for others, and for one that cannot be read."""
    from dissensus.files.pairs.votes import holds_preferences

    try:
        return "preferences" if holds_preferences(path) else None
    except DissensusError:
        return None


def _require_pairs(pairs: Path, paths: Sequence[Path]) -> None:
    """Refuse other files beside one of preference pairs."""
    for path in paths:
        if path.is_file() and (read_record_kind(path) or detect_preferences(path)) in (None, "red-team"):
            raise InvalidInput(
                f"{pairs} holds preference pairs, and {path} does not. Give files of one kind: ratings, or pairs."
            )


def refuse_pairs(path: Path) -> NoReturn:
    """Refuse a file of preference pairs."""
    raise InvalidInput(
        f"{path} holds preference pairs, and ratings are read here. For pairs: dissensus preference evaluate, validate "
        "or convert. Picks of raters among two responses are ratings if each has item_id and rater_id."
    )


def _record_options(
    command: Callable[..., None], values: Mapping[str, Any], defaults: Mapping[str, Any], records: str
) -> dict[str, Any]:
    """Return the options that a command on attempts or pairs accepts; refuse others that were set."""
    accepted = set(inspect.signature(command).parameters)
    for name, value in values.items():
        if name not in accepted and name != "ratings" and value != defaults[name]:
            option = "from" if name == "kind" else name.replace("_", "-")
            raise InvalidInput(
                f"--{option} does not apply to {records}, which {values['ratings'][0]} holds. Leave it out."
            )
    return {name: value for name, value in values.items() if name in accepted}


def split_categories(text: str | None) -> list[str] | None:
    """Parse the value of --categories or --missing, one row of CSV; line breaks belong to answers."""
    if text is None:
        return None
    line = "".join(_LINE_BREAKS.get(character, character) for character in text)
    try:
        fields = next(csv.reader([line]), [])
    except csv.Error as error:
        raise InvalidInput(f"The list of answers cannot be read ({error}). Separate them by commas.") from None
    breaks = {mark: character for character, mark in _LINE_BREAKS.items()}
    return ["".join(breaks.get(character, character) for character in name).strip() for name in fields]


def split_conditions(texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Parse the values of --where, such as rater_gender=Woman."""
    conditions: list[tuple[str, str]] = []
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput(f"--where {text!r} has no '='; write --where COLUMN=VALUE.")
        conditions.append((column, value))
    return conditions


def split_bins(texts: Sequence[str] | None) -> dict[str, list[float]]:
    """Parse the values of --bins, such as age=18,30,45."""
    bins: dict[str, list[float]] = {}
    for text in texts or ():
        axis, _, edges = text.partition("=")
        axis = axis.strip()
        try:
            numbers = [float(edge) for edge in edges.split(",")]
        except ValueError:
            numbers = []
        if not axis or not numbers:
            raise InvalidInput(f"--bins {text!r} is not like age=18,30,45.")
        if axis in bins:
            raise InvalidInput(f"--bins names {axis!r} twice. Give all its edges at once, as age=18,30,45.")
        bins[axis] = numbers
    return bins


def split_renames(texts: Sequence[str] | None) -> dict[str, str | dict[str, str]]:
    """Parse the values of --rename: OLD=NEW for a column, COLUMN:OLD=NEW for a value."""
    renames: dict[str, str | dict[str, str]] = {}
    for text in texts or ():
        old, equals, new = text.rpartition("=")
        if not equals or not old or not new:
            raise InvalidInput(f"--rename {text!r} is not OLD=NEW, nor COLUMN:OLD=NEW for a value.")
        column, colon, value = old.partition(":")
        if not colon:
            values: str | dict[str, str] = new
        else:
            earlier = renames.get(column, {})
            values = {**(earlier if isinstance(earlier, dict) else {}), value: new}
        if isinstance(renames.get(column), str) or (not colon and column in renames):
            raise InvalidInput(f"--rename names the column {column!r} twice. Rename its values under the new name.")
        renames[column] = values
    return renames


def _require_one(paths: Sequence[Path]) -> Path:
    if len(paths) > 1:
        raise InvalidInput(
            f"{paths[0]} and {paths[1]} are several files, one of them of red-team attempts, which are read one at a "
            "time. Name one file."
        )
    return paths[0]


def refuse_attempt_options(paths: Sequence[Path], reviews: Path | None, success_from: int | None) -> None:
    """Refuse options of red-team attempts for a file of ratings."""
    for name, value in (("reviews", reviews), ("success-from", success_from)):
        if value is not None:
            raise InvalidInput(f"--{name} is about red-team attempts, and {paths[0]} holds none. Leave it out.")
