"""`dissensus campaign` and `dissensus sign-in`."""

import csv
import hashlib
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
from tests.databases import sqlite_only
from tests.support.commands import RunCommand, command_runner
from tests.support.image_files import draw
from tests.support.pair_campaigns import pair_definition
from tests.support.staff_site import PASTED, TOML

from dissensus.schema.campaign.definition import write_campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import load_campaign, load_campaign_toml, rename_campaign
from dissensus.store.audit_log import iterate_events
from dissensus.store.campaigns import get_campaign_by_name
from dissensus.workflows.platform.platform import open_platform

LINK = re.compile(r"https://rate\.example\.org/c/(\S+)\?key=\S{32}")


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, database_url: str
) -> RunCommand:
    """Run a command over a database with tables, in a folder with items."""
    (tmp_path / "items.txt").write_text(PASTED)
    settings = {"database_url": database_url, "base_url": "https://rate.example.org"}
    return command_runner(monkeypatch, capsys, tmp_path, **settings)


def test_a_campaign_from_draft_to_closed(run: RunCommand) -> None:
    assert "There are no campaigns. Create one: dissensus campaign new" in run("campaign", "list").stdout
    created = run("campaign", "new", "dices-350", "--items", "items.txt", "--name", "pilot")
    assert created.returncode == 0, created.stderr
    assert created.stdout == "pilot is a draft of owner with 2 items. Open it: dissensus campaign open pilot\n"
    assert "Note: There are no ids" in created.stderr
    opened = run("campaign", "open", "pilot")
    assert opened.stdout.startswith("pilot is open; raters enter at ")
    assert LINK.search(opened.stdout)
    assert run("campaign", "pause", "pilot").stdout == "pilot is paused.\n"
    assert run("campaign", "clone", "pilot", "second").stdout == "second is a draft.\n"
    assert run("campaign", "close", "pilot").stdout == "pilot is closed.\n"
    again = run("campaign", "close", "pilot")
    assert (again.returncode, again.stdout) == (1, "")
    assert "A campaign that is closed cannot become closed; it can become paused" in again.stderr

    document = json.loads(run("campaign", "list", "--format", "json").stdout)
    assert document["schema_version"] == 1
    assert [(row["name"], row["state"], row["items"]) for row in document["campaigns"]] == [
        ("second", "draft", 2),
        ("pilot", "closed", 2),
    ]
    rows = list(csv.DictReader(io.StringIO(run("campaign", "list", "--format", "csv").stdout)))
    assert [row["owner"] for row in rows] == ["owner", "owner"]
    table = run("campaign", "list").stdout.splitlines()
    assert table[0].split() == ["name", "state", "owner", "items", "raters", "ratings"]
    assert table[2].split() == ["pilot", "closed", "owner", "2", "0", "0"]


def test_chat_campaigns_have_no_items(run: RunCommand, tmp_path: Path) -> None:
    created = run("campaign", "new", "red-team", "--name", "red")
    assert created.stdout == "red is a draft of owner. Open it: dissensus campaign open red\n"
    refused = run("campaign", "new", "red-team", "--items", "items.txt", "--name", "other")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "In other raters talk with chatbots and rate no items. Leave --items out." in refused.stderr
    bare = run("campaign", "new", "dices-350", "--name", "bare")
    assert bare.stdout.endswith("without items. Add some: dissensus campaign add-items bare FILE\n")
    assert run("campaign", "add-items", "bare", "items.txt").returncode == 0
    assert run("campaign", "open", "bare").returncode == 0


def test_the_check_before_opening_warns_and_refuses(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "cared.toml").write_text(f'{TOML}[care]\ncontact = "Mia Berg"\n')
    run("campaign", "new", "cared.toml", "--items", "items.txt", "--name", "cared")
    opened = run("campaign", "open", "cared", "--yes")
    assert opened.returncode == 0
    assert (
        "Warning: Raters can share their wellbeing survey with a contact, and nobody in the role carer" in opened.stderr
    )
    run("campaign", "pause", "cared")
    assert run("campaign", "open", "cared").stderr == ""
    run("campaign", "new", "dices-350", "--name", "empty")
    refused = run("campaign", "open", "empty")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "empty cannot open. There are no items to rate. Add items." in refused.stderr


