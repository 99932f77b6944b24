"""Templates of column names with values, such as `label_{rater_id}_{rater_gender}`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value


@dataclass(frozen=True, slots=True)
class Template:
    """Text with named gaps."""

    text: str
    fields: tuple[str, ...]
    shortest: re.Pattern[str]  # non-greedy
    longest: re.Pattern[str]  # greedy; a different match means ambiguity

    def values(self, name: str) -> dict[str, str] | None:
        """Return the values in a name; None if it does not match.

        Examples
        --------
        >>> parse_template("label_{rater_id}_{rater_gender}", "rater_id", lambda name: True).values("label_7_F")
        {'rater_id': '7', 'rater_gender': 'F'}
        """
        matches = self.shortest.fullmatch(name), self.longest.fullmatch(name)
        short, long = (dict(zip(self.fields, match.groups(), strict=True)) if match else None for match in matches)
        if short != long:
            raise InvalidInput(
                f"{format_value(name)} matches {self.text!r} in two ways: {short} and {long}. "
                "Rename the columns, or give a template whose parts can be told apart."
            )
        return short

    def name(self, values: Mapping[str, str]) -> str:
        """Return the name with the values filled in."""
        return self.text.format_map(values)


def parse_template(text: str, required: str, allowed: Callable[[str], bool]) -> Template:
    """Parse a template; all gaps must be allowed, and one is required."""
    try:
        pieces = list(Formatter().parse(text))
    except ValueError as error:
        raise InvalidInput(f"{text!r} is not a template: {error}. Write one like 'rater_{{{required}}}'.") from None
    gaps = [(field, spec, conversion) for _, field, spec, conversion in pieces if field is not None]
    fields = tuple(field for field, _, _ in gaps)
    invalid = [field for field, spec, conversion in gaps if spec or conversion or not allowed(field)]
    if invalid or required not in fields or len(set(fields)) < len(fields):
        prefix = required.removesuffix("id")
        raise InvalidInput(
            f"{text!r} is not a template: its gaps must be {{{required}}} and, if you like, others named "
            f"{{{prefix}…}}, each once."
        )
    patterns = (_pattern(pieces, gap) for gap in ("(.+?)", "(.+)"))
    return Template(text, fields, *patterns)


def _pattern(pieces: list[tuple[str, str | None, str | None, str | None]], gap: str) -> re.Pattern[str]:
    parts = (re.escape(literal) + (gap if field is not None else "") for literal, field, _, _ in pieces)
    return re.compile("".join(parts), re.DOTALL)
