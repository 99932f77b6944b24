r"""Personal data in texts, detected by pattern: addresses, numbers and user names.

Every pattern runs in linear time: its parts are bounded, and no character is tried as the beginning of many matches.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from ipaddress import IPv6Network, ip_address
from typing import Final, Literal, NamedTuple, get_args

Kind = Literal[
    "url_with_user",
    "email_address",
    "iban",
    "card_number",
    "social_security_number",
    "ip_address",
    "telephone_number",
    "street_address",
    "handle",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""Kinds of personal data; where matches overlap, the first kind applies."""


class Span(NamedTuple):
    """Characters of a text, from `start` up to `end`, that look like personal data of a kind."""

    start: int
    end: int
    kind: Kind


def find_personal_data(text: str) -> tuple[Span, ...]:
    """Find text that looks like personal data.

    Parameters
    ----------
    text
        Any text. Digits of all scripts are recognised.

    Returns
    -------
    tuple of Span
        In order, without overlaps. A span is a reason to review the text, not a proof: the data may be invented, and
        text that identifies a person need not match any pattern.

    Notes
    -----
    ``email_address``
        ``name@host.domain``.
    ``telephone_number``
        With ``+`` or ``00`` and 8 to 15 digits; as ``212-555-0123``; or with a leading 0 and 9 to 12 digits in parts.
        Not the toll-free numbers of North America, such as helplines, which are frequent in conversations about harm.
    ``iban``, ``card_number``
        IBANs with the length of their country, and card numbers of 13 to 19 digits, with valid check digits
        (ISO 13616, Luhn).
    ``ip_address``
        Public addresses. Version numbers of four parts also match.
    ``social_security_number``
        That of the United States, in its three parts.
    ``street_address``
        House number and street in English, street and house number in German; streets with a capital.
    ``handle``
        ``@name``. Decorators of Python also match.
    ``url_with_user``
        A URL with a user name before the ``@`` of its host.

    Names of people, birthdays, passports, plates and other forms of addresses are not found, nor obfuscated data such
    as ``name at host``.

    Examples
    --------
    >>> text = "Write to ann@example.org, or call +49 30 901820."
    >>> [(span.kind, text[span.start : span.end]) for span in find_personal_data(text)]
    [('email_address', 'ann@example.org'), ('telephone_number', '+49 30 901820')]
    """
    plain = text if text.isascii() else text.translate(_ascii_table())
    covered = bytearray(len(plain))
    spans = []
    for kind, finder in _FINDERS.items():
        for start, end in finder.find_spans(plain):
            if covered.find(1, start, end) < 0:
                covered[start:end] = b"\1" * (end - start)
                spans.append(Span(start, end, kind))
    return tuple(sorted(spans))


@cache
def _ascii_table() -> dict[int, str]:
    """Return the ASCII character of each digit, space, dash and full-width character: one each, so that spans hold."""
    characters = [chr(code) for code in range(128, sys.maxunicode + 1)]
    digits = {ord(c): str(unicodedata.decimal(c)) for c in characters if unicodedata.category(c) == "Nd"}
    spaces = {ord(c): " " for c in characters if unicodedata.category(c) == "Zs"}
    dashes = {ord(c): "-" for c in characters if unicodedata.category(c) == "Pd"}
    full_width = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    return full_width | digits | spaces | dashes


class _Finder(NamedTuple):
    """Pattern, characters of which each match contains one or more, and a check of matches."""

    pattern: re.Pattern[str]
    required: str
    is_valid: Callable[[str], bool] = bool

    def find_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the valid matches."""
        if not any(character in text for character in self.required):
            return []
        return [match.span(1) for match in self.pattern.finditer(text) if self.is_valid(match[1])]


def _match_overlapping(pattern: str, required: str, is_valid: Callable[[str], bool] = bool) -> _Finder:
    """Match a pattern at every position, since an invalid match may overlap a valid one."""
    return _Finder(re.compile(rf"(?=({pattern}))"), required, is_valid)


def _is_iban(text: str) -> bool:
    """Return True if an IBAN has valid check digits (ISO 7064, mod 97-10)."""
    plain = text.replace(" ", "")
    return int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % 97 == 1


def _is_card_number(text: str) -> bool:
    """Return True if a card number has a valid check digit (Luhn)."""
    digits = [int(character) for character in text if character.isdigit()][::-1]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + doubled) % 10 == 0


_UNICAST = IPv6Network("2000::/3")


def _is_public(text: str) -> bool:
    """Return True for a public IP address."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return address.is_global and (address.version == 4 or address in _UNICAST)


