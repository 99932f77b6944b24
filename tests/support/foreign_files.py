"""Files of ratings as people have them: other names, other spellings, doubles, codes for missing values."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple

import numpy as np
import polars as pl
from hypothesis import strategies as st

SCALES = (
    ("low", "mid", "high"),
    ("not at all", "it's a bit", 'very "much"', "extremely, yes"),
    ("-", "first\nsecond", "third\tcolumn", "a\\b"),
    ("--categories", "-1", "=1+1"),
    ("Nein", "Ja", "Weiß nicht"),
    ("$HOME", "`x`", "*"),
)
NAMES = (
    ("item_id", "rater_id", "Q_label"),
    ("instance_id", "user_id", "label"),
    ("Comment ID", "WorkerId", "answer"),
    ("post_id ", " annotator", "toxicity_score"),
)


class ForeignFile(NamedTuple):
    """A file, and the ratings that it means."""

    text: str
    meaning: pl.DataFrame  # item, rater and answer of each rating


def ratings(scale: Sequence[str], seed: int, *, n_items: int = 5, n_raters: int = 4) -> pl.DataFrame:
    """Ratings of every item by every rater, in which every answer occurs twice."""
    rng = np.random.default_rng(seed)
    answers = [*scale, *scale, *rng.choice(scale, n_items * n_raters - 2 * len(scale)).tolist()]
    return pl.DataFrame(
        {
            "item": [f"i{i}" for i in range(n_items) for _ in range(n_raters)],
            "rater": [f"r{j}" for _ in range(n_items) for j in range(n_raters)],
            "answer": rng.permutation(answers).tolist(),
        }
    )


@st.composite
def foreign_files(draw: st.DrawFn) -> ForeignFile:
    """A file that is refused, and read with the options that the message suggests."""
    scale = draw(st.sampled_from(SCALES))
    item, rater, answer = draw(st.sampled_from(NAMES))
    meaning = ratings(scale, draw(st.integers(0, 10**6)))
    rows = [list(row) for row in meaning.iter_rows()]
    if draw(st.booleans()):
        rows = [[i, r, a.upper() if number % 3 == 0 and a.upper().casefold() == a.casefold() else a]
                for number, (i, r, a) in enumerate(rows)]  # fmt: skip
    if draw(st.booleans()):
        rows = [[f"{i} " if number % 4 == 0 else i, r, a] for number, (i, r, a) in enumerate(rows)]
    if draw(st.booleans()):
        rows += [rows[0], rows[-1]]
    missing = draw(st.sampled_from(["", "NaN", "null", " "]))
    rows.append(["i0", "silent", missing])
    separator = draw(st.sampled_from([",", ";", "\t"]))
    text = StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerows([[item, rater, answer], *rows])
    return ForeignFile(text.getvalue(), meaning)


def lewidi_entries(n_items: int = 4) -> dict[str, dict[str, object]]:
    """Entries of the third edition, by three annotators."""
    entries: dict[str, dict[str, object]] = {}
    for i in range(n_items):
        labels = {f"Ann{a}": str((i * (a + 1)) % 2) for a in range(3)}
        share = sum(map(int, labels.values())) / 3
        entries[str(i)] = {
            "text": {"post": f"post number {i}"},
            "number of annotators": 3,
            "annotators": ",".join(labels),
            "number of annotations": 3,
            "annotations": labels,
            "soft_label": {"0": 1 - share, "1": share},
        }
    return entries
