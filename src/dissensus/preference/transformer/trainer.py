"""Fit of a transformer with the transformers Trainer, and its throughput."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.models.encoder import Progress
from dissensus.preference.transformer.extra import silence_warnings
from dissensus.preference.transformer.inference import pad_rows
from dissensus.preference.transformer.plan import TransformerPlan
from dissensus.stats.result import Int32Array

N_LABELS: Final = 3
"""Number of labels of a pair: weight, share and margin."""

_FULL_OPERATIONS = 6
"""Operations per weight and token: two in the forward pass, two each for the gradients of inputs and weight."""

_LORA_OPERATIONS = 4
"""Operations per weight and token if the weight is frozen."""


class TrainingSpeed(NamedTuple):
    """Throughput of a training."""

    n_tokens: int  # Without padding
    seconds: float
    device: str
    n_processes: int  # With one device each

    @classmethod
    def on_device(cls, n_tokens: int, seconds: float, *, device: Any, n_processes: int) -> "TrainingSpeed":
        """Build the throughput of a training from its torch device."""
        import torch

        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        return cls(n_tokens, seconds, name, n_processes)

    def to_card(self, n_weights: int, *, lora: bool, peak_tflops: float | None) -> dict[str, Any]:
        """Return the speed as plain values for the model card.

        Examples
        --------
        >>> speed = TrainingSpeed(10_000, 2.0, "cpu", 1)
        >>> card = speed.to_card(10**9, lora=False, peak_tflops=100.0)
        >>> card["tokens_per_second"], card["model_flops_utilisation"]
        (5000.0, 0.3)
        """
        rate = self.n_tokens / self.seconds
        operations = (_LORA_OPERATIONS if lora else _FULL_OPERATIONS) * n_weights * rate
        utilisation = None if peak_tflops is None else operations / (peak_tflops * 1e12 * self.n_processes)
        return {
            **self._asdict(),
            "tokens_per_second": rate,
            "peak_tflops": peak_tflops,
            "model_flops_utilisation": utilisation,
        }


class TrainerResult(NamedTuple):
    """Trained network and training speed."""

    network: Any
    speed: TrainingSpeed


@dataclass(frozen=True, slots=True, eq=False)
class PairDataset:
    """Data set of tokenised pairs."""

    rows: Sequence[Int32Array]  # Two rows per pair: chosen, rejected
    choices: PairChoices
    pad: int  # Padding token

    def __len__(self) -> int:
        return len(self.choices.weight)

    def __getitem__(self, pair: int) -> Any:
        """Return tokens and labels of a pair."""
        labels = np.array([self.choices.weight[pair], self.choices.share[pair], self.choices.margin[pair]])
        return self.rows[2 * pair], self.rows[2 * pair + 1], labels


def fit_transformer(
    network: Any,
    dataset: PairDataset,
    plan: TransformerPlan,
    *,
    seed: int,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> TrainerResult:
    """Fit the weights of a network to pairs, resuming from a checkpoint if given."""
    from transformers import PrinterCallback, Trainer

    with silence_warnings(), _output_folder(plan) as folder:
        model = network if plan.lora is None else _with_lora(network, plan.lora)
        trainer = Trainer(
            model=model,
            args=_arguments(plan, folder, seed=seed),
            data_collator=lambda examples: _collate(examples, dataset.pad),
            train_dataset=dataset,
            compute_loss_func=loss,
            callbacks=[] if progress is None else [_progress_callback(progress)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.model_accepts_loss_kwargs = False  # The loss is computed outside of the model
        n_tokens_before = _count_tokens_before(checkpoint)
        result = trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    speed = TrainingSpeed.on_device(
        trainer.state.num_input_tokens_seen - n_tokens_before,
        result.metrics["train_runtime"],
        device=trainer.args.device,
        n_processes=trainer.args.world_size,
    )
    return TrainerResult(model if plan.lora is None else model.merge_and_unload(), speed)


def loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
    """Return the mean loss over the pairs of a step; see `preference.data.weighting.PairChoices.loss`."""
    from torch.nn.functional import softplus

    scores = outputs.logits[:, 0].float()
    weight, share, margin = labels.to(scores).unbind(1)
    logits = scores[0::2] - scores[1::2] - margin
    total = (weight * (softplus(-logits) + (1 - share) * logits)).sum()
    return total * N_LABELS / (labels.numel() if num_items_in_batch is None else num_items_in_batch)


def _collate(examples: Sequence[Any], pad: int) -> dict[str, Any]:
    import torch

    rows = [row for chosen, rejected, _ in examples for row in (chosen, rejected)]
    labels = np.stack([labels for *_, labels in examples]).astype(np.float32)
    return {**pad_rows(rows, pad), "labels": torch.from_numpy(labels)}


def _arguments(plan: TransformerPlan, folder: Path, *, seed: int) -> Any:
    import torch
    from transformers import TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(folder),
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
        arguments._n_gpu = 1  # Several GPUs are used through torchrun, with one per process
    return arguments


def _with_lora(network: Any, rank: int) -> Any:
    """Return a network with low-rank adapters on all matrices, and a fully trained head."""
    from peft import LoraConfig, TaskType, get_peft_model

    config = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=rank,
        lora_alpha=2 * rank,
        target_modules="all-linear",
        # GPT-2 stores transposed matrices
        fan_in_fan_out=any(type(layer).__name__ == "Conv1D" for layer in network.modules()),
    )
    return get_peft_model(network, config)


def _progress_callback(progress: Progress) -> Any:
    """Return a trainer callback that reports progress."""
    from transformers import TrainerCallback

    class StepProgress(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Reports the completed share of steps."""

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - its signature
            """Report the completed share."""
            progress(state.global_step / state.max_steps)

    return StepProgress()


@contextmanager
def _output_folder(plan: TransformerPlan) -> Iterator[Path]:
    """Yield the folder for checkpoints, or a temporary one, since the trainer requires a folder."""
    if plan.checkpoints is not None:
        yield plan.checkpoints
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _count_tokens_before(checkpoint: Path | None) -> int:
    from transformers import TrainerState

    if checkpoint is None:
        return 0
    return int(TrainerState.load_from_json(str(checkpoint / "trainer_state.json")).num_input_tokens_seen)
