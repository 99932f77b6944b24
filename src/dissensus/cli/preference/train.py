"""`dissensus preference train`: fit a preference model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import drop_unset
from dissensus.cli.preference import transformer as transformer_options
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
from dissensus.files.models.folder import make_model_folder, save_model
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
    base: transformer_options.BaseOption = None,
    max_length: transformer_options.MaxLengthOption = None,
    epochs: transformer_options.EpochsOption = None,
    batch: transformer_options.BatchOption = None,
    accumulate: transformer_options.AccumulateOption = None,
    learning_rate: transformer_options.LearningRateOption = None,
    schedule: transformer_options.ScheduleOption = None,
    lora: transformer_options.LoraOption = None,
    bf16: transformer_options.Bf16Option = None,
    checkpoint_every: transformer_options.CheckpointOption = None,
    resume: transformer_options.ResumeOption = None,
    peak_tflops: transformer_options.PeakOption = None,
) -> None:
    """Train a model on pairs or on the preferences of each person, and write it as a folder with its card.

    To train a transformer on several GPUs: torchrun --nproc-per-node 8 -m dissensus preference train …

    Example: dissensus preference train export/preferences.jsonl --raters export/red-teamers.jsonl --kind groups -o m
    """
    options = drop_unset(
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
    known_purpose = purpose or infer_purpose(pairs)
    if known_purpose is None:
        raise InvalidInput("The criterion of the choices is unknown. Give --purpose harmless or --purpose helpful.")
    plan = _make_plan(kind, Weighting(strength=strength, soft=soft_labels), output, options)
    read = load_pairs(pairs, known_purpose, raters)
    make_model_folder(output)
    with result_writer.progress_bar("Training") as progress:
        training = {"purpose": known_purpose, "excluded": read.excluded, "seed": seed, "progress": progress}
        card = _train_and_save(plan, read.pairs, output, **training)
    if not is_first_process():
        return
    held_out = card["held_out"]
    accuracy = "{estimate:.3f} [{ci_low:.3f}, {ci_high:.3f}]".format(**held_out["accuracy"])
    typer.echo(
        f"Trained on {card['n_pairs']:,} pairs of {card['n_dialogues']:,} dialogues. On "
        f"{held_out['accuracy']['n']:,} pairs held out: accuracy {accuracy}, log-loss {held_out['log_loss']:.3f}, "
        f"length alone {held_out['length_alone']['estimate']:.3f}.{_describe_differences(card)}"
    )
    typer.echo(f"Wrote {output}.", err=True)


def _make_plan(
    kind: KindOfModel | Literal["transformer"], weighting: Weighting, output: Path, options: dict[str, Any]
) -> TrainingPlan | TransformerPlan:
    """Return the training plan of a kind of model; refuse options of transformers for other kinds."""
    if kind == "transformer":
        return transformer_options.make_transformer_plan(weighting, output, options)
    transformer_options.refuse_transformer_options(options, kind)
    return TrainingPlan.for_kind(kind, weighting)


def _train_and_save(
    plan: TrainingPlan | TransformerPlan, pairs: Sequence[Pair], output: Path, **options: Any
) -> dict[str, Any]:
    """Train and save a model, and return its card."""
    if not isinstance(plan, TrainingPlan):
        return transformer_options.train_and_save(plan, pairs, output, **options)
    model = train_model(pairs, plan=plan, **options)
    save_model(model, output)
    return model.card


def _describe_differences(card: dict[str, Any]) -> str:
    """Return a sentence on the variance or the differences of groups that the model found, if its kind has them."""
    held_out = card["held_out"]
    if "r_squared" in held_out:
        return f" Of all variance {held_out['r_squared']:.2f} lies between answers (r²)."
    if "by_group" not in held_out:
        return ""
    axes = ", ".join(card["settings"]["effect_penalties"])
    return f" Differences were found on: {axes}." if axes else " No differences between groups or raters were found."
