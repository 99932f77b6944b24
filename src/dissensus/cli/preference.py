"""`dissensus preference`: models of which answers people choose."""

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dissensus.cli import writing
from dissensus.cli.writing import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.files.pairs import ReadPairs
    from dissensus.preference.evaluation import Evaluation
    from dissensus.preference.pairs import Purpose

app = typer.Typer(no_args_is_help=True, help="Train, evaluate and use models of which answers people choose.")

PairsArgument = Annotated[
    list[Path], typer.Argument(metavar="PAIRS…", help="Pairs: chosen and rejected, as hh-rlhf has them.")
]
PurposeOption = Annotated[
    Literal["helpful", "harmless"] | None,
    typer.Option(help="What people chose by. Default: what the names of file and folder say."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Let a model of one purpose judge the other.")]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the folds.")]
ModelOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of a trained model.")]


@app.command("train")
def train(
    pairs: PairsArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", "--out", metavar="DIR", help="Folder to write the model to.")
    ],
    purpose: PurposeOption = None,
    seed: SeedOption = 0,
) -> None:
    """Train a model on pairs, and write it as a folder with its card.

    Example: dissensus preference train harmless-base/train.jsonl.gz --purpose harmless -o harmless-model
    """
    from dissensus.files.model_folder import make_folder, save_model
    from dissensus.preference.training import train

    known = purpose or _told(pairs)
    if known is None:
        raise InvalidInput("It is not known what people chose by. Say --purpose harmless or --purpose helpful.")
    make_folder(output)
    found = _read(pairs)
    with writing.progress("Training") as progress:
        model = train(found.pairs, purpose=known, excluded=found.excluded, seed=seed, progress=progress)
    save_model(model, output)
    held = model.card["held_out"]
    accuracy = "{estimate:.3f} [{ci_low:.3f}, {ci_high:.3f}]".format(**held["accuracy"])
    typer.echo(
        f"Trained on {len(found.pairs):,} pairs of {model.card['n_dialogues']:,} dialogues. On "
        f"{held['accuracy']['n']:,} pairs held out: accuracy {accuracy}, log-loss {held['log_loss']:.3f}, length alone "
        f"{held['length_alone']['estimate']:.3f}."
    )
    typer.echo(f"Wrote {output}.", err=True)


@app.command("evaluate")
def evaluate(
    pairs: PairsArgument,
    model: ModelOption = None,
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Instead of a model: train and test on N folds of dialogues."),
    ] = None,
    purpose: PurposeOption = None,
    force: ForceOption = False,
    level: Annotated[float, typer.Option(metavar="SHARE", help="Confidence level.")] = 0.95,
    seed: SeedOption = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Tell how often a model agrees with what people chose, and how well it knows.

    Example: dissensus preference evaluate harmless-base/test.jsonl.gz --model harmless-model
    """
    from dissensus.cli.preference_page import page, slices_csv

    if (model is None) == (folds is None):
        raise InvalidInput("Give --model DIR to test a model, or --folds N to train and test one on the same pairs.")
    kind = writing.chosen(format, output)
    writing.check(output)
    if model is not None:
        found = _of_model(pairs, model, purpose or _told(pairs), force=force, level=level)
    else:
        found = _of_folds(pairs, folds or 0, level=level, seed=seed)
    if kind is Format.TABLE:
        writing.write_pages([page(found)], output)
    elif kind is Format.JSON:
        values = {"schema_version": 1, **found.to_dict()}
        writing.write(json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False), output)
    else:
        writing.write(slices_csv(found), output)


@app.command("score")
def score(
    conversations: Annotated[
        Path, typer.Argument(metavar="FILE", help="Conversations: columns transcript, turns, messages or response.")
    ],
    model: Annotated[Path, typer.Option(metavar="DIR", help="Folder of a trained model.")],
    purpose: PurposeOption = None,
    force: ForceOption = False,
    output: OutputOption = None,
) -> None:
    """Score each turn of the bot in each conversation: a row for each, as csv.

    Example: dissensus preference score attempts.jsonl --model harmless-model -o scores.csv
    """
    from dissensus.files.conversations import read, told
    from dissensus.files.model_folder import load_model
    from dissensus.files.tables import named, read_frame

    trained = load_model(model)
    trained.check_purpose(purpose or trained.purpose, force=force)
    writing.check(output)
    frame = read_frame(conversations)
    with named(conversations):
        columns = told(frame.columns)
        if len(columns) > 1 and columns[0] == "chosen":
            raise InvalidInput("These are pairs, which have two conversations a row: dissensus preference evaluate.")
        column = read(frame.select(columns))
    scores = trained.score(held.conversation for held in column.held)
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("row", "bot_turn", "score"))
    for row, place in enumerate(column.which.to_list(), start=1):
        rows.writerows((row, turn, value) for turn, value in enumerate(scores[place], start=1))
    writing.write(out.getvalue(), output)


def _of_model(pairs: list[Path], folder: Path, purpose: "Purpose | None", *, force: bool, level: float) -> "Evaluation":
    from dissensus.files.model_folder import load_model
    from dissensus.preference.evaluation import evaluate
    from dissensus.preference.linear import length_margins

    trained = load_model(folder)
    trained.check_purpose(purpose or trained.purpose, force=force)
    found = _read(pairs)
    return evaluate(found.pairs, trained.margins(found.pairs), length_margins(trained, found.pairs), level=level)


def _of_folds(pairs: list[Path], folds: int, *, level: float, seed: int) -> "Evaluation":
    from dissensus.preference.evaluation import evaluate
    from dissensus.preference.training import cross_validate

    found = _read(pairs)
    with writing.progress("Training") as progress:
        tested = cross_validate(found.pairs, n_folds=folds, seed=seed, progress=progress)
    return evaluate(found.pairs, tested.margins, tested.length, level=level)


def _read(paths: list[Path]) -> "ReadPairs":
    from dissensus.files.pairs import read_all

    found = read_all(paths)
    for note in found.notes:
        typer.echo(f"Note: {note}", err=True)
    return found


def _told(paths: list[Path]) -> "Purpose | None":
    """Return what the names of all files say; None where they say nothing, or one says otherwise than another."""
    from dissensus.files.pairs import purpose_of

    told = {purpose_of(path) for path in paths}
    if len(told - {None}) > 1:
        raise InvalidInput("Some files are of what is helpful and some of what is harmless. Take one kind at a time.")
    return told.pop() if len(told) == 1 else None
