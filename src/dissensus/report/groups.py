"""Groups of an axis: display names, order, small-cell suppression."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.pipeline.analyse.result import FEW, Analysis
from dissensus.pipeline.tables import escape_unprintable
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun, format_list
from dissensus.schema.ratings.columns import CROSS, RATER_PREFIX
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.suppression import select_publishable_groups

EVERYBODY = "everybody"
# Most rows of a figure: more are not readable.
MOST_GROUPS = 24
# Most characters of a name of a group that is displayed.
LONGEST_NAME = 200
# Most characters of a name within a file name, which has at most 255 bytes.
LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayedGroups:
    """The groups of an axis.

    Parameters
    ----------
    axis
        Its full name.
    sizes
        Number of raters of each group.
    min_raters
        Groups with fewer raters are marked.
    suppress_below
        Groups with fewer raters are not shown.
    hidden
        Suppressed groups: those with fewer raters than `suppress_below`, and others from which their answers could be
        computed.
    beside
        Axes that are displayed together with this one.
    n_unknown
        Raters whose group is unknown.
    """

    axis: str
    sizes: dict[str, int]
    min_raters: int = 5
    suppress_below: int = 0
    hidden: frozenset[str] = frozenset()
    beside: tuple[str, ...] = ()
    n_unknown: int = 0

    @property
    def title(self) -> str:
        """The axis in words: "race", "race × gender"."""
        return format_axis(self.axis)

    @property
    def slug(self) -> str:
        """The axis in the name of a file."""
        return make_slug(self.axis)

    @property
    def listed(self) -> tuple[str, ...]:
        """Groups that may be shown, in their order."""
        return tuple(name for name in self.sizes if name not in self.hidden)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The largest groups, up to the limit of a figure, in their order."""
        largest = sorted(self.listed, key=lambda name: -self.sizes[name])[:MOST_GROUPS]
        return tuple(name for name in self.listed if name in set(largest))

    @property
    def compared(self) -> tuple[str, ...]:
        """Groups in figures of agreement: those of two raters or more, if there are such."""
        return tuple(name for name in self.drawn if self.sizes[name] > 1) or self.drawn

    @property
    def single_notes(self) -> tuple[str, ...]:
        """Note on groups of one rater, which figures of agreement leave out."""
        single = [escape_unprintable(name) for name in self.drawn if name not in self.compared]
        return (f"Not drawn, since one rater has no agreement: {', '.join(single)}.",) * bool(single)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on marked, suppressed and undrawn groups."""
        notes = []
        if any(self.sizes[name] < self.min_raters for name in self.listed):
            notes.append(f"{FEW} fewer than {self.min_raters:,} raters: read with care.")
        if self.hidden:
            notes.append(
                f"{count_noun(len(self.hidden), 'group')} of {self.title} left out: {self.suppression_reason}."
            )
        if self.n_unknown:
            notes.append(f"{self.title} of {self.unknown} is not known.")
        if len(self.drawn) < len(self.listed):
            notes.append(
                f"The figure shows the {len(self.drawn)} largest of {len(self.listed):,} groups; the table has all."
            )
        return tuple(notes)

    @property
    def suppression_reason(self) -> str:
        """Reason for hidden groups."""
        return f"fewer than {self.suppress_below:,} raters, or others could be computed from them"

    @property
    def unknown(self) -> str:
        """Raters of unknown group in words; without their number where it would reveal hidden groups."""
        return "some raters" if self.hidden else count_noun(self.n_unknown, "rater")

    def label(self, name: str, *, size: bool = True) -> str:
        """Return the name of a group, marked if it is small, with its raters on a second line."""
        mark = FEW if self.sizes[name] < self.min_raters else ""
        shown = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        return f"{escape_unprintable(shown)}{mark}" + (f"\n{count_noun(self.sizes[name], 'rater')}" if size else "")


def list_groups(
    ratings: Ratings, axis: str | DisplayedGroups, *, min_raters: int = 5, suppress_below: int = 0
) -> DisplayedGroups:
    """Return the groups of an axis as `groups_of_axes` does; `DisplayedGroups` are returned unchanged."""
    if isinstance(axis, DisplayedGroups):
        return axis
    return groups_of_axes(ratings, [axis], min_raters=min_raters, suppress_below=suppress_below)[0]


def groups_of_axes(
    ratings: Ratings, axes: Sequence[str], *, beside: Sequence[str] = (), min_raters: int = 5, suppress_below: int = 0
) -> tuple[DisplayedGroups, ...]:
    """Return the groups of axes that are displayed together, and `beside` others.

    Groups with fewer raters than `suppress_below` are hidden, and others from which these could be computed.
    """
    if suppress_below < 0:
        raise InvalidInput(f"suppress_below is {suppress_below}; give a number of raters, 0 to hide no group.")
    names = tuple(ratings.axis_name(axis) for axis in (*axes, *beside))
    hidden = find_hidden_groups(ratings, names, suppress_below)
    result = []
    for axis in names[: len(axes)]:
        codes, groups = ratings.group_codes(axis)
        sizes = dict(zip(groups, np.bincount(codes[codes >= 0], minlength=len(groups)).tolist(), strict=True))
        displayed = DisplayedGroups(
            axis=axis,
            sizes=sizes,
            min_raters=min_raters,
            suppress_below=suppress_below,
            hidden=hidden[axis],
            beside=names,
            n_unknown=int((codes < 0).sum()),
        )
        result.append(displayed)
    return tuple(result)


def find_hidden_groups(ratings: Ratings, axes: Sequence[str], below: int) -> dict[str, frozenset[str]]:
    """Return the hidden groups of each of some axes; the parts of a crossed axis count as axes too."""
    if not below or not axes:
        return dict.fromkeys(axes, frozenset())
    parts = (part for axis in axes for part in axis.split(CROSS))
    # Sorted, so that the same axes hide the same groups in every figure.
    names = sorted({*axes, *parts}, key=lambda axis: (axis.count(CROSS), axis))
    codes, groups = zip(*(ratings.group_codes(axis) for axis in names), strict=True)
    publishable = select_publishable_groups(np.stack(codes), min_cell=below)
    return {
        axis: frozenset(groups[row][code] for code in set(codes[row].tolist()) - {-1} if not publishable[row, code])
        for row, axis in enumerate(names)
    }


def read_compared_groups(analysis: Analysis, axis: str) -> DisplayedGroups:
    """Return the groups of an axis that an analysis compares."""
    axis = next((full for full in analysis.settings.axes if axis in (full, full.replace(RATER_PREFIX, ""))), axis)
    if axis not in analysis.settings.axes:
        compared = format_list(analysis.settings.axes) if analysis.settings.axes else "none"
        raise InvalidInput(
            f"The analysis does not compare the groups of {axis!r}. Its axes are {compared}; name this one with "
            f"by=[{axis!r}] in analyse."
        )
    rows = [row for row in analysis.rows if row.axis == axis and row.group is not None]
    sizes = {str(row.group): row.n_raters or 0 for row in rows}
    return DisplayedGroups(axis=axis, sizes=sizes, min_raters=analysis.settings.min_raters)


def make_slug(text: str) -> str:
    """Return a name as part of a file name: letters and digits, joined by hyphens, cut to `LONGEST`."""
    words = re.findall(r"\w+", text.lower().replace(RATER_PREFIX, "").replace("_", " "))
    return "-".join(words)[:LONGEST].strip("-") or "unnamed"


def make_file_name(text: str) -> str:
    """Return a text as part of a file name: other characters than of words become hyphens, cut to `LONGEST`."""
    return re.sub(r"[^\w-]+", "-", text)[:LONGEST].strip("-") or "unnamed"


def number_repeated_names(names: Sequence[str]) -> list[str]:
    """Return unique names: repeated ones get a number."""
    unique_names: list[str] = []
    for name in names:
        numbered = (f"{name}-{n}" for n in count(2))
        unique_names.append(next(candidate for candidate in chain([name], numbered) if candidate not in unique_names))
    return unique_names


def format_percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent."""
    return f"{100 * share:.{digits}f} %"


def join_with_and(parts: Sequence[str]) -> str:
    """Return parts as a list in a sentence."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
