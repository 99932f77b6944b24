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
"""Default token limit, as in the HH paper, if the base model reads as many."""

RATE: Final = 1e-5
RATE_LORA: Final = 1e-4
"""Default learning rates for all weights and for LoRA."""

_FROM_1 = ("max_length", "batch", "accumulate", "lora", "checkpoint_every")
_ABOVE_0 = ("epochs", "learning_rate", "clip", "peak_tflops")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerPlan:
    """Plan of a transformer training: base model, data and hyperparameters.

    Parameters
    ----------
    base
        Folder of a model of the library transformers with its tokenizer, or its name on the hub.
    weighting
        Weighting of votes.
    max_length
        Token limit of a conversation with its answer; None for `MAX_LENGTH`, or the limit of the base if lower.
    epochs
        Passes over the pairs.
    batch, accumulate
        Pairs per batch and process, and batches per optimiser step.
    learning_rate
        Peak learning rate; None for `RATE`, or `RATE_LORA`.
    warm_up
        Share of steps in which the learning rate rises from 0.
    schedule
        Decay of the learning rate to 0: ``cosine`` or ``linear``.
    clip
        Maximum norm of the gradient.
    lora
        Rank of low-rank adaptation; None to train all weights.
    bf16
        True to compute in bfloat16, with weights in float32; None to do so if the GPU supports it.
    checkpoints
        Folder for checkpoints; None for none.
    checkpoint_every
        Steps between checkpoints.
    resume
        True to resume from the last checkpoint.
    peak_tflops
        Peak performance of one device, in 10¹² operations per second, to compute its utilisation.

    Raises
    ------
    InvalidInput
        A number is out of range, or the schedule is unknown.

    Examples
    --------
    >>> TransformerPlan(base="bert", lora=8).rate
    0.0001
    """

    base: str
    weighting: Weighting = Weighting()  # noqa: RUF009 - it is frozen
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
        for name, least in (*((name, 1) for name in _FROM_1), *((name, 0) for name in _ABOVE_0)):
            value = getattr(self, name)
            is_whole = not least or isinstance(value, int)
            if value is not None and (value == 0 or not is_whole or not least <= value < float("inf")):
                allowed = "a whole number from 1" if least else "a number above 0"
                raise InvalidInput(f"{name} is {value:g}; give {allowed}.")
        if not 0 <= self.warm_up < 1:
            raise InvalidInput(f"warm_up is {self.warm_up:g}; give a share of all steps from 0 to below 1.")
        if self.schedule not in SCHEDULES:
            near = suggest(str(self.schedule), SCHEDULES)
            raise InvalidInput(
                f"schedule is {format_value(self.schedule)}; it is one of {format_list(SCHEDULES)}.{near}"
            )

    @property
    def rate(self) -> float:
        """Peak learning rate, by default that of the method."""
        return self.learning_rate or (RATE_LORA if self.lora else RATE)

    def to_card(self) -> dict[str, Any]:
        """Return the hyperparameters that determine the weights, as plain values for the model card."""
        omitted = ("base", "weighting", "checkpoints", "checkpoint_every", "resume", "peak_tflops")
        values = {name: value for name, value in asdict(self).items() if name not in omitted}
        return values | {"learning_rate": self.rate}
