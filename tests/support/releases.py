"""Small releases for tests."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import tomli_w

from dissensus.pipeline.release.assessment import AssessedRelease, assess_release
from dissensus.pipeline.release.gate import JudgedCheck, ReleaseVerdict
from dissensus.pipeline.release.pseudonyms import Pseudonyms
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.schema.release.parser import parse_plan
from dissensus.schema.release.plan import ReleasePlan, Signature

KEY = Pseudonyms(bytes(range(32)))
ANSWERS = {
    key: f"About {key}."
    for key in ("purpose", "funding", "items_source", "ethics_review", "impact", "uses", "misuses", "maintenance")
}
PLAN: Mapping[str, Any] = {
    "name": "pilot",
    "version": "1.0",
    "creators": ["Ada Lovelace"],
    "contact": "data@example.org",
    "licence": "CC-BY-4.0",
    "ratings": "ratings.csv",
    "title": "The pilot",
    "warning": "Some of it offends.",
    "answers": ANSWERS,
}


CROWDED: Mapping[str, Any] = {
    "name": "crowded",
    "campaign": "crowded",
    "ratings": None,
    "title": None,
    "warning": None,
    "drop": ["rater_raw_race", "rater_education", "rater_race", "rater_age"],
    "anonymity": {"small_cells": "leave out", "k": 2},
}
"""Changes that make a plan of the campaign of `rated_campaign`."""


def plan_text(**changes: Any) -> str:
    """The text of a plan of files; None leaves a key out."""
    values = {**PLAN, **changes}
    text = tomli_w.dumps({key: value for key, value in values.items() if value is not None})
    return f"released = 2026-11-25\n{text}"


def make_plan(**changes: Any) -> ReleasePlan:
    return parse_plan(plan_text(**changes))


def make_table(cells: Mapping[tuple[str, str], int] | None = None, *, n_items: int = 12, seed: int = 0) -> pl.DataFrame:
    """Ratings of every item by raters of each cell of gender and age."""
    rng = np.random.default_rng(seed)
    cells = {("Man", "young"): 6, ("Woman", "young"): 6} if cells is None else cells
    people = [cell for cell, n in cells.items() for _ in range(n)]
    rows = [
        {
            "item_id": f"item{item}",
            "rater_id": f"person-{rater}",
            "rater_gender": gender,
            "rater_age": age,
            "Q_overall": str(rng.choice(["No", "Unsure", "Yes"])),
            "answer_time_ms": int(rng.integers(1_000, 200_000)),
            "answer_timestamp": f"2026-03-01T12:{item:02}:{rater:02}.000Z",
            "context": f"USER: Question {item}?",
            "response": f"Answer {item}.",
        }
        for rater, (gender, age) in enumerate(people)
        for item in range(n_items)
    ]
    return pl.DataFrame(rows)


def make_source(table: pl.DataFrame | None = None, **changes: Any) -> ReleaseSource:
    table = make_table() if table is None else table
    values: dict[str, Any] = {
        "consented": frozenset(table["rater_id"]),
        "purposes": ("release",),
        "withdrawn": frozenset(),
    }
    return ReleaseSource(table=table, **{**values, **changes})


def assess(source: ReleaseSource | None = None, **changes: Any) -> AssessedRelease:
    return assess_release(source or make_source(), make_plan(**changes), KEY)


def find_check(verdict: ReleaseVerdict, name: str) -> JudgedCheck:
    return next(judged for judged in verdict.checks if judged.check.name == name)


def failed(verdict: ReleaseVerdict) -> list[str]:
    """Names of the checks that failed."""
    return [judged.check.name for judged in verdict.checks if judged.outcome == "failed"]


def sign_all(plan: ReleasePlan, verdict: ReleaseVerdict, *people: str) -> ReleasePlan:
    """The plan with the signatures of all who must sign."""
    signatures = tuple(
        Signature(check=judged.check.name, by=person, code=judged.code)
        for judged in verdict.checks
        for person in people or ("Ada Lovelace",)
        if judged.code is not None
    )
    return replace(plan, signatures=signatures)
