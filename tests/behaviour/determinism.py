"""Deterministic time and randomness for a recording, and the texts that remain random."""

import hashlib
import json
import os
import random
import re
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

from tests.behaviour.site import MEASURED, RANDOM_BYTES

START: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
BLOCK: Final = 2**16


@dataclass
class Clock:
    """A manual clock."""

    at: datetime = START

    def __call__(self) -> datetime:
        return self.at

    def forward(self, **time: float) -> None:
        """Let time pass."""
        self.at += timedelta(**time)


class Draws:
    """A replacement of `os.urandom`: ids sort in the order in which they are drawn.

    Draws come in blocks, one for each request or command, so that one more in a block changes no other block.
    """

    def __init__(self) -> None:
        self._block, self._n = 0, 0
        self._lock = threading.Lock()

    def __call__(self, size: int) -> bytes:
        with self._lock:
            self._n += 1
            number = (self._block * BLOCK + self._n).to_bytes(8, "big")
        return bytes(size - 8) + number if size == RANDOM_BYTES else hashlib.shake_256(number).digest(size)

    def restart(self) -> None:
        """Begin with the first block again."""
        with self._lock:
            self._block, self._n = 0, 0

    def begin(self, *, repeat: bool = False) -> None:
        """Begin the next block, or the present one again."""
        with self._lock:
            self._block, self._n = self._block + (not repeat), 0


DRAWS: Final = Draws()


def seed_randomness() -> None:
    """Replace the system's source of randomness, and begin anew."""
    DRAWS.restart()
    os.urandom = DRAWS
    random._urandom = DRAWS  # type: ignore[attr-defined]


UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TOKEN = r"(?<![\w.-])[\w-]{12,}\.[\w-]{20,}(?![\w-])"
KEY = r"(?<![\w+-])[\w+-]{22,}={0,2}(?![\w-])"
SIGNATURE = r"(?<=v1,)[\w+/]+=*"
HASH = r"(?<![0-9A-Za-z])[0-9a-f]{32,128}(?![0-9A-Za-z])"
STATIC = r"(?<=/static/)[\w-]+(?=/)"
PORT = r"(?<=127\.0\.0\.1:)\d+"
FIXED: Final = {"uuid": UUID, "hash": HASH, "port": PORT, "signature": SIGNATURE, "static": STATIC}
KEYS: Final = {"token": TOKEN, "key": KEY}
_FIXED, _KEYS = (
    re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items()), re.ASCII)
    for kinds in (FIXED, KEYS)
)
_MEASURED: Final = re.compile(rf'("?\b(?:{"|".join(sorted(MEASURED))})"?: )\d+')
_SECONDS: Final = re.compile(r"(?<=after )\d+\.\d+ s")


@dataclass
class Normaliser:
    """Random texts of one file, numbered in the order of their first appearance."""

    replaced: dict[str, str] = field(default_factory=dict)
    placeholders: dict[str, str] = field(default_factory=dict)
    n: dict[str, int] = field(default_factory=dict)

    def __call__(self, text: str) -> str:
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        text = _SECONDS.sub("0.00 s", _MEASURED.sub(r"\g<1>0", text))
        text = _FIXED.sub(self._number, text)
        return _KEYS.sub(self._number, text)

    def _number(self, match: re.Match[str]) -> str:
        kind, text = match.lastgroup or "", match[0]
        if kind in KEYS and not is_random(text):
            return text
        if text not in self.placeholders:
            self.n[kind] = self.n.get(kind, 0) + 1
            self.placeholders[text] = f"<{kind}-{self.n[kind]}>"
        return self.placeholders[text]


def is_random(text: str) -> bool:
    """Tell whether digits and letters of both cases alternate as often as in keys, and not as seldom as in words."""
    kinds = ["0" if sign.isdigit() else "A" if sign.isupper() else "a" for sign in text if sign.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    return len(set(kinds)) > 1 and changes > 0.35 * len(kinds)


def as_json(value: object) -> str:
    """Return a value as indented JSON; keys stay in their order, so that a rename moves nothing."""
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"
