"""Parts that the READMEs of all exports share: provenance and omissions."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import dissensus
from dissensus.store.campaigns import CampaignRow
from dissensus.store.export import RatingExportCounts


def describe_omissions(counts: RatingExportCounts, purposes: tuple[str, ...]) -> list[str]:
    """Describe omitted ratings with the reasons, one sentence each."""
    reasons = (
        (counts.rehearsing, "of previews and dry runs"),
        (counts.disagreeing, f"of raters who did not agree to {' and '.join(purposes) or 'anything'}"),
    )
    lines = [f"{one.ratings:,} ratings by {one.raters:,} {why} are left out." for one, why in reasons if one.ratings]
    if counts.withdrawn:
        lines.append(f"{counts.withdrawn:,} raters withdrew, and nothing of them is kept.")
    if counts.unfinished:
        lines.append(f"{counts.unfinished:,} items that were begun and not submitted are left out.")
    return lines


def provenance_lines(campaign_row: CampaignRow, purposes: Sequence[str], now: datetime) -> Iterator[str]:
    """Yield the lines that tell when, by which version and from which campaign an export was written."""
    yield f"Written:    {now.astimezone(UTC).isoformat(timespec='seconds').replace('+00:00', 'Z')}"
    yield f"By:         Dissensus {dissensus.__version__}"
    yield f"Campaign:   {campaign_row.name} ({campaign_row.state})"
    yield f"Definition: SHA-256 {campaign_row.digest}"
    yield f"Purposes:   {', '.join(purposes) or 'none is required'}"