_TOLL_FREE = re.compile(r"(?:\+?1[ .-]?)?\(?8(?:00|33|44|55|66|77|88)(?![0-9])")
_DATE = re.compile(r"[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{4}")


def _is_telephone(text: str) -> bool:
    """Return False for toll-free numbers, and national ones (one leading 0) that are dates or not of 9 to 12 digits."""
    if _TOLL_FREE.match(text):
        return False
    national = text.lstrip("(").startswith("0") and not text.startswith("00")
    return not national or (9 <= sum(character.isdigit() for character in text) <= 12 and not _DATE.match(text))


# Countries by the length of an IBAN after its country code and check digits, from the registry of ISO 13616.
_IBAN_LENGTHS: Mapping[int, str] = {
    11: "NO",
    12: "BE",
    14: "DK FI FK FO GL NL SD",
    15: "MK SI",
    16: "AT BA EE KZ LT LU MN XK",
    17: "CH HR LI LV",
    18: "BG BH CR DE GB GE IE ME RS VA",
    19: "AE GI IL IQ OM SO TL",
    20: "AD CZ ES MD PK RO SA SE SK TN VG",
    21: "LY PT ST",
    22: "IS TR",
    23: "BI DJ FR GR IT MC MR SM",
    24: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    25: "BR EG PS QA UA",
    26: "JO KW MU YE",
    27: "MT SC",
    28: "LC",
    29: "RU",
}
_IBANS = "|".join(
    rf"(?:{'|'.join(codes.split())})[0-9]{{2}}(?: ?[0-9A-Z]){{{length}}}" for length, codes in _IBAN_LENGTHS.items()
)
_CARDS = r"[2-6][0-9]{12,18}|[2-6][0-9]{3}([ -])[0-9]{4}\2[0-9]{4}\2[0-9]{4}|3[0-9]{3}([ -])[0-9]{6}\3[0-9]{4,5}"
_TELEPHONES = (
    r"(?<![\w+])\+[ (]?[1-9](?:[ ()./-]{0,2}[0-9]){7,14}(?![0-9])"
    r"|(?<![\w.,])00[1-9](?:[ ()./-]{0,2}[0-9]){7,14}(?![0-9])"
    r"|(?<![\w.,+-])(?:1[ .-]?)?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[0-9]{3}[ .-][0-9]{4}(?!\w)"
    r"|(?<![\w.,+/-])(?:0[1-9][0-9]{0,4}|\(0[1-9][0-9]{0,4}\))[ /-][0-9][0-9 /-]{4,12}[0-9](?!\w)"
)
_STREETS = (
    r"(?<![\w.,])[0-9]{1,5}[A-Za-z]?,? (?:(?:[A-Z][\w'.-]{0,30}|[0-9]{1,3}(?:st|nd|rd|th)) ){1,4}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Place|Square|Terrace|Close|Crescent)"
    r"(?!\w)"
    r"|(?<!\w)[A-ZÄÖÜ][\w-]{1,30}? ?(?:[Ss]tra(?:ß|ss)e|[Ss]tr\.|[Aa]llee|[Gg]asse) [0-9]{1,4}[a-z]?(?!\w)"
)
_DIGITS = "0123456789"
_FINDERS: Mapping[Kind, _Finder] = {
    "url_with_user": _match_overlapping(
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s/@]{1,256}@[\w.-]{0,252}\w", "@"
    ),
    "email_address": _match_overlapping(
        r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?!\w)",
        "@",
    ),
    "iban": _match_overlapping(rf"(?<!\w)(?ai:{_IBANS})(?!\w)", _DIGITS, _is_iban),
    "card_number": _match_overlapping(rf"(?<![\w.,])(?:{_CARDS})(?!\w)", _DIGITS, _is_card_number),
    "social_security_number": _match_overlapping(
        r"(?<![\w-])(?!000|666|9)[0-9]{3}([ -])(?!00)[0-9]{2}\2(?!0000)[0-9]{4}(?![\w-])", _DIGITS
    ),
    "ip_address": _match_overlapping(
        r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\w|\.[0-9])"
        r"|(?<![\w:.])[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])",
        _DIGITS,
        _is_public,
    ),
    "telephone_number": _match_overlapping(_TELEPHONES, _DIGITS, _is_telephone),
    "street_address": _match_overlapping(_STREETS, _DIGITS),
    "handle": _match_overlapping(r"(?<![\w@./+-])@[A-Za-z_]\w{1,29}(?![\w@]|\.\w)", "@"),
}
