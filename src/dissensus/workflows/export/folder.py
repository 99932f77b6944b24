"""Parts that exports share: result, README, and the files of preferences and pairs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final

import dissensus
from dissensus.campaign.consent_scope import describe_refusal
from dissensus.errors import Conflict
from dissensus.files.pairs.release import write_pairs
from dissensus.files.raw.atomic_write import make_folder, write_atomically
from dissensus.pipeline.release import PairPolicy, released_pairs
from dissensus.schema.records.preference import Preference
from dissensus.store.campaigns import CampaignRow
from dissensus.store.export import RatingExportCounts

README: Final = "README.txt"
PREFERENCES: Final = "preferences.jsonl"
PAIRS: Final = "pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderExport:
    """Counts and notes of an export to a folder."""

    n_raters: int
    n_preferences: int
    n_pairs: int  # pairs with a preferred response
    n_chats: int = 0  # finished conversations
    n_attempts: int = 0
    n_items: int = 0
    n_reviews: int = 0
    n_personal: int = 0
    n_failures: int = 0  # responses that did not arrive
    notes: tuple[str, ...]  # omissions with their reasons, one sentence each


def create_empty_folder(folder: Path) -> None:
    """Create a folder; refuse one that contains files."""
    if make_folder(folder):
        raise Conflict(f"{folder} is not empty. Name a new folder, or empty it.")


def write_jsonl(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows as JSON Lines; no file if there are none."""
    lines = (f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in rows)
    first = next(lines, None)
    if first is not None:
        write_atomically(chain([first], lines), path)


def write_preferences(
    preferences: Sequence[Preference], policy: PairPolicy, folder: Path, *, subject: str = ""
) -> tuple[int, list[str]]:
    """Write preferences, and the pairs that a policy makes of them; return the number of pairs, and notes."""
    write_jsonl(({**asdict(preference), "phase": preference.phase} for preference in preferences), folder / PREFERENCES)
    released = released_pairs(preferences, policy)
    if released.pairs:
        return len(released.pairs), list(write_pairs(released, folder / PAIRS))
    return 0, [f"{n:,} {subject}left out: {reason}." for reason, n in released.dropped.items()]


def describe_omissions(counts: RatingExportCounts, purposes: tuple[str, ...]) -> list[str]:
    """Describe omitted ratings with the reasons, one sentence each."""
    reasons = (
        (counts.rehearsal, "of previews and dry runs"),
        (counts.without_consent, describe_refusal(purposes)),
    )
    lines = [
        f"{count.ratings:,} ratings {reason} (raters: {count.raters:,}) are left out."
        for count, reason in reasons
        if count.ratings
    ]
    lines += describe_withdrawals(counts.withdrawn)
    if counts.unfinished:
        lines.append(f"{counts.unfinished:,} items that were begun and not submitted are left out.")
    return lines


def describe_withdrawals(withdrawn: int) -> list[str]:
    """Describe how many raters withdrew, in a sentence if any did."""
    return [f"Raters who withdrew, and whose data were erased: {withdrawn:,}."] if withdrawn else []


def provenance_lines(campaign_row: CampaignRow, purposes: Sequence[str], now: datetime) -> Iterator[str]:
    """Yield the lines with time, version, campaign, definition and purposes of an export."""
    yield f"Written:    {now.astimezone(UTC).isoformat(timespec='seconds').replace('+00:00', 'Z')}"
    yield f"By:         Dissensus {dissensus.__version__}"
    yield f"Campaign:   {campaign_row.name} ({campaign_row.state})"
    yield f"Definition: SHA-256 {campaign_row.digest}"
    yield f"Purposes:   {', '.join(purposes) or 'none is required'}"
