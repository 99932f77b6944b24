"""What experts said, asked over the API."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dissensus.client.requests import campaign_path, post_once
from dissensus.client.responses import parse_response, iterate_rows
from dissensus.http_client import ServiceClient

State = Literal["unlabelled", "begun", "disputed", "settled"]
Said = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What one expert said of a part, at one time; a correction is one revision more."""

    by: str
    revision: int
    said: Said
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What somebody decided where experts differ, and why; the last revision holds."""

    by: str
    revision: int
    said: Said
    why: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How far one part of an item is.

    Parameters
    ----------
    part, state
        Which, and how far.
    n_labels, needed
        How many experts labelled it, and are to.
    of_file, settled
        What the file says of it, and what experts settled.
    labels
        With all corrections; None until all labels of the item are in.
    decisions
        The last one holds.
    """

    part: Literal["safety", "degree", "topics"]
    state: Literal["file", "open", "agreed", "disputed", "decided"]
    n_labels: int
    needed: int
    of_file: str | None
    settled: Said | None
    labels: tuple[Label, ...] | None
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """An item, and how far its labels are.

    Parameters
    ----------
    id, position, state, withheld
        Which one, how far, and whether a rater reported it.
    labellers
        Names of those who labelled it.
    columns
        What experts settled, as the export has it.
    parts
        Safety, degree of harm and topics.
    """

    id: str
    position: int
    state: State
    withheld: bool
    labellers: tuple[str, ...]
    columns: Mapping[str, str]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How often gold and crowd call the same items safe and unsafe, as `dissensus.GoldAgainstCrowd` has it."""

    n_raters: int | None
    n_items: int
    both_safe: int
    both_unsafe: int
    gold_only: int
    crowd_only: int
    tied: int
    differ: float | None
    alpha: float | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How many items have one combination of labels, and their share."""

    crowd: str
    gold: str
    platinum: str | None
    n_items: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Labels of experts beside those of the crowd: by which rule, about which question, and what was left out."""

    rule: str
    question: str
    notes: tuple[str, ...]
    summary: Summary
    confusion: tuple[Confusion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Experts beside the crowd so far, and beside an earlier one; `reason` says why nothing is compared."""

    n_gold: int
    n_platinum: int
    n_items: int
    found: Compared | None
    with_platinum: Compared | None
    reason: str | None


class GoldClient:
    """Asks for what experts said: `dissensus.Client.gold`. They label on pages.

    Parameters
    ----------
    asking
        The connection of the client.
    """

    def __init__(self, asking: ServiceClient) -> None:
        self._asking = asking

    def labels(self, name: str, *, state: State | None = None) -> Iterator[Labelled]:
        """Yield items with how far their labels are, or those of one state. Scope: ``gold``."""
        query = {} if state is None else {"state": state}
        return iterate_rows(self._asking, campaign_path(name, "gold"), Labelled, query)

    def comparison(self, name: str) -> Comparison:
        """Return gold beside the crowd so far, and beside an earlier one. Scope: ``gold``."""
        return parse_response(Comparison, self._asking.ask("GET", campaign_path(name, "gold", "comparison")))

    def add_platinum(
        self,
        name: str,
        labels: Mapping[str, str],
        *,
        source: str,
        beside: Mapping[str, Mapping[str, str]] | None = None,
        replacing: bool = False,
    ) -> int:
        """Keep labels of an earlier crowd, all or none, and return of how many items. Scope: ``gold``.

        Parameters
        ----------
        name
            Of the campaign.
        labels
            By the ids of items.
        source
            Where they come from, in words.
        beside
            What else is known, by the ids of items.
        replacing
            Whether items that have such a label get another one.
        """
        known = beside or {}
        sent = [{"item": item, "label": label, "beside": dict(known.get(item, {}))} for item, label in labels.items()]
        body = {"source": source, "labels": sent, "replacing": replacing}
        return parse_response(dict[str, int], post_once(self._asking, campaign_path(name, "gold", "platinum"), body))["items"]
