"""`dissensus jury train`: fit a jury model."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.jury.options import (
    TRANSFORMERS,
    EmbeddingsOption,
    EpochsOption,
    JointPairsOption,
    LearnedAxisOption,
    LearningRateOption,
    LeastRatersOption,
    PairRatersOption,
    TransformerOption,
    UnsafeOption,
    load_encoder,
    make_plan,
    read_joint_pairs,
)
from dissensus.cli.lazy_group import LazyCommand
from dissensus.cli.options import CrossOption
from dissensus.cli.ratings_options import split_categories, with_ratings_options
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.preference.jury.model import JuryModel
    from dissensus.schema.ratings.table import Ratings


@partial(with_ratings_options, pairs=LazyCommand("dissensus.cli.jury.pairs", "train_on_pairs", ""))
def train(
    load: "partial[Ratings]",
    output: Annotated[
        Path, typer.Option("-o", "--output", "--out", metavar="DIR", help="Folder to write the model to.")
    ],
    by: LearnedAxisOption = None,
    cross: CrossOption = None,
    unsafe: UnsafeOption = None,
    min_raters: LeastRatersOption = 5,
    purpose: Annotated[
        Literal["helpful", "harmless"] | None,
        typer.Option(help="Criterion of preference pairs. Default: from the names of file and folder."),
    ] = None,
    embeddings: EmbeddingsOption = False,
    pairs: JointPairsOption = None,
    pair_raters: PairRatersOption = None,
    transformer: TransformerOption = None,
    epochs: EpochsOption = None,
    learning_rate: LearningRateOption = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Seed of --transformer. Default: 0.", rich_help_panel=TRANSFORMERS),
    ] = None,
) -> None:
    """Train a model that predicts the answers of groups of raters to texts, and write it as a folder with its card.

    Items need texts: columns response and context, or item_text, as --items FILE joins them. Files of preference pairs
    are read too; --raters FILE has the groups of their raters. With --pairs FILE a model learns from ratings and pairs.

    Example: dissensus jury train ratings.csv --items items.csv --by race --by gender -o jury-model
    """
    # Imported here, so that --help does not import polars.
    from dissensus.files.models.folder import make_model_folder
    from dissensus.preference.jury.joint import fit_joint_jury, read_joint_answers
    from dissensus.preference.jury.training import fit_jury, read_jury_ratings
    from dissensus.preference.jury.transformer import fit_transformer_jury

    if purpose is not None:
        raise InvalidInput("--purpose is the criterion of preference pairs, and ratings are read here. Leave it out.")
    options = {"--epochs": epochs, "--learning-rate": learning_rate}
    plan = make_plan(transformer, options, {"--embeddings": embeddings, "--pairs": pairs})
    if plan is None and seed is not None:
        raise InvalidInput("--seed is that of --transformer; nothing else is drawn at random. Leave it out.")
    encoder = load_encoder(embeddings=embeddings)
    joint_pairs = read_joint_pairs(pairs, pair_raters)
    reading_options: dict[str, Any] = {
        "unsafe": split_categories(unsafe),
        "by": [*(by or ()), *(cross or ())],
        "min_raters": min_raters,
    }
    if joint_pairs is None:
        ratings = read_jury_ratings(load(), **reading_options)
        make_model_folder(output)
        if plan is None:
            model = fit_jury(ratings, encoder=encoder)
        else:
            with result_writer.progress_bar("Tuning") as progress:
                model = fit_transformer_jury(ratings, plan, seed=seed or 0, progress=progress)
    else:
        answers = read_joint_answers(load(), joint_pairs, **reading_options)
        make_model_folder(output)
        model = fit_joint_jury(answers, encoder=encoder)
    save_jury_model(model, output, "items")


def save_jury_model(model: "JuryModel", output: Path, unit: str) -> None:
    """Write a model, and print its notes and its numbers of answers; `unit` names what they are about."""
    from dissensus.files.models.folder import save_model

    save_model(model, output)
    for note in model.card["notes"]:
        typer.echo(f"Note: {note}", err=True)
    groups = ", ".join(f"{len(names)} of {axis}" for axis, names in model.axes.items()) or "none"
    card, choices = model.card, ""
    if "n_choices" in card:
        choices = f", and {card['n_choices']:,} choices between responses (scale {card['choice_scale']:.2f})"
    typer.echo(
        f"Trained on {model.card['n_ratings']:,} answers to {model.question} about {model.card['n_items']:,} {unit}"
        f"{choices}. Groups: {groups}. Measure it on conversations held out: dissensus jury evaluate."
    )
    typer.echo(f"Wrote {output}.", err=True)
