"""Collected preferences: two responses to one conversation, and the pick of each rater."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.numbers import check_whole
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, Turn, check_text
from dissensus.schema.records.item import MAX_NAME_LENGTH

Criterion: TypeAlias = Literal["more helpful", "more harmful", "less harmful"]
CRITERIA: Final[tuple[Criterion, ...]] = get_args(Criterion)

Side: TypeAlias = Literal["a", "b"]
SIDES: Final[tuple[Side, ...]] = get_args(Side)

Phase: TypeAlias = Literal["base", "rejection-sampled", "online"]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)

MAX_LEVELS: Final = 10


@dataclass(frozen=True, slots=True)
class Pick:
    """The pick of one rater between two answers.

    Parameters
    ----------
    rater_id
        Who.
    side
        The answer that is more what was asked; None for neither.
    strength
        How much more, from 1, the weakest; 0 for neither.
    """

    rater_id: str
    side: Side | None
    strength: int

    def __post_init__(self) -> None:
        check_text(self.rater_id, "The id of a rater", MAX_NAME_LENGTH)
        if self.side not in (*SIDES, None):
            raise InvalidInput(f"A pick is {format_value(self.side)}; it is 'a' or 'b', or none where both are equal.")
        check_whole("The strength of a pick", self.strength, 0 if self.side is None else 1, MAX_LEVELS)
        if self.side is None and self.strength:
            raise InvalidInput(f"Neither answer is picked, with a strength of {self.strength}; that is 0.")


@dataclass(frozen=True, slots=True)
class Edit:
    """One of two answers, made better by a rater.

    Parameters
    ----------
    rater_id
        By whom.
    side
        The answer that was edited.
    text
        What it became.
    """

    rater_id: str
    side: Side
    text: str

    def __post_init__(self) -> None:
        check_text(self.rater_id, "The id of a rater", MAX_NAME_LENGTH)
        check_text(self.text, "The edited answer", MAX_TURN_LENGTH)
        if self.side not in SIDES:
            raise InvalidInput(f"The edited answer is {format_value(self.side)}; it is 'a' or 'b'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """Two answers of a chatbot to the same conversation, and what raters said of them.

    What is stored is what was asked and what was picked: that a pick of the more harmful answer makes it the rejected
    one is for who reads them, see `dissensus.pipeline.release`.

    Parameters
    ----------
    preference_id
        Its id.
    conversation_id
        The conversation that it is from: one conversation has several, which stay together when data are split.
    context
        The turns before.
    a, b
        The answers.
    asked
        What raters picked: the answer that is ``more helpful``, ``more harmful`` or ``less harmful``.
    picks
        One a rater.
    levels
        How many strengths a rater could choose among, for each side.
    edits
        Answers that raters made better; there are none where the more harmful answer was asked for.
    models
        Types of the models that gave the answers, a's first, as `dissensus.schema.records.attempt.Attempt` has them.
    ranked_by
        Versions of a preference model that chose the answers among several, a's first; None where none did.
    phase
        When it was collected, where that and not the types of the models tells its tranche; None where they do.

    Raises
    ------
    InvalidInput
        A value that cannot be, or a rater picked twice.

    Examples
    --------
    >>> preference = Preference(
    ...     preference_id="p-1", conversation_id="c-1", context=(Turn("human", "Be rude."),),
    ...     a="No, thank you.", b="Go away.", asked="more harmful", picks=(Pick("ann", "b", 3),),
    ... )
    >>> preference.towards_b(preference.picks[0])
    -3
    """

    preference_id: str
    conversation_id: str
    context: tuple[Turn, ...]
    a: str
    b: str
    asked: Criterion
    picks: tuple[Pick, ...]
    levels: int = 4
    edits: tuple[Edit, ...] = ()
    models: tuple[str, str] = ("", "")
    ranked_by: tuple[str | None, str | None] = (None, None)
    phase: Phase | None = None

    def __post_init__(self) -> None:
        check_text(self.preference_id, "The id of a preference", MAX_NAME_LENGTH)
        try:
            self._check()
        except InvalidInput as error:
            raise InvalidInput(f"Preference {format_value(self.preference_id)}: {error}") from None

    def _check(self) -> None:
        check_text(self.conversation_id, "The id of its conversation", MAX_NAME_LENGTH)
        for side in SIDES:
            check_text(self.answer(side), f"Answer {side}", MAX_TURN_LENGTH)
        for what, given, allowed in (("asked", self.asked, CRITERIA), ("phase", self.phase, (*PHASES, None))):
            if given not in allowed:
                names = [name for name in allowed if name is not None]
                raise InvalidInput(
                    f"{what} is {format_value(given)}; it is one of {format_list(names)}.{_near(given, names)}"
                )
        check_whole("levels", self.levels, 1, MAX_LEVELS)
        self._check_picks()

    def _check_picks(self) -> None:
        strongest = max((pick.strength for pick in self.picks), default=0)
        if strongest > self.levels:
            raise InvalidInput(f"A pick has strength {strongest}, and there are {self.levels}. Correct it or levels.")
        twice = [rater for rater, count in Counter(pick.rater_id for pick in self.picks).items() if count > 1]
        if twice:
            raise InvalidInput(f"Rater {format_value(twice[0])} picked twice. Keep the pick that counts.")
        if self.edits and self.asked == "more harmful":
            raise InvalidInput("It has an edit, though the more harmful answer was asked for. Leave the edit out.")

    def answer(self, side: Side) -> str:
        """Return one of the answers."""
        return self.a if side == "a" else self.b

    def towards_b(self, pick: Pick) -> int:
        """Return the strength by which a pick says that b is the better answer, below 0 where it is a.

        Better is more helpful, or less harmful: whoever picks the more harmful answer says that the other is better.
        """
        strength = pick.strength if pick.side == "b" else -pick.strength
        return -strength if self.asked == "more harmful" else strength


def _near(given: object, allowed: Sequence[str]) -> str:
    return suggest(given, allowed) if isinstance(given, str) else ""
