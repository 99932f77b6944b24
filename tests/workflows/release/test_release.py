"""Releases of campaigns: consent, withdrawal, log, equal bytes from both kinds of database."""

import os
import shutil
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import select, update
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import begin_chat, open_chat_campaign, send_message
from tests.support.image_files import draw
from tests.support.rated_campaigns import rated_campaign
from tests.support.releases import CROWDED, failed, find_check, make_plan, sign_all

import dissensus
from dissensus.errors import Conflict, InvalidInput, NotAllowed, NotFound
from dissensus.files.images import read_image
from dissensus.files.raw.content import digest_file
from dissensus.files.raw.table_reader import read_frame
from dissensus.files.releases.folder import read_record
from dissensus.files.releases.key_file import open_key_file, record_key_use
from dissensus.files.releases.verification import validate_release
from dissensus.pipeline.collect.chat import ResponsePick, build_conversation
from dissensus.pipeline.release.source import KeyUse
from dissensus.schema.release.plan import ReleasePlan
from dissensus.store import audit_log, images, items
from dissensus.store import chats as chats_store
from dissensus.store.campaigns import CampaignRow
from dissensus.store.consents import ConsentTable
from dissensus.store.core.database import connect
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import audit
from dissensus.workflows.platform import backup
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import chat as rater_chat
from dissensus.workflows.rater import enrolment, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.release.release import prepare_release, register_folder, write_files, write_prepared

PLAN = make_plan(**CROWDED)


@pytest.fixture
def campaign(platform: Platform) -> CampaignRow:
    return rated_campaign(platform, 6, 9)


def write(platform: Platform, folder: Path, plan: ReleasePlan = PLAN, name: str = "out") -> str:
    """Sign whatever must be signed, write the release, and return the digest of its manifest."""
    verdict = prepare_release(plan, folder, platform).assessed.verdict
    prepared = prepare_release(sign_all(plan, verdict), folder, platform)
    assert prepared.assessed.verdict.passed, failed(prepared.assessed.verdict)
    return write_prepared(prepared, folder / name, platform=platform, now=NOW)


def withdraw(platform: Platform, campaign: CampaignRow) -> None:
    with platform.database.reading() as tx:
        rater_id = next(iter(audit_log.iterate_events(tx, campaign.id, "entered"))).rater_id
    withdrawal.withdraw_rater(platform, str(rater_id), now=NOW)


def test_a_release_is_logged_valid_and_made_again(platform: Platform, campaign: CampaignRow, tmp_path: Path) -> None:
    manifest = write(platform, tmp_path)
    validation = validate_release(tmp_path / "out")
    assert validation.ok, str(validation)
    record = read_record(tmp_path / "out")
    assert (record["raters"], record["ratings"], record["k"]) == (9, 54, 2)
    with platform.database.reading() as tx:
        logged = [event.content for event in audit_log.iterate_events(tx, campaign.id, "released")]
    assert [(one["name"], one["version"], one["manifest"]) for one in logged] == [("crowded", "1.0", manifest)]
    assert record["log"] == {"head": logged[0]["head"], "events": logged[0]["events"]}
    audited = audit.audit_campaign(platform, "crowded", heads=[record["log"]["head"]])
    assert (audited.first_break, audited.missing_heads) == (None, ())
    # Again, with more events in the log since: the same bytes, and no second entry.
    assert write(platform, tmp_path, name="again") == manifest
    with platform.database.reading() as tx:
        assert len(list(audit_log.iterate_events(tx, campaign.id, "released"))) == 1
    with pytest.raises(Conflict, match=r"crowded 1.0 was written before with another key"):
        prepare_release(replace(PLAN, key="new.key"), tmp_path, platform)


