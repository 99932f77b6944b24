"""Options shared by commands on jury models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dissensus.cli.options import GROUPS, drop_unset
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.preference.data.pairs import Pair
    from dissensus.preference.models.encoder import Encoder
    from dissensus.preference.transformer.plan import TransformerPlan

TRANSFORMERS: Final = "Transformers"

EmbeddingsOption = Annotated[
    bool, typer.Option("--embeddings", help="Add vectors of responses by MiniLM to words (extra embeddings).")
]
TransformerOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Tune a transformer on half of the conversations, and add its vectors of responses to words (extra ml): a "
        "folder of a model of the library transformers, or its name on the hub.",
        rich_help_panel=TRANSFORMERS,
    ),
]
EpochsOption = Annotated[
    float | None,
    typer.Option(metavar="N", help="Number of epochs of --transformer. Default: 1.", rich_help_panel=TRANSFORMERS),
]
LearningRateOption = Annotated[
    float | None,
    typer.Option(
        metavar="RATE", help="Peak learning rate of --transformer. Default: 1e-5.", rich_help_panel=TRANSFORMERS
    ),
]
UnsafeOption = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Answers that call a text unsafe. Default: the last of the scale.")
]
LearnedAxisOption = Annotated[
    list[str] | None,
    typer.Option(metavar="AXIS", help="Axis of raters, such as race; repeatable.", rich_help_panel=GROUPS),
]
LeastRatersOption = Annotated[
    int, typer.Option(metavar="N", min=1, help="Learn groups of N raters or more.", rich_help_panel=GROUPS)
]

JointPairsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--pairs",
        metavar="FILE",
        help="Learn from preference pairs besides the ratings: the chosen response is the safer one; repeatable.",
    ),
]
PairRatersOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Groups of the raters of --pairs: rater_id, and columns such as rater_gender."),
]


def read_joint_pairs(paths: "list[Path] | None", raters: Path | None) -> "tuple[Pair, ...] | None":
    """Read the pairs to learn from besides ratings; None without any."""
    # Imported here, since the readers are large.
    from dissensus.cli.preference.options import infer_purpose, load_pairs
    from dissensus.cli.ratings_options import detect_preferences, read_record_kind

    if not paths:
        if raters is not None:
            raise InvalidInput(
                "--pair-raters has the groups of the raters of --pairs. Add --pairs FILE, or leave it out."
            )
        return None
    for path in paths:
        if path.is_file() and (read_record_kind(path) or detect_preferences(path)) in (None, "red-team"):
            raise InvalidInput(
                f"{path} holds no preference pairs, which --pairs reads: chosen and rejected, or an export of "
                "preferences. Give files of ratings before the options."
            )
    if infer_purpose(paths) == "helpful":
        raise InvalidInput(
            "The pairs of --pairs are about helpful responses. Beside ratings they are about the safer response, since "
            "both teach one scale. Train a model of helpfulness on the pairs alone: dissensus jury train PAIRS."
        )
    return load_pairs(paths, "harmless", raters).pairs


def load_encoder(*, embeddings: bool) -> "Encoder | None":
    """Load MiniLM as the encoder of responses, with --embeddings; else return None."""
    # Imported here, since MiniLM is large.
    from dissensus.preference.models.mini_lm import load_minilm

    return load_minilm() if embeddings else None


def make_plan(base: str | None, options: "dict[str, Any]", others: "dict[str, Any]") -> "TransformerPlan | None":
    """Return the plan of --transformer, or None without it; refuse options that need it, or exclude it (`others`)."""
    # Imported here, since PyTorch is large.
    from dissensus.preference.transformer.extra import check_installed
    from dissensus.preference.transformer.plan import TransformerPlan

    tuning = drop_unset(**options)
    if base is None:
        if tuning:
            raise InvalidInput(
                f"{next(iter(tuning))} is for a transformer. Name its base model, --transformer MODEL, or leave it out."
            )
        return None
    if conflicts := [name for name, value in others.items() if value]:
        raise InvalidInput(
            f"{conflicts[0]} and --transformer exclude each other: a transformer is tuned on ratings, and its vectors "
            "are features besides words alone. Leave one out."
        )
    check_installed("accelerate")
    arguments = {name[2:].replace("-", "_"): value for name, value in tuning.items()}
    return TransformerPlan(base=base, **arguments)
