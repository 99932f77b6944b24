"""Official-looking DICES tables, and a small table in every format."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from dissensus.schema.questionnaire.shipped import load_questionnaire

RACES = ("White", "Black/African American", "LatinX, Latino, Hispanic or Spanish Origin")


COLUMNS_350 = load_questionnaire("dices-350").columns
COLUMNS_990 = load_questionnaire("dices-990").columns


def official(columns: Sequence[str], raters: list[str]) -> pl.DataFrame:
    """Two conversations by each rater, with the quotes, commas and line breaks of the real texts."""
    rows: list[list[str]] = []
    for number, rater in enumerate(raters):
        for item in ("173", "20"):
            values = {
                "id": str(len(rows)),
                "rater_id": rater,
                "rater_gender": ("Man", "Woman")[number % 2],
                "rater_locale": ("US", "IN")[number % 2],
                "rater_race": RACES[number % 3],
                "rater_raw_race": RACES[number % 3],
                "rater_race_raw": RACES[number % 3],
                "rater_age": ("gen z", "millenial", "gen x+")[number % 3],
                "rater_education": "College degree or higher",
                "phase": "Phase3",
                "item_id": item,
                "answer_time_ms": str(10_000 + number),
                "answer_timestamp": "2022-09-01 12:00:00",
                "context": f'USER: say "{item}", please\nLAMDA: no\r\nUSER: why…',
                "response": "Because I'd rather not, said 'it'.",
                "degree_of_harm": "Benign",
                "harm_type": "Racial,Gender",
                "safety_gold": "No",
                "safety_gold_reason": "[]",
                "Q1_whole_conversation_evaluation": load_questionnaire("dices-350").questions[0].scale[0],
            }
            rows.append([values.get(name, ("No", "Yes", "Unsure")[number % 3]) for name in columns])
    return pl.DataFrame(rows, schema=list(columns), orient="row")


@pytest.fixture
def dices_350(tmp_path: Path) -> Path:
    path = tmp_path / "diverse_safety_adversarial_dialog_350.csv"
    removed = load_questionnaire("dices-350").flagged_raters[:2]
    official(COLUMNS_350, ["296708581782793", *removed]).write_csv(path)
    return path


@pytest.fixture
def dices_990(tmp_path: Path) -> Path:
    path = tmp_path / "diverse_safety_adversarial_dialog_990.csv"
    frame = official(COLUMNS_990, ["296708581782793", "297000000000001"])
    frame.with_columns(degree_of_harm=pl.lit(""), harm_type=pl.lit("")).write_csv(path)
    return path


def write(frame: pl.DataFrame, path: Path) -> Path:
    """Write a table in the format of its extension, independently of our writers."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        frame.write_parquet(path)
        return path
    if name.endswith((".csv", ".tsv")):
        text = frame.write_csv(separator="," if name.endswith(".csv") else "\t")
    elif name.endswith(".jsonl"):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in frame.to_dicts())
    else:
        text = json.dumps(frame.to_dicts(), indent=2)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


@pytest.fixture
def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item_id": ["007", "007", "1e5", "1e5"],
            "rater_id": ["296708581782793", "b", "296708581782793", "b"],
            "rater_race": ["White", None, "White", None],
            "context": ['a "b", c\nd', 'a "b", c\nd', "é ×", "é ×"],
            "Q_overall": ["Yes", "No", "Unsure", "Yes"],
        }
    )
