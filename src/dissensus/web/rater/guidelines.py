"""Guidelines page, shown before the first item or conversation."""

from dataclasses import dataclass
from typing import ClassVar

from dissensus.workflows.rater.next_step import RaterStep


@dataclass(frozen=True, slots=True, kw_only=True)
class GuidelinesPage:
    """Guidelines of the campaign."""

    template: ClassVar[str] = "rater/guidelines.html"

    language: str
    step: RaterStep
    form_token: str
    images: str = "/guidelines/images"  # Path of the images


def needs_guidelines(step: RaterStep) -> bool:
    """Return whether a rater sees the guidelines first: nothing was rated, answered or written yet."""
    begun = step.progress.n_done or step.answers or step.chat is not None
    return bool(step.campaign.guidelines) and step.stage in ("rate", "chat") and not begun
