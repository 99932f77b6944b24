"""Ratings with hostile names, ids and texts."""

from itertools import cycle, product

import numpy as np
import polars as pl

from dissensus.schema.ratings.table import Ratings

TURNED = "\u202eturned"
NAMES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "مجموعة كبيرة",
    "קבוצה",
    "👩‍👩‍👧 family",
    'it\'s "quoted" & <b>',
    "line\nbreak\ttab",
    "datum.value",
    "__proto__",
    "constructor",
    "Donaudampfschifffahrtsgesellschaftskapitänswitwe" * 3,
    " ",
    "\u200b",
    TURNED,
    "</text></svg>",
    "{{ 7*7 }}",
    "&lt;x&gt;",
    "null",
    "NaN",
    "a|b,c;d",
    "#D55E00",
    ' class="x" id="y" url(#z)',
)
SCALE = ("No </text>", 'Maybe & "so"', "\u202eyes نعم")
AXES = ('<b>"x"</b>', "datum.value", "العمر")
ITEMS = ("a/b c", "a b c", "a-b-c", "../../etc", "<i>7</i>", "é", "🙂", "🙃", "__proto__", "#main", "x" * 200)
TEXTS = (
    "<script>alert(1)</script> مرحبا بالعالم 👩‍👩‍👧 שלום",
    "Donaudampfschifffahrt" * 20,
    "a\x00b\x07c\r\nd",
    "<details open><img src='http://example.org/x'>",
    "</details></article><h1>out</h1>",
)


def hostile(raters_per_group: int = 5, *, names: tuple[str, ...] = NAMES) -> Ratings:
    """Simulate ratings with hostile names of groups, items and texts."""
    rng = np.random.default_rng(0)
    raters = [(f"{name}/{r}", name) for name, r in product(names, range(raters_per_group))]
    item, rater = (places.ravel() for places in np.indices((len(ITEMS), len(raters))))
    texts = [text for text, _ in zip(cycle(TEXTS), ITEMS, strict=False)]
    frame = pl.DataFrame(
        {
            "item_id": [ITEMS[i] for i in item],
            "rater_id": [raters[r][0] for r in rater],
            f"rater_{AXES[0]}": [raters[r][1] for r in rater],
            f"rater_{AXES[1]}": [NAMES[r % 3] for r in rater],
            f"rater_{AXES[2]}": [("young", TURNED)[r % 2] for r in rater],
            "context": [texts[i] for i in item],
            "response": [texts[i - 1] for i in item],
            "harm_type": [f"{NAMES[i % 6]}, {NAMES[3]}" for i in item],
            "degree_of_harm": [NAMES[i % 2] for i in item],
            "safety_gold": [SCALE[i % 2 * 2] for i in item],
            "answer_time_ms": rng.integers(1000, 9000, item.size),
            "Q_overall": [SCALE[k] for k in rng.integers(0, 3, item.size)],
            "Q1_<script>": [SCALE[k] for k in rng.integers(0, 3, item.size)],
        }
    )
    return Ratings.from_frame(frame, questions="all", categories=SCALE)
