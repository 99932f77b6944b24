"""Fixtures of small, valid tables of ratings."""

import polars as pl
import pytest


@pytest.fixture
def table() -> pl.DataFrame:
    """Eight unsorted ratings of three items by three raters."""
    rows = [
        ("2", "cy", "Man", "White", "Benign", "No"),
        ("1", "ann", "Woman", "White", "Extreme", "Yes"),
        ("1", "bob", "Man", "Asian", "Extreme", "No"),
        ("2", "ann", "Woman", "White", "Benign", "Unsure"),
        ("10", "bob", "Man", "Asian", "Benign", "No"),
        ("10", "cy", "Man", "White", "Benign", "No"),
        ("2", "bob", "Man", "Asian", "Benign", "No"),
        ("10", "ann", "Woman", "White", "Benign", "Yes"),
    ]
    columns = ["item_id", "rater_id", "rater_gender", "rater_race", "degree_of_harm", "Q_overall"]
    return pl.DataFrame(rows, schema=columns, orient="row")
