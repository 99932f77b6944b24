"""Options shared by commands on preference models."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.errors import InvalidInput
from dissensus.files.pairs.reader import ReadPairs
from dissensus.files.pairs.votes import detect_purpose, read_pair_files, read_people
from dissensus.preference.data.pairs import Purpose

SCORE_KEY = "DISSENSUS_SCORE_KEY"
"""Environment variable with the bearer token of a scoring service."""

PairsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="PAIRS…", help="Pairs in the format of hh-rlhf, or preferences.jsonl of an export."),
]
RatersOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Groups of raters: rater_id, and columns such as rater_gender."),
]
PurposeOption = Annotated[
    Literal["helpful", "harmless"] | None,
    typer.Option(help="Criterion of the choices. Default: from the names of file and folder."),
]
KindOption = Annotated[
    Literal["linear", "mean-variance", "groups", "embedding"],
    typer.Option(
        help="linear: one score; mean-variance: score and disagreement; groups: effects of groups and raters; "
        "embedding: with MiniLM vectors (extra embeddings)."
    ),
]
StrengthOption = Annotated[
    Literal["ignored", "weight", "margin"],
    typer.Option(help="Use of the strength of a choice: none, weight or margin."),
]
SoftOption = Annotated[
    bool,
    typer.Option(
        "--soft-labels", help="Count each comparison once, by the shares of its raters, instead of once for each rater."
    ),
]
TrainedKindOption = Annotated[
    Literal["linear", "mean-variance", "groups", "embedding", "transformer"],
    typer.Option(
        help="linear: one score; mean-variance: score and disagreement; groups: effects of groups and raters; "
        "embedding: with MiniLM vectors (extra embeddings); transformer: reads the whole conversation (extra ml)."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Apply a model of one purpose to the other.")]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the folds.")]
ModelOption = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder of a trained model, or the URL of a served one.")
]


def load_pairs(paths: list[Path], purpose: Purpose | None = None, raters: Path | None = None) -> ReadPairs:
    """Read pairs, and print notes on those that are left out."""
    read = read_pair_files(paths, purpose=purpose, people=None if raters is None else read_people(raters))
    for note in read.notes:
        typer.echo(f"Note: {note}", err=True)
    return read


def infer_purpose(paths: list[Path]) -> Purpose | None:
    """Infer the purpose from the names of files and folders; None unless all files name it."""
    purposes = {detect_purpose(path) for path in paths}
    if len(purposes - {None}) > 1:
        raise InvalidInput("Some files are about helpful and some about harmless responses. Give files of one purpose.")
    return purposes.pop() if len(purposes) == 1 else None
