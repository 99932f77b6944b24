"""Simulated preferences of raters whose groups favour different words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.latent import Codes, Floats
from dissensus.pipeline.simulate.scores import shuffled_scores
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import Pick, Preference

AXES: Final = {"rater_gender": ("Man", "Woman"), "rater_age": ("18-29", "30-49", "50+")}
"""Groups of raters. Genders differ by as much as is asked for, ages never do."""

WORDS: Final = (
    "trains", "gardens", "tea", "clouds", "boats", "chess", "lighthouses", "socks", "maps", "moons", "bread",
    "bicycles", "ladders", "ponds", "clocks", "kites", "stamps", "rivers", "apples", "knots", "libraries", "penguins",
    "bridges", "lanterns",
)  # fmt: skip
"""What answers speak of. Everybody likes some more than others; over every other one genders differ."""

SPOKEN_OF: Final = 3
"""Words of an answer."""

LEVELS: Final = 4
"""Strengths of a pick: 1 up to a log odds of 1, and so on."""

MOST: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedPreferences:
    """Preferences, and the tastes that they come from."""

    preferences: tuple[Preference, ...]
    raters: pl.DataFrame  # One row each: ``rater_id``, ``rater_gender``, ``rater_age``
    # One row each: ``word``; ``all``, what it adds to how much an answer is liked, in log odds; and for each group,
    # such as ``rater_gender=Woman``, how far it departs from that
    words: pl.DataFrame
    counts: Floats  # How often b speaks of each word, less how often a does, shape (preferences, words)

    def odds(self, group: str | None = None) -> Floats:
        """Return the log odds that people, or those of a group, find b better than a, for each preference."""
        liked = self.words["all"] if group is None else self.words["all"] + self.words[group]
        return np.asarray(self.counts @ liked.to_numpy())


def simulate_preferences(
    *,
    n_comparisons: int = 400,
    n_raters: int = 40,
    raters_each: int = 4,
    group_sd: float = 1.0,
    rater_sd: float = 0.3,
    seed: int = 0,
) -> SimulatedPreferences:
    r"""Draw what raters pick of two answers that speak of different things.

    Of two answers that speak of words :math:`w`, rater r finds b better with the log odds

    .. math:: \eta = \sum_w n_w \bigl( v_w + d_{g(r) w} + u_{rw} \bigr)

    with :math:`n_w` how often b speaks of w less how often a does. :math:`v` is normal with a standard deviation of 1.
    :math:`d` is a normal effect for women and its opposite for men, and 0 on every other word; :math:`u` is normal.

    Parameters
    ----------
    n_comparisons, n_raters
        How many; genders and ages are balanced.
    raters_each
        Raters of each comparison.
    group_sd, rater_sd
        Standard deviations of d on the words over which genders differ, and of u; 0 for no difference.
    seed
        The same seed gives the same preferences.

    Returns
    -------
    SimulatedPreferences
        Each comparison is a conversation of its own.

    Raises
    ------
    InvalidInput
        A size that cannot be, or a negative standard deviation.

    Examples
    --------
    >>> drawn = simulate_preferences(n_comparisons=3, seed=1)
    >>> drawn.preferences[0].a
    'Let us speak of penguins, clocks and bicycles.'
    >>> len(drawn.preferences[0].picks), drawn.raters.height
    (4, 40)
    """
    check_whole("n_comparisons", n_comparisons, 1, MOST)
    check_whole("n_raters", n_raters, 1, MOST)
    check_whole("raters_each", raters_each, 1, n_raters)
    if min(group_sd, rater_sd) < 0:
        raise InvalidInput(f"group_sd is {group_sd:g} and rater_sd {rater_sd:g}; neither can be less than 0.")
    rng = np.random.default_rng(seed)
    raters, words = _raters(n_raters), _words(rng, group_sd)
    departing = np.stack([words[f"rater_gender={gender}"].to_numpy() for gender in raters["rater_gender"]])
    tastes = words["all"].to_numpy() + departing + rater_sd * rng.normal(size=(n_raters, len(WORDS)))
    spoken = _draw_words(rng, n_comparisons)
    counts = np.zeros((n_comparisons, len(WORDS)))
    for side, sign in ((0, -1), (1, 1)):
        np.add.at(counts, (np.arange(n_comparisons)[:, None], spoken[:, side]), sign)
    asked = np.argsort(rng.random((n_comparisons, n_raters)), axis=1)[:, :raters_each]
    felt = np.einsum("nw,nrw->nr", counts, tastes[asked]) + rng.logistic(size=asked.shape)
    names = raters["rater_id"].to_list()
    preferences = tuple(_preference(n, spoken[n], asked[n], felt[n], names) for n in range(n_comparisons))
    return SimulatedPreferences(preferences=preferences, raters=raters, words=words, counts=counts)


def _raters(n: int) -> pl.DataFrame:
    cells = [(gender, age) for age in AXES["rater_age"] for gender in AXES["rater_gender"]]
    rows = [(f"rater-{r + 1:0{len(str(n))}}", *cells[r % len(cells)]) for r in range(n)]
    return pl.DataFrame(rows, schema=["rater_id", *AXES], orient="row")


def _words(rng: np.random.Generator, group_sd: float) -> pl.DataFrame:
    differing = np.arange(len(WORDS)) % 2 == 0
    women = np.zeros(len(WORDS))
    women[differing] = group_sd * shuffled_scores(rng, int(differing.sum()))
    none = np.zeros(len(WORDS))
    departing = {"rater_gender=Man": -women, "rater_gender=Woman": women}
    departing |= {f"rater_age={age}": none for age in AXES["rater_age"]}
    return pl.DataFrame({"word": WORDS, "all": shuffled_scores(rng, len(WORDS)), **departing})


def _draw_words(rng: np.random.Generator, n: int) -> Codes:
    """Draw the words of both answers of n comparisons, shape (n, 2, words): never the same ones."""
    order = np.argsort(rng.random((n, 2, len(WORDS))), axis=2)
    spoken = order[:, :, :SPOKEN_OF]
    same = (np.sort(spoken[:, 0], axis=1) == np.sort(spoken[:, 1], axis=1)).all(axis=1)
    spoken[same, 1] = order[same, 1, SPOKEN_OF : 2 * SPOKEN_OF]
    return spoken


def _preference(number: int, spoken: Codes, asked: Codes, felt: Floats, raters: list[str]) -> Preference:
    a, b = (draw_texts([WORDS[word] for word in words]) for words in spoken)
    return Preference(
        preference_id=f"p-{number + 1}",
        conversation_id=f"c-{number + 1}",
        context=(Turn("human", f"What shall we speak of? (simulated conversation {number + 1})"),),
        a=a,
        b=b,
        asked="more helpful",
        picks=tuple(_pick(raters[rater], odds) for rater, odds in zip(asked.tolist(), felt.tolist(), strict=True)),
        levels=LEVELS,
    )


def draw_texts(words: Sequence[str]) -> str:
    """Return an answer that speaks of some words."""
    *others, last = words
    return f"Let us speak of {', '.join(others)} and {last}."


def _pick(rater_id: str, odds: float) -> Pick:
    return Pick(rater_id, "b" if odds > 0 else "a", min(1 + int(abs(odds)), LEVELS))
