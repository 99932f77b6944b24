"""Progress of quota cells: seats taken, raters still needed, and the time until a cell is full."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CellProgress:
    """Progress of a cell.

    Examples
    --------
    >>> cell = CellProgress(cell="old", target=10, places=12, taken=4, held=2, screened=0, n_lately=3, hours=12.0)
    >>> cell.needed, cell.free, cell.hours_left
    (4, 6, 24.0)
    """

    cell: str
    target: int  # Raters that are wanted in the end, and that are let in
    places: int
    taken: int  # Seats of raters who have finished, and of those under way
    held: int
    screened: int  # Number of were turned away because there was none
    n_lately: int  # Number of were let in during the last so many hours
    hours: float
    # Whom the recruiter sent for this cell, and who said of themselves that they are of another one
    mismatched: int = 0

    @property
    def needed(self) -> int:
        """Raters still to be found, if all who are under way finish."""
        return max(0, self.target - self.taken - self.held)

    @property
    def free(self) -> int:
        """Raters that can still be let in."""
        return max(0, self.places - self.taken - self.held)

    @property
    def share(self) -> float:
        """Share of the target that has finished, at most 1."""
        return min(1.0, self.taken / self.target) if self.target else 1.0

    @property
    def hours_left(self) -> float | None:
        """Hours until all places are taken at the present pace; None if nobody came lately."""
        if not self.free:
            return 0.0
        return self.free * self.hours / self.n_lately if self.n_lately else None
