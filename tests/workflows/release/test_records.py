"""Releases of pairs and of conversations: the files of hh-rlhf through the same gate."""

import gzip
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import select, update
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.pair_campaigns import open_pair_campaign, prefer
from tests.support.releases import failed, find_check, make_plan, sign_all

from dissensus.errors import InvalidInput
from dissensus.files.attempts.tables import read_attempts
from dissensus.files.pairs.reader import read_pairs
from dissensus.files.raw.table_reader import read_frame
from dissensus.files.releases.verification import validate_release
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.schema.release.plan import ReleasePlan
from dissensus.store.assignments import AssignmentTable
from dissensus.store.chats import ChatTable
from dissensus.store.core.database import connect
from dissensus.store.raters import RaterRow
from dissensus.workflows.platform import backup
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.release.campaign_source import load_source
from dissensus.workflows.release.registration import PreparedRelease
from dissensus.workflows.release.release import prepare_release, write_prepared

SECRET = "ann@example.org"


def plan_of(**changes: Any) -> ReleasePlan:
    fields: dict[str, Any] = {"name": "pilot", "campaign": "pilot", "ratings": None, "title": None, "warning": None}
    return make_plan(**{**fields, "anonymity": {"k": 2, "small_cells": "leave out"}, **changes})


def enter(platform: Platform, key: str | None, *, age: str | None = None, publish: bool = True) -> RaterRow:
    agreed = {**AGREED, "release": publish}
    rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(key), "en"), agreed, now=NOW)
    if age is not None:
        rating.declare_attributes(platform, rater, {"rater_age": age}, now=NOW)
    return rater


def write(platform: Platform, folder: Path, plan: ReleasePlan, name: str = "out") -> PreparedRelease:
    verdict = prepare_release(plan, folder, platform).assessed.verdict
    prepared = prepare_release(sign_all(plan, verdict), folder, platform)
    assert prepared.assessed.verdict.passed, failed(prepared.assessed.verdict)
    write_prepared(prepared, folder / name, platform=platform, now=NOW)
    validation = validate_release(folder / name)
    assert validation.ok, str(validation)
    return prepared


def write_restored(folder: Path, plan: ReleasePlan) -> bytes:
    """Write a release again, from a backup in the embedded kind of database, and return all bytes of it."""
    again = folder / "again"
    again.mkdir()
    key = (folder / plan.key_file).read_text("utf-8").splitlines()
    (again / plan.key_file).write_text("\n".join(line for line in key if not line.startswith("used")))
    url = f"sqlite:///{again / 'restored.db'}"
    backup.restore_backup(url, folder / "backup.zip")
    database = connect(url)
    write(Platform(database), again, plan)
    database.dispose()
    return everything_in(again / "out")


