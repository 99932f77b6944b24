"""Messages with a remedy that the command line and the site offer in different places."""

from typing import Self

from dissensus.errors import DissensusError


class Advice(str):
    """Message whose text is that of the command line, with the same message for pages of the site.

    A string, so that whatever prints messages prints it, and only what writes pages asks for `site`.

    Examples
    --------
    >>> advice = Advice("There are no intervals; --bootstrap 1000 adds them.", site="There are no intervals.")
    >>> print(advice)
    There are no intervals; --bootstrap 1000 adds them.
    >>> advice.site
    'There are no intervals.'
    """

    __slots__ = ("site",)
    site: str

    def __new__(cls, command: str, *, site: str) -> Self:
        """Return the message in the words of the command line and in those of the site."""
        advice = super().__new__(cls, command)
        advice.site = site
        return advice

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, str]]:
        """Return the arguments that make a copy, since results with messages are copied and pickled."""
        return (str(self),), {"site": self.site}


def format_message(template: str, message: str) -> str:
    """Return a template with a message inserted, in the words of the command line and of the site.

    Examples
    --------
    >>> word_for_site(format_message("Note: {}", Advice("Use --seed 1.", site="Choose a seed.")))
    'Note: Choose a seed.'
    """
    text = template.format(message)
    return Advice(text, site=template.format(message.site)) if isinstance(message, Advice) else text


def join_messages(*messages: str) -> str:
    """Return messages one after the other, in the words of the command line and of the site.

    Examples
    --------
    >>> word_for_site(join_messages("An answer is missing.", Advice("Use --missing x.", site="Leave the cell empty.")))
    'An answer is missing. Leave the cell empty.'
    """
    text, site = (" ".join(filter(None, words)) for words in (messages, map(word_for_site, messages)))
    return Advice(text, site=site) if site != text else text


def word_for_site(message: str) -> str:
    """Return a message in the words of the site, if it has any."""
    return message.site if isinstance(message, Advice) else message


def site_message(error: Exception) -> str:
    """Return the message of an error in the words of the site."""
    return word_for_site(error_message(error)) if isinstance(error, DissensusError) else str(error)


def error_message(error: Exception) -> str:
    """Return the message of an error as it was given: `str(error)` has only the words of the command line."""
    return error.args[0] if error.args else ""
