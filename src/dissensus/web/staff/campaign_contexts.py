"""What each page about campaigns shows; these pages are in English."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dissensus.campaign.quota_progress import Filling
from dissensus.schema.campaign.quota import REST, Quota
from dissensus.schema.ratings.columns import CROSSED
from dissensus.web.core.charts import Scale
from dissensus.web.core.permissions import Who
from dissensus.web.core.suppression import Listed
from dissensus.web.core.translations import FIRST
from dissensus.web.staff.campaign_form import Proposal
from dissensus.workflows.campaign.overview import CampaignOverview
from dissensus.workflows.models.registry import CampaignModel
from dissensus.workflows.rater.withdrawal import Erasable


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaigns:
    """The campaigns that somebody belongs to."""

    template: ClassVar[str] = "owner/campaigns.html"

    owner: str
    form_token: str
    lines: tuple[Listed, ...]
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposing:
    """A campaign in the making, with what is wrong with it."""

    template: ClassVar[str] = "owner/new.html"

    owner: str
    form_token: str
    proposal: Proposal
    shipped: tuple[str, ...]
    faults: tuple[str, ...] = ()
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Revising:
    """Another definition of a campaign, with what is wrong with it."""

    template: ClassVar[str] = "owner/revise.html"

    owner: str
    form_token: str
    name: str
    definition: str = ""
    faults: tuple[str, ...] = ()
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What was understood of a campaign before it is made."""

    template: ClassVar[str] = "owner/understood.html"

    owner: str
    form_token: str
    proposal: Proposal
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPage:
    """One campaign: its state, its numbers and what can be done."""

    template: ClassVar[str] = "owner/campaign.html"

    owner: str
    form_token: str
    found: CampaignOverview
    n_raters: int | None
    role: Who
    may: frozenset[str]
    open_link: str | None
    most_rehearsing: int
    lines: tuple[CampaignModel, ...]
    accuracy: ClassVar[Scale] = Scale(0.0, 1.0)
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Adding:
    """Items for a draft, with what is wrong with them."""

    template: ClassVar[str] = "owner/items.html"

    owner: str
    form_token: str
    name: str
    proposal: Proposal
    faults: tuple[str, ...] = ()
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class AddingUnderstood:
    """What was understood of items before they are added; `preview` tells whether raters find them covered."""

    template: ClassVar[str] = "owner/items-understood.html"

    owner: str
    form_token: str
    name: str
    proposal: Proposal
    preview: bool
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Removing:
    """The question before all items of a draft go."""

    template: ClassVar[str] = "owner/items-removal.html"

    owner: str
    form_token: str
    name: str
    n_items: int
    n_rehearsals: int
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPage:
    """How the cells of a quota fill."""

    template: ClassVar[str] = "owner/quota.html"

    owner: str
    form_token: str
    name: str
    quota: Quota
    cells: tuple[Filling, ...]
    links: Mapping[str, str]
    language: str = FIRST

    @property
    def rows(self) -> tuple[tuple[str, tuple[Filling, ...]], ...]:
        """The cells as a table: a row for each group of all axes but the last one."""
        cells = [cell for cell in self.cells if cell.cell != REST]
        width = len(self.columns)
        starts = range(0, len(cells), width)
        return tuple(
            (CROSSED.join(cells[start].cell.split(CROSSED)[:-1]), tuple(cells[start : start + width]))
            for start in starts
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The groups of the last axis."""
        return tuple(list(self.quota.axes.values())[-1])

    @property
    def rest(self) -> Filling | None:
        """The cell of who is in no group."""
        return next((cell for cell in self.cells if cell.cell == REST), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaResults:
    """How many have finished in each cell, None where they are few."""

    template: ClassVar[str] = "owner/quota-results.html"

    owner: str
    form_token: str
    name: str
    quota: Quota
    finished: Mapping[str, int | None]
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """Personal links, shown once."""

    template: ClassVar[str] = "owner/invited.html"

    owner: str
    form_token: str
    name: str
    links: tuple[str, ...]
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawingFor:
    """A withdrawal that a rater asked for: for whom, what it deletes, and that it did."""

    template: ClassVar[str] = "owner/withdraw.html"

    owner: str
    form_token: str
    name: str
    rater_id: str
    found: Erasable | None = None
    n_deleted: int | None = None
    faults: tuple[str, ...] = ()
    language: str = FIRST
