"""Throughput and device utilisation of a training."""

from typing import Any, NamedTuple

FULL = 6
"""Operations for each weight and token: two forwards, two back to what came before, and two to the weight itself."""

LORA = 4
"""The same where the weight itself does not change."""


class TrainingSpeed(NamedTuple):
    """Throughput of a training.

    Tokens that are no padding, seconds, the device, and how many processes with one each.
    """

    n_tokens: int
    seconds: float
    device: str
    n_processes: int

    @classmethod
    def of(cls, n_tokens: int, seconds: float, *, device: Any, n_processes: int) -> "TrainingSpeed":
        """Return it with the name of the device."""
        import torch

        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        return cls(n_tokens, seconds, name, n_processes)

    def told(self, n_weights: int, *, lora: bool, peak_tflops: float | None) -> dict[str, Any]:
        """Return it as plain values for a card.

        Examples
        --------
        >>> speed = TrainingSpeed(10_000, 2.0, "cpu", 1)
        >>> told = speed.told(10**9, lora=False, peak_tflops=100.0)
        >>> told["tokens_per_second"], told["model_flops_utilisation"]
        (5000.0, 0.3)
        """
        rate = self.n_tokens / self.seconds
        needed = (LORA if lora else FULL) * n_weights * rate
        used = None if peak_tflops is None else needed / (peak_tflops * 1e12 * self.n_processes)
        return {
            **self._asdict(),
            "tokens_per_second": rate,
            "peak_tflops": peak_tflops,
            "model_flops_utilisation": used,
        }
