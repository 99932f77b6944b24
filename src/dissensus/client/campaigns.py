"""Campaigns and their quotas, as frozen values; what the site hides from whose token it is, is None."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from dissensus.schema.campaign.definition import State
from dissensus.schema.campaign.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A campaign in a list.

    Parameters
    ----------
    name, title, state
        Which one; the title by language.
    role
        Of whose token it is.
    owners
        Their names.
    raters, rated
        Raters, and items that they have finished, each counted for each rater.
    created_at
        When it was made.
    """

    name: str
    title: Mapping[str, str]
    state: State
    role: Role
    owners: tuple[str, ...]
    raters: int | None
    rated: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """How far a campaign is.

    Parameters
    ----------
    items, raters, rated
        Items, raters, and items that raters have finished, each counted for each rater.
    standings
        Raters by standing.
    """

    items: int
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
    """How far a cell of a quota is.

    Parameters
    ----------
    cell
        Its name.
    target, places
        Raters that are wanted in the end, and that are let in.
    finished, held, screened
        Who has finished, who is under way, and who was turned away.
    """

    cell: str
    target: int
    places: int | None
    finished: int | None
    held: int | None
    screened: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How a quota fills.

    Parameters
    ----------
    source
        Who chooses raters: a screener, or the recruiter.
    balanced
        Whether each item is rated by so many of each cell.
    cells
        In the order of the quota.
    """

    source: Literal["screener", "recruiter"]
    balanced: bool
    cells: tuple[Cell, ...]
