r"""Lossless parsing and writing of the transcripts of the published data sets hh-rlhf and DICES.

Turns are pairs of a speaker, ``"human"`` or ``"bot"``, and a text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.text.turns import Speaker, Turns, check_round_trip, check_speakers, excerpt, split_at_marks

_HH: Final[Mapping[str, Speaker]] = {"Human": "human", "Assistant": "bot"}
_NAMES: Final[Mapping[Speaker, str]] = {
    **{speaker: name for name, speaker in _HH.items()},
    "system": "System",
    "tool": "Tool",
}
# The space may be missing before an empty turn.
_HH_MARK = re.compile(r"\n\n(?P<name>Human|Assistant):(?: |(?=\n\n(?:Human|Assistant):)|\Z)")


def is_hh(text: str) -> bool:
    """Return True if a text begins like a transcript of hh-rlhf."""
    return _HH_MARK.match(text) is not None


def parse_hh(text: str) -> Turns:
    r"""Parse a transcript in the form of hh-rlhf and its red-team attempts into turns.

    Parameters
    ----------
    text
        Each turn begins with a blank line and ``Human: `` or ``Assistant: ``.

    Returns
    -------
    tuple of pairs
        Unchanged texts, with all spaces and line breaks; turns may be empty.

    Raises
    ------
    InvalidInput
        The text does not begin with a turn.

    Examples
    --------
    >>> parse_hh("\n\nHuman: Who says \"Human: no\"?\n\nAssistant: You do.\n\nHuman: Ok\n\nAssistant: ")
    (('human', 'Who says "Human: no"?'), ('bot', 'You do.'), ('human', 'Ok'), ('bot', ''))
    """
    marks = list(_HH_MARK.finditer(text))
    if not marks or marks[0].start():
        raise InvalidInput(
            "A transcript of hh-rlhf begins with a blank line, then 'Human: ' or 'Assistant: '; this one begins with "
            f"{excerpt(text)}."
        )
    return tuple((_HH[name], turn) for name, turn in split_at_marks(text, marks))


def write_hh(turns: Sequence[tuple[Speaker, str]]) -> str:
    r"""Write turns in the form of hh-rlhf, so that `parse_hh` reads them back.

    Raises
    ------
    InvalidInput
        There are no turns, or a turn contains the beginning of a turn or is by another speaker.

    Examples
    --------
    >>> write_hh([("human", "Hi"), ("bot", "Hello!")])
    '\n\nHuman: Hi\n\nAssistant: Hello!'
    """
    form = "a transcript of hh-rlhf"
    check_speakers(turns, form)
    text = join_hh(turns)
    check_round_trip(turns, parse_hh(text), form)
    return text


def join_hh(turns: Iterable[tuple[Speaker, str]]) -> str:
    r"""Write turns in the form of hh-rlhf without checking that they can be read back; some published ones cannot.

    Examples
    --------
    >>> join_hh([("human", "I say:\n\nHuman: no"), ("bot", "")])
    '\n\nHuman: I say:\n\nHuman: no\n\nAssistant: '
    """
    return "".join(f"\n\n{_NAMES[speaker]}: {turn}" for speaker, turn in turns)


def append_response_hh(prompt: str, response: str) -> str:
    r"""Append a response to a transcript, with the name of the chatbot if neither contains it.

    Examples
    --------
    >>> append_response_hh("\n\nHuman: Hi\n\nAssistant:", " Hello!") == append_response_hh("\n\nHuman: Hi", "Hello!")
    True
    """
    has_speaker = is_hh(response) or parse_hh(prompt)[-1][0] == "bot"
    return f"{prompt}{response}" if has_speaker else f"{prompt}\n\nAssistant: {response}"


def is_plain_hh(text: str, n_turns: int) -> bool:
    r"""Return True if a transcript by `join_hh` parses into as many turns as were joined; faster than parsing it.

    Examples
    --------
    >>> is_plain_hh("\n\nHuman: I say:\n\nHuman: no\n\nAssistant: ", 2)
    False
    """
    if sum(text.count(f"\n\n{name}:") for name in _HH) == n_turns:
        return True
    return sum(1 for _ in _HH_MARK.finditer(text)) == n_turns


@dataclass(frozen=True, slots=True, kw_only=True)
class DicesForm:
    """Form of contexts in DICES files.

    Parameters
    ----------
    human, bot
        Names of the speakers.
    line_end
        Line separator.
    closed
        True if the last line ends in a separator too.
    """

    human: str
    bot: str
    line_end: str = "\n"
    closed: bool = False

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """Speakers by name."""
        return {self.human: "human", self.bot: "bot"}

    @property
    def mark(self) -> re.Pattern[str]:
        """Prefix that begins a turn."""
        return re.compile(rf"(?:\A|\n)(?P<name>{self.human}|{self.bot}): ")


DICES_350: Final = DicesForm(human="USER", bot="LAMDA")
DICES_990: Final = DicesForm(human="A", bot="B", line_end="\\n", closed=True)
r"""Its line ends are the two characters ``\n``, as in the released file."""


def dices_form(context: str) -> DicesForm | None:
    """Return the form of DICES of a context; None if it begins like neither.

    Examples
    --------
    >>> dices_form("A: Hi") == DICES_990
    True
    """
    return next((form for form in (DICES_350, DICES_990) if form.mark.match(context)), None)


def parse_dices(context: str, response: str) -> Turns:
    r"""Parse a context and a response of DICES into turns.

    Parameters
    ----------
    context
        Lines that begin with ``USER: `` and ``LAMDA: `` (DICES-350), or with ``A: `` and ``B: ``, where ``\n`` is
        written as two characters (DICES-990), and other lines, which belong to the turn before them.
    response
        The last turn, by the chatbot.

    Returns
    -------
    tuple of pairs
        Texts with real line breaks, otherwise unchanged.

    Raises
    ------
    InvalidInput
        The context does not begin with a turn.

    Examples
    --------
    >>> parse_dices("USER: Hi\nLAMDA: Hello!\nUSER: Two\nlines", "Fine")
    (('human', 'Hi'), ('bot', 'Hello!'), ('human', 'Two\nlines'), ('bot', 'Fine'))
    >>> parse_dices("A: is it far?\\nB: no\\nA: sure?\\n", "yes\\nI am")
    (('human', 'is it far?'), ('bot', 'no'), ('human', 'sure?'), ('bot', 'yes\nI am'))
    """
    form = dices_form(context)
    if form is None:
        raise InvalidInput(
            "A context of DICES begins with 'USER: ' or 'LAMDA: ', or with 'A: ' or 'B: '; this one begins with "
            f"{excerpt(context)}."
        )
    context, response = (text.replace(form.line_end, "\n") for text in (context, response))
    context = context.removesuffix("\n") if form.closed else context
    turns = split_at_marks(context, list(form.mark.finditer(context)))
    return (*((form.speakers[name], text) for name, text in turns), ("bot", response))


def write_dices(turns: Sequence[tuple[Speaker, str]], form: DicesForm = DICES_350) -> tuple[str, str]:
    r"""Write turns as context and response, so that `parse_dices` reads them back.

    Raises
    ------
    InvalidInput
        The last turn is not by the chatbot, it is the only turn, or a turn contains the beginning of a turn or is by
        another speaker.

    Examples
    --------
    >>> write_dices([("human", "Hi"), ("bot", "Hello!")])
    ('USER: Hi', 'Hello!')
    """
    if len(turns) < 2 or turns[-1][0] != "bot":
        raise InvalidInput("DICES needs a context, then a response of the bot; these turns do not end in one.")
    described = f"a context of DICES with {form.human} and {form.bot}"
    check_speakers(turns, described)
    names = {speaker: name for name, speaker in form.speakers.items()}
    context = "\n".join(f"{names[speaker]}: {turn}" for speaker, turn in turns[:-1]) + "\n" * form.closed
    context, response = (text.replace("\n", form.line_end) for text in (context, turns[-1][1]))
    check_round_trip(turns, parse_dices(context, response), described)
    return context, response
