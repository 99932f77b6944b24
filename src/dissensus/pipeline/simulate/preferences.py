"""Simulated preferences of raters whose groups favour different words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.latent import shuffled_scores
from dissensus.schema.numbers import check_number, check_whole
from dissensus.schema.records.conversation import Turn
from dissensus.schema.records.preference import Pick, Preference
from dissensus.stats.result import FloatArray, Int64Array

AXES: Final = {"rater_gender": ("Man", "Woman"), "rater_age": ("18-29", "30-49", "50+")}
"""Groups of raters. Gender has an effect, age has none."""

WORDS: Final = (
    "trains", "gardens", "tea", "clouds", "boats", "chess", "lighthouses", "socks", "maps", "moons", "bread",
    "bicycles", "ladders", "ponds", "clocks", "kites", "stamps", "rivers", "apples", "knots", "libraries", "penguins",
    "bridges", "lanterns",
)  # fmt: skip
"""Words of responses. Gender has an effect on every second one."""

WORDS_PER_RESPONSE: Final = 3

LEVELS: Final = 4
"""Strengths of a pick. Strength k means a utility difference from k - 1 to k; the last has no upper end."""

MAX_SIZE: Final = 100_000
"""Maximum number of comparisons, and of raters."""

MAX_PICKS: Final = 1_000_000
BLOCK_SIZE: Final = 10_000_000
"""Comparisons times raters drawn at once, which bounds memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatedPreferences:
    """Preferences and the true effects they were drawn from."""

    preferences: tuple[Preference, ...]
    raters: pl.DataFrame  # One row each: ``rater_id``, ``rater_gender``, ``rater_age``
    # One row each: ``word``; ``all``, its effect on the log odds of a response; and for each group, such as
    # ``rater_gender=Woman``, the deviation from ``all``
    words: pl.DataFrame
    counts: FloatArray  # Occurrences of each word in b minus those in a, shape (preferences, words)

    def log_odds(self, group: str | None = None) -> FloatArray:
        """Return the log odds that people, or those of a group, find b better than a, for each preference."""
        effect = self.words["all"] if group is None else self.words["all"] + self.words[group]
        return np.asarray(self.counts @ effect.to_numpy())


def simulate_preferences(
    *,
    n_comparisons: int = 400,
    n_raters: int = 40,
    raters_each: int = 4,
    group_sd: float = 1.0,
    rater_sd: float = 0.3,
    seed: int = 0,
) -> SimulatedPreferences:
    r"""Draw picks between two responses that contain different words.

    Rater r finds response b better than a with the log odds

    .. math:: \eta = \sum_w n_w \bigl( v_w + d_{g(r) w} + u_{rw} \bigr)

    with :math:`n_w` the occurrences of word w in b minus those in a. The effects :math:`v` are normal scores in random
    order, with mean 0 and standard deviation 1 exactly. The deviations :math:`d` of women are such scores times
    `group_sd` on every second word and 0 on the words between; those of men are the opposite. :math:`u` is normal.

    Parameters
    ----------
    n_comparisons, n_raters
        Numbers of comparisons and of raters; genders and ages are balanced as far as the number of raters allows.
    raters_each
        Raters of each comparison.
    group_sd, rater_sd
        Standard deviations of d on the words over which genders differ, and of u; 0 for no difference.
    seed
        The same seed gives the same preferences.

    Returns
    -------
    SimulatedPreferences
        Each comparison has a conversation of its own.

    Raises
    ------
    InvalidInput
        A size is out of range, the picks are more than 1,000,000, or the seed or a standard deviation is below 0.

    Examples
    --------
    >>> drawn = simulate_preferences(n_comparisons=3, seed=1)
    >>> drawn.preferences[0].a
    'Let us speak of penguins, clocks and bicycles.'
    >>> len(drawn.preferences[0].picks), drawn.raters.height
    (4, 40)
    """
    check_whole("n_comparisons", n_comparisons, 1, MAX_SIZE)
    check_whole("n_raters", n_raters, 1, MAX_SIZE)
    check_whole("raters_each", raters_each, 1, n_raters)
    if n_comparisons * raters_each > MAX_PICKS:
        raise InvalidInput(
            f"{n_comparisons:,} comparisons by {raters_each:,} raters each are too many picks to draw at once; at most "
            f"{MAX_PICKS:,} are possible. Ask for fewer comparisons, or fewer raters of each."
        )
    check_whole("seed", seed)
    check_number("group_sd", group_sd, 0)
    check_number("rater_sd", rater_sd, 0)
    rng = np.random.default_rng(seed)
    raters, words = _list_raters(n_raters), _draw_word_effects(rng, group_sd)
    deviations = np.stack([words[f"rater_gender={gender}"].to_numpy() for gender in raters["rater_gender"]])
    tastes = words["all"].to_numpy() + deviations + rater_sd * rng.normal(size=(n_raters, len(WORDS)))
    mentions = _draw_words(rng, n_comparisons)
    counts = np.zeros((n_comparisons, len(WORDS)))
    for side, sign in ((0, -1), (1, 1)):
        np.add.at(counts, (np.arange(n_comparisons)[:, None], mentions[:, side]), sign)
    assigned = _assign_raters(rng, n_comparisons, n_raters, raters_each)
    utilities = np.einsum("nw,nrw->nr", counts, tastes[assigned]) + rng.logistic(size=assigned.shape)
    names = raters["rater_id"].to_list()
    preferences = tuple(
        _make_preference(n, mentions[n], assigned[n], utilities[n], names) for n in range(n_comparisons)
    )
    return SimulatedPreferences(preferences=preferences, raters=raters, words=words, counts=counts)


