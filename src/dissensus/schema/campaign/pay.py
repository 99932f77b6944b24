"""What a campaign pays its raters."""

import re
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.numbers import check_whole

CURRENCY: Final = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pay:
    """What a campaign pays, in minor units such as cents."""

    currency: str
    hour: int  # For an hour of work
    finished: int = 0  # At least for who finishes, however fast; 0 for no minimum
    screened_out: int = 0  # At least for who is sent away after questions; 0 for nothing but their time

    def __post_init__(self) -> None:
        if not CURRENCY.fullmatch(self.currency):
            raise InvalidInput(f"{format_value(self.currency)} is no currency. Give its code of three letters, such as 'GBP'.")
        for name in ("hour", "finished", "screened_out"):
            check_whole(f"{name} (in minor units of {self.currency})", getattr(self, name))
