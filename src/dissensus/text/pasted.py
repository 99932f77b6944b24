"""Transcripts that people paste: from chat windows, mails and notes, with the speaker before each turn."""

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.text.transcripts import DICES_350, dices_form, is_hh, parse_dices, parse_hh
from dissensus.text.turns import Speaker, Turns, between, check_held, excerpt

LABELS: Final[Mapping[str, Speaker]] = {
    **dict.fromkeys(("human", "user", "person", "h"), "human"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatbot", "model", "lamda", "a"), "bot"),
}
"""What speakers are called, in small letters."""

UNDERSTOOD: Final = (
    "A turn begins with a line like 'Human: …' or 'Assistant: …'; understood are Human, User and Person, and "
    "Assistant, AI, Bot, Chatbot, Model and LaMDA, or H and A all through."
)

# marks of direction and of no width, which chat windows put before a line
_MARKS = "\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_LABEL = re.compile(
    rf"^[ \t{_MARKS}]*+(?P<bold>[*_]{{0,3}})(?P<name>{'|'.join(sorted(LABELS, key=len, reverse=True))})"
    r"(?:(?P=bold)[ \t]*+[:：]|[ \t]*+[:：](?P=bold))[ \t]*+",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
# with the blank lines and further rules after it, so that what comes then is seen at once
_RULE = re.compile(
    r"^[ \t]*+-{3,}+[ \t]*+(?:\n[ \t]*+(?:-{3,}+[ \t]*+)?(?=\n|\Z))*+(?=\n|\Z)",
    re.MULTILINE,
)
_BLANK = re.compile(r"(?:[ \t]*+\n)*+")


def parse_pasted(text: str, *, first_line: int = 1) -> Turns:
    r"""Return the turns of a pasted transcript.

    Parameters
    ----------
    text
        Each turn begins with a line that names its speaker, in bold or not, as `UNDERSTOOD` tells; other lines belong
        to the turn before them. Single letters count only where the first speaker has one, so that a list of answers
        A: to D: stays what it is.
    first_line
        Number of its first line, for errors.

    Returns
    -------
    tuple of pairs
        Texts without blank lines around them, their lines ended by ``\n``.

    Raises
    ------
    InvalidInput
        It does not begin with a turn, or no turn is by a person.

    Examples
    --------
    >>> parse_pasted("**User:** Is it safe?\r\n\r\n**AI**: That depends.\r\n\r\n1. On you\r\n2. On it\r\n")
    (('human', 'Is it safe?'), ('bot', 'That depends.\n\n1. On you\n2. On it'))
    """
    text = _plain(text)
    marks = list(_LABEL.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        raise InvalidInput(f"{_first(text, first_line)} {UNDERSTOOD}")
    short = len(marks[0]["name"]) == 1
    marks = [mark for mark in marks if (len(mark["name"]) == 1) == short]
    turns = tuple((LABELS[name.lower()], _trimmed(said)) for name, said in between(text, marks))
    if not any(speaker == "human" for speaker, _ in turns):
        raise InvalidInput(
            f"Line {first_line:,} and those after it have no turn of a person. {UNDERSTOOD} 'A' is the Assistant, so "
            "where A and B speak, write who they are."
        )
    return turns


def write_pasted(turns: Sequence[tuple[Speaker, str]]) -> str:
    r"""Return turns as text that people read and edit, from which `parse_pasted` makes the same turns.

    Raises
    ------
    InvalidInput
        A text begins or ends with blanks, or has a line that begins like a turn.

    Examples
    --------
    >>> write_pasted([("human", "Hi"), ("bot", "Hello!")])
    'Human: Hi\n\nAssistant: Hello!\n'
    """
    names = {"human": "Human", "bot": "Assistant"}
    text = "\n\n".join(f"{names[speaker]}: {said}" for speaker, said in turns) + "\n"
    check_held(turns, parse_pasted(text), "a pasted transcript")
    return text


def parse_transcript(text: str) -> Turns:
    """Return the turns of a transcript, as hh-rlhf has it or as people paste it."""
    return parse_hh(text) if is_hh(text) else parse_pasted(text)


def parse_context(context: str, response: str) -> Turns | None:
    r"""Return the turns of a context in any form and of the response to it; None if it does not name who speaks first.

    Examples
    --------
    >>> parse_context("Human: Hi\nAI: Hello!\nHuman: Well?", "Well.")
    (('human', 'Hi'), ('bot', 'Hello!'), ('human', 'Well?'), ('bot', 'Well.'))
    >>> parse_context("What is 1 + 1?", "2") is None
    True
    """
    if is_hh(context):
        return (*parse_hh(context), ("bot", response))
    names = {mark["name"].casefold() for mark in _LABEL.finditer(context.replace("\\n", "\n"))}
    form = dices_form(context)
    # USER and A begin other forms too, whose second speaker has another name
    if form is not None and names <= ({"user", "lamda"} if form is DICES_350 else {"a"}):
        return parse_dices(context, response)
    if _LABEL.match(_plain(context).lstrip("\n")) is None:
        return None
    return (*parse_pasted(context), ("bot", response))


def divided(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the transcripts of a text, each with the number of its first line.

    They are divided by lines of three or more hyphens. Such a line divides only where a turn or nothing comes after it;
    others are part of what is said.

    Examples
    --------
    >>> list(divided("Human: a\nAI: b\n---\nHuman: c\nAI: d\n---\nstill d"))
    [(1, 'Human: a\nAI: b\n'), (4, 'Human: c\nAI: d\n---\nstill d')]
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    start, line = 0, 1
    for rule in [*_RULE.finditer(text), None]:
        end, after = (len(text), len(text)) if rule is None else (rule.start(), rule.end() + 1)
        if after < len(text) and _LABEL.match(text, after) is None:
            continue
        if text[start:end].strip():
            yield line, text[start:end]
        line += text.count("\n", start, after)
        start = after


def _plain(text: str) -> str:
    r"""Return text whose lines end in \n, without what all of them are indented by."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return dedent(text) if text.lstrip("\n").startswith((" ", "\t")) else text


def _trimmed(said: str) -> str:
    blank = _BLANK.match(said)
    return said[blank.end() if blank else 0 :].rstrip()


def _first(text: str, first_line: int) -> str:
    """Say that the first line begins no turn."""
    before = len(text) - len(text.lstrip())
    line = text[before:].split("\n", 1)[0].strip()
    if not line:
        return "There is no text."
    return f"Line {first_line + text.count(chr(10), 0, before):,}, {excerpt(line)}, begins no turn."
