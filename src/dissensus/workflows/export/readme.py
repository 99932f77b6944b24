"""Parts that the READMEs of all exports share: provenance and omissions."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import dissensus
from dissensus.store.campaigns import CampaignRow
from dissensus.store.export import RatingExportCounts


def describe_omissions(counts: RatingExportCounts, purposes: tuple[str, ...]) -> list[str]:
    """Describe omitted ratings with the reasons, one sentence each."""
    reasons = (
        (counts.rehearsal, "of previews and dry runs"),
        (counts.without_consent, f"of raters who did not agree to {' and '.join(purposes) or 'anything'}"),
    )
    lines = [
        f"{count.ratings:,} ratings by {count.raters:,} {reason} are left out."
        for count, reason in reasons
        if count.ratings
    ]
    if counts.withdrawn:
        lines.append(f"{counts.withdrawn:,} raters withdrew, and their data were erased.")
    if counts.unfinished:
        lines.append(f"{counts.unfinished:,} items that were begun and not submitted are left out.")
    return lines


def provenance_lines(campaign_row: CampaignRow, purposes: Sequence[str], now: datetime) -> Iterator[str]:
    """Yield the lines with time, version, campaign, definition and purposes of an export."""
    yield f"Written:    {now.astimezone(UTC).isoformat(timespec='seconds').replace('+00:00', 'Z')}"
    yield f"By:         Dissensus {dissensus.__version__}"
    yield f"Campaign:   {campaign_row.name} ({campaign_row.state})"
    yield f"Definition: SHA-256 {campaign_row.digest}"
    yield f"Purposes:   {', '.join(purposes) or 'none is required'}"
