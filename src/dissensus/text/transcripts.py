r"""Transcripts of released datasets: parsed into turns, and written back byte for byte.

A person speaks, then a chatbot, as pairs ``("human", text)`` and ``("bot", text)``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.text.turns import Speaker, Turns, between, check_held, excerpt

_HH: Final[Mapping[str, Speaker]] = {"Human": "human", "Assistant": "bot"}
_NAMES: Final[Mapping[Speaker, str]] = {speaker: name for name, speaker in _HH.items()}
# a turn that says nothing may lack the space
_HH_MARK = re.compile(r"\n\n(?P<name>Human|Assistant):(?: |(?=\n\n(?:Human|Assistant):)|\Z)")


def is_hh(text: str) -> bool:
    """Tell whether a text begins as transcripts of hh-rlhf do."""
    return _HH_MARK.match(text) is not None


def parse_hh(text: str) -> Turns:
    r"""Return the turns of a transcript as hh-rlhf and its red-team attempts have them.

    Parameters
    ----------
    text
        Each turn begins with a blank line and ``Human: `` or ``Assistant: ``.

    Returns
    -------
    tuple of pairs
        Texts as they are, with all their spaces and line breaks; empty where nothing is said.

    Raises
    ------
    InvalidInput
        The text begins otherwise.

    Examples
    --------
    >>> parse_hh("\n\nHuman: Who says \"Human: no\"?\n\nAssistant: You do.\n\nHuman: Ok\n\nAssistant: ")
    (('human', 'Who says "Human: no"?'), ('bot', 'You do.'), ('human', 'Ok'), ('bot', ''))
    """
    marks = list(_HH_MARK.finditer(text))
    if not marks or marks[0].start():
        raise InvalidInput(
            f"A transcript of hh-rlhf begins with a blank line, then 'Human: ' or 'Assistant: ', "
            f"and this with {excerpt(text)}."
        )
    return tuple((_HH[name], said) for name, said in between(text, marks))


def write_hh(turns: Sequence[tuple[Speaker, str]]) -> str:
    r"""Return turns as hh-rlhf has them, from which `parse_hh` makes the same turns.

    Raises
    ------
    InvalidInput
        A turn holds what begins another.

    Examples
    --------
    >>> write_hh([("human", "Hi"), ("bot", "Hello!")])
    '\n\nHuman: Hi\n\nAssistant: Hello!'
    """
    text = join_hh(turns)
    check_held(turns, parse_hh(text), "a transcript of hh-rlhf")
    return text


def join_hh(turns: Iterable[tuple[Speaker, str]]) -> str:
    r"""Return turns as hh-rlhf has them, though one may hold what begins another, as some of the published do.

    Examples
    --------
    >>> join_hh([("human", "I say:\n\nHuman: no"), ("bot", "")])
    '\n\nHuman: I say:\n\nHuman: no\n\nAssistant: '
    """
    return "".join(f"\n\n{_NAMES[speaker]}: {said}" for speaker, said in turns)


def continued_hh(prompt: str, said: str) -> str:
    r"""Return a transcript and what the chatbot says to it as one, whether or not one of them names the chatbot.

    Examples
    --------
    >>> continued_hh("\n\nHuman: Hi\n\nAssistant:", " Hello!") == continued_hh("\n\nHuman: Hi", "Hello!")
    True
    """
    named = is_hh(said) or parse_hh(prompt)[-1][0] == "bot"
    return f"{prompt}{said}" if named else f"{prompt}\n\nAssistant: {said}"


def is_plain_hh(text: str, n_turns: int) -> bool:
    r"""Tell whether joined turns are read as so many again; quicker than reading them.

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
        What its speakers are called.
    line_end
        What parts two lines.
    closed
        Whether the last line has an end too.
    """

    human: str
    bot: str
    line_end: str = "\n"
    closed: bool = False

    @property
    def speakers(self) -> Mapping[str, Speaker]:
        """Names of the speakers."""
        return {self.human: "human", self.bot: "bot"}

    @property
    def mark(self) -> re.Pattern[str]:
        """Prefix that begins a turn."""
        return re.compile(rf"(?:\A|\n)(?P<name>{self.human}|{self.bot}): ")


DICES_350: Final = DicesForm(human="USER", bot="LAMDA")
DICES_990: Final = DicesForm(human="A", bot="B", line_end="\\n", closed=True)
r"""Its line ends are the two characters ``\n``, as the released file has them."""


def dices_form(context: str) -> DicesForm | None:
    """Return the form of DICES that a context begins in, None if in neither.

    Examples
    --------
    >>> dices_form("A: Hi") == DICES_990
    True
    """
    return next((form for form in (DICES_350, DICES_990) if form.mark.match(context)), None)


def parse_dices(context: str, response: str) -> Turns:
    r"""Return the turns of a context and a response of DICES.

    Parameters
    ----------
    context
        Lines that begin with ``USER: `` and ``LAMDA: `` (DICES-350), or with ``A: `` and ``B: ``, where ``\n`` is
        written as two characters (DICES-990), and other lines, which belong to the turn before them.
    response
        The last turn, which is the chatbot's.

    Returns
    -------
    tuple of pairs
        Texts as they are, with line breaks as such.

    Raises
    ------
    InvalidInput
        The context begins otherwise.

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
            f"A context of DICES begins with 'USER: ' or 'LAMDA: ', or with 'A: ' or 'B: ', and this with "
            f"{excerpt(context)}."
        )
    context, response = (text.replace(form.line_end, "\n") for text in (context, response))
    context = context.removesuffix("\n") if form.closed else context
    said = between(context, list(form.mark.finditer(context)))
    return (*((form.speakers[name], text) for name, text in said), ("bot", response))


def write_dices(turns: Sequence[tuple[Speaker, str]], form: DicesForm = DICES_350) -> tuple[str, str]:
    r"""Return turns as context and response, from which `parse_dices` makes the same turns.

    Raises
    ------
    InvalidInput
        The last turn is not by the chatbot, or no turn is before it; or a turn holds what begins another.

    Examples
    --------
    >>> write_dices([("human", "Hi"), ("bot", "Hello!")])
    ('USER: Hi', 'Hello!')
    """
    if len(turns) < 2 or turns[-1][0] != "bot":
        raise InvalidInput("DICES has a context, then a response of the bot; these turns do not.")
    names = {speaker: name for name, speaker in form.speakers.items()}
    context = "\n".join(f"{names[speaker]}: {said}" for speaker, said in turns[:-1]) + "\n" * form.closed
    context, response = (text.replace("\n", form.line_end) for text in (context, turns[-1][1]))
    check_held(turns, parse_dices(context, response), f"a context of DICES with {form.human} and {form.bot}")
    return context, response