QUOTA = """
[quota]
source = "recruiter"
rest = 5
[quota.axes.rater_age]
young = ["gen z"]
"""


def test_each_quota_cell_of_a_recruiter_has_a_link(run: RunCommand, tmp_path: Path) -> None:
    definition_toml = load_campaign_toml("dices-350").replace(
        "click_to_reveal = true\n", f"click_to_reveal = true\n{QUOTA}", 1
    )
    (tmp_path / "pilot.toml").write_text(definition_toml, "utf-8")
    assert run("campaign", "new", "pilot.toml", "--items", "items.txt").returncode == 0
    opened = run("campaign", "open", "dices-350").stdout.splitlines()
    assert opened[0] == "dices-350 is open; raters enter by the link of their cell:"
    assert [line.split(": https")[0] for line in opened[1:]] == ["- young", "- rest"]
    assert "Name the cell" in run("campaign", "invite", "dices-350").stderr
    assert run("campaign", "invite", "dices-350", "--cell", "young").returncode == 0


def test_a_draft_can_be_revised_and_an_open_campaign_cannot(run: RunCommand, tmp_path: Path) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt")
    changed = load_campaign_toml("dices-350").replace("break_every = 20", "break_every = 10\nseed = 4")
    (tmp_path / "changed.toml").write_text(changed)
    done = run("campaign", "revise", "changed.toml")
    assert (done.returncode, done.stdout) == (0, "dices-350 is revised; its state is still draft.\n")
    run("campaign", "open", "dices-350")
    assert "dices-350 is open, and cannot be changed now" in run("campaign", "revise", "changed.toml").stderr
    run("campaign", "pause", "dices-350")
    assert "seed cannot change after raters entered" in run("campaign", "revise", "dices-350").stderr
    assert "There is no campaign 'other'" in run("campaign", "revise", "dices-350", "--name", "other").stderr


def test_show_and_revise_round_trip_the_definition(run: RunCommand, tmp_path: Path) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt", "--name", "pilot")
    first = run("campaign", "show", "pilot")
    assert (first.returncode, first.stderr) == (0, "")
    assert parse_campaign(first.stdout).digest == rename_campaign(load_campaign("dices-350"), "pilot").digest
    assert run("campaign", "show", "pilot", "-o", "pilot.toml").returncode == 0
    assert (tmp_path / "pilot.toml").read_text("utf-8") == first.stdout
    assert run("campaign", "revise", "pilot.toml").returncode == 0
    assert run("campaign", "show", "pilot").stdout == first.stdout


def test_items_can_be_added_and_removed_in_a_draft(run: RunCommand, tmp_path: Path) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt", "--name", "pilot")
    (tmp_path / "more.txt").write_text("User: Who?\nBot: Me.")
    (tmp_path / "more.csv").write_text('item_id,context,response\n7,"USER: Hi",Ho\n')
    added = run("campaign", "add-items", "pilot", "more.txt", "more.csv")
    assert (added.returncode, added.stdout) == (0, "Added 2 items; pilot has 4.\n")
    assert "Note: more.txt: There are no ids" in added.stderr
    again = run("campaign", "add-items", "pilot", "more.csv")
    assert (again.returncode, again.stdout) == (1, "")
    assert "There is an item '7' already, and nothing was added" in again.stderr
    unconfirmed = run("campaign", "remove-items", "pilot")
    assert unconfirmed.returncode == 1
    assert "Remove all 4 items of pilot? This cannot be undone." in unconfirmed.stderr
    assert run("campaign", "remove-items", "pilot", "--yes").stdout == "Removed 4 items; pilot has none.\n"
    run("campaign", "add-items", "pilot", "more.csv")
    run("campaign", "open", "pilot")
    for words in (("add-items", "pilot", "more.txt"), ("remove-items", "pilot"), ("remove-items", "pilot", "--yes")):
        assert "pilot is open, and its items cannot change now." in run("campaign", *words).stderr


