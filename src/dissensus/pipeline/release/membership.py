"""Membership attack: raters whom an outsider singles out by a few of their answers.

An outsider who saw a person answer some items looks for the only rater in a release with these answers, as de Montjoye
et al. 2013 (https://doi.org/10.1038/srep01376) did with places. Whoever is singled out is exposed with all their other
answers and attributes, whatever their id.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.result import IntArray

KNOWN_ANSWERS: Final = 5
DRAWS: Final = 100
"""Sets of known answers of each rater."""
TIME_ERROR: Final = 0.05
"""Error with which an outsider knows the whole time of a rater."""
MAX_RATERS: Final = 1_000
"""Raters who are looked for; of more, as many at random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipAttack:
    """Outcome of the attack: shares of raters who are singled out, averaged over sets of known answers."""

    known_answers: int
    n_raters: int  # who have that many answers
    n_tried: int  # of them, at most `MAX_RATERS`
    by_answers: float
    by_answers_and_cell: float  # where the outsider knows the attributes too


def attack_membership(
    codes: tuple[IntArray, IntArray, IntArray],
    cells: IntArray,
    *,
    known_answers: int = KNOWN_ANSWERS,
    draws: int = DRAWS,
    seed: int = 0,
) -> MembershipAttack | None:
    """Return the outcome of the attack, None if no rater has that many answers.

    `codes` has the item, the rater and the answer of each rating; `cells` the cell of attributes of each rater. The
    outsider knows answers to random items, drawn `draws` times for each rater.

    Examples
    --------
    One of three raters differs everywhere, and the other two are alike:

    >>> item, rater = np.tile(np.arange(3), 3), np.repeat(np.arange(3), 3)
    >>> attack = attack_membership((item, rater, np.where(rater == 2, 1, 0)), np.zeros(3, int), known_answers=2)
    >>> round(attack.by_answers, 3)
    0.333
    """
    rng = np.random.default_rng(seed)
    item, rater, _ = codes
    by_item, by_rater = _group_rows(item), _group_rows(rater, len(cells))
    able = [number for number, rows in enumerate(by_rater) if len(rows) >= known_answers]
    if not able:
        return None
    tried = able if len(able) <= MAX_RATERS else sorted(rng.choice(able, MAX_RATERS, replace=False))
    singled_out = np.zeros(2)
    for number in tried:
        rows = by_rater[number]
        others, agree = _compare_answers(codes, rows, by_item)
        same_cell = cells[others] == cells[number]
        for _ in range(draws):
            alike = agree[:, rng.choice(len(rows), known_answers, replace=False)].all(axis=1)
            singled_out += alike.sum() == 1, (alike & same_cell).sum() == 1
    shares = singled_out / (len(tried) * draws)
    return MembershipAttack(
        known_answers=known_answers,
        n_raters=len(able),
        n_tried=len(tried),
        by_answers=float(shares[0]),
        by_answers_and_cell=float(shares[1]),
    )


def attack_workload(amounts: IntArray, cells: IntArray, *, error: float = 0) -> tuple[float, float]:
    """Return the shares of raters who are singled out by their amount of work, and by amount and cell together.

    A recruiter and a list of pay tell how much each person did. A rater stands alone if nobody else has an amount that
    differs by no more than the error, a share of the larger one.

    Examples
    --------
    Two raters have as many ratings, in different cells; the third has more:

    >>> alone, with_cell = attack_workload(np.array([20, 20, 31]), np.array([0, 1, 0]))
    >>> round(alone, 2), with_cell
    (0.33, 1.0)
    """
    return _share_alone(amounts, np.zeros_like(cells), error), _share_alone(amounts, cells, error)


def _share_alone(amounts: IntArray, cells: IntArray, error: float) -> float:
    order = np.lexsort((amounts, cells))
    sorted_amounts, sorted_cells = amounts[order], cells[order]
    near = (np.diff(sorted_amounts) <= error * sorted_amounts[1:]) & (np.diff(sorted_cells) == 0)
    return float((~np.append(near, False) & ~np.append(False, near)).mean())


def _group_rows(codes: IntArray, n: int = 0) -> list[IntArray]:
    """Return the rows of each code, in order."""
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes, minlength=n))[:-1])


def _compare_answers(
    codes: tuple[IntArray, IntArray, IntArray], rows: IntArray, by_item: list[IntArray]
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the raters with an answer of the rows, and which of these answers each of them gave."""
    item, rater, answer = codes
    matches = [by_item[item[row]][answer[by_item[item[row]]] == answer[row]] for row in rows]
    others, positions = np.unique(rater[np.concatenate(matches)], return_inverse=True)
    agree = np.zeros((len(others), len(rows)), bool)
    agree[positions, np.repeat(np.arange(len(rows)), [len(match) for match in matches])] = True
    return others, agree
