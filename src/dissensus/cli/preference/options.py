"""Options shared by commands on preference models."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.errors import InvalidInput
from dissensus.files.pairs.reader import ReadPairs
from dissensus.files.pairs.votes import detect_purpose, read_pair_files, read_people
from dissensus.preference.data.pairs import Purpose

PairsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="PAIRS…", help="Pairs, chosen and rejected, as hh-rlhf has them; or preferences.jsonl of an export."
    ),
]
RatersOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Groups of raters: rater_id, and columns such as rater_gender."),
]
PurposeOption = Annotated[
    Literal["helpful", "harmless"] | None,
    typer.Option(help="What people chose by. Default: what the names of file and folder say."),
]
KindOption = Annotated[
    Literal["linear", "mean-variance", "groups", "embedding"],
    typer.Option(
        help="One score for all; how far people differ beside it; how groups and raters depart from all; or one score "
        "by what MiniLM makes of answers too (extra embeddings)."
    ),
]
StrengthOption = Annotated[
    Literal["ignored", "weight", "margin"],
    typer.Option(help="What the strength of a choice does: nothing, count as weight, or ask for a margin."),
]
SoftOption = Annotated[
    bool,
    typer.Option(
        "--soft-labels", help="Each comparison counts once, by the share of its raters; else each rater does."
    ),
]
TrainedKindOption = Annotated[
    Literal["linear", "mean-variance", "groups", "embedding", "transformer"],
    typer.Option(
        help="One score for all; how far people differ beside it; how groups and raters depart from all; one score by "
        "what MiniLM makes of answers too (extra embeddings); or a transformer, which reads what was said before "
        "(extra ml)."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Let a model of one purpose judge the other.")]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the folds.")]
ModelOption = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder of a trained model, or the address of one that is served.")
]


def load_pairs(paths: list[Path], purpose: Purpose | None = None, raters: Path | None = None) -> ReadPairs:
    """Read pairs, and print notes on those left out."""
    found = read_pair_files(paths, purpose=purpose, people=None if raters is None else read_people(raters))
    for note in found.notes:
        typer.echo(f"Note: {note}", err=True)
    return found


def infer_purpose(paths: list[Path]) -> Purpose | None:
    """Infer from file names what people chose by; None where they do not say."""
    told = {detect_purpose(path) for path in paths}
    if len(told - {None}) > 1:
        raise InvalidInput("Some files are of what is helpful and some of what is harmless. Take one kind at a time.")
    return told.pop() if len(told) == 1 else None
