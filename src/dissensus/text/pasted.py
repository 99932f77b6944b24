"""Parsing and writing of pasted transcripts with the speaker before each turn."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from textwrap import dedent
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.text.transcripts import DICES_350, dices_form, is_hh, parse_dices, parse_hh
from dissensus.text.turns import Speaker, Turns, check_round_trip, check_speakers, excerpt, split_at_marks

LABELS: Final[Mapping[str, Speaker]] = {
    **dict.fromkeys(("human", "user", "person", "h"), "human"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatbot", "model", "lamda", "a"), "bot"),
}
"""Speaker by lower-case label."""

TURN_HINT: Final = (
    "A turn begins with a line like 'Human: …' or 'Assistant: …'; allowed are Human, User and Person, and Assistant, "
    "AI, Bot, Chatbot, Model and LaMDA, or H and A throughout."
)

# Directional and zero-width marks, which chat windows put before a line.
_MARKS = "\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_LABEL = re.compile(
    rf"^[ \t{_MARKS}]*+(?P<bold>[*_]{{0,3}})(?P<name>{'|'.join(sorted(LABELS, key=len, reverse=True))})"
    r"(?:(?P=bold)[ \t]*+[:：]|[ \t]*+[:：](?P=bold))[ \t]*+",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
# A rule with the blank lines and rules after it, so that the text after the match is the next transcript.
_RULE = re.compile(
    r"^[ \t]*+-{3,}+[ \t]*+(?:\n[ \t]*+(?:-{3,}+[ \t]*+)?(?=\n|\Z))*+(?=\n|\Z)",
    re.MULTILINE,
)
_BLANK = re.compile(r"(?:[ \t]*+\n)*+")


def parse_pasted(text: str, *, first_line: int = 1) -> Turns:
    r"""Parse a pasted transcript into turns.

    Parameters
    ----------
    text
        Each turn begins with a line that names its speaker, optionally in bold (see `TURN_HINT`); other lines belong to
        the turn before them. Single letters are speakers only if the first speaker is one, so that a list of answers
        A: to D: remains text.
    first_line
        Line number of the beginning of the text, for error messages.

    Returns
    -------
    tuple of pairs
        Speaker and text of each turn; texts have no surrounding blank lines, and their lines end in ``\n``.

    Raises
    ------
    InvalidInput
        The text does not begin with a turn, or has no turn of a person.

    Examples
    --------
    >>> parse_pasted("**User:** Is it safe?\r\n\r\n**AI**: That depends.\r\n\r\n1. On you\r\n2. On it\r\n")
    (('human', 'Is it safe?'), ('bot', 'That depends.\n\n1. On you\n2. On it'))
    """
    text = _normalise_lines(text)
    marks = list(_LABEL.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        raise InvalidInput(f"{_describe_first_line(text, first_line)} {TURN_HINT}")
    short = len(marks[0]["name"]) == 1
    marks = [mark for mark in marks if (len(mark["name"]) == 1) == short]
    turns = tuple((LABELS[name.lower()], _strip_blank_lines(turn)) for name, turn in split_at_marks(text, marks))
    if not any(speaker == "human" for speaker, _ in turns):
        raise InvalidInput(
            f"The transcript from line {first_line:,} has no turn of a person. {TURN_HINT} 'A' is the Assistant; if "
            "the speakers are A and B, write Human and Assistant instead."
        )
    return turns


def write_pasted(turns: Sequence[tuple[Speaker, str]]) -> str:
    r"""Write turns as a transcript that `parse_pasted` reads back.

    Raises
    ------
    InvalidInput
        There are no turns, none is of a person, or a turn begins or ends with white space, has a line that begins like
        a turn, or is by another speaker.

    Examples
    --------
    >>> write_pasted([("human", "Hi"), ("bot", "Hello!")])
    'Human: Hi\n\nAssistant: Hello!\n'
    """
    form, names = "a pasted transcript", {"human": "Human", "bot": "Assistant"}
    check_speakers(turns, form)
    text = "\n\n".join(f"{names[speaker]}: {turn}" for speaker, turn in turns) + "\n"
    check_round_trip(turns, parse_pasted(text), form)
    return text


def parse_transcript(text: str) -> Turns:
    """Parse a transcript in the form of hh-rlhf or a pasted one."""
    return parse_hh(text) if is_hh(text) else parse_pasted(text)


def parse_context(context: str, response: str) -> Turns | None:
    r"""Parse a context in any form, and add its response; None if the context does not begin with a speaker.

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
    # A context that begins with USER or A may have another form, in which the other speaker has another name.
    if form is not None and names <= ({"user", "lamda"} if form is DICES_350 else {"a"}):
        return parse_dices(context, response)
    if _LABEL.match(_normalise_lines(context).lstrip("\n")) is None:
        return None
    return (*parse_pasted(context), ("bot", response))


def split_transcripts(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the transcripts of a text, each with the number of its first line.

    Transcripts are separated by lines of three or more hyphens. Such a line is a separator only before a turn or the
    end of the text; otherwise it belongs to the turn.

    Examples
    --------
    >>> list(split_transcripts("Human: a\nAI: b\n---\nHuman: c\nAI: d\n---\nstill d"))
    [(1, 'Human: a\nAI: b\n'), (4, 'Human: c\nAI: d\n---\nstill d')]
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    start, line = 0, 1
    for rule in chain(_find_rules(text), (None,)):
        end, after = (len(text), len(text)) if rule is None else (rule.start(), rule.end() + 1)
        if after < len(text) and _LABEL.match(text, after) is None:
            continue
        if text[start:end].strip():
            yield line, text[start:end]
        line += text.count("\n", start, after)
        start = after


def _find_rules(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_RULE`; one search of a long text without rules would block other requests."""
    hyphens = text.find("---")
    while hyphens != -1:
        rule = _RULE.match(text, text.rfind("\n", 0, hyphens) + 1)
        line_end = text.find("\n", rule.end() if rule else hyphens)
        if rule:
            yield rule
        hyphens = -1 if line_end == -1 else text.find("---", line_end)


def _normalise_lines(text: str) -> str:
    r"""Return the text with line ends \n, and without common indentation."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return dedent(text) if text.lstrip("\n").startswith((" ", "\t")) else text


def _strip_blank_lines(turn: str) -> str:
    blank = _BLANK.match(turn)
    return turn[blank.end() if blank else 0 :].rstrip()


def _describe_first_line(text: str, first_line: int) -> str:
    """Return the part of a message about a first line that is not a turn."""
    before = len(text) - len(text.lstrip())
    line = text[before:].split("\n", 1)[0].strip()
    if not line:
        return "There is no text."
    return f"Line {first_line + text.count(chr(10), 0, before):,}, {excerpt(line)}, does not begin a turn."
