"""Plan of a release: data, people, protection of raters, answers and signatures of the owner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

SmallCells: TypeAlias = Literal["refuse", "blank", "leave out"]
SMALL_CELLS: Final[tuple[SmallCells, ...]] = get_args(SmallCells)
Timestamps: TypeAlias = Literal["none", "month", "day"]
TIMESTAMPS: Final[tuple[Timestamps, ...]] = get_args(Timestamps)

PURPOSE: Final = "release"
"""Purpose of consent that a release needs besides the required ones of a campaign."""
DEFAULT_K: Final = 5
"""Fewest raters in a cell of attributes."""
MAX_CELL: Final = 1_000_000
"""Upper limit of `AnonymityPlan.k`."""
TIME_STEP_MS: Final = 5_000
"""Step to which times are rounded by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymityPlan:
    """Protection of raters against those who know their attributes."""

    k: int = DEFAULT_K  # fewest raters in each cell of all axes
    l: int = 1  # fewest different answers to each item within each cell; 1 for no limit  # noqa: E741
    small_cells: SmallCells = "refuse"
    blank_first: tuple[str, ...] = ()  # axes in the order in which small cells lose them; default: the last one first
    groups: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=lambda: MappingProxyType({}))
    """Wider groups by axis, with the values of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Statement of a person that they inspected the evidence of a check."""

    check: str
    by: str
    code: str  # of the evidence, as the verdict prints it


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlan:
    """Everything that the owner of a release decides."""

    name: str
    version: str
    released: date
    creators: tuple[str, ...]
    contact: str
    licence: str  # SPDX identifier
    campaign: str | None = None  # name on the site; None for a release from files
    ratings: str | None = None
    items: str | None = None
    consents: str | None = None  # table of rater_id and purposes
    title: str | None = None  # default: that of the campaign
    warning: str | None = None  # default: that of the campaign
    languages: tuple[str, ...] = ()
    purpose: str = PURPOSE
    key: str | None = None  # file; default: NAME-VERSION.key beside the plan
    linked_to: tuple[str, ...] = ()  # earlier versions whose raters may have the same ids
    previous: str | None = None  # folder of the release before
    older: tuple[str, ...] = ()  # folders of releases before that
    question: str | None = None  # for evidence and loss; default: Q_overall, else the only one
    drop: tuple[str, ...] = ()  # columns that are not released
    with_text: bool = False  # release free texts of raters
    with_images: bool = False  # release images of items
    redact: bool = True  # replace what looks like personal data by its kind
    timestamps: Timestamps = "none"
    round_times_ms: int = TIME_STEP_MS
    people: int = 1  # number of people who sign each check that a person must judge
    anonymity: AnonymityPlan = AnonymityPlan()
    answers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # to the datasheet
    signatures: tuple[Signature, ...] = ()

    @property
    def key_file(self) -> str:
        """Name of the file with the key."""
        return self.key or f"{self.name}-{self.version}.key"