@pytest.mark.slow
def test_who_withdraws_after_a_release_is_not_in_the_next(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    write(platform, tmp_path)
    withdraw(platform, campaign)
    with pytest.raises(Conflict, match=r"crowded 1.0 was written before with another content. Raise the version"):
        write(platform, tmp_path, name="again")
    assert not (tmp_path / "again").exists()
    linked = replace(PLAN, version="1.1", key=PLAN.key_file, linked_to=("1.0",), previous="out")
    write(platform, tmp_path, linked, "next")
    changes = (tmp_path / "next" / "CHANGES.md").read_text("utf-8")
    assert "From 1.0 to 1.1" in changes
    assert "Raters who are gone: 1; who are new: 0." in changes
    assert "Please delete 1.0." in changes
    verdict = prepare_release(PLAN, tmp_path, platform).assessed.verdict
    assert "key" not in failed(verdict)  # 1.0 still came before 1.1
    assert "Until this release 1 did." in (tmp_path / "next" / "datasheet.md").read_text("utf-8")
    raters = [set(read_frame(tmp_path / name / "data/ratings.csv")["rater_id"]) for name in ("out", "next")]
    assert len(raters[0] - raters[1]) == 1


@pytest.mark.slow
def test_a_copied_key_is_known_from_the_log(platform: Platform, campaign: CampaignRow, tmp_path: Path) -> None:
    write(platform, tmp_path)
    key = (tmp_path / PLAN.key_file).read_text("utf-8")
    plan = replace(PLAN, version="2.0", key="copy.key")
    (tmp_path / "copy.key").write_text("\n".join(line for line in key.splitlines() if not line.startswith("used")))
    verdict = prepare_release(plan, tmp_path, platform).assessed.verdict
    assert failed(verdict) == ["key", "joins"]
    assert "The key was used for crowded 1.0." in find_check(verdict, "key").check.evidence
    assert failed(prepare_release(replace(plan, previous="out"), tmp_path, platform).assessed.verdict) == ["key"]
    # Nor does it serve another campaign.
    rated_campaign(platform, 2, 3, name="other")
    other = replace(plan, name="other", campaign="other")
    assert "key" in failed(prepare_release(other, tmp_path, platform).assessed.verdict)


def test_nothing_is_left_of_a_release_that_is_not_registered(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    verdict = prepare_release(PLAN, tmp_path, platform).assessed.verdict
    prepared = prepare_release(sign_all(PLAN, verdict), tmp_path, platform)
    key = tmp_path / PLAN.key_file
    before = key.read_bytes()
    key.write_text("")
    with pytest.raises(InvalidInput, match="has 0 keys"):
        write_prepared(prepared, tmp_path / "out", platform=platform, now=NOW)
    key.write_bytes(before)
    withdraw(platform, campaign)
    with pytest.raises(Conflict, match="Since the release was judged, 1 of its raters"):
        write_prepared(prepared, tmp_path / "out", platform=platform, now=NOW)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert key.read_bytes() == before
    with platform.database.reading() as tx:
        assert not list(audit_log.iterate_events(tx, campaign.id, "released"))


def test_a_version_that_another_run_wrote_meanwhile_has_one_content(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    """Each run judged the release before another one wrote it."""
    verdict = prepare_release(PLAN, tmp_path, platform).assessed.verdict
    prepared = prepare_release(sign_all(PLAN, verdict), tmp_path, platform)
    manifest = write_prepared(prepared, tmp_path / "one", platform=platform, now=NOW)
    assert write_prepared(prepared, tmp_path / "two", platform=platform, now=NOW) == manifest
    changed = replace(prepared, plan=replace(prepared.plan, title="Another title"))
    with pytest.raises(Conflict, match=r"crowded 1.0 was written before with another content. Raise the version"):
        write_prepared(changed, tmp_path / "three", platform=platform, now=NOW)
    with pytest.raises(Conflict, match=r"crowded 1.0 was written before with another content"):
        record_key_use(prepared.key_file, KeyUse(name="crowded", version="1.0", manifest="0" * 64))
    withdraw(platform, campaign)
    with pytest.raises(Conflict, match="Since the release was judged, 1 of its raters"):
        write_prepared(prepared, tmp_path / "three", platform=platform, now=NOW)
    assert not (tmp_path / "three").exists()
    assert [use.manifest for use in open_key_file(prepared.key_file).uses] == [manifest]
    with platform.database.reading() as tx:
        assert [event.content["manifest"] for event in audit_log.iterate_events(tx, campaign.id, "released")] == [
            manifest
        ]


@pytest.mark.slow
def test_a_folder_that_no_log_knows_is_registered_or_refused(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    """The program stopped after the folder appeared: before the key had it, or after that and before the commit."""
    verdict = prepare_release(PLAN, tmp_path, platform).assessed.verdict
    signed = sign_all(PLAN, verdict)
    prepared = prepare_release(signed, tmp_path, platform)
    manifest = write_files(prepared, tmp_path / "out", register=lambda _: None)
    shutil.copytree(tmp_path / "out", tmp_path / "edited")
    other = tmp_path / f"out.{os.getpid()}.again"
    other.mkdir()
    (tmp_path / "edited" / "CHANGES.md").write_text("x")
    record_key_use(tmp_path / PLAN.key_file, KeyUse(name="crowded", version="1.0", manifest=manifest))
    rater = enrolment.enrol_rater(platform, Arrival("crowded", str(campaign.key), "en"), {"rating": True}, now=NOW)[0]
    prepared = prepare_release(signed, tmp_path, platform)
    with pytest.raises(Conflict, match=r"was not logged: the program was interrupted\. Register it with --register"):
        write_prepared(prepared, tmp_path / "out", platform=platform, now=NOW)
    with pytest.raises(InvalidInput, match="was changed after the release was written"):
        register_folder(prepared, tmp_path / "edited", platform=platform, now=NOW)
    (tmp_path / "out" / "names.txt").write_text("Ann Lee")
    with pytest.raises(InvalidInput, match=r"out has files that its SHA256SUMS does not list: 'names.txt'"):
        register_folder(prepared, tmp_path / "out", platform=platform, now=NOW)
    (tmp_path / "out" / "names.txt").unlink()
    # The log went on since, and the folder states the head that it had.
    assert register_folder(prepared, tmp_path / "out", platform=platform, now=NOW) == manifest
    with platform.database.reading() as tx:
        (logged,) = [event.content for event in audit_log.iterate_events(tx, campaign.id, "released")]
    assert (logged["manifest"], logged["head"]) == (manifest, read_record(tmp_path / "out")["log"]["head"])
    with pytest.raises(Conflict, match=r"crowded 1.0 is registered already"):
        register_folder(prepare_release(signed, tmp_path, platform), tmp_path / "out", platform=platform, now=NOW)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["edited", "out", other.name]
    # Of another version the data change before it is registered.
    signed = replace(signed, version="1.1", previous="out")
    signed = sign_all(signed, prepare_release(signed, tmp_path, platform).assessed.verdict)
    write_files(prepare_release(signed, tmp_path, platform), tmp_path / "next", register=lambda _: None)
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    prepared = prepare_release(signed, tmp_path, platform)
    with pytest.raises(Conflict, match=r"next is not what crowded 1.1 would be by now: the data or the plan changed"):
        register_folder(prepared, tmp_path / "next", platform=platform, now=NOW)
    record, sums = tmp_path / "next" / "release.json", tmp_path / "next" / "SHA256SUMS"
    digest = digest_file(record)
    record.write_text(record.read_text("utf-8").replace(f"Dissensus {dissensus.__version__}", "Dissensus 0.0.1"))
    sums.write_text(sums.read_text("utf-8").replace(digest, digest_file(record)))
    with pytest.raises(Conflict, match=r"by now: Dissensus 0.0.1 wrote it, and this is Dissensus"):
        register_folder(prepared, tmp_path / "next", platform=platform, now=NOW)


@pytest.mark.slow
def test_the_release_before_is_named_and_the_one_that_was_logged(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    write(platform, tmp_path)
    later = replace(PLAN, version="2.0")
    assert failed(prepare_release(later, tmp_path, platform).assessed.verdict) == ["joins"]
    assert failed(prepare_release(replace(later, previous="out"), tmp_path, platform).assessed.verdict) == []
    write(platform, tmp_path, replace(later, previous="out"), "two")
    third = replace(PLAN, version="3.0", previous="two")
    verdict = prepare_release(third, tmp_path, platform).assessed.verdict
    assert failed(verdict) == ["joins"]
    assert "'crowded 1.0', which the plan does not name" in find_check(verdict, "joins").check.evidence[-1]
    assert failed(prepare_release(replace(third, older=("out",)), tmp_path, platform).assessed.verdict) == []
    later = replace(later, version="4.0")
    with (tmp_path / "out" / "SHA256SUMS").open("a") as manifest:
        manifest.write(f"{digest_file(tmp_path / PLAN.key_file)}  ./SHA256SUMS.txt\n")
    (tmp_path / "out" / "SHA256SUMS.txt").write_bytes((tmp_path / PLAN.key_file).read_bytes())
    with pytest.raises(InvalidInput, match="previous: out is not one of the releases of this data"):
        prepare_release(replace(later, previous="out"), tmp_path, platform)


def test_no_purpose_of_the_plan_stands_for_consent_to_publication(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    with platform.database.writing() as tx:
        rater_id = next(iter(audit_log.iterate_events(tx, campaign.id, "entered"))).rater_id
        refused = update(ConsentTable).where(ConsentTable.rater_id == rater_id, ConsentTable.purpose == "release")
        tx.execute(refused.values(agreed=False))
    for purpose in ("release", "rating"):
        assessed = prepare_release(replace(PLAN, purpose=purpose), tmp_path, platform).assessed
        assert assessed.publication.raters.height == 8
    with pytest.raises(NotFound, match="'sale' is not a purpose of crowded"):
        prepare_release(replace(PLAN, purpose="sale"), tmp_path, platform)


def test_a_campaign_is_refused_first_and_mended(platform: Platform, campaign: CampaignRow, tmp_path: Path) -> None:
    first = replace(PLAN, drop=(), anonymity=replace(PLAN.anonymity, small_cells="refuse", k=5), answers={})
    prepared = prepare_release(first, tmp_path, platform)
    assert failed(prepared.assessed.verdict) == ["anonymity", "datasheet"]
    with pytest.raises(InvalidInput, match="did not pass: anonymity, membership, texts, datasheet"):
        write_prepared(prepared, tmp_path / "out", platform=platform, now=NOW)
    assert not (tmp_path / "out").exists()
    write(platform, tmp_path)
    datasheet = (tmp_path / "out" / "datasheet.md").read_text("utf-8")
    assert "Yes, row by row, to 'rating', 'release' in" in datasheet
    assert "We want to learn how different people judge the safety of chatbots" in datasheet


def test_conversations_of_authors_who_refused_are_left_out(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    chats = open_chat_campaign(platform, "talk")
    with platform.database.reading() as tx:
        items = sorted(tx.scalars(select(ItemTable.name).where(ItemTable.campaign_id == campaign.id)))
    names = {}
    for item, agreed in zip(items[:2], (True, False), strict=True):
        consent = {"rating": True, "release": agreed}
        author, _ = enrolment.enrol_rater(platform, Arrival("talk", str(chats.key), "en"), consent, now=NOW)
        names[item] = begin_chat(platform, author)
        exchange, _ = send_message(platform, author, names[item])
        rater_chat.pick_response(platform, author, exchange, ResponsePick(strength=3), now=NOW)
    with platform.database.writing() as tx:
        for item, chat_id in names.items():
            copied = update(ItemTable).where(ItemTable.campaign_id == campaign.id, ItemTable.name == item)
            tx.execute(copied.values(name=chat_id))
        # The same conversation under a name of its own is of the same author.
        chat = chats_store.find_chat(tx, names[items[1]])
        assert chat is not None
        turns = [{"speaker": turn.speaker, "text": turn.text} for turn in build_conversation(chat.exchanges).turns]
        other = update(ItemTable).where(ItemTable.campaign_id == campaign.id, ItemTable.name == items[2])
        content = tx.scalar(select(ItemTable.content).where(ItemTable.name == items[2]))
        assert content is not None
        tx.execute(other.values(content={**content, "turns": turns}))
    prepared = prepare_release(PLAN, tmp_path, platform)
    published = prepared.assessed.publication.table["item_id"].unique()
    assert set(items[3:]) < set(published)
    assert len(published) == 4
    assert not set(names.values()) & set(published)


@pytest.mark.slow
def test_both_kinds_of_database_give_the_same_bytes(
    platform: Platform, database_url: str, campaign: CampaignRow, tmp_path: Path
) -> None:
    """Those of the database, of either kind, and of its backup restored to the embedded one, images included."""
    plan = replace(PLAN, with_images=True)
    taken = Image.Exif()
    taken[0x013B] = "Ann Lee"  # artist
    with platform.database.writing() as tx:
        images.add_images(tx, campaign.id, [read_image("a.jpg", draw("JPEG", exif=taken))])
        item_id, content = tx.execute(select(ItemTable.id, ItemTable.content).limit(1)).one()
        shown = {**content["attributes"], "item_image": "a.jpg", "item_image_alt": "Two colours."}
        shown["item_source"] = "hh-rlhf"  # official files have no such column, and the terms travel with them too
        items.set_item_attributes(tx, campaign.id, {item_id: shown})
    backup.write_backup(platform, tmp_path / "backup.zip", now=NOW)
    restored_url = f"sqlite:///{tmp_path / 'restored.db'}"
    backup.restore_backup(restored_url, tmp_path / "backup.zip")
    for name in "ab":
        (tmp_path / name).mkdir()
    manifest = write(platform, tmp_path / "a", plan)
    released = (tmp_path / "a/out/images/a.jpg").read_bytes()
    assert b"Ann Lee" not in released
    assert "What the authors of hh-rlhf say" in (tmp_path / "a/out/README.md").read_text("utf-8")
    assert dict(Image.open(BytesIO(released)).getexif()) == {}
    table = read_frame(tmp_path / "a/out/data/ratings.csv").select("item_image", "item_image_alt").unique().drop_nulls()
    assert table.rows() == [("a.jpg", "Two colours.")]
    key = (tmp_path / "a" / PLAN.key_file).read_text("utf-8").splitlines()
    (tmp_path / "b" / PLAN.key_file).write_text("\n".join(line for line in key if not line.startswith("used")))
    restored_database = connect(restored_url)
    assert write(Platform(restored_database), tmp_path / "b", plan) == manifest
    restored_database.dispose()
    (tmp_path / "a/out/images/a.jpg").unlink()
    checks = [finding.check for finding in validate_release(tmp_path / "a/out").findings]
    assert checks == ["missing file", "missing image"]


def test_a_refusal_to_register_is_not_one_of_the_disk(
    platform: Platform, campaign: CampaignRow, tmp_path: Path
) -> None:
    """`NotAllowed` is an `OSError` too."""
    verdict = prepare_release(PLAN, tmp_path, platform).assessed.verdict
    prepared = prepare_release(sign_all(PLAN, verdict), tmp_path, platform)

    def refuse(_: str) -> None:
        raise NotAllowed("You may not release this campaign.")

    with pytest.raises(NotAllowed, match="You may not release"):
        write_files(prepared, tmp_path / "out", register=refuse)
    assert not (tmp_path / "out").exists()