def test_images_are_added_before_the_items_that_show_them(run: RunCommand, tmp_path: Path) -> None:
    run("campaign", "new", "dices-350", "--name", "pilot")
    (tmp_path / "more.csv").write_text("item_id,context,response,item_image,item_image_alt\n7,Hi,Ho,a.png,A knife.\n")
    assert "shows the image 'a.png'" in run("campaign", "add-items", "pilot", "more.csv").stderr
    (tmp_path / "a.png").write_bytes(draw())
    (tmp_path / "b.png").write_bytes(b"<svg/>")
    assert "b.png: The file is not a PNG" in run("campaign", "add-images", "pilot", "a.png", "b.png").stderr
    assert "There is no file c.png." in run("campaign", "add-images", "pilot", "c.png").stderr
    assert run("campaign", "add-images", "pilot", "a.png").stdout == "Added 1 image; pilot has 1.\n"
    assert run("campaign", "add-items", "pilot", "more.csv").stdout == "Added 1 item; pilot has 1.\n"


def test_a_dry_run(run: RunCommand) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt", "--name", "pilot")
    done = run("campaign", "rehearse", "pilot", "--raters", "3", "--seed", "1")
    assert done.stdout == "3 simulated raters rated 6 items of pilot. Their answers do not count.\n"
    (row,) = json.loads(run("campaign", "list", "--format", "json").stdout)["campaigns"]
    assert (row["raters"], row["ratings"]) == (0, 0)
    assert "0 raters were requested; 1 to 1,000" in run("campaign", "rehearse", "pilot", "--raters", "0").stderr


def test_personal_links_are_distinct(run: RunCommand, tmp_path: Path) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt", "--personal-links")
    assert run("campaign", "open", "dices-350").stdout.endswith("raters enter by personal links alone\n")
    lines = run("campaign", "invite", "dices-350", "-n", "3").stdout.splitlines()
    assert len(set(lines)) == 3
    assert all(LINK.fullmatch(line) for line in lines)
    assert run("campaign", "invite", "dices-350", "--format", "csv", "-o", "links.csv").returncode == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "links.csv").read_text())))
    assert len(rows) == 1
    assert LINK.fullmatch(rows[0]["link"])
    for n in ("0", "-1", "10001"):
        assert "1 to 10,000 can be made at once" in run("campaign", "invite", "dices-350", "-n", n).stderr


def test_a_link_to_sign_in(run: RunCommand) -> None:
    first, second = (run("sign-in", "ada") for _ in range(2))
    assert re.fullmatch(r"https://rate\.example\.org/sign-in/\S{32}\n", first.stdout)
    assert first.stdout != second.stdout
    assert (first.stderr, second.stderr) == ("ada was added to the staff.\n", "")
    assert run("sign-in", "ada", "--sign-out").stdout == "ada is signed out; sessions ended: 0.\n"
    assert "There is no person called 'eve'; there are 'ada'." in run("sign-in", "eve", "--sign-out").stderr
    assert "is not a valid name" in run("sign-in", " ").stderr


RACES = """
rater_race.Asian = ["Asian/Asian subcontinent"]
rater_race.Black = ["Black/African American"]
rater_race.Latine = ["LatinX, Latino, Hispanic or Spanish Origin"]
rater_race.Multiracial = ["Multiracial"]
rater_race.White = ["White"]
"""


