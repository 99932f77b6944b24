"""Exports of pairs."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.campaigns import NOW, TWO_QUESTIONS
from tests.support.campaigns import open_campaign as rating_opened
from tests.support.pair_campaigns import open_pair_campaign, prefer
from tests.support.raters import enter, rate_all

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.files.pairs.reader import read_pairs
from dissensus.pipeline.release import PairPolicy
from dissensus.store import flags
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.export.pairs import export_pairs
from dissensus.workflows.export.ratings import ExportOptions
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_excluded_and_withdrawn_raters_make_no_pairs(platform: Platform, tmp_path: Path) -> None:
    campaign = open_pair_campaign(platform, 4)
    strong, weak, equal, flagged, withdrawn = (enter(platform, campaign.key) for _ in range(5))
    for rater, towards_long in ((strong, 2), (weak, -1), (equal, 0), (flagged, -3), (withdrawn, -3)):
        prefer(platform, rater, towards_long)
    with platform.database.writing() as tx:
        judgement = flags.FlagJudgement(verdict="exclude", reason="In no time.", evidence="fast")
        flags.add_flag_decision(tx, flagged.id, "decision", judgement, staff_id=campaign.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, withdrawn.id, now=NOW)
    done = export_pairs(platform, "pilot", tmp_path / "out", now=NOW)
    assert (done.n_preferences, done.n_raters, done.n_pairs) == (16, 4, 4)
    assert "4 preferences are of excluded raters, and yield no pair." in done.notes
    preferences = read_lines(tmp_path / "out" / "preferences.jsonl")
    picks = [(pick["side"] or "", pick["strength"]) for line in preferences for pick in line["picks"]]
    assert sorted(picks) == [("", 0)] * 4 + [("a", 2)] * 4 + [("b", 1)] * 4
    assert pl.read_parquet(tmp_path / "out" / "ratings.parquet")["rater_flagged"].sum() == 4
    twins = pl.concat([pl.read_parquet(path) for path in (tmp_path / "out" / "pairs").rglob("*.parquet")])
    assert all(answer.startswith("Long") for answer in twins["chosen_answer"])
    assert twins["strength"].to_list() == [2.0] * 4
    # The weak and the equal preference are listed with the pair and do not decide it.
    assert sorted(said["strength"] for said in twins["strengths"][0]) == [-1, 0, 2]
    by_rater = read_lines(tmp_path / "out" / "helpful-by-rater.jsonl")
    assert sorted(line["strength"] for line in by_rater) == [1] * 4 + [2] * 4
    assert {line["agreement"] for line in by_rater} == {0.5}
    assert len(read_pairs(tmp_path / "out" / "helpful-by-rater.jsonl").pairs) == 8
    ratings = pl.read_parquet(tmp_path / "out" / "ratings.parquet")
    assert ratings.height == 16
    assert ratings.columns[-3:] == ["shown_first", "item_published", "rater_flagged"]
    assert ratings["item_response_b"].unique().sort().to_list() == [f"Short {i}." for i in range(4)]
    readme = (tmp_path / "out" / "README.txt").read_text("utf-8")
    for words in (
        "whose data were erased: 1.",
        "4 preferences are of excluded raters",
        "helpful-by-rater.jsonl",
        "Content warning: ",
    ):
        assert words in readme
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*.*") if path.is_file())
    assert not any(rater.id.encode() in everything for rater in (strong, weak, equal, flagged, withdrawn))


def test_equal_preferences_make_no_pairs(platform: Platform, tmp_path: Path) -> None:
    campaign = open_pair_campaign(platform, 2)
    prefer(platform, enter(platform, campaign.key), 0)
    done = export_pairs(platform, "pilot", tmp_path / "out", policy=PairPolicy(keep_weakest=True), now=NOW)
    assert (done.n_preferences, done.n_pairs, done.notes) == (2, 0, ("2 pairs left out: a tie.",))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.txt",
        "preferences.jsonl",
        "raters.jsonl",
        "ratings.parquet",
    ]


def test_free_text_is_exported_only_on_request(platform: Platform, tmp_path: Path) -> None:
    campaign = open_pair_campaign(platform, 2, questionnaire=TWO_QUESTIONS)
    prefer(platform, enter(platform, campaign.key), 3, why="I am Zoë.")
    for options, included in ((ExportOptions(), False), (ExportOptions(with_text=True), True)):
        folder = tmp_path / str(included)
        export_pairs(platform, "pilot", folder, options=options, now=NOW)
        assert ("Why" in pl.read_parquet(folder / "ratings.parquet").columns) is included
        assert "Zoë" not in (folder / "preferences.jsonl").read_text("utf-8")


def test_invalid_exports_are_refused(platform: Platform, tmp_path: Path) -> None:
    campaign = open_pair_campaign(platform)
    with pytest.raises(NotFound, match="pilot has no rating to export yet"):
        export_pairs(platform, "pilot", tmp_path / "out", now=NOW)
    prefer(platform, enter(platform, campaign.key), 3)
    with pytest.raises(NotFound, match="'fun' is not a purpose of pilot"):
        export_pairs(platform, "pilot", tmp_path / "out", options=ExportOptions(purposes=("fun",)), now=NOW)
    with pytest.raises(InvalidInput, match="In pilot raters rate items"):
        export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    (tmp_path / "mine").write_text("x")
    with pytest.raises(Conflict, match="is not empty"):
        export_pairs(platform, "pilot", tmp_path, now=NOW)


def test_ratings_of_single_responses_cannot_be_exported_as_pairs(platform: Platform, tmp_path: Path) -> None:
    rate_all(platform, enter(platform, rating_opened(platform, 1).key))
    with pytest.raises(InvalidInput, match=r"In pilot raters rate single responses\. Name a file for them"):
        export_pairs(platform, "pilot", tmp_path / "out", now=NOW)