def everything_in(folder: Path) -> bytes:
    """All bytes of a folder, unpacked."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return b"".join(gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes() for p in files)


@pytest.mark.slow
def test_pairs_are_those_of_the_published_raters(platform: Platform, tmp_path: Path) -> None:
    campaign = open_pair_campaign(platform, 4)
    ids = []
    for age, strength in (("young", 3), ("young", 3), ("old", -3), ("young", 2)):
        rater = enter(platform, campaign.key)
        prefer(platform, rater, strength)
        rating.declare_attributes(platform, rater, {"rater_age": age}, now=NOW)
        ids.append(rater.id)
    # Of a pair that was shown twice the first choice counts.
    done = (AssignmentTable.rater_id == ids[3], AssignmentTable.state == "done")
    with platform.database.writing() as tx:
        again = str(tx.scalar(select(AssignmentTable.id).where(*done).limit(1)))
        moved = update(AssignmentTable).where(AssignmentTable.id == again)
        tx.execute(moved.values(rater_id=ids[0], showing=2))
    twice = prepare_release(plan_of(), tmp_path, platform).source.preferences
    assert sorted(len(one.picks) for one in twice) == [3, 4, 4, 4]
    with platform.database.writing() as tx:
        tx.execute(moved.values(rater_id=ids[3], showing=1))
    backup.write_backup(platform, tmp_path / "backup.zip", now=NOW)
    prepared = write(platform, tmp_path, plan_of())
    assert write_restored(tmp_path, plan_of()) == everything_in(tmp_path / "out")
    # The only old rater is left out, with all picks.
    assert len(prepared.assessed.publication.left_out) == 1
    table = read_frame(tmp_path / "out/data/ratings.csv")
    pairs = read_pairs(tmp_path / "out/pairs/helpful-base/train.jsonl.gz").pairs
    twins = pl.concat(pl.read_parquet(path) for path in (tmp_path / "out/pairs").rglob("*.parquet"))
    assert twins.height == 4
    assert len(pairs) <= 4
    assert all(pair.chosen.startswith("Long") for pair in pairs)
    strengths = twins["strengths"].explode().struct.unnest()
    assert set(strengths["rater_id"]) == set(table["rater_id"])
    assert strengths["strength"].min() == 2
    assert not any(one.encode() in everything_in(tmp_path / "out") for one in ids)
    card = (tmp_path / "out/README.md").read_text("utf-8")
    assert '"config_name": "helpful-base"' in card
    assert "`pairs/`" in card
    croissant = json.loads((tmp_path / "out/croissant.json").read_text("utf-8"))
    names = [file["name"] for file in croissant["distribution"]]
    assert "data/ratings.csv" in names
    assert "pairs/helpful-base/train.jsonl.gz" in names
    # A later version tells which pairs are gone.
    withdrawal.withdraw_rater(platform, ids[0], now=NOW)
    write(platform, tmp_path, plan_of(version="1.1", previous="out"), "next")
    told = "Pairs: 4 before, 4 now; new 0, gone 0, with another chosen answer"
    assert told in (tmp_path / "next/CHANGES.md").read_text("utf-8")
    # What the table does not have is not derived either.
    without = prepare_release(plan_of(version="2.0", drop=["item_response_b"]), tmp_path, platform).assessed
    assert without.derived.pairs is None


@pytest.fixture
def talkers(platform: Platform) -> list[RaterRow]:
    """Four people with conversations; one did not agree to publication, one withdrew."""
    campaign = open_chat_campaign(platform)
    raters = [enter(platform, campaign.key, publish=n != 3) for n in range(5)]
    for rater in raters:
        finish_chat(platform, rater, ResponsePick(strength=3))
        finish_chat(platform, rater, ResponsePick(strength=-2, edit=f"Better. Write to {SECRET}."), "helpful")
    withdrawal.withdraw_rater(platform, raters[4].id, now=NOW)
    return raters


@pytest.mark.slow
def test_conversations_are_published_as_pairs_and_attempts(
    platform: Platform, talkers: list[RaterRow], tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="with_text: Raters of pilot wrote its conversations themselves"):
        prepare_release(plan_of(), tmp_path, platform)
    with pytest.raises(InvalidInput, match="pilot has 6 ratings or messages, and 5 are judged on the site"):
        load_source(platform, plan_of(with_text=True), most=5)
    with platform.database.writing() as tx:
        refused = update(ChatTable).where(ChatTable.rater_id == talkers[3].id)
        tx.execute(refused.values(started_at=NOW - timedelta(days=9)))
    backup.write_backup(platform, tmp_path / "backup.zip", now=NOW)
    prepared = write(platform, tmp_path, plan_of(with_text=True))
    assert prepared.source.facts is not None
    assert prepared.source.facts.first_day == NOW.date()  # of those who agreed
    verdict = prepared.assessed.verdict
    assert "whoever recognises one of them" in find_check(verdict, "membership").check.evidence[-1]
    assert "1 email address" not in find_check(verdict, "texts").check.evidence[0]
    assert "3 email address" in find_check(verdict, "texts").check.evidence[0]
    table = read_frame(tmp_path / "out/data/ratings.csv")
    assert (table.height, table["rater_id"].n_unique()) == (6, 3)
    attempts = read_attempts(tmp_path / "out/red_team_attempts.jsonl.gz").attempts
    assert [(one.rating, one.task_description, one.red_team_member_id) for one in attempts] == [
        (3, "Insults.", number) for number in range(3)
    ]
    twins = pl.concat(pl.read_parquet(path) for path in (tmp_path / "out/pairs").rglob("*.parquet"))
    edited = twins.filter(pl.col("edited_by").is_not_null())
    assert set(edited["chosen_answer"]) == {"Better. Write to [email address]."}
    assert set(twins["edited_by"].drop_nulls()) <= set(table["rater_id"])
    content = everything_in(tmp_path / "out")
    assert SECRET.encode() not in content
    assert not any(rater.id.encode() in content for rater in talkers)
    datasheet = (tmp_path / "out/datasheet.md").read_text("utf-8")
    assert "Until this release 1 did." in datasheet
    assert "whoever recognises one of them, or a sentence, finds its author" in datasheet
    assert "6 messages of 3 raters to chatbots" in (tmp_path / "out/README.md").read_text("utf-8")
    assert write_restored(tmp_path, plan_of(with_text=True)) == content
    # Whoever edits a twin and corrects the manifest is found by the other one, and so are raters from elsewhere.
    copy = tmp_path / "out/red_team_attempts.parquet"
    pl.read_parquet(copy).head(2).write_parquet(copy)
    twin = next((tmp_path / "out/pairs").rglob("*.parquet"))
    pl.read_parquet(twin).with_columns(edited_by=pl.lit("ann"), chosen=pl.lit("x")).write_parquet(twin)
    checks = [finding.check for finding in validate_release(tmp_path / "out").findings]
    assert checks == ["changed file", "changed file", "twins differ", "unknown raters", "twins differ"]
    pl.read_parquet(twin).drop("strengths").write_parquet(twin)
    assert "other columns" in [finding.check for finding in validate_release(tmp_path / "out").findings]


def test_a_changed_conversation_needs_another_signature(
    platform: Platform, talkers: list[RaterRow], tmp_path: Path
) -> None:
    plan = plan_of(with_text=True)
    signed = sign_all(plan, prepare_release(plan, tmp_path, platform).assessed.verdict)
    for changed in (replace(signed, redact=False), replace(signed, drop=("item_edit",))):
        assert "signatures" in failed(prepare_release(changed, tmp_path, platform).assessed.verdict)
    dropped = prepare_release(replace(plan, drop=("item_edit",)), tmp_path, platform).assessed
    assert dropped.derived.pairs is not None
    assert all(pair.edited_by is None for pair in dropped.derived.pairs.pairs)


@pytest.mark.ml
@sqlite_only
@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib", "ignore::DeprecationWarning:mlcroissant")
def test_pairs_and_attempts_load_with_croissant_datasets_and_pandas(
    platform: Platform, talkers: list[RaterRow], tmp_path: Path
) -> None:
    """All libraries read the same records of each file, and the metadata have no fault."""
    mlcroissant, datasets = pytest.importorskip("mlcroissant"), pytest.importorskip("datasets")
    pandas = pytest.importorskip("pandas")
    write(platform, tmp_path, plan_of(with_text=True))
    out = tmp_path / "out"
    croissant = mlcroissant.Dataset(str(out / "croissant.json"))
    assert croissant.metadata.ctx.issues.report() == ""
    assert len(datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))["train"]) == 6  # messages
    names = {one.name for one in croissant.metadata.record_sets} - {"ratings"}
    # The chatbots that answered are drawn, and their types decide on the folders.
    folders = {str(path.parent.relative_to(out)) for path in (out / "pairs").rglob("*.parquet")}
    assert {name.rpartition("/")[0] for name in names} == {"", *folders}
    assert {Path(folder).name.partition("-")[0] for folder in folders} == {"harmless", "helpful"}
    for name in names:
        column = "chosen" if name.startswith("pairs/") else "transcript"
        texts = pl.read_parquet(out / f"{name}.parquet")[column].to_list()
        assert [one[f"{name}/{column}"].decode() for one in croissant.records(name)] == texts
        config, split = name.split("/")[-2:] if "/" in name else (name, "train")
        rows = datasets.load_dataset(str(out), config, cache_dir=str(tmp_path / "cache"))[split]
        assert rows[column][:] == texts
        assert pandas.read_parquet(out / f"{name}.parquet")[column].tolist() == texts
    for path in (out / "red_team_attempts.jsonl.gz", out / "red_team_attempts.parquet"):
        assert len(read_attempts(path).attempts) == 3
