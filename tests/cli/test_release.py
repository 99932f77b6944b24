"""`dissensus release`, `diff`, and releases in `validate` and `report`."""

import json
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.commands import SCRIPT, RunCommand
from tests.support.releases import make_plan, make_table, plan_text

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.releases.folder import read_release_table
from dissensus.files.releases.key_file import open_key_file
from dissensus.files.releases.verification import validate_release
from dissensus.pipeline.model import fit_model
from dissensus.pipeline.release.documents import CSV, PARQUET
from dissensus.workflows.release.file_source import read_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with ratings of twelve raters, and their consents."""
    write_ratings(make_table(), tmp_path)
    return tmp_path


def write_ratings(table: pl.DataFrame, folder: Path) -> None:
    table.write_csv(folder / "ratings.csv")
    consents = table.select("rater_id").unique(maintain_order=True).with_columns(release=pl.lit("yes"))
    consents.write_csv(folder / "consents.csv")


def write_plan(folder: Path, name: str = "plan.toml", **changes: Any) -> str:
    (folder / name).write_text(plan_text(consents="consents.csv", **changes), "utf-8")
    return name


def sign(run: RunCommand, folder: Path, plan: str = "plan.toml") -> None:
    """Add the signatures that the verdict asks for."""
    verdict = json.loads(run("release", plan, "--dry-run", "--format", "json").stdout)
    with (folder / plan).open("a") as file:
        for check in verdict["checks"]:
            if check["outcome"] == "unsigned":
                file.write(f'\n[[signatures]]\ncheck = "{check["check"]}"\nby = "Ada"\ncode = "{check["code"]}"\n')


def release(run: RunCommand, folder: Path, output: str = "out", plan: str = "plan.toml") -> None:
    sign(run, folder, plan)
    done = run("release", plan, "-o", output)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_release_is_written_checked_and_analysed(run: RunCommand, folder: Path) -> None:
    plan = write_plan(folder)
    refused = run("release", plan, "--dry-run")
    assert refused.returncode == 1
    assert "unsigned  texts: Somebody read the texts" in refused.stdout
    assert re.search(r'check = "membership"\n +by = "…"\n +code = "[0-9a-f]{64}"', refused.stdout)
    release(run, folder)
    assert {path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*") if path.is_file()} == {
        *("README.md", "datasheet.md", "croissant.json", "CITATION.cff", "LICENSE.md", "CHANGES.md", "release.json"),
        *("SHA256SUMS", CSV, PARQUET),
    }
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder / "out", check=True)
    valid = run("validate", "out")
    assert (valid.returncode, valid.stdout.splitlines()[0]) == (0, "out: valid, 0 errors, 0 warnings")
    assert run("report", "out", "-o", "report.html", "--permutations", "0", "--bootstrap", "0").returncode == 0
    analysed = json.loads(run("analyse", "out", "--format", "json").stdout)
    assert analysed["overall"]["irr"]["n_raters"] == 12
    assert run("validate", ".").returncode == 1  # consents are not ratings
    key = folder / "pilot-1.0.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert [str(use) for use in open_key_file(key).uses] == ["pilot 1.0"]


@pytest.mark.slow
def test_commands_read_the_question_of_a_release(run: RunCommand, folder: Path) -> None:
    write_ratings(
        make_table(n_items=5).with_columns(Q_a=pl.col("Q_overall").reverse(), Q_b="Q_overall").drop("Q_overall"), folder
    )
    write_plan(folder, question="Q_b")
    release(run, folder)
    own, named = (run("analyse", "out", *words).stdout for words in ((), ("--question", "Q_b")))
    assert own == named != run("analyse", "out", "--question", "Q_a").stdout
    assert run("report", "out", "-o", "report.html", "--permutations", "0", "--bootstrap", "0").returncode == 0


def test_documents_say_what_happened(run: RunCommand, folder: Path) -> None:
    table = make_table({("Man", "young"): 8, ("Woman", "young"): 8}, n_items=9)
    write_ratings(table.with_columns(item_source=pl.lit("hh-rlhf")), folder)
    write_plan(folder, drop=["rater_age"])
    release(run, folder)
    texts = {path.name: path.read_text("utf-8") for path in (folder / "out").glob("*.*")}
    assert "There are 144 rows of 16 raters about 9 items." in texts["datasheet.md"]
    assert "| rater_gender | Man | 8 |" in texts["datasheet.md"]
    # The model of the datasheet is that of the published file.
    formula = "Q_overall ~ rater_gender + (1 | rater_id) + (1 | item_id)"
    (effect,) = fit_model(read_ratings(folder / "out" / CSV), formula, draws=0).effects
    row = (
        f"| rater_gender | Woman | 8 | Man | 8 | {effect.estimate:.2f} | {effect.ci_low:.2f} to {effect.ci_high:.2f} |"
    )
    assert row in texts["datasheet.md"]
    assert f'--formula "{formula}"` from the 16 raters whose attributes are known' in texts["datasheet.md"]
    assert "> About funding." in texts["datasheet.md"]
    assert "Left out: 'rater_age'." in texts["datasheet.md"]
    assert "Content warning.** Some of it offends." in texts["README.md"]
    for name in ("README.md", "datasheet.md", "LICENSE.md", "croissant.json"):
        assert "What the authors of hh-rlhf say of their data in the README of the dataset" in texts[name]
        assert "Purpose: The data are intended for research purposes" in texts[name]
    assert 'configs: [{"config_name": "default", "data_files": "data/ratings.parquet"}]' in texts["README.md"]
    croissant = json.loads(texts["croissant.json"])
    assert croissant["conformsTo"][0] == "http://mlcommons.org/croissant/1.1"
    fields = [field["name"] for field in croissant["recordSet"][0]["field"]]
    assert fields == read_release_table(folder / "out").columns
    assert croissant["distribution"][0]["sha256"] in (folder / "out" / "SHA256SUMS").read_text()
    record = json.loads(texts["release.json"])
    assert {check["outcome"] for check in record["checks"]} == {"passed"}
    assert "loss" not in record
    for text in texts.values():
        assert "person-" not in text


def test_nothing_is_written_before_the_gate_is_passed(run: RunCommand, folder: Path) -> None:
    plan = write_plan(folder)
    done = run("release", plan, "-o", "out")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "Nothing was written.")
    assert sorted(path.name for path in folder.iterdir()) == [
        *("consents.csv", "pilot-1.0.key", "plan.toml", "ratings.csv"),
    ]


@pytest.mark.slow
def test_a_full_disk_leaves_nothing(run: RunCommand, folder: Path) -> None:
    """A file may have 8 KiB, fewer than the table has."""
    write_plan(folder)
    sign(run, folder)
    before = sorted(path.name for path in folder.iterdir())
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; exec {SCRIPT} release plan.toml -o out"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 1, done.stdout
    assert "cannot be written: File too large" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    assert open_key_file(folder / "pilot-1.0.key").uses == ()


DAMAGES: dict[str, Any] = {
    "changed file": lambda out: (out / CSV).write_text((out / CSV).read_text().replace("Yes", "No", 1)),
    "missing file": lambda out: (out / "datasheet.md").unlink(),
    "unknown file": lambda out: (out / "extra.txt").write_text("x"),
    "release.json": lambda out: (out / "release.json").write_text("{}"),
    "SHA256SUMS": lambda out: (out / "SHA256SUMS").write_text("0" * 64 + "  ../plan.toml\n"),
}


def test_flags_are_counted_when_a_folder_is_validated(run: RunCommand, folder: Path) -> None:
    """Of twelve raters six are flagged: fewer than the seven that an edited record promises."""
    flagged = pl.col("rater_id").str.extract(r"(\d+)$").cast(pl.Int64) % 2 == 0
    write_ratings(make_table().with_columns(rater_flagged=flagged), folder)
    write_plan(folder, drop=["rater_age", "rater_gender"])
    release(run, folder)
    record = folder / "out" / "release.json"
    record.write_text(record.read_text("utf-8").replace('"k": 5', '"k": 7'), "utf-8")
    assert "2 cells of rater_flagged hold fewer than 7." in str(validate_release(folder / "out"))


def test_a_missing_table_hides_no_other_fault(run: RunCommand, folder: Path) -> None:
    write_ratings(make_table(), folder)
    write_plan(folder)
    release(run, folder)
    for name in (CSV, "datasheet.md"):
        (folder / "out" / name).unlink()
    found = [problem.check for problem in validate_release(folder / "out").problems()]
    assert found[:2] == ["missing file", "missing file"]
    assert len(found) == 3


def test_an_owner_may_sign_the_manifest(run: RunCommand, folder: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    flagged = pl.col("rater_id").str.extract(r"(\d+)$").cast(pl.Int64) % 3 == 0
    write_ratings(make_table().with_columns(rater_flagged=flagged), folder)
    write_plan(folder, drop=["rater_age"], anonymity={"k": 2})
    release(run, folder)
    for words in (
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "owner"],
        ["ssh-keygen", "-q", "-Y", "sign", "-n", "dissensus-release", "-f", "owner", "out/SHA256SUMS"],
    ):
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    valid = run("validate", "out")
    assert valid.returncode == 0, valid.stdout
    assert "SHA256SUMS.sig is not verified here. With the public key of its owner: ssh-keygen -Y verify" in valid.stdout
    # Two of six in each group are flagged.
    assert "rater_gender: p = 1.000, adjusted 1.000 (Fisher's exact test)." in (folder / "out/datasheet.md").read_text()


def test_a_folder_that_was_edited_is_not_valid(run: RunCommand, folder: Path) -> None:
    write_plan(folder)
    release(run, folder)
    for fault, damage in DAMAGES.items():
        copy = folder / f"with {fault}"
        shutil.copytree(folder / "out", copy)
        damage(copy)
        validation = validate_release(copy)
        assert not validation.ok
        assert fault in str(validation), fault


def test_a_manifest_that_lies_is_found_by_the_table(run: RunCommand, folder: Path) -> None:
    """Somebody who edits the table and corrects the manifest still has to keep what the release promises."""
    write_plan(folder)
    release(run, folder)
    out = folder / "out"
    table = read_release_table(out)
    first = table["rater_id"][0]
    edited = table.with_columns(
        rater_age=pl.when(pl.col("rater_id") == first).then(pl.lit("old")).otherwise("rater_age"),
        rater_id=pl.col("rater_id").replace(first, "ann"),
        answer_timestamp=pl.lit("2026-03-01"),
    )
    edited.head(100).write_parquet(out / PARQUET)
    write_manifest(out)
    found = [finding.check for finding in validate_release(out).findings]
    assert found == ["twins differ", "wrong count", "not pseudonyms", "small cells", "moments"]


def write_manifest(out: Path) -> None:
    names = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    with (out / "SHA256SUMS").open("w") as manifest:
        sums = ["sha256sum", *(name for name in names if name != "SHA256SUMS")]
        subprocess.run(sums, cwd=out, stdout=manifest, check=True)


HOSTILE: dict[str, Any] = {
    "no column rater_id": lambda out: edit_table(out, lambda table: table.drop("rater_id")),
    "Int64 in item_id": lambda out: edit_table(out, lambda table: table.with_columns(item_id=pl.lit(1, pl.Int64))),
    "List(Int32) in item_note": lambda out: edit_table(out, lambda table: table.with_columns(item_note=pl.lit([[1]]))),
    "state k": lambda out: edit_record(out, k="five"),
    "up to 1,000,000": lambda out: edit_record(out, k=10**400),
    "state question": lambda out: edit_record(out, question=["Q"]),
}


def edit_table(out: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    change(pl.read_parquet(out / PARQUET)).write_parquet(out / PARQUET)


def edit_record(out: Path, **changes: Any) -> None:
    record = json.loads((out / "release.json").read_text("utf-8"))
    (out / "release.json").write_text(json.dumps({**record, **changes}), "utf-8")


@pytest.mark.slow
def test_a_hostile_folder_is_an_error_in_words(run: RunCommand, folder: Path) -> None:
    write_plan(folder)
    release(run, folder)
    for fault, damage in HOSTILE.items():
        copy = folder / f"with {fault}"
        shutil.copytree(folder / "out", copy)
        damage(copy)
        with pytest.raises(InvalidInput, match="was changed after the release was written"):
            read_release_table(copy)
        write_manifest(copy)
        assert fault in str(validate_release(copy)), fault
    compared = run("diff", "out", "with no column rater_id")
    assert (compared.returncode, compared.stdout) == (1, "")
    assert compared.stderr.startswith("Error: ")


def test_items_of_other_types_are_joined_and_strangers_named(run: RunCommand, folder: Path) -> None:
    table = make_table().with_columns(pl.col("item_id").str.strip_prefix("item"))
    write_ratings(table.drop("context"), folder)
    items = table.select(pl.col("item_id").cast(pl.Int64), "context").unique()
    items.write_parquet(folder / "items.parquet")
    items.with_columns(item_id=pl.format(" {} ", "item_id")).write_csv(folder / "items.csv")
    for name in ("items.parquet", "items.csv"):
        source = read_source(make_plan(items=name), folder)
        assert source.table["context"].null_count() == 0
    items.with_columns(pl.col("item_id") + 100).write_csv(folder / "items.csv")
    with pytest.raises(InvalidInput, match="has none of the rated items, such as '0'"):
        read_source(make_plan(items="items.csv"), folder)


def test_the_folder_tells_nothing_of_a_rater_who_is_left_out(run: RunCommand, folder: Path) -> None:
    table = make_table({("Man", "young"): 6, ("Woman", "young"): 6, ("Man", "old"): 2})
    manifests = []
    for raters in (table, table.filter(pl.col("rater_id") != "person-13")):
        write_ratings(raters, folder)
        write_plan(folder, anonymity={"small_cells": "leave out"})
        out = f"out{raters.height}"
        (folder / "pilot-1.0.key").write_text("key " + "0" * 64 + "\n")
        release(run, folder, out)
        manifests.append((folder / out / "SHA256SUMS").read_text())
    assert manifests[0] == manifests[1]


@pytest.mark.slow
def test_a_later_version_is_compared(run: RunCommand, folder: Path) -> None:
    write_plan(folder)
    release(run, folder)
    table = make_table()
    write_ratings(table.filter(pl.col("rater_id") != "person-3", pl.col("item_id") != "item5"), folder)
    again = write_plan(folder, "again.toml")
    sign(run, folder, again)
    changed = run("release", again, "-o", "again")
    assert changed.returncode == 1
    assert "pilot 1.0 was written before with another content. Raise the version" in changed.stderr
    joined = write_plan(folder, "next.toml", version="1.1", key="pilot-1.0.key", previous="out")
    assert "FAILED    key" in run("release", joined, "--dry-run").stdout
    linked = write_plan(folder, "next.toml", version="1.1", key="pilot-1.0.key", linked_to=["1.0"], previous="out")
    release(run, folder, "next", linked)
    shown = run("diff", "out", "next").stdout
    assert "Raters: 12 before, 11 now." in shown
    assert "Items that are gone: 'item5'." in shown
    assert "Raters who are gone: 1; who are new: 0.\nRatings of the others that differ: 0." in shown
    changes = json.loads(run("diff", "out", "next", "--format", "json").stdout)["changes"]
    assert (changes["gone_raters"], changes["changed_ratings"], changes["gone_items"]) == (1, 0, ["item5"])
    assert "Raters: 12 before, 11 now." in (folder / "next" / "CHANGES.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("consents", "says"),
    [
        ("rater_id,release\nperson-0,yes\n", "FAILED    consent"),
        ("rater_id,release\nperson-0,perhaps\n", "'perhaps' is not a consent to release. Write yes or no."),
        ("rater_id\nperson-0\n", "has no column 'release'"),
    ],
)
def test_a_row_without_consent_is_named(run: RunCommand, folder: Path, consents: str, says: str) -> None:
    write_plan(folder)
    (folder / "consents.csv").write_text(consents)
    done = run("release", "plan.toml", "--dry-run")
    assert done.returncode == 1
    assert says in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("release", "none.toml"), "There is no file none.toml."),
        (("release", "ratings.csv"), "The plan is not TOML"),
        (("release", "plan.toml", "-o", "."), "is there already. A release is never changed"),
        (("release", "plan.toml", "-o", "no/out"), "no is not a folder"),
        (("diff", "plan.toml", "."), "is not a release"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors_are_one_line(run: RunCommand, folder: Path, words: tuple[str, ...], says: str) -> None:
    write_plan(folder)
    done = run(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr


@pytest.mark.parametrize("text", ["nothing", "key 00", "key " + "0" * 64 + "\nkey " + "1" * 64])
def test_a_damaged_key_is_named(run: RunCommand, folder: Path, text: str) -> None:
    write_plan(folder)
    (folder / "pilot-1.0.key").write_text(text)
    done = run("release", "plan.toml", "--dry-run")
    assert done.returncode == 1
    assert "pilot-1.0.key has" in done.stderr


@pytest.mark.ml
@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib", "ignore::DeprecationWarning:mlcroissant")
def test_a_release_loads_with_croissant_datasets_and_pandas(run: RunCommand, folder: Path) -> None:
    """The metadata have no fault, and all libraries read the same rows."""
    mlcroissant, datasets = pytest.importorskip("mlcroissant"), pytest.importorskip("datasets")
    pandas = pytest.importorskip("pandas")
    write_plan(folder, languages=["en"])
    release(run, folder)
    table = read_release_table(folder / "out")
    dataset = mlcroissant.Dataset(str(folder / "out" / "croissant.json"))
    assert dataset.metadata.ctx.issues.report() == ""
    records = list(dataset.records("ratings"))
    assert [record["ratings/rater_id"].decode() for record in records] == table["rater_id"].to_list()
    rows = datasets.load_dataset(str(folder / "out"), cache_dir=str(folder / "cache"))["train"]
    assert rows["Q_overall"][:] == table["Q_overall"].to_list()
    assert pandas.read_csv(folder / "out" / CSV)["Q_overall"].tolist() == table["Q_overall"].to_list()
