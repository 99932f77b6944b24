"""Campaigns and their quotas, as frozen values; what the site hides from whose token it is, is None."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from dissensus.schema.campaign.definition import State
from dissensus.schema.campaign.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A campaign in a list."""

    name: str  # Which one; the title by language
    title: Mapping[str, str]
    state: State
    role: Role  # Of whose token it is
    owners: tuple[str, ...]
    raters: int | None  # Raters, and items that they have finished, each counted for each rater
    rated: int | None
    created_at: datetime  # When it was made


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """How far a campaign is."""

    items: int  # Items, raters, and items that raters have finished, each counted for each rater
    raters: int | None
    rated: int | None
    standings: Mapping[str, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """All about a campaign.

    Parameters
    ----------
    name, state
        Which one.
    role
        Of whose token it is.
    moves
        What it can become now.
    definition, digest
        What a new one is made from, and its SHA-256.
    numbers
        How far it is.
    created_at, changed_at
        When it was made, and when definition or state last changed.
    """

    name: str
    state: State
    role: Role
    moves: tuple[State, ...]
    definition: Mapping[str, Any]
    digest: str
    numbers: Numbers | None
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """How far a cell of a quota is."""

    cell: str
    target: int  # Raters that are wanted in the end, and that are let in
    places: int | None
    finished: int | None  # Who has finished, who is under way, and who was turned away
    held: int | None
    screened: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How a quota fills."""

    source: Literal["screener", "recruiter"]  # Who chooses raters: a screener, or the recruiter
    balanced: bool  # Whether each item is rated by so many of each cell
    cells: tuple[Cell, ...]  # In the order of the quota
