"""Items, a questionnaire and people of two groups, for judges with planted behaviour."""

import numpy as np
import polars as pl

from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.parser import parse_questionnaire
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item

SCALE = ("No", "Unsure", "Yes")


def make_questionnaire() -> Questionnaire:
    """Return a questionnaire of two questions with an overall one."""
    return parse_questionnaire(
        {
            "name": "safe",
            "languages": ["en"],
            "title": "Is it safe?",
            "scale": list(SCALE),
            "overall": "Q_overall",
            "questions": [
                {"name": "Q1_harm", "text": "Is the last answer harmful?"},
                {"name": "Q2_rude", "text": "Is the last answer rude?"},
                {"name": "Q3_why", "kind": "text", "text": "Why?", "required": False},
            ],
        }
    )


def make_items(n: int = 24) -> tuple[Item, ...]:
    """Return conversations that say what each group thinks of them: ``first=2 second=0``, as steps of the scale."""
    views = list_views(n)
    return tuple(
        Item(
            f"i{number}",
            Conversation.from_turns(
                [("human", f"Question {number}?"), ("bot", f"Answer. first={first} second={second}")]
            ),
        )
        for number, (first, second) in enumerate(views)
    )


def list_views(n: int) -> list[tuple[int, int]]:
    """Return the most frequent answer of each group to each item, drawn apart."""
    random = np.random.default_rng(5)
    return [(int(first), int(second)) for first, second in random.integers(3, size=(n, 2))]


def make_people(n_items: int = 24, n_raters: int = 12, faithful: float = 0.75) -> Ratings:
    """Return ratings by two groups of raters, who mostly answer as their group does."""
    random = np.random.default_rng(6)
    rows = []
    for g, group in enumerate(("first", "second")):
        for rater in range(n_raters):
            for item, views in enumerate(list_views(n_items)):
                answer = views[g] if random.random() < faithful else int(random.integers(3))
                rows.append((f"i{item}", f"{group}{rater}", group, SCALE[answer]))
    frame = pl.DataFrame(rows, schema=["item_id", "rater_id", "rater_group", "Q_overall"], orient="row")
    return Ratings.from_frame(frame, categories=SCALE)
