"""Source of a release: ratings, and facts about their raters and their campaign."""

from dataclasses import dataclass
from datetime import date

import polars as pl

from dissensus.schema.campaign.definition import Campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse:
    """A release that was written with a key."""

    name: str
    version: str
    manifest: str  # SHA-256

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts:
    """Facts about the course of a campaign."""

    definition: str  # SHA-256
    consent_version: int
    first_day: date
    last_day: date
    withdrawn: int  # raters who withdrew
    omissions: tuple[str, ...]  # ratings that are left out, one sentence each
    head: str  # of the audit log
    n_events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSource:
    """Ratings to be released; ids of raters are those of the source."""

    table: pl.DataFrame  # one row per rating
    consented: frozenset[str] | None  # raters who agreed to all purposes; None if unknown
    withdrawn: frozenset[str] = frozenset()
    external_ids: frozenset[str] = frozenset()  # ids of people on recruitment platforms
    texts: frozenset[str] = frozenset()  # columns with free text of raters
    questions: tuple[str, ...] = ()  # columns with answers whose names do not say so
    campaign: Campaign | None = None
    facts: CampaignFacts | None = None
    key_uses: tuple[KeyUse, ...] = ()  # of the key of the plan, as far as known
    previous: pl.DataFrame | None = None  # table of the release before
