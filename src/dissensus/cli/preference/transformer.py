"""Options of `dissensus preference train` for transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dissensus.errors import InvalidInput
from dissensus.files.models.folder import save_model
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.transformer.checkpoints import delete_checkpoints
from dissensus.preference.transformer.extra import check_installed, is_first_process
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.preference.transformer.training import train_transformer

PANEL = "Transformers"

BaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Train from this: a folder of a model of the library transformers, or its name on the hub.",
        rich_help_panel=PANEL,
    ),
]
MaxLengthOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Tokens that are read, the last ones. Default: 1024, or as many as the model takes.",
        rich_help_panel=PANEL,
    ),
]
EpochsOption = Annotated[
    float | None, typer.Option(metavar="N", help="How often each pair is seen. Default: 1.", rich_help_panel=PANEL)
]
BatchOption = Annotated[
    int | None, typer.Option(metavar="N", help="Pairs at a time on each device. Default: 16.", rich_help_panel=PANEL)
]
AccumulateOption = Annotated[
    int | None, typer.Option(metavar="N", help="So many of these make a step. Default: 1.", rich_help_panel=PANEL)
]
LearningRateOption = Annotated[
    float | None,
    typer.Option(metavar="RATE", help="The highest one. Default: 1e-5, with LoRA 1e-4.", rich_help_panel=PANEL),
]
ScheduleOption = Annotated[
    Literal["cosine", "linear"] | None,
    typer.Option(help="How it falls, after it rose for 5 % of steps. Default: cosine.", rich_help_panel=PANEL),
]
LoraOption = Annotated[
    int | None,
    typer.Option(metavar="RANK", help="Train changes of this rank alone, and the head.", rich_help_panel=PANEL),
]
Bf16Option = Annotated[
    bool | None,
    typer.Option("--bf16/--no-bf16", help="Compute in bfloat16. Default: where a GPU can.", rich_help_panel=PANEL),
]
CheckpointOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="A checkpoint after every N steps. Default: 500.", rich_help_panel=PANEL),
]
ResumeOption = Annotated[
    bool | None, typer.Option("--resume", help="Go on where training was interrupted.", rich_help_panel=PANEL)
]
PeakOption = Annotated[
    float | None,
    typer.Option(
        metavar="N", help="Peak of the device in TFLOP/s, to tell how much of it was used.", rich_help_panel=PANEL
    ),
]


def given_options(**options: Any) -> dict[str, Any]:
    """Return the options above that were set."""
    return {name: value for name, value in options.items() if value is not None}


def make_transformer_plan(counting: Weighting, output: Path, options: dict[str, Any]) -> TransformerPlan:
    """Return the training plan; checkpoints lie beside the folder of the model."""
    if "base" not in options:
        raise InvalidInput(
            "A transformer is trained from another model. Name the folder of one, or one of the hub: --base MODEL"
        )
    plan = TransformerPlan(counting=counting, checkpoints=_beside(output), **options)
    check_installed("accelerate")
    return plan


def _beside(output: Path) -> Path:
    folder = output.resolve()
    return folder.parent / f"{folder.name}.partial"


def train_and_save(plan: TransformerPlan, pairs: Sequence[Pair], output: Path, **asked: Any) -> dict[str, Any]:
    """Train a transformer, save it in the first process, and return its card."""
    model = train_transformer(pairs, plan=plan, **asked)
    if is_first_process():
        save_model(model, output)
        delete_checkpoints(plan)
    return model.card


def refuse_transformer_options(options: dict[str, Any], kind: str) -> None:
    """Refuse transformer options for other kinds of model."""
    if options:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise InvalidInput(f"{named}: this is for --kind transformer, and the model is to be {kind}. Leave it out.")
