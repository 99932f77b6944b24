"""Parameters of a simulated campaign."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dissensus.errors import InvalidInput
from dissensus.pipeline.simulate.careless import Careless
from dissensus.pipeline.simulate.effects import SimulatedEffects
from dissensus.pipeline.simulate.items import SimulatedItems
from dissensus.pipeline.simulate.latent import SCALE
from dissensus.pipeline.simulate.pool import Pool
from dissensus.pipeline.simulate.questions import Questions
from dissensus.pipeline.simulate.times import SimulatedTimes
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.numbers import check_number, check_share, check_weights
from dissensus.schema.questionnaire.shipped import load_questionnaire

# A rating takes nearly a kilobyte, in memory and on disk.
MAX_RATINGS = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationDesign:
    """Settings of a simulated campaign, except the seed.

    Parameters
    ----------
    questionnaire
        Name of the questionnaire whose file is drawn.
    items, pool, questions, effects, careless
        Settings of each.
    times
        Settings of the answer times; None for a file without times.
    answers
        Shares of No, Unsure and Yes among the overall answers, without straight-liners and clickers.
    per_item
        Mean number of ratings of an item, balanced over the cells of the pool; None for the full design.
    dropout
        Share of raters who stop before their last item.
    missing
        Share of blank ratings.

    Raises
    ------
    InvalidInput
        A setting is out of range or contradicts another.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from dissensus.pipeline.simulate import preset
    >>> campaign = replace(preset("dices-350"), per_item=9)
    >>> campaign.pool.size, campaign.items.count, campaign.n_ratings
    (123, 350, 3150)
    """

    questionnaire: str
    items: SimulatedItems
    pool: Pool
    questions: Questions
    answers: Mapping[str, float]
    effects: SimulatedEffects = field(default_factory=SimulatedEffects)
    careless: Careless = field(default_factory=Careless)
    times: SimulatedTimes | None = None
    per_item: float | None = None
    dropout: float = 0.0
    missing: float = 0.0

    def __post_init__(self) -> None:
        self._check_questions()
        self._check_answers()
        for axis, effects in self.effects.groups.items():
            _check_each(f"groups of {axis}", effects.groups, self.pool.groups(axis))
        check_share("dropout", self.dropout)
        check_share("missing", self.missing)
        if self.per_item is not None:
            check_number("per_item", self.per_item, 1, self.pool.size)
        if self.careless.count > self.pool.size:
            raise InvalidInput(
                f"{self.careless.count} careless raters (speeders, straight-liners, clickers) are asked of a pool of "
                f"{self.pool.size}. Ask for fewer, or for a larger pool."
            )
        if max(self.n_ratings, self.pool.size) > MAX_RATINGS:
            raise InvalidInput(
                f"{self.n_ratings:,} ratings by {self.pool.size:,} raters are too many to draw at once; "
                f"at most {MAX_RATINGS:,} are possible. Ask for fewer items or raters, or fewer ratings per item."
            )

    @property
    def n_ratings(self) -> int:
        """Number of ratings without dropout."""
        return round((self.pool.size if self.per_item is None else self.per_item) * self.items.count)

    def _check_questions(self) -> None:
        counting = [
            question.name for question in load_questionnaire(self.questionnaire).questions if question.in_overall
        ]
        _check_each("questions", self.questions.weights, counting)
        for topic in self.items.topics:
            _check_each(f"questions of the topic {topic.name}", topic.questions, counting)

    def _check_answers(self) -> None:
        check_weights("answers", self.answers.values())
        if tuple(self.answers) != SCALE or not self.answers["No"] > 0:
            raise InvalidInput(
                f"answers is {dict(self.answers)}; give the shares of {format_list(SCALE)}, in this order, No above 0."
            )
        _check_each("answers of straight-liners", self.careless.answers, SCALE)


def _check_each(kind: str, names: Iterable[str], allowed: Sequence[str]) -> None:
    for name in names:
        if name not in allowed:
            hint = suggest(name, allowed)
            raise InvalidInput(f"There is no {name!r} among the {kind}.{hint} There are {format_list(allowed, 30)}.")
