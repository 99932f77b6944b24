"""What came of pairs, as files: whose preferences make pairs, and whose do not."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.campaigns import NOW, TWO_QUESTIONS
from tests.support.campaigns import open_campaign as rating_opened
from tests.support.pair_campaigns import opened, prefer
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


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_whose_preferences_make_pairs(platform: Platform, tmp_path: Path) -> None:
    kept = opened(platform, 4)
    strong, weak, equal, flagged, gone = (enter(platform, kept.key) for _ in range(5))
    for rater, towards_long in ((strong, 2), (weak, -1), (equal, 0), (flagged, -3), (gone, -3)):
        prefer(platform, rater, towards_long)
    with platform.database.writing() as tx:
        judged = flags.FlagJudgement(verdict="exclude", reason="In no time.", evidence="fast")
        flags.add_flag_decision(tx, flagged.id, "decision", judged, staff_id=kept.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, gone.id, now=NOW)
    done = export_pairs(platform, "pilot", tmp_path / "out", now=NOW)
    assert (done.n_preferences, done.n_raters, done.n_pairs) == (16, 4, 4)
    assert "4 preferences are of raters whom somebody excluded, and make no pair." in done.notes
    told = lines(tmp_path / "out" / "preferences.jsonl")
    picks = [(pick["side"] or "", pick["strength"]) for line in told for pick in line["picks"]]
    assert sorted(picks) == [("", 0)] * 4 + [("a", 2)] * 4 + [("b", 1)] * 4
    assert pl.read_parquet(tmp_path / "out" / "ratings.parquet")["rater_flagged"].sum() == 4
    twins = pl.concat([pl.read_parquet(path) for path in (tmp_path / "out" / "pairs").rglob("*.parquet")])
    assert all(answer.startswith("Long") for answer in twins["chosen_answer"])
    assert twins["strength"].to_list() == [2.0] * 4
    # The weak one and the equal one are told beside the pair, and do not decide it.
    assert sorted(said["strength"] for said in twins["strengths"][0]) == [-1, 0, 2]
    by_rater = lines(tmp_path / "out" / "helpful-by-rater.jsonl")
    assert sorted(line["strength"] for line in by_rater) == [1] * 4 + [2] * 4
    assert {line["agreement"] for line in by_rater} == {0.5}
    assert len(read_pairs(tmp_path / "out" / "helpful-by-rater.jsonl").pairs) == 8
    ratings = pl.read_parquet(tmp_path / "out" / "ratings.parquet")
    assert ratings.height == 16
    assert ratings.columns[-3:] == ["shown_first", "item_published", "rater_flagged"]
    assert ratings["item_response_b"].unique().sort().to_list() == [f"Short {i}." for i in range(4)]
    readme = (tmp_path / "out" / "README.txt").read_text("utf-8")
    for words in ("1 raters withdrew", "4 preferences are of raters whom somebody excluded", "helpful-by-rater.jsonl"):
        assert words in readme
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*.*") if path.is_file())
    assert not any(rater.id.encode() in everything for rater in (strong, weak, equal, flagged, gone))


def test_where_all_are_equal_there_are_no_pairs(platform: Platform, tmp_path: Path) -> None:
    kept = opened(platform, 2)
    prefer(platform, enter(platform, kept.key), 0)
    done = export_pairs(platform, "pilot", tmp_path / "out", policy=PairPolicy(keep_weakest=True), now=NOW)
    assert (done.n_preferences, done.n_pairs, done.notes) == (2, 0, ("2 pairs left out: a tie.",))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "README.txt",
        "preferences.jsonl",
        "raters.jsonl",
        "ratings.parquet",
    ]


def test_own_words_are_in_no_file_unless_they_are_asked_for(platform: Platform, tmp_path: Path) -> None:
    kept = opened(platform, 2, questionnaire=TWO_QUESTIONS)
    prefer(platform, enter(platform, kept.key), 3, why="I am Zoë.")
    for asked, there in ((ExportOptions(), False), (ExportOptions(with_text=True), True)):
        folder = tmp_path / str(there)
        export_pairs(platform, "pilot", folder, asked=asked, now=NOW)
        assert ("Why" in pl.read_parquet(folder / "ratings.parquet").columns) is there
        assert "Zoë" not in (folder / "preferences.jsonl").read_text("utf-8")


def test_what_cannot_be_exported(platform: Platform, tmp_path: Path) -> None:
    kept = opened(platform)
    with pytest.raises(NotFound, match="pilot has no rating to export yet"):
        export_pairs(platform, "pilot", tmp_path / "out", now=NOW)
    prefer(platform, enter(platform, kept.key), 3)
    with pytest.raises(NotFound, match="'fun' is no purpose of pilot"):
        export_pairs(platform, "pilot", tmp_path / "out", asked=ExportOptions(purposes=("fun",)), now=NOW)
    with pytest.raises(InvalidInput, match="In pilot raters rate items"):
        export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    (tmp_path / "mine").write_text("x")
    with pytest.raises(Conflict, match="holds something already"):
        export_pairs(platform, "pilot", tmp_path, now=NOW)


def test_ratings_of_single_responses_are_no_folder_of_pairs(platform: Platform, tmp_path: Path) -> None:
    rate_all(platform, enter(platform, rating_opened(platform, 1).key))
    with pytest.raises(InvalidInput, match=r"In pilot raters rate single responses\. Name a file for them"):
        export_pairs(platform, "pilot", tmp_path / "out", now=NOW)
