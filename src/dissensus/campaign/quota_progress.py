"""Progress of quota cells: seats taken, raters still needed, and the time until a cell is full."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProgress:
    """Progress of a quota cell.

    Examples
    --------
    >>> counts = {"finished": 4, "in_progress": 2, "screened_out": 0, "n_lately": 3}
    >>> cell = CellProgress(cell="old", target=10, capacity=12, hours=12.0, **counts)
    >>> cell.needed, cell.free, cell.hours_left
    (4, 6, 24.0)
    """

    cell: str
    target: int  # raters who are to finish
    capacity: int  # raters admitted
    finished: int  # raters who finished
    in_progress: int  # seats held by raters in progress
    screened_out: int  # raters turned away because the cell was full
    n_lately: int  # raters admitted in the last `hours`
    hours: float  # length of the period by which the pace is measured
    mismatched: int = 0  # raters recruited for this cell who describe themselves as of another one

    @property
    def needed(self) -> int:
        """Raters still needed, if all in progress finish."""
        return max(0, self.target - self.finished - self.in_progress)

    @property
    def free(self) -> int:
        """Seats that are free: raters who can still be admitted."""
        return max(0, self.capacity - self.finished - self.in_progress)

    @property
    def share(self) -> float:
        """Share of the target that finished, at most 1."""
        return min(1.0, self.finished / self.target) if self.target else 1.0

    @property
    def hours_left(self) -> float | None:
        """Hours until the cell is full at the pace of the last `hours`; None if nobody was admitted in them."""
        if not self.free:
            return 0.0
        return self.free * self.hours / self.n_lately if self.n_lately else None
