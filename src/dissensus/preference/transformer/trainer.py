"""Fit of a transformer by the transformers Trainer and our loss."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dissensus.preference.fit.linear import Progress
from dissensus.preference.fit.logistic import PairChoices
from dissensus.preference.transformer.extra import silence_warnings
from dissensus.preference.transformer.inference import pad_rows
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.preference.transformer.speed import TrainingSpeed
from dissensus.preference.transformer.tokens import Row

OF_PAIR = 3
"""Numbers that a pair counts for: weight, share and margin."""


class TrainerResult(NamedTuple):
    """A network with its weights, and how quickly they came."""

    network: Any
    speed: TrainingSpeed


@dataclass(frozen=True, slots=True, eq=False)
class TokenCounter:
    """Pairs as a network sees them.

    Rows of the chosen and the rejected answers in turn, what each pair counts for, and the token that fills up rows.
    """

    rows: Sequence[Row]
    choices: PairChoices
    pad: int

    def __len__(self) -> int:
        return len(self.choices.weight)

    def __getitem__(self, pair: int) -> Any:
        """Return one of them."""
        counts = np.array([self.choices.weight[pair], self.choices.share[pair], self.choices.margin[pair]])
        return self.rows[2 * pair], self.rows[2 * pair + 1], counts


def fit_transformer(
    network: Any,
    seen: TokenCounter,
    plan: TransformerPlan,
    *,
    seed: int,
    last: Path | None = None,
    progress: Progress | None = None,
) -> TrainerResult:
    """Fit the weights to pairs."""
    from transformers import PrinterCallback, Trainer

    with silence_warnings(), _place(plan) as place:
        trained = network if plan.lora is None else _with_lora(network, plan.lora)
        trainer = Trainer(
            model=trained,
            args=_arguments(plan, place, seed=seed),
            data_collator=lambda some: _batch(some, seen.pad),
            train_dataset=seen,
            compute_loss_func=loss,
            callbacks=[] if progress is None else [_telling(progress)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.model_accepts_loss_kwargs = False  # the loss is ours
        before = _tokens_before(last)
        found = trainer.train(resume_from_checkpoint=None if last is None else str(last))
    speed = TrainingSpeed.of(
        trainer.state.num_input_tokens_seen - before,
        found.metrics["train_runtime"],
        device=trainer.args.device,
        n_processes=trainer.args.world_size,
    )
    return TrainerResult(trained if plan.lora is None else trained.merge_and_unload(), speed)


def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
    """Return the mean loss over the pairs of a step, as `preference.fit.logistic.PairChoices.loss` defines it."""
    from torch.nn.functional import softplus

    scores = outputs.logits[:, 0].float()
    weight, share, margin = labels.to(scores).unbind(1)
    odds = scores[0::2] - scores[1::2] - margin
    total = (weight * (softplus(-odds) + (1 - share) * odds)).sum()
    return total * OF_PAIR / (labels.numel() if num_items_in_batch is None else num_items_in_batch)


def _batch(some: Sequence[Any], pad: int) -> dict[str, Any]:
    import torch

    rows = [row for chosen, rejected, _ in some for row in (chosen, rejected)]
    counts = np.stack([counts for *_, counts in some]).astype(np.float32)
    return {**pad_rows(rows, pad), "labels": torch.from_numpy(counts)}


def _arguments(plan: TransformerPlan, place: Path, *, seed: int) -> Any:
    import torch
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(place),
        num_train_epochs=plan.epochs,
        per_device_train_batch_size=plan.batch,
        gradient_accumulation_steps=plan.accumulate,
        learning_rate=plan.rate,
        lr_scheduler_type=plan.schedule,
        warmup_steps=plan.warm_up,
        max_grad_norm=plan.clip,
        bf16=bool(plan.bf16),
        use_cpu=not torch.cuda.is_available(),
        seed=seed,
        data_seed=seed,
        save_strategy="no" if plan.checkpoints is None else "steps",
        save_steps=plan.checkpoint_every,
        save_total_limit=2,
        logging_strategy="no",
        include_num_input_tokens_seen="non_padding",
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=True,
        report_to="none",
    )
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1  # several GPUs are for torchrun, where a process has one and the loss is that of all
    return arguments


def _with_lora(network: Any, rank: int) -> Any:
    """Return a network of which low-rank changes of all matrices are trained, and the whole of its head."""
    from peft import LoraConfig, TaskType, get_peft_model

    names = [name for name, layer in network.named_modules() if type(layer).__name__ == "Conv1D"]
    config = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=rank,
        lora_alpha=2 * rank,
        target_modules="all-linear",
        fan_in_fan_out=bool(names),  # as GPT-2 has its matrices
    )
    return get_peft_model(network, config)


def _telling(progress: Progress) -> Any:
    """Return what tells the trainer's steps."""
    from transformers import TrainerCallback

    class Telling(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Tells the share of steps that is done."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - its signature
            """Tell it."""
            progress(state.global_step / state.max_steps)

    return Telling()


@contextmanager
def _place(plan: TransformerPlan) -> Iterator[Path]:
    """Give the trainer a folder, which it wants even for nothing."""
    if plan.checkpoints is not None:
        yield plan.checkpoints
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _tokens_before(last: Path | None) -> int:
    from transformers import TrainerState

    if last is None:
        return 0
    return int(TrainerState.load_from_json(str(last / "trainer_state.json")).num_input_tokens_seen)
