"""The command that an error suggests: the same one with other options."""

import sys
from collections.abc import Sequence

import typer

from dissensus.schema.hints import quote_option

REPEATABLE = ("--rater-attribute",)
"""Options that are added to those of the same name, where others replace them."""

CATEGORIES = "--categories"
FLAG = "--normalise"
"""The suggested option that has no value."""
ORDERED_LEVELS = ("ordinal", "interval")


def print_remedy(options: Sequence[str], *, only: str | None = None) -> None:
    """Print the command to run instead; `only` names one of several files, for which just the options are printed."""
    if not options:
        return
    if only is not None:
        typer.echo(f"For {only}: {' '.join(map(quote_option, options))}", err=True)
        return
    if CATEGORIES in options and _depends_on_order(sys.argv[1:]):
        # The suggested categories are in alphabetical order, which the message says; their own order is not known.
        return
    command = ["dissensus", *_remove_options(sys.argv[1:], options), *options]
    typer.echo(f"Run: {' '.join(map(quote_option, command))}", err=True)


def _depends_on_order(words: Sequence[str]) -> bool:
    """Return True for a command whose result depends on the order of the answers."""
    return words[:1] == ["model"] or any({level, f"--level={level}"} & set(words) for level in ORDERED_LEVELS)


def _remove_options(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the words of a command without the options that suggested ones replace, and without their values."""
    replaced = {option for option in options if option.startswith("--") and option not in REPEATABLE}
    words_left: list[str] = []
    skip = False
    for word in words:
        name, equals, _ = word.partition("=")
        if skip or name in replaced:
            # The next word is the value of the option, unless it is a flag or has its value after =.
            skip = not skip and name in replaced and not equals and name != FLAG
            continue
        words_left.append(word)
    return words_left
