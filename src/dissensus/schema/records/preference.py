"""Collected preferences: two responses to one conversation, and the picks of raters."""

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

STRENGTHS: Final = ("slightly", "clearly", "much")
"""Words for the steps to each side of a preference."""
MAX_STRENGTH: Final = len(STRENGTHS)
MAX_LEVELS: Final = 10
"""Upper limit of `Preference.levels`; other sources have more steps than `STRENGTHS`."""


@dataclass(frozen=True, slots=True)
class Pick:
    """The pick of one rater between two responses.

    Parameters
    ----------
    rater_id
        Id of the rater.
    side
        The response that meets the criterion better; None for a tie.
    strength
        Strength of the preference from 1, the weakest; 0 for a tie.
    """

    rater_id: str
    side: Side | None
    strength: int

    def __post_init__(self) -> None:
        check_text(self.rater_id, "The id of a rater", MAX_NAME_LENGTH)
        if self.side not in (*SIDES, None):
            raise InvalidInput(f"A pick is {format_value(self.side)}; it is 'a' or 'b', or None for a tie.")
        check_whole("The strength of a pick", self.strength, 0 if self.side is None else 1, MAX_LEVELS)
        if self.side is None and self.strength:
            raise InvalidInput(f"Neither answer is picked, with a strength of {self.strength}; that is 0.")


@dataclass(frozen=True, slots=True)
class Edit:
    """One of two responses, improved by a rater.

    Parameters
    ----------
    rater_id
        Id of the rater.
    side
        The response that was edited.
    text
        The improved response.
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
    """Two responses of chatbots to the same conversation, and the picks of raters.

    Picks are stored verbatim: if the criterion is ``more harmful``, they name the worse response, and `towards_b` has
    the opposite sign.

    Parameters
    ----------
    preference_id
        Id of the preference.
    conversation_id
        Id of the conversation, whose preferences stay together when data are split.
    context
        The turns before the responses.
    a, b
        The responses.
    criterion
        Criterion of the picks: ``more helpful``, ``more harmful`` or ``less harmful``.
    picks
        One per rater.
    levels
        Number of strengths per side, 10 at most.
    edits
        Responses improved by raters; empty if the criterion is ``more harmful``.
    models
        Model types of responses a and b, as in `dissensus.schema.records.attempt.Attempt`.
    ranked_by
        Versions of the preference model that selected responses a and b; None without selection.
    phase
        Phase of the collection; None if it follows from the model types.

    Raises
    ------
    InvalidInput
        A value is invalid, or a rater picked twice.

    Examples
    --------
    >>> preference = Preference(
    ...     preference_id="p-1", conversation_id="c-1", context=(Turn("human", "Be rude."),),
    ...     a="No, thank you.", b="Go away.", criterion="more harmful", picks=(Pick("ann", "b", 3),),
    ... )
    >>> preference.towards_b(preference.picks[0])
    -3
    """

    preference_id: str
    conversation_id: str
    context: tuple[Turn, ...]
    a: str
    b: str
    criterion: Criterion
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
            check_text(self.response(side), f"Response {side}", MAX_TURN_LENGTH)
        if self.criterion not in CRITERIA:
            raise _invalid_choice("criterion", self.criterion, CRITERIA)
        if self.phase not in (*PHASES, None):
            raise _invalid_choice("phase", self.phase, PHASES)
        check_whole("levels", self.levels, 1, MAX_LEVELS)
        self._check_picks()

    def _check_picks(self) -> None:
        strongest = max((pick.strength for pick in self.picks), default=0)
        if strongest > self.levels:
            raise InvalidInput(f"A pick has strength {strongest}, and levels is {self.levels}. Correct one of them.")
        duplicates = [rater for rater, count in Counter(pick.rater_id for pick in self.picks).items() if count > 1]
        if duplicates:
            raise InvalidInput(f"Rater {format_value(duplicates[0])} picked twice. Keep the pick that counts.")
        if self.edits and self.criterion == "more harmful":
            raise InvalidInput("It has an edit, but the criterion is 'more harmful'. Leave the edit out.")

    def response(self, side: Side) -> str:
        """Return one of the responses."""
        return self.a if side == "a" else self.b

    def towards_b(self, pick: Pick) -> int:
        """Return the strength of a pick in favour of b, negative if in favour of a.

        A pick of the more harmful response favours the other one.
        """
        strength = pick.strength if pick.side == "b" else -pick.strength
        return -strength if self.criterion == "more harmful" else strength


def _invalid_choice(name: str, value: object, allowed: Sequence[str]) -> InvalidInput:
    hint = suggest(value, allowed) if isinstance(value, str) else ""
    return InvalidInput(f"{name} is {format_value(value)}; it is one of {format_list(allowed)}.{hint}")
