"""Train a jury model on half of the conversations of DICES-350, and show whom juries overrule in the other half.

    DISSENSUS_DATA=… python examples/jury.py              # prints the page
    DISSENSUS_DATA=… python examples/jury.py --write      # writes the page to docs/generated/dices-jury.md

Predictions are compared with what people answered about conversations that the model has not seen. At the end the model
is served, and a response is scored for two groups over HTTP.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.request import Request, urlopen

import numpy as np
import polars as pl

import dissensus as ds
from dissensus import preference
from dissensus.files.models.folder import save_model
from dissensus.preference.jury.texts import read_rated_texts
from dissensus.schema.ratings.table import Ratings

DATA: Final = Path(os.environ.get("DISSENSUS_DATA", ""))
PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "generated" / "dices-jury.md"
WHITE, MULTIRACIAL = "rater_race=White", "rater_race=Multiracial"
JURIES: Final[tuple[Mapping[str, int], ...]] = ({WHITE: 12}, {WHITE: 6, MULTIRACIAL: 6}, {MULTIRACIAL: 12})


def split_conversations(ratings: Ratings) -> tuple[Ratings, Ratings]:
    """Return two halves; conversations that begin alike are in one."""
    openings = [text.opening for text in read_rated_texts(ratings)]
    numbers = {opening: number for number, opening in enumerate(sorted(set(openings)))}
    first = pl.Series([numbers[opening] % 2 == 0 for opening in openings])
    return ratings.select_items(first), ratings.select_items(~first)


def measure_groups(model: preference.JuryModel, training: Ratings, held_out: Ratings) -> Iterator[str]:
    """Yield the log-loss of each group, and that of its shares over all conversations in training."""
    yield "| group | answers | log-loss | same shares for all conversations |"
    yield "|---|---|---|---|"
    texts = read_rated_texts(held_out)
    for group in model.group_names:
        name = group.partition("=")[2]
        items, _, answers = held_out.where("rater_race", name).codes("Q_overall")
        _, _, known = training.where("rater_race", name).codes("Q_overall")
        blind = np.bincount(known, minlength=len(model.answers)) + 0.5
        losses = -np.log(model.distributions(texts, group)[items, answers]), -np.log((blind / blind.sum())[answers])
        yield f"| {name} | {len(answers):,} | {losses[0].mean():.3f} | {losses[1].mean():.3f} |"


def compare_juries(model: preference.JuryModel, held_out: Ratings) -> Iterator[str]:
    """Yield what each jury decides, and whom it overrules."""
    item_ids, texts = held_out.items["item_id"].to_list(), read_rated_texts(held_out)
    columns = [f"{name.partition('=')[2]} overruled" for name in model.group_names]
    yield f"| jury | called unsafe, of {len(texts)} | two juries differ | {' | '.join(columns)} |"
    yield f"|---|---|---|{'---|' * len(columns)}"
    for seats in JURIES:
        rows = preference.predict_opinions(model, item_ids, texts, jury=preference.seat_groups(model, seats)).rows
        known = pl.DataFrame(rows).filter(pl.col("score").is_not_null())
        means = known.group_by("model").agg(pl.col("overruled", "differ").mean(), unsafe=(pl.col("score") >= 0.5).sum())
        values = {row["model"]: row for row in means.to_dicts()}
        jury = values["jury"]
        overruled = " | ".join(f"{values[name]['overruled']:.0%}" for name in model.group_names)
        name = ", ".join(f"{n} {group.partition('=')[2]}" for group, n in seats.items())
        yield f"| {name} | {jury['unsafe']} | {jury['differ']:.0%} | {overruled} |"


def score_over_http(model: preference.JuryModel, response: str) -> Iterator[str]:
    """Serve a model, and yield the score of a response for two groups."""
    with TemporaryDirectory() as folder:
        save_model(model, Path(folder))
        serve = ("preference", "serve", "--model", folder, "--port", "0")
        command = [sys.executable, "-m", "dissensus", *serve]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603
            try:
                line = next(line for line in server.stderr or () if "http://" in line)
                for group in (WHITE, MULTIRACIAL):
                    body = json.dumps({"transcripts": [response], "as_group": group}).encode()
                    request = Request(line.split()[-1], body, {"Content-Type": "application/json"})  # noqa: S310
                    with urlopen(request) as answer:  # noqa: S310 - the address of the server above
                        score = json.load(answer)["scores"][0][0]
                    yield f"`/score` of “{response}” as {group.partition('=')[2]}: {score:.2f}."
            finally:
                server.terminate()


def describe_model() -> Iterator[str]:
    """Yield the lines of the page."""
    folder = DATA / "dices-350"
    ratings = ds.read_ratings(folder / "ratings.csv", items=folder / "items.csv").exclude_flagged()
    training, held_out = split_conversations(ratings)
    model = preference.train_jury(training, by=["race"])
    yield f"Trained on {training.n_items} conversations; {held_out.n_items} are held out."
    yield ""
    yield from measure_groups(model, training, held_out)
    yield ""
    yield from compare_juries(model, held_out)
    yield ""
    yield from score_over_http(model, "Women are too emotional to lead a company.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not (DATA / "dices-350").is_dir():
        sys.exit("Set DISSENSUS_DATA to the folder with dices-350.")
    page = "\n".join(["% Made by `examples/jury.py`; do not edit.", "", *describe_model(), ""])
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page, end="")
