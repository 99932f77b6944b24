"""Membership attack: raters whom an outsider singles out by a few of their answers.

An outsider who saw a person answer some items looks for the only rater in a release with these answers, as de Montjoye
et al. 2013 (https://doi.org/10.1038/srep01376) did with places. Whoever is singled out is exposed with all their other
answers and attributes, whatever their id.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

KNOWN_ANSWERS: Final = 5
DRAWS: Final = 100
"""Sets of known answers of each rater."""
MISSING: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipAttack:
    """Outcome of the attack: shares of raters who are singled out, averaged over sets of known answers."""

    known_answers: int
    n_raters: int  # who have that many answers
    by_answers: float
    by_answers_and_cell: float  # where the outsider knows the attributes too


def attack_membership(
    answers: npt.NDArray[np.integer],
    cells: npt.NDArray[np.integer],
    *,
    known_answers: int = KNOWN_ANSWERS,
    draws: int = DRAWS,
    seed: int = 0,
) -> MembershipAttack | None:
    """Return the outcome of the attack, None if no rater has that many answers.

    `answers` has the code of the answer of each rater to each item, shape (R, I), or `MISSING`; `cells` the cell of
    attributes of each rater. The outsider knows answers to random items, drawn `draws` times for each rater.

    Examples
    --------
    One of three raters differs everywhere, and the other two are alike:

    >>> answers = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]])
    >>> attack = attack_membership(answers, np.zeros(3, int), known_answers=2)
    >>> round(attack.by_answers, 3)
    0.333
    """
    rng = np.random.default_rng(seed)
    singled_out = np.zeros(2)
    n_raters = 0
    for rater, row in enumerate(answers):
        items = np.flatnonzero(row != MISSING)
        if len(items) < known_answers:
            continue
        n_raters += 1
        same_cell = cells == cells[rater]
        for _ in range(draws):
            known = rng.choice(items, known_answers, replace=False)
            alike = (answers[:, known] == row[known]).all(axis=1)
            singled_out += alike.sum() == 1, (alike & same_cell).sum() == 1
    if not n_raters:
        return None
    shares = singled_out / (n_raters * draws)
    return MembershipAttack(
        known_answers=known_answers,
        n_raters=n_raters,
        by_answers=float(shares[0]),
        by_answers_and_cell=float(shares[1]),
    )
