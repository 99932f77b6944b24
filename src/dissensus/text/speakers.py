"""Detection of labels of unknown speakers within the turns of parsed transcripts."""

import re
from collections.abc import Iterable
from typing import Final

_NAMES: Final = (
    r"humans?|users?|person|people|assistant|ai|bot|chat ?bot|model|language model|llm|system|tool|agent|customer|"
    r"client|operator|moderator|interviewer|interviewee|participant|red-?teamer|attacker|speaker ?[\dA-Z]|"
    r"gpt[\w.-]*|chatgpt[\w.-]*|claude[\w .-]{0,12}|gemini[\w .-]{0,12}|bard|copilot|lamda|palm|llama[\w.-]*|"
    r"mistral[\w.-]*|qwen[\w.-]*|deepseek[\w.-]*|alexa|siri"
)
HH_SPEAKERS: Final = ("Human", "Assistant")
"""Speakers of hh-rlhf, whose published files also have them without the space that begins a turn."""

_LABEL: Final = rf"[ \t]*[*_]{{0,3}}(?P<name>{_NAMES})[*_]{{0,3}}[ \t]*[:：]"
_AT_LINE: Final = re.compile(rf"(?:\A|\n){_LABEL}", re.IGNORECASE)
_AT_PARAGRAPH: Final = re.compile(rf"(?:\A|\n[ \t]*\n){_LABEL}", re.IGNORECASE)


def find_unknown_speakers(turns: Iterable[str], *, paragraphs: bool = False) -> tuple[str, ...]:
    r"""Return the labels that look like speakers within turns, in order of appearance.

    Parameters
    ----------
    turns
        Texts of the turns of a parsed transcript.
    paragraphs
        True if a turn begins after a blank line, as in hh-rlhf.

    Examples
    --------
    >>> find_unknown_speakers(["Is it safe?\n\nLLM: No.", "User names: none"], paragraphs=True)
    ('LLM',)
    """
    pattern = _AT_PARAGRAPH if paragraphs else _AT_LINE
    known = HH_SPEAKERS if paragraphs else ()
    labels = (match["name"] for turn in turns if ":" in turn or "：" in turn for match in pattern.finditer(turn))
    return tuple(dict.fromkeys(name for name in labels if name[0].isupper() and name not in known))


def describe_unknown_speaker(name: str) -> str:
    """Describe the label of an unknown speaker for a note.

    Examples
    --------
    >>> describe_unknown_speaker("LLM")
    "'LLM:' names no known speaker, so its text belongs to the turn before; write Human or Assistant"
    """
    return f"{name + ':'!r} names no known speaker, so its text belongs to the turn before; write Human or Assistant"
