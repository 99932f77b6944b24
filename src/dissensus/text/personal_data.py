r"""Personal data in texts, recognised by form: addresses, numbers, names that identify a person.

Every pattern takes time linear in the length of the text: its parts are bounded, and each begins where the one before
has ended or at a sign that is tried once.
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
"""What is looked for; of two kinds that claim the same characters, the earlier one has them."""


class Span(NamedTuple):
    """Characters of a text, from `start` up to `end`, that look like personal data of a kind."""

    start: int
    end: int
    kind: Kind


def find_personal_data(text: str) -> tuple[Span, ...]:
    """Find what looks like personal data.

    Parameters
    ----------
    text
        Any text. Digits of all scripts are digits.

    Returns
    -------
    tuple of Span
        In order, none over another. A span is a reason to look, not a proof: what it holds may be invented, and what
        leads to a person may have no form at all.

    Notes
    -----
    ``email_address``
        ``name@host.domain``.
    ``telephone_number``
        With ``+`` or ``00`` and 8 to 15 digits; as ``212-555-0123``; or with 0 before and 9 to 12 digits in parts. Not
        the toll-free numbers of North America, such as those of helplines, of which conversations about harm are full.
    ``iban``, ``card_number``
        As long as the country's are and 13 to 19 digits, and only with right check digits (ISO 13616, Luhn).
    ``ip_address``
        Addresses of the open net. Four numbers of a version look alike.
    ``social_security_number``
        That of the United States, in its three parts.
    ``street_address``
        House number and street in English, street and house number in German; streets with a capital.
    ``handle``
        ``@name``. Decorators of Python look alike.
    ``url_with_user``
        An address with somebody before the ``@`` of its host.

    Names of people, birthdays, passports, plates and addresses in other forms are not found, nor what somebody has
    disguised, such as ``name at host``.

    Examples
    --------
    >>> text = "Write to ann@example.org, or call +49 30 901820."
    >>> [(span.kind, text[span.start : span.end]) for span in find_personal_data(text)]
    [('email_address', 'ann@example.org'), ('telephone_number', '+49 30 901820')]
    """
    plain = text if text.isascii() else text.translate(_alike())
    taken = bytearray(len(plain))
    found = []
    for kind, finder in _FINDERS.items():
        for start, end in finder.spans(plain):
            if taken.find(1, start, end) < 0:
                taken[start:end] = b"\1" * (end - start)
                found.append(Span(start, end, kind))
    return tuple(sorted(found))


@cache
def _alike() -> dict[int, str]:
    """Return the plain character for each digit, space, dash and full-width sign, one for one."""
    every = [chr(code) for code in range(128, sys.maxunicode + 1)]
    digits = {ord(c): str(unicodedata.decimal(c)) for c in every if unicodedata.category(c) == "Nd"}
    spaces = {ord(c): " " for c in every if unicodedata.category(c) == "Zs"}
    dashes = {ord(c): "-" for c in every if unicodedata.category(c) == "Pd"}
    wide = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    return wide | digits | spaces | dashes


class _Finder(NamedTuple):
    """A pattern, characters of which one is in every match, and what a match must pass."""

    pattern: re.Pattern[str]
    signs: str
    passes: Callable[[str], bool] = bool

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the text has what is looked for."""
        if not any(sign in text for sign in self.signs):
            return []
        return [match.span(1) for match in self.pattern.finditer(text) if self.passes(match[1])]


def _anywhere(pattern: str, signs: str, passes: Callable[[str], bool] = bool) -> _Finder:
    """Look at every place, also within what has been looked at already: what comes first may fail to pass."""
    return _Finder(re.compile(rf"(?=({pattern}))"), signs, passes)


def _checks_iban(written: str) -> bool:
    """Tell whether an IBAN has the right check digits (ISO 7064, mod 97-10)."""
    plain = written.replace(" ", "")
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _checks_card(written: str) -> bool:
    """Tell whether a card number has the right check digit (Luhn)."""
    digits = [int(sign) for sign in written if sign.isdigit()][::-1]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + doubled) % 10 == 0


_UNICAST = IPv6Network("2000::/3")


def _is_public(written: str) -> bool:
    """Tell whether it is an address of the open net."""
    try:
        address = ip_address(written)
    except ValueError:
        return False
    return address.is_global and (address.version == 4 or address in _UNICAST)


_TOLL_FREE = re.compile(r"(?:\+?1[ .-]?)?\(?8(?:00|33|44|55|66|77|88)(?![0-9])")
_DATE = re.compile(r"[0-9]{1,2}[/-][0-9]{1,2}[/-][0-9]{4}")


def _is_telephone(written: str) -> bool:
    """Tell whether it is no helpline, and, if it begins with one 0, as long as numbers are and no date."""
    if _TOLL_FREE.match(written):
        return False
    national = written.lstrip("(").startswith("0") and not written.startswith("00")
    return not national or (9 <= sum(sign.isdigit() for sign in written) <= 12 and not _DATE.match(written))


# Letters and digits of an IBAN after its country and check digits, as the registry of ISO 13616 has them.
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
    "url_with_user": _anywhere(
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s/@]{1,256}@[\w.-]{0,252}\w", "@"
    ),
    "email_address": _anywhere(
        r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?!\w)",
        "@",
    ),
    "iban": _anywhere(rf"(?<!\w)(?ai:{_IBANS})(?!\w)", _DIGITS, _checks_iban),
    "card_number": _anywhere(rf"(?<![\w.,])(?:{_CARDS})(?!\w)", _DIGITS, _checks_card),
    "social_security_number": _anywhere(
        r"(?<![\w-])(?!000|666|9)[0-9]{3}([ -])(?!00)[0-9]{2}\2(?!0000)[0-9]{4}(?![\w-])", _DIGITS
    ),
    "ip_address": _anywhere(
        r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\w|\.[0-9])"
        r"|(?<![\w:.])[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])",
        _DIGITS,
        _is_public,
    ),
    "telephone_number": _anywhere(_TELEPHONES, _DIGITS, _is_telephone),
    "street_address": _anywhere(_STREETS, _DIGITS),
    "handle": _anywhere(r"(?<![\w@./+-])@[A-Za-z_]\w{1,29}(?![\w@]|\.\w)", "@"),
}
