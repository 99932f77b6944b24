"""`dissensus jury predict`: predicted answers of groups, and verdicts of juries."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import ConfidenceOption, SeedOption
from dissensus.cli.result_writer import FormatOption, OutputOption
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dissensus.preference.jury.composition import Jury
    from dissensus.preference.jury.model import JuryModel
    from dissensus.schema.records.item import Item

JURY = "Jury"


def predict(
    conversations: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…", help="Conversations: columns transcript, turns, messages, or context and response."
        ),
    ],
    model: Annotated[Path, typer.Option(metavar="DIR", help="Folder of `dissensus jury train`.")],
    seats: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP:N,…", help="Seats, such as rater_race=White:6,rater_race=Black:6.", rich_help_panel=JURY
        ),
    ] = None,
    census: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Population that jurors are drawn from: counts of crossed groups, or margins in the columns column, "
            "level and count.",
            rich_help_panel=JURY,
        ),
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="MIX",
            help="Named mix that jurors are drawn from: raters, as in training; or an axis, each group alike.",
            rich_help_panel=JURY,
        ),
    ] = None,
    size: Annotated[
        int, typer.Option(metavar="N", min=1, help="Jurors, with --census or --mix.", rich_help_panel=JURY)
    ] = 12,
    at_least: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Minimum share of unsafe votes for an unsafe verdict. Default: 0.5.",
            rich_help_panel=JURY,
        ),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Predict how each group would answer about texts, and the verdicts of a jury.

    Scores are the share of a group that would call the text unsafe, or the probability that a jury would. As csv they
    are scores of models, which dissensus benchmark --scores reads.

    Example: dissensus jury predict items.csv --model jury-model --mix raters --format csv
    """
    # Imported here, so that --help does not import polars.
    from dissensus.cli.jury.display import predictions_page, write_jury_result
    from dissensus.files.models.folder import load_jury_model
    from dissensus.preference.jury.prediction import predict_opinions
    from dissensus.preference.jury.texts import text_of_turns

    kind = result_writer.choose_format(format, output)
    trained = load_jury_model(model)
    jury = _compose_jury(trained, seats, census, mix, size)
    if jury is None and at_least is not None:
        raise InvalidInput("--at-least is the threshold of a jury. Add --seats, --census or --mix, or leave it out.")
    items = list(_read_items(conversations))
    result = predict_opinions(
        trained,
        [item.item_id for item in items],
        [text_of_turns(item.conversation.turns) for item in items],
        jury=jury,
        at_least=0.5 if at_least is None else at_least,
        confidence=confidence,
        seed=seed,
    )
    write_jury_result(result, predictions_page(result), kind, output)


def _read_items(paths: "Sequence[Path]") -> "Iterator[Item]":
    """Yield the items of files, and print their notes; refuse an id that two files share."""
    from dissensus.files.items import read_items

    origin: dict[str, Path] = {}
    for path in paths:
        read = read_items(path)
        for note in read.notes:
            typer.echo(f"Note: {path}: {note}", err=True)
        for item in read.items:
            if origin.setdefault(item.item_id, path) is not path:
                raise InvalidInput(
                    f"Item {item.item_id!r} is in {origin[item.item_id]} and in {path}. Leave one of them out, or give "
                    "items other ids."
                )
            yield item


def _compose_jury(
    model: "JuryModel", seats: str | None, census: Path | None, mix: str | None, size: int
) -> "Jury | None":
    """Return the jury of the options; None without one."""
    from dissensus.cli.model_options import read_populations
    from dissensus.preference.jury.composition import seat_census, seat_groups, seat_mix
    from dissensus.schema.jury import N_SEATS, parse_seats

    if sum(option is not None for option in (seats, census, mix)) > 1:
        raise InvalidInput("A jury has seats, a census or a mix. Give one of --seats, --census and --mix.")
    if size != N_SEATS and census is None and mix is None:
        raise InvalidInput("--size is the number of jurors of --census or --mix. Add one of them, or leave it out.")
    if seats is not None:
        return seat_groups(model, parse_seats(seats))
    if census is not None:
        ((label, table),) = read_populations([census]).items()
        return seat_census(model, table, label, size)
    return None if mix is None else seat_mix(model, mix, size)
