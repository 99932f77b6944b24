"""What the pages of curation show."""

from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from dissensus.pipeline.curate import Selection
from dissensus.pipeline.curate.display import LeftOut, left_out
from dissensus.pipeline.curate.display import page as displayed
from dissensus.pipeline.curate.strata import Divider
from dissensus.pipeline.tables import Page
from dissensus.text.near_duplicates import LEAST
from dissensus.text.personal_data import KINDS
from dissensus.web.core.translations import FIRST
from dissensus.web.staff.campaign_form import Proposal
from dissensus.web.staff.curation_form import BY_NUMBERS, EVERY_KIND, Typed

MOST_OFFERED: Final = 50
"""Attributes that a page offers: all of them are fields of its form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The form for a corpus, with what is wrong with it; a plan that was typed before waits."""

    template: ClassVar[str] = "owner/curation.html"

    owner: str
    form_token: str
    proposal: Proposal
    typed: Typed
    faults: tuple[str, ...] = ()
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """The form for a plan, with what is wrong with it."""

    template: ClassVar[str] = "owner/curation-plan.html"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    every: ClassVar[str] = EVERY_KIND
    by_numbers: ClassVar[str] = BY_NUMBERS
    least: ClassVar[float] = LEAST

    owner: str
    form_token: str
    proposal: Proposal
    typed: Typed
    dividers: tuple[Divider, ...]
    faults: tuple[str, ...] = ()
    language: str = FIRST

    @property
    def offered(self) -> tuple[Divider, ...]:
        """Attributes that may divide the items, and those that were ticked."""
        good = [one for one in self.dividers if one.divides][:MOST_OFFERED]
        return tuple(one for one in self.dividers if one in good or one.name in self.typed.by)

    @property
    def others(self) -> tuple[str, ...]:
        """Attributes that are not offered."""
        offered = {one.name for one in self.offered}
        return tuple(one.name for one in self.dividers if one.name not in offered)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDrawn:
    """A sample before anything is made of it."""

    template: ClassVar[str] = "owner/curation-drawn.html"

    owner: str
    form_token: str
    proposal: Proposal
    typed: Typed
    selection: Selection
    shipped: tuple[str, ...]
    language: str = FIRST

    @property
    def told(self) -> Page:
        """The strata and the notes, in the words of the command."""
        return displayed(self.selection)

    @property
    def numbers(self) -> str:
        """How many of each stratum were chosen, as the form for a plan takes it."""
        chosen = self.selection.strata.filter(pl.col("stratum").is_not_null() & (pl.col("n_chosen") > 0))
        rows = chosen.select("stratum", "n_chosen").iter_rows() if self.selection.plan.by else ()
        return "\n".join(f"{name} = {n}" for name, n in rows)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What could not be drawn."""
        return left_out(self.selection)

    @property
    def sample(self) -> Proposal:
        """The chosen items, as a form carries them."""
        return Proposal(items=self.selection.sample)
