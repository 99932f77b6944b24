"""Let a small language model judge conversations of DICES-350 over HTTP, and audit it beside the raters.

    DISSENSUS_DATA=… python examples/judge.py              # prints the page
    DISSENSUS_DATA=… python examples/judge.py --write      # writes the page to docs/generated/dices-judge.md

The model is that of `small_judge.py`, which runs on this machine: it reads the response alone, and not the labels of
groups. For another model, write a file for `dissensus judge run`.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from small_judge import SmallJudge, judge_items

import dissensus as ds
from dissensus.pipeline.judge.personas import choose_personas
from dissensus.pipeline.judge.request_plan import JudgeSettings

DATA: Final = Path(os.environ.get("DISSENSUS_DATA", ""))
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "generated" / "dices-judge.md"
N_ITEMS: Final = 60


def audit_small_judge() -> str:
    """Return the audit as tables."""
    ratings = ds.read_ratings(DATA / "dices-350" / "ratings.csv").exclude_flagged()
    items = ds.read_items(DATA / "dices-350" / "items.csv").items[:N_ITEMS]
    personas, _ = choose_personas(ratings, ["gender"])
    settings = JudgeSettings(n_seeds=2, probes=("repeat", "options", "length"), personas=personas)
    responses = judge_items(SmallJudge(DATA / "dices-990"), items, settings)
    return str(ds.audit_judge(responses, ratings, by="race"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not (DATA / "dices-350").is_dir():
        sys.exit("Set DISSENSUS_DATA to the folder with dices-350 and dices-990.")
    page = f"% Made by `examples/judge.py`; do not edit.\n\n```text\n{audit_small_judge()}\n```\n"
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page, end="")
