"""Amounts of money as people write them, and in whole minor units as they are kept."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

_OTHERS: Final[Mapping[int, str]] = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
DIGITS: Final[Mapping[str, int]] = {code: digits for digits, codes in _OTHERS.items() for code in codes.split()}
"""Digits after the point, of currencies that have another number than 2: ISO 4217, list one, "minor unit"."""

MAX_AMOUNT: Final = 2**31 - 1
"""Minor units of one amount, as all databases keep them."""


def to_major_units(currency: str, minor: int) -> Decimal:
    """Return an amount as people write it.

    Examples
    --------
    >>> str(in_major("GBP", 650)), str(in_major("JPY", 650)), f"{in_major('EUR', 123_450):,}"
    ('6.50', '650', '1,234.50')
    """
    return Decimal(minor).scaleb(-DIGITS.get(currency, 2))


def parse_minor_units(currency: str, text: str) -> int:
    """Return an amount that somebody wrote, in minor units.

    Examples
    --------
    >>> in_minor("GBP", " 6.5 "), in_minor("JPY", "650")
    (650, 650)
    """
    digits = DIGITS.get(currency, 2)
    written = re.fullmatch(
        rf"([0-9]{{1,20}})(?:\.([0-9]{{1,{digits}}}))?" if digits else "([0-9]{1,20})()", text.strip()
    )
    minor = int(written[1] + (written[2] or "").ljust(digits, "0")) if written else 0
    if not 0 < minor <= MAX_AMOUNT:
        raise InvalidInput(
            f"{format_value(text)} is no amount in {currency}. Write one above 0 and up to {to_major_units(currency, MAX_AMOUNT):,}, "
            f"such as {to_major_units(currency, 65 * 10**digits // 10)}."
        )
    return minor
