"""Plan of a transformer training."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from dissensus.errors import InvalidInput
from dissensus.preference.data.weighting import Weighting
from dissensus.schema.hints import format_list, format_value, suggest

Schedule = Literal["cosine", "linear"]
SCHEDULES: Final[tuple[str, ...]] = get_args(Schedule)

MAX_LENGTH: Final = 1024
"""Tokens that are read where nothing else is said and the base reads as many; as many as the HH paper reads."""

RATE: Final = 1e-5
RATE_LORA: Final = 1e-4
"""Learning rates where none is given, for all weights and for LoRA."""

_WHOLE = ("max_length", "batch", "accumulate", "lora", "checkpoint_every")
_ABOVE_0 = ("epochs", "learning_rate", "clip", "peak_tflops")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerPlan:
    """Plan of a transformer training: base model, data and hyperparameters.

    Parameters
    ----------
    base
        Folder of a model of the library transformers with its tokenizer, or its name on the hub.
    counting
        How what each person said counts.
    max_length
        Most tokens of a conversation with its answer; None for `MAX_LENGTH`, or as many as the base reads.
    epochs
        How often each pair is seen.
    batch, accumulate
        Pairs that a process takes at a time, and how many such batches make a step.
    learning_rate
        The highest one; None for `RATE`, or `RATE_LORA`.
    warm_up
        Share of steps in which it rises from 0.
    schedule
        How it falls to 0 from there: ``cosine`` or ``linear``.
    clip
        Longest gradient.
    lora
        Rank of the changes to each matrix; None to train all weights.
    bf16
        Whether to compute in bfloat16, with weights in float32; None for yes where a GPU can.
    checkpoints
        Folder for checkpoints; None for none.
    checkpoint_every
        After so many steps there is a checkpoint.
    resume
        Whether to go on from the last one.
    peak_tflops
        What one device can do at most, in 10¹² operations a second, to tell how much of it was used.

    Raises
    ------
    InvalidInput
        A number is out of its range, or there is no such schedule.

    Examples
    --------
    >>> TransformerPlan(base="bert", lora=8).rate
    0.0001
    """

    base: str
    counting: Weighting = Weighting()  # noqa: RUF009 - it is frozen
    max_length: int | None = None
    epochs: float = 1.0
    batch: int = 16
    accumulate: int = 1
    learning_rate: float | None = None
    warm_up: float = 0.05
    schedule: Schedule = "cosine"
    clip: float = 1.0
    lora: int | None = None
    bf16: bool | None = None
    checkpoints: Path | None = None
    checkpoint_every: int = 500
    resume: bool = False
    peak_tflops: float | None = None

    def __post_init__(self) -> None:
        for name, least in (*((name, 1) for name in _WHOLE), *((name, 0) for name in _ABOVE_0)):
            value = getattr(self, name)
            if (value is not None and not least <= value < float("inf")) or value == 0:
                wanted = "a whole number from 1" if least else "a number above 0"
                raise InvalidInput(f"{name} is {value:g}; give {wanted}.")
        if not 0 <= self.warm_up < 1:
            raise InvalidInput(f"warm_up is {self.warm_up:g}; give a share of all steps from 0 to below 1.")
        if self.schedule not in SCHEDULES:
            near = suggest(str(self.schedule), SCHEDULES)
            raise InvalidInput(
                f"schedule is {format_value(self.schedule)}; it is one of {format_list(SCHEDULES)}.{near}"
            )

    @property
    def rate(self) -> float:
        """The learning rate."""
        return self.learning_rate or (RATE_LORA if self.lora else RATE)

    def told(self) -> dict[str, Any]:
        """Return what decides on the weights, as plain values for a card."""
        others = ("base", "counting", "checkpoints", "checkpoint_every", "resume", "peak_tflops")
        return {name: value for name, value in asdict(self).items() if name not in others} | {
            "learning_rate": self.rate
        }
