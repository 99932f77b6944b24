"""What a campaign pays its raters."""

import re
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import shown
from dissensus.schema.numbers import check_whole

CURRENCY: Final = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """What a campaign pays, in minor units such as cents.

    Parameters
    ----------
    currency
        ISO 4217 code.
    hour
        For an hour of work.
    finished
        At least for who finishes, however fast; 0 for no minimum.
    screened_out
        At least for who is sent away after questions; 0 for nothing but their time.

    Raises
    ------
    InvalidInput
        The currency is no code, or an amount is not a whole number from 0.
    """

    currency: str
    hour: int
    finished: int = 0
    screened_out: int = 0

    def __post_init__(self) -> None:
        if not CURRENCY.fullmatch(self.currency):
            raise InvalidInput(f"{shown(self.currency)} is no currency. Give its code of three letters, such as 'GBP'.")
        for name in ("hour", "finished", "screened_out"):
            check_whole(f"{name} (in minor units of {self.currency})", getattr(self, name))
