"""Tables of ratings: arbitrary ones, and ones like the official files."""

import numpy as np
import polars as pl
from hypothesis import strategies as st

from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.table import Ratings

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8).map(
    lambda text: text.strip() or "blank"
)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Arbitrary ids and texts, complete or not."""
    items = draw(st.lists(st.tuples(IDS, TEXTS), min_size=1, max_size=4, unique_by=lambda item: item[0]))
    raters = draw(st.lists(st.tuples(IDS, TEXTS), min_size=1, max_size=4, unique_by=lambda rater: rater[0]))
    answers = st.sampled_from(["No", "Unsure", "Yes", None])
    rows = [(*item, *rater, draw(answers)) for item in items for rater in raters]
    rows[0] = (*rows[0][:4], "Yes")
    return pl.DataFrame(rows, schema=["item_id", "context", "rater_id", "rater_x", "Q_overall"], orient="row")


REMOVED = load_questionnaire("dices-350").flagged_raters
OFFICIAL_TEXTS = (
    'USER: say "no", please\r\nLAMDA: nö, 「いいえ」\nUSER: why… 🙂',
    " leading and trailing ",
    "null",
    '"',
    "plain words that need no quotes",
    "tab\tand some words",
)


def official(name: str, n_rows: int, n_items: int) -> pl.DataFrame:
    """A table with the columns of an official file, and texts as long and irregular as the real ones."""
    rng = np.random.default_rng(7)
    item, rater = np.arange(n_rows) % n_items, np.arange(n_rows) // n_items
    texts = pl.Series([OFFICIAL_TEXTS[i % len(OFFICIAL_TEXTS)] + " said again" * 45 * (i % 2) for i in range(n_items)])
    raters = pl.Series([*REMOVED, *map(str, range(296_708_581_782_793, 296_708_581_782_993))])
    fixed_columns = {
        "id": pl.Series(np.arange(n_rows)),
        "rater_id": raters[rater],
        "rater_gender": pl.Series(["Man", "Woman"])[rater % 2],
        "rater_race": pl.Series(["White", "LatinX, Latino, Hispanic or Spanish Origin"])[rater % 2],
        "item_id": pl.Series(item),
        "answer_time_ms": pl.Series(rng.integers(3_000, 900_000, n_rows)),
        "context": texts[item],
        "response": texts[(item + 1) % n_items],
        "degree_of_harm": pl.Series(["Benign", None, "Extreme"])[item % 3],
        "harm_type": pl.Series(["Racial,Gender", None, "Legal"])[item % 3],
        "safety_gold_reason": pl.Series(["[]", "['a \"b\"']"])[item % 2],
        "Q1_whole_conversation_evaluation": pl.Series(load_questionnaire(name).questions[0].scale)[item % 4],
    }
    answers, phase = pl.Series(["No", "No", "No", "Yes", "Unsure"]), pl.Series(["Phase3"])
    random_columns = {
        column: (answers if column.startswith("Q") else phase)[
            rng.integers(5 if column.startswith("Q") else 1, size=n_rows)
        ]
        for column in load_questionnaire(name).columns
    }
    return pl.DataFrame(
        [
            column.cast(pl.String).alias(name)
            for name, column in (random_columns | fixed_columns).items()
            if name in random_columns
        ]
    )


def are_equal(first: Ratings, second: Ratings) -> bool:
    """Return whether ratings have the same tables and notes."""
    frames = (first.answers, second.answers), (first.raters, second.raters), (first.items, second.items)
    return all(mine.equals(yours) for mine, yours in frames) and first.notes == second.notes