def _list_raters(n: int) -> pl.DataFrame:
    cells = [(gender, age) for age in AXES["rater_age"] for gender in AXES["rater_gender"]]
    rows = [(f"rater-{r + 1:0{len(str(n))}}", *cells[r % len(cells)]) for r in range(n)]
    return pl.DataFrame(rows, schema=["rater_id", *AXES], orient="row")


def _draw_word_effects(rng: np.random.Generator, group_sd: float) -> pl.DataFrame:
    differing = np.arange(len(WORDS)) % 2 == 0
    women = np.zeros(len(WORDS))
    women[differing] = group_sd * shuffled_scores(rng, int(differing.sum()))
    no_difference = np.zeros(len(WORDS))
    deviations = {"rater_gender=Man": -women, "rater_gender=Woman": women}
    deviations |= {f"rater_age={age}": no_difference for age in AXES["rater_age"]}
    return pl.DataFrame({"word": WORDS, "all": shuffled_scores(rng, len(WORDS)), **deviations})


def _assign_raters(rng: np.random.Generator, n_comparisons: int, n_raters: int, raters_each: int) -> Int64Array:
    """Draw the raters of each comparison without replacement, shape (n_comparisons, raters_each)."""
    n_block = max(1, BLOCK_SIZE // n_raters)
    assigned = np.empty((n_comparisons, raters_each), np.int64)
    for first in range(0, n_comparisons, n_block):
        rows = assigned[first : first + n_block]
        rows[:] = np.argsort(rng.random((len(rows), n_raters)), axis=1)[:, :raters_each]
    return assigned


def _draw_words(rng: np.random.Generator, n: int) -> Int64Array:
    """Draw the words of both responses of n comparisons, never the same set for both, shape (n, 2, words)."""
    order = np.argsort(rng.random((n, 2, len(WORDS))), axis=2)
    words = order[:, :, :WORDS_PER_RESPONSE]
    same = (np.sort(words[:, 0], axis=1) == np.sort(words[:, 1], axis=1)).all(axis=1)
    words[same, 1] = order[same, 1, WORDS_PER_RESPONSE : 2 * WORDS_PER_RESPONSE]
    return words


def _make_preference(
    index: int, mentions: Int64Array, raters: Int64Array, utilities: FloatArray, names: list[str]
) -> Preference:
    a, b = (compose_response([WORDS[word] for word in words]) for words in mentions)
    return Preference(
        preference_id=f"p-{index + 1}",
        conversation_id=f"c-{index + 1}",
        context=(Turn("human", f"What shall we speak of? (simulated conversation {index + 1})"),),
        a=a,
        b=b,
        criterion="more helpful",
        picks=tuple(
            _to_pick(names[r], utility) for r, utility in zip(raters.tolist(), utilities.tolist(), strict=True)
        ),
        levels=LEVELS,
    )


def compose_response(words: Sequence[str]) -> str:
    """Return a response that contains the words."""
    *first, last = words
    return f"Let us speak of {', '.join(first)} and {last}."


def _to_pick(rater_id: str, utility: float) -> Pick:
    return Pick(rater_id, "b" if utility > 0 else "a", min(1 + int(abs(utility)), LEVELS))
