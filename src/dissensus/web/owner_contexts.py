"""What each page of owners shows; these pages are in English."""

from dataclasses import dataclass
from typing import ClassVar

from dissensus.web.phrases import FIRST
from dissensus.web.proposal import Proposal
from dissensus.workflows.overview import Line, Overview


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A link is good; a button uses it up."""

    template: ClassVar[str] = "owner/sign-in.html"

    key: str
    form_token: str
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedOut:
    """Nobody is signed in (any more)."""

    template: ClassVar[str] = "owner/signed-out.html"

    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaigns:
    """The campaigns of an owner."""

    template: ClassVar[str] = "owner/campaigns.html"

    owner: str
    form_token: str
    lines: tuple[Line, ...]
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
    found: Overview
    open_link: str | None
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
