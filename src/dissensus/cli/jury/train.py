"""`dissensus jury train`: fit a jury model."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli.jury.options import (
    EmbeddingsOption,
    LearnedAxisOption,
    LeastRatersOption,
    UnsafeOption,
    pick_encoder,
)
from dissensus.cli.options import CrossOption
from dissensus.cli.ratings_options import split_categories, with_ratings_options

if TYPE_CHECKING:
    from dissensus.schema.ratings.table import Ratings


@partial(with_ratings_options, later=True)
def train(
    reading: "partial[Ratings]",
    output: Annotated[
        Path, typer.Option("-o", "--output", "--out", metavar="DIR", help="Folder to write the model to.")
    ],
    by: LearnedAxisOption = None,
    cross: CrossOption = None,
    unsafe: UnsafeOption = None,
    min_raters: LeastRatersOption = 5,
    embeddings: EmbeddingsOption = False,
) -> None:
    """Train a model of the answers of people to texts, by group, and write it as a folder with its card.

    Items need texts: columns response and context, or item_text, as --items FILE joins them.

    Example: dissensus jury train ratings.csv --items items.csv --by race --by gender -o jury-model
    """
    # Imported here, so that --help does not import polars.
    from dissensus.files.models.folder import make_folder, save_model
    from dissensus.preference.jury.training import train_jury

    encoder = pick_encoder(embeddings=embeddings)
    make_folder(output)
    model = train_jury(
        reading(),
        unsafe=split_categories(unsafe),
        by=[*(by or ()), *(cross or ())],
        min_raters=min_raters,
        encoder=encoder,
    )
    save_model(model, output)
    for note in model.card["notes"]:
        typer.echo(f"Note: {note}", err=True)
    groups = ", ".join(f"{len(names)} of {axis}" for axis, names in model.axes.items()) or "none"
    typer.echo(
        f"Trained on {model.card['n_ratings']:,} answers to {model.question} about {model.card['n_items']:,} items. "
        f"Groups: {groups}. Measure it on conversations held out: dissensus jury evaluate."
    )
    typer.echo(f"Wrote {output}.", err=True)
