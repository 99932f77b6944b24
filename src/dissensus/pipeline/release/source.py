"""Source of a release: ratings, and facts about their raters and their campaign."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import takewhile
from types import MappingProxyType
from typing import Final

import polars as pl

from dissensus.errors import Conflict
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.preference import Preference
from dissensus.schema.records.source_notice import SourceNotice
from dissensus.schema.release.plan import ReleasePlan, Signature

AUTHORS: Final = (
    "Raters wrote these conversations: whoever recognises one of them, or a sentence, finds its author, all other "
    "conversations by them and their attributes."
)
"""Warning of releases whose conversations are those of their raters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse:
    """A release that was written with a key."""

    name: str
    version: str
    manifest: str  # SHA-256

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def check_content(use: KeyUse, uses: Iterable[KeyUse]) -> None:
    """Raise if the version of a use was written before with another content."""
    others = (other for other in uses if (other.name, other.version) == (use.name, use.version))
    if any(other.manifest != use.manifest for other in others):
        raise Conflict(
            f"{use} was written before with another content. Raise the version, since users may have it. Nothing was "
            "written."
        )


def list_earlier_uses(uses: Iterable[KeyUse], plan: ReleasePlan) -> tuple[KeyUse, ...]:
    """Return the releases before that of a plan, so that it gives the same evidence when it is made again."""
    return tuple(takewhile(lambda use: (use.name, use.version) != (plan.name, plan.version), uses))


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


@dataclass(frozen=True, slots=True)
class AuthoredAttempt:
    """A red-team attempt with its author."""

    rater_id: str
    attempt: Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSource:
    """Ratings to be released; ids of raters are those of the source."""

    table: pl.DataFrame  # one row per rating
    consented: frozenset[str] | None  # raters who agreed to all purposes; None if unknown
    purposes: tuple[str, ...]
    withdrawn: frozenset[str] | None = None  # raters who withdrew; None if unknown
    external_ids: frozenset[str] = frozenset()  # ids of people on recruitment platforms
    texts: frozenset[str] = frozenset()  # columns with free text of raters
    questions: tuple[str, ...] = ()  # columns with answers whose names do not say so
    question: str | None = None  # of evidence and statistics, if the plan names none
    preferences: tuple[Preference, ...] = ()  # from which pairs are made
    attempts: tuple[AuthoredAttempt, ...] = ()
    by_authors: bool = False  # True if raters wrote the conversations, so that each is of one rater
    images: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # of the campaign: SHA-256 by name
    campaign: Campaign | None = None
    facts: CampaignFacts | None = None
    key_uses: tuple[KeyUse, ...] = ()  # of the key of the plan, as far as known
    logged: tuple[KeyUse, ...] | None = None  # those of them in the log of a site; None for files
    earlier: tuple[KeyUse, ...] = ()  # releases of the same data before this one, as far as known
    previous: pl.DataFrame | None = None  # table of the release before
    older: tuple[pl.DataFrame, ...] = ()  # tables of releases before that
    unnamed: tuple[KeyUse, ...] = ()  # earlier releases that the plan does not name
    notices: tuple[SourceNotice, ...] = ()  # of the datasets that items are from
    signatures: tuple[Signature, ...] = ()  # of people on the site
