"""`dissensus preference train`: fit a preference model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.preference import transformer as of_transformer
from dissensus.cli.preference.options import (
    PairsArgument,
    PurposeOption,
    RatersOption,
    SeedOption,
    SoftOption,
    StrengthOption,
    TrainedKindOption,
    infer_purpose,
    load_pairs,
)
from dissensus.errors import InvalidInput
from dissensus.files.models.folder import make_folder, save_model
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.fit.training import TrainingPlan
from dissensus.preference.fit.training import train as train_model
from dissensus.preference.models.kinds import KindOfModel
from dissensus.preference.transformer.extra import is_first_process
from dissensus.preference.transformer.plan import TransformerPlan


def train(
    pairs: PairsArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", "--out", metavar="DIR", help="Folder to write the model to.")
    ],
    purpose: PurposeOption = None,
    kind: TrainedKindOption = "linear",
    strength: StrengthOption = "ignored",
    soft_labels: SoftOption = False,
    raters: RatersOption = None,
    seed: SeedOption = 0,
    base: of_transformer.BaseOption = None,
    max_length: of_transformer.MaxLengthOption = None,
    epochs: of_transformer.EpochsOption = None,
    batch: of_transformer.BatchOption = None,
    accumulate: of_transformer.AccumulateOption = None,
    learning_rate: of_transformer.LearningRateOption = None,
    schedule: of_transformer.ScheduleOption = None,
    lora: of_transformer.LoraOption = None,
    bf16: of_transformer.Bf16Option = None,
    checkpoint_every: of_transformer.CheckpointOption = None,
    resume: of_transformer.ResumeOption = None,
    peak_tflops: of_transformer.PeakOption = None,
) -> None:
    """Train a model on pairs, or on what each person said of them, and write it as a folder with its card.

    Several GPUs train a transformer through torchrun --nproc-per-node 8 -m dissensus preference train and so on.

    Example: dissensus preference train export/preferences.jsonl --raters export/red-teamers.jsonl --kind groups -o m
    """
    options = of_transformer.given_options(
        base=base,
        max_length=max_length,
        epochs=epochs,
        batch=batch,
        accumulate=accumulate,
        learning_rate=learning_rate,
        schedule=schedule,
        lora=lora,
        bf16=bf16,
        checkpoint_every=checkpoint_every,
        resume=resume,
        peak_tflops=peak_tflops,
    )
    known = purpose or infer_purpose(pairs)
    if known is None:
        raise InvalidInput("It is not known what people chose by. Say --purpose harmless or --purpose helpful.")
    plan = _plan(kind, Weighting(strength=strength, soft=soft_labels), output, options)
    make_folder(output)
    found = load_pairs(pairs, known, raters)
    with result_writer.progress_bar("Training") as progress:
        asked = {"purpose": known, "excluded": found.excluded, "seed": seed, "progress": progress}
        card = _trained(plan, found.pairs, output, **asked)
    if not is_first_process():
        return
    held = card["held_out"]
    accuracy = "{estimate:.3f} [{ci_low:.3f}, {ci_high:.3f}]".format(**held["accuracy"])
    typer.echo(
        f"Trained on {card['n_pairs']:,} pairs of {card['n_dialogues']:,} dialogues. On "
        f"{held['accuracy']['n']:,} pairs held out: accuracy {accuracy}, log-loss {held['log_loss']:.3f}, length alone "
        f"{held['length_alone']['estimate']:.3f}.{_more(card)}"
    )
    typer.echo(f"Wrote {output}.", err=True)


def _plan(
    kind: KindOfModel | Literal["transformer"], counting: Weighting, output: Path, options: dict[str, Any]
) -> TrainingPlan | TransformerPlan:
    """Return the training plan."""
    if kind == "transformer":
        return of_transformer.make_transformer_plan(counting, output, options)
    of_transformer.refuse_transformer_options(options, kind)
    return TrainingPlan.of(kind, counting)


def _trained(plan: TrainingPlan | TransformerPlan, pairs: Sequence[Pair], output: Path, **asked: Any) -> dict[str, Any]:
    """Train and save a model, and return its card."""
    if not isinstance(plan, TrainingPlan):
        return of_transformer.train_and_save(plan, pairs, output, **asked)
    model = train_model(pairs, plan=plan, **asked)
    save_model(model, output)
    return model.card


def _more(card: dict[str, Any]) -> str:
    """Describe the differences that the model found."""
    held = card["held_out"]
    if "r_squared" in held:
        return f" Of all variance {held['r_squared']:.2f} lies between answers (r²)."
    if "by_group" not in held:
        return ""
    axes = ", ".join(card["settings"]["effect_penalties"])
    return f" Differences were found on: {axes}." if axes else " No differences between groups or raters were found."
