"""Amounts of money: decimal text and whole minor units."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

_CODES_BY_DIGITS: Final[Mapping[int, str]] = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
DIGITS: Final[Mapping[str, int]] = {
    code: digits for digits, codes in _CODES_BY_DIGITS.items() for code in codes.split()
}
"""Decimal digits of currencies that do not have 2: ISO 4217, list one, "minor unit"."""

CURRENCY: Final = re.compile(r"[A-Z]{3}")
MAX_AMOUNT: Final = 2**31 - 1
"""Minor units of one amount: the largest integer that all databases store."""


def check_currency(currency: str) -> None:
    """Raise unless a text is written like a currency code."""
    if not CURRENCY.fullmatch(currency):
        raise InvalidInput(f"{format_value(currency)} is not a currency code. Give three letters, such as 'GBP'.")


def to_major_units(currency: str, minor: int) -> Decimal:
    """Convert minor units to a decimal amount.

    Examples
    --------
    >>> str(to_major_units("GBP", 650)), str(to_major_units("JPY", 650)), f"{to_major_units('EUR', 123_450):,}"
    ('6.50', '650', '1,234.50')
    """
    return Decimal(minor).scaleb(-DIGITS.get(currency, 2))


def parse_minor_units(currency: str, text: str) -> int:
    """Parse a decimal amount to minor units.

    Examples
    --------
    >>> parse_minor_units("GBP", " 6.5 "), parse_minor_units("JPY", "650")
    (650, 650)
    """
    digits = DIGITS.get(currency, 2)
    match = re.fullmatch(rf"([0-9]{{1,20}})(?:\.([0-9]{{1,{digits}}}))?" if digits else "([0-9]{1,20})()", text.strip())
    minor = int(match[1] + (match[2] or "").ljust(digits, "0")) if match else 0
    if not 0 < minor <= MAX_AMOUNT:
        raise InvalidInput(
            f"{format_value(text)} is not an amount in {currency}. Write one above 0 and up to "
            f"{to_major_units(currency, MAX_AMOUNT):,}, such as {to_major_units(currency, 65 * 10**digits // 10)}."
        )
    return minor