def test_a_campaign_is_made_from_each_plan_of_the_documentation(run: RunCommand, tmp_path: Path) -> None:
    """DICES-350 anew, a quota campaign of five groups, and two chatbots under 2,000 pounds."""
    axes = {"gender": 'rater_gender.Man = ["Man"]\nrater_gender.Woman = ["Woman"]', "race": RACES}
    for axis, groups in axes.items():
        quota = f"\n[quota]\nseats = 10\nrest = 1\n[quota.axes]\n{groups}\n"
        (tmp_path / f"{axis}.toml").write_text(load_campaign_toml("dices-350") + quota)
    shares = "rater_race=Asian:.2,Black:.2,Latine:.2,Multiracial:.2,White:.2"
    plans: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
        ("gender.toml", ("groups", "--by", "gender", "--simulations", "0"), ("seats = 55",)),
        (
            "race.toml",
            ("pool", "--axis", shares, "--seats", "60", "--dropout", "0.1", "--removal", "0.154", "--per-item", "20"),
            ("seats = 60", "replication = 20", "margin_percent = 31"),
        ),
        (
            "dices-350",
            ("comparison", "--budget", "2000", "--per-item", "5", "--hourly-rate", "12", "--simulations", "100"),
            ("max_items = 20", "replication = 5"),
        ),
    )
    for number, (definition, words, numbers) in enumerate(plans):
        name = f"planned-{number}"
        planned = run("plan", *words, "-o", f"{name}.json")
        assert planned.returncode == 0, planned.stderr
        items = ("--items", "items.txt", "--name", name)
        created = run("campaign", "new", definition, *items, "--plan", f"{name}.json")
        assert created.returncode == 0, created.stderr
        shown = run("campaign", "show", name).stdout
        assert [line for line in numbers if line not in shown] == []
        assert run("audit", name).returncode == 0
    refused = run("campaign", "new", "dices-350", "--plan", "missing.json")
    assert (refused.returncode, "There is no file missing.json" in refused.stderr) == (1, True)


def test_with_several_owners_one_must_be_named(run: RunCommand) -> None:
    run("sign-in", "ada")
    run("sign-in", "bob")
    new = ("campaign", "new", "dices-350", "--items", "items.txt")
    assert "There are several people: 'ada', 'bob'. Name one: --owner NAME" in run(*new).stderr
    assert "There is no person called 'eve'" in run(*new, "--owner", "eve").stderr
    assert "a draft of bob" in run(*new, "--owner", "bob").stdout
    assert "There is a campaign called dices-350" in run(*new, "--owner", "ada").stderr


