"""Request for a report on a campaign: question, axes, filters and seed."""

import json
from dataclasses import asdict, dataclass
from typing import Final

from dissensus.schema.axes import format_axis

REPLICATES: Final = 1000
"""Permutations and bootstrap replicates of a report with tests and intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Options of a report; a report of attempts has none.

    Examples
    --------
    >>> parse_report_request(ReportRequest(question="Q_safe", axes=("rater_age",)).to_json()).axes
    ('rater_age',)
    """

    question: str = ""  # Empty for the primary one
    axes: tuple[str, ...] = ()  # Empty for those with 2 to 12 groups
    cross: tuple[str, ...] = ()  # Crossed axes, joined by an asterisk
    attribute: str = ""  # Only items with this value of an attribute
    value: str = ""
    axis: str = ""  # Only raters of this group of an axis
    group: str = ""
    exclude_flagged: bool = False
    inference: bool = True  # With permutations and bootstrap
    seed: int = 0

    def to_json(self) -> str:
        """Return the request as JSON with sorted keys, so that equal requests have equal texts."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @property
    def description(self) -> str:
        """The options in words."""
        parts = [
            self.question,
            f"by {', '.join(map(format_axis, (*self.axes, *self.cross)))}" if self.axes or self.cross else "",
            f"items with {self.attribute} = {self.value}" if self.attribute else "",
            f"raters with {format_axis(self.axis)} = {self.group}" if self.axis else "",
            "without flagged raters" if self.exclude_flagged else "",
            "" if self.inference else "without tests and intervals",
        ]
        return "; ".join(filter(None, parts)) or "All"


def parse_report_request(text: str) -> ReportRequest:
    """Parse the JSON of a request."""
    fields = json.loads(text)
    return ReportRequest(**{**fields, "axes": tuple(fields["axes"]), "cross": tuple(fields["cross"])})
