"""What is said beside an export of ratings: what it is, what it holds, and what was left out."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dissensus
from dissensus.schema.hints import format_list
from dissensus.store.export import Counts

if TYPE_CHECKING:
    from dissensus.workflows.export.ratings import RatingsExportSource


def describe_omissions(counts: Counts, purposes: tuple[str, ...]) -> list[str]:
    """Say what was left out and why, a sentence a reason."""
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


def readme_lines(found: "RatingsExportSource", file: str, *, guards: bool, now: datetime) -> Iterator[str]:
    """Yield the lines of what is said beside a file of ratings."""
    form, counts = found.form, found.counts
    yield f"{file} is internal: it is not for publication."
    yield ""
    yield "It holds what raters gave, one row an item and rater. Answers, times and what raters say of themselves can"
    yield "tell who they are when they are put together. Publish a release that was made for it, never this file."
    yield ""
    yield f"Written:    {now.astimezone(UTC).isoformat(timespec='seconds').replace('+00:00', 'Z')}"
    yield f"By:         Dissensus {dissensus.__version__}"
    yield f"Campaign:   {found.kept.name} ({found.kept.state})"
    yield f"Definition: SHA-256 {found.kept.digest}"
    yield f"Purposes:   {', '.join(found.purposes) or 'none is required'}"
    yield f"Columns:    {f'as {form.official} was released' if form.official else 'the long table'}"
    yield f"Rows:       {counts.exported.ratings:,} ratings by {counts.exported.raters:,} raters"
    if found.campaign.gold is not None:
        yield f"Gold:       items with labels that experts settled: {sum(map(bool, found.gold.values())):,}"
    yield ""
    yield from describe_omissions(counts, found.purposes) or ["No rating was left out."]
    if form.left_out:
        yield f"Without a column: {format_list(form.left_out, 50)}."
    yield ""
    yield "Ids of raters were drawn for this file alone: the same rater has another one in every export."
    yield "Who declined to answer a question about an item has no answer there. Several answers are a JSON list."
    if guards:
        yield "A text that begins with = + - @, a tab or a carriage return, which spreadsheets take for a formula, has"
        yield "an apostrophe before it, conversations too. Parquet, JSON Lines and --raw have all texts as they are."
    else:
        yield "Texts are as they are. Spreadsheets take those that begin with = + - @ for formulas: open it in none."