@sqlite_only
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("new", "nowhere.toml", "--items", "items.txt"),
            "There is no file nowhere.toml, and no shipped campaign of that name",
        ),
        (("new", "bad.toml", "--items", "items.txt"), "The campaign has"),
        (("new", "broken.toml", "--items", "items.txt"), "The campaign is not TOML"),
        (("new", "noise.toml", "--items", "items.txt"), "noise.toml holds UTF-16 text"),
        (("new", ".", "--items", "items.txt"), ". is a folder. Name a file in it."),
        (("new", "dices-350", "--items", "nowhere.csv"), "There is no file nowhere.csv"),
        (("new", "dices-350", "--items", "items.txt", "--name", "A B"), "name: Write up to 60 of a to z"),
        (("open", "nothing"), "There is no campaign 'nothing'"),
        (("invite", "nothing"), "There is no campaign 'nothing'"),
        (("clone", "nothing", "x"), "There is no campaign 'nothing'"),
        (("show", "nothing"), "There is no campaign 'nothing'"),
        (("add-items", "nothing", "items.txt"), "There is no campaign 'nothing'"),
        (("add-items", "nothing", "nowhere.csv"), "There is no campaign 'nothing'"),
        (("remove-items", "nothing"), "There is no campaign 'nothing'"),
        (("rehearse", "nothing"), "There is no campaign 'nothing'"),
        (("list", "--settings", "nowhere.toml"), "The settings nowhere.toml cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_invalid_requests_are_refused(run: RunCommand, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    (tmp_path / "bad.toml").write_text('name = "x"\nlanguages = ["en"]\ncolour = "red"')
    (tmp_path / "broken.toml").write_text("name =")
    (tmp_path / "noise.toml").write_bytes(b"\xff\xfe")
    done = run("campaign", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_clone_needs_a_valid_name(run: RunCommand) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt")
    done = run("campaign", "clone", "dices-350", "../x")
    assert done.returncode == 1
    assert "name: Write up to 60 of a to z" in done.stderr


def test_platinum_labels_are_imported(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "pilot.toml").write_text(load_campaign_toml("dices-350"))
    (tmp_path / "items.csv").write_text("item_id,context,response\n1,USER: Hi,Hello!\n2,USER: Hi,Go away.\n")
    run("campaign", "new", "pilot.toml", "--items", "items.csv", "--name", "pilot")
    (tmp_path / "earlier.csv").write_text("item_id,label\n1,Yes\n3,No\n")
    refused = run("campaign", "add-platinum", "pilot", "earlier.csv", "--source", "May")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "a fault:\n- row 2 (item '3'): The campaign has no such item. Leave it out." in refused.stderr
    (tmp_path / "earlier.csv").write_text("item_id,said\n1,Yes\n2,No\n")
    imported = run("campaign", "add-platinum", "pilot", "earlier.csv", "--source", "May", "--label", "said")
    assert imported.stdout == "Stored labels of 2 items of pilot.\n", imported.stderr
    assert (
        "labels are to be replaced"
        in run("campaign", "add-platinum", "pilot", "earlier.csv", "--source", "May", "--label", "said").stderr
    )
    again = run("campaign", "add-platinum", "pilot", "earlier.csv", "--source", "June", "--label", "said", "--replace")
    assert again.returncode == 0


def test_a_campaign_of_pairs_reads_pairs(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "pairs.toml").write_text(write_campaign(pair_definition()))
    row = {"prompt": "Is it safe?", "chosen": "No.", "rejected": "Sure!"}
    rows = [row, {**row, "rejected": "No."}]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    created = run("campaign", "new", "pairs.toml", "--items", "pairs.jsonl")
    assert created.stdout.startswith("pilot is a draft of owner with 1 item.")
    assert "Note: 1 pair (row 2): both answers are the same; left out." in created.stderr
    (tmp_path / "more.jsonl").write_text(json.dumps({"context": "a", "response_a": "b", "response_b": "c"}))
    assert run("campaign", "add-items", "pilot", "more.jsonl").stdout == "Added 1 item; pilot has 2.\n"
    (tmp_path / "one.jsonl").write_text(json.dumps({"context": "a", "response": "b"}))
    refused = run("campaign", "add-items", "pilot", "one.jsonl")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "one.jsonl: No column holds pairs." in refused.stderr


def test_a_decision_of_a_comparison_is_signed_into_the_log(run: RunCommand, tmp_path: Path, database_url: str) -> None:
    answers = (("0", "a", "No"), ("0", "b", "Yes"), ("1", "a", "No"), ("1", "b", "No"))
    rows = pl.DataFrame(answers, schema=["item_id", "rater_id", "Q_overall"], orient="row")
    rows.write_csv(tmp_path / "rated.csv")
    assert run("campaign", "new", "dices-350", "--items", "items.txt", "--name", "pilot").returncode == 0
    compared = run("benchmark", "rated.csv", "--decisions", "--costs", "1:1,1:4", "-o", "comparison.json")
    assert compared.returncode == 0, compared.stderr
    adopted = run("campaign", "adopt-rule", "pilot", "comparison.json", "--decision", "share at 1:4")
    assert adopted.stdout == "pilot has adopted share at 1:4: it blocks 1 of 2 items.\n", adopted.stderr
    platform = open_platform(database_url, threads=1)
    with platform.database.reading() as tx:
        campaign_row = get_campaign_by_name(tx, "pilot")
        (event,) = iterate_events(tx, campaign_row.id, "rule_adopted")
    platform.close()
    assert {
        name: event.content[name] for name in ("rule", "block_cost", "miss_cost", "n_blocked", "min_raters", "unsafe")
    } == {
        "rule": "share",
        "block_cost": 1.0,
        "miss_cost": 4.0,
        "n_blocked": 1,
        "min_raters": 8,
        "unsafe": ["Yes"],
    }
    assert event.content["sha256"] == hashlib.sha256((tmp_path / "comparison.json").read_bytes()).hexdigest()
    assert event.content["seats"] is None
    assert run("audit", "pilot").returncode == 0
    unknown = run("campaign", "adopt-rule", "pilot", "comparison.json", "--decision", "share at 1:2")
    assert "The comparison has no decision 'share at 1:2'. Did you mean 'share at 1:4'?" in unknown.stderr
    compared_text = (tmp_path / "comparison.json").read_text()
    wrong_numbers = (
        compared_text.replace('"miss_cost": 4.0', f'"miss_cost": {number}') for number in ("NaN", "-4", "1e999", "true")
    )
    more_blocked = compared_text.replace('"n_blocked": 1', '"n_blocked": 3')
    for text in (*wrong_numbers, more_blocked):
        (tmp_path / "wrong.json").write_text(text)
        wrong = run("campaign", "adopt-rule", "pilot", "wrong.json", "--decision", "share at 1:4")
        assert "This is not a comparison of decisions" in wrong.stderr, text[-200:]
    for text in ("[]", "not json", '{"decisions": []}', '{"decisions": [{"name": "share"}], "settings": {}}'):
        (tmp_path / "wrong.json").write_text(text)
        wrong = run("campaign", "adopt-rule", "pilot", "wrong.json", "--decision", "share")
        assert "This is not a comparison of decisions" in wrong.stderr


def test_a_jury_is_signed_into_the_log_with_its_seats(run: RunCommand, tmp_path: Path, database_url: str) -> None:
    answers = [(item, f"{group}{n}", group, "Yes") for item in "01" for group in "ab" for n in range(8)]
    columns = ["item_id", "rater_id", "rater_group", "Q_overall"]
    pl.DataFrame(answers, schema=columns, orient="row").write_csv(tmp_path / "rated.csv")
    assert run("campaign", "new", "dices-350", "--items", "items.txt", "--name", "pilot").returncode == 0
    seats = ("--rule", "jury", "--seats", "group=a:2,group=b:1")
    scale = ("--categories", "No,Yes")
    assert run("benchmark", "rated.csv", *scale, "--decisions", *seats, "-o", "comparison.json").returncode == 0
    adopted = run("campaign", "adopt-rule", "pilot", "comparison.json", "--decision", "jury")
    assert adopted.stdout == "pilot has adopted jury: it blocks 2 of 2 items.\n", adopted.stderr
    platform = open_platform(database_url, threads=1)
    with platform.database.reading() as tx:
        (event,) = iterate_events(tx, get_campaign_by_name(tx, "pilot").id, "rule_adopted")
    platform.close()
    assert event.content["seats"] == {"rater_group=a": 2, "rater_group=b": 1}
    assert run("audit", "pilot").returncode == 0
    comparison = (tmp_path / "comparison.json").read_text()
    (tmp_path / "wrong.json").write_text(comparison.replace('"rater_group=a": 2', '"rater_group=a": -2'))
    wrong = run("campaign", "adopt-rule", "pilot", "wrong.json", "--decision", "jury")
    assert "This is not a comparison of decisions" in wrong.stderr


@sqlite_only
def test_links_that_cannot_be_written_are_not_made(run: RunCommand, database_url: str) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt")
    done = run("campaign", "invite", "dices-350", "-n", "2", "-o", "missing/links.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert "missing/links.csv cannot be written" in done.stderr
    run("campaign", "invite", "dices-350", "-n", "3", "-o", "links.txt")
    platform = open_platform(database_url, threads=1)
    with platform.database.reading() as tx:
        events = list(iterate_events(tx, get_campaign_by_name(tx, "dices-350").id, "links_created"))
    platform.close()
    assert [event.content["n"] for event in events] == [3]


@sqlite_only
def test_a_deletion_without_a_terminal_needs_the_name(run: RunCommand) -> None:
    run("campaign", "new", "dices-350", "--items", "items.txt")
    refused = run("campaign", "delete", "dices-350")
    assert (refused.returncode, "--confirm dices-350" in refused.stderr) == (1, True)
    done = run("campaign", "delete", "dices-350", "--confirm", "dices-350")
    assert (done.returncode, "dices-350 is deleted" in done.stdout) == (0, True)
