"""Options and training of transformers in `dissensus preference train`."""

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
        help="Base model: a folder of a model of the library transformers, or its name on the hub.",
        rich_help_panel=PANEL,
    ),
]
MaxLengthOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Maximum number of tokens; longer texts lose their beginning. Default: 1024, or the limit of the model.",
        rich_help_panel=PANEL,
    ),
]
EpochsOption = Annotated[
    float | None, typer.Option(metavar="N", help="Number of epochs. Default: 1.", rich_help_panel=PANEL)
]
BatchOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Batch size on each device, in pairs. Default: 16.", rich_help_panel=PANEL),
]
AccumulateOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Batches per step (gradient accumulation). Default: 1.", rich_help_panel=PANEL),
]
LearningRateOption = Annotated[
    float | None,
    typer.Option(metavar="RATE", help="Peak learning rate. Default: 1e-5, with LoRA 1e-4.", rich_help_panel=PANEL),
]
ScheduleOption = Annotated[
    Literal["cosine", "linear"] | None,
    typer.Option(help="Decay of the learning rate, after 5 % warm-up. Default: cosine.", rich_help_panel=PANEL),
]
LoraOption = Annotated[
    int | None,
    typer.Option(metavar="RANK", help="Train LoRA adapters of this rank, and the head.", rich_help_panel=PANEL),
]
Bf16Option = Annotated[
    bool | None,
    typer.Option(
        "--bf16/--no-bf16", help="Compute in bfloat16. Default: if the GPU supports it.", rich_help_panel=PANEL
    ),
]
CheckpointOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Write a checkpoint after every N steps. Default: 500.", rich_help_panel=PANEL),
]
ResumeOption = Annotated[
    bool | None, typer.Option("--resume", help="Continue an interrupted training.", rich_help_panel=PANEL)
]
PeakOption = Annotated[
    float | None,
    typer.Option(metavar="N", help="Peak of the device in TFLOP/s, to report its utilisation.", rich_help_panel=PANEL),
]


def make_transformer_plan(weighting: Weighting, output: Path, options: dict[str, Any]) -> TransformerPlan:
    """Return the training plan; checkpoints are beside the folder of the model."""
    if "base" not in options:
        raise InvalidInput("A transformer needs a base model. Give its folder, or its name on the hub: --base MODEL")
    plan = TransformerPlan(weighting=weighting, checkpoints=_checkpoint_folder(output), **options)
    check_installed("accelerate")
    return plan


def _checkpoint_folder(output: Path) -> Path:
    folder = output.resolve()
    return folder.parent / f"{folder.name}.partial"


def train_and_save(plan: TransformerPlan, pairs: Sequence[Pair], output: Path, **options: Any) -> dict[str, Any]:
    """Train a transformer, save it in the first process, and return its card."""
    model = train_transformer(pairs, plan=plan, **options)
    if is_first_process():
        save_model(model, output)
        delete_checkpoints(plan)
    return model.card


def refuse_transformer_options(options: dict[str, Any], kind: str) -> None:
    """Refuse transformer options for other kinds of model."""
    if options:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in options)
        raise InvalidInput(f"{names}: only for --kind transformer, but the kind is {kind}. Leave it out.")
