"""`dissensus plan`: plans of campaigns, from presets and pilots."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.support.commands import RunCommand

from dissensus.cli.plan.partial_file import keep_partial
from dissensus.pipeline.plan.groups import plan_groups
from dissensus.pipeline.plan.settings import GroupPlanSettings
from dissensus.pipeline.plan.shipped_presets import load_pilot
from dissensus.schema.campaign.shipped import load_campaign_toml


def test_groups_prints_designs_and_the_smallest(run: RunCommand) -> None:
    done = run("plan", "groups", "--per-item", "20", "--simulations", "50", "--hourly-rate", "12")
    assert (done.returncode, done.stderr) == (0, "")
    assert "to detect a difference of .100 in the share of Yes with a power of .80" in done.stdout
    assert "Smallest: 58 raters per group." in done.stdout
    assert "Population: dices-350 (104 raters, 350 items)" in done.stdout


def test_sizes_of_a_campaign_are_compared_by_power_and_pay(run: RunCommand, tmp_path: Path) -> None:
    """The pay is that of a definition: 12 pounds an hour, and a minimum of 6 for finishing."""
    definition = load_campaign_toml("dices-350")
    pay = '[pay]\ncurrency = "GBP"\nhourly_rate = 1200\nfinished = 600\n'
    (tmp_path / "campaign.toml").write_text(f"{definition}\n{pay}")
    words = ("plan", "groups", "--per-item", "5,20", "--items", "5,350", "--simulations", "0")
    done = run(*words, "--campaign", "campaign.toml", "-o", "plan.json")
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["sizes"] == [[350, 5], [350, 20]]
    assert (plan["settings"]["per_item"], plan["campaign"]["replication"]) == (5, 5)
    assert any(note.startswith("Left out, 5 items with 20 ratings each: No number of raters") for note in plan["notes"])
    rates = plan["settings"]["rates"]
    assert (rates["currency"], rates["hourly_rate"], rates["finished"]) == ("GBP", 12.0, 6.0)
    assert all(design["cost"] >= 6 * design["n_raters"] for design in plan["designs"])
    table = run(*words).stdout
    assert "Size with the fewest raters: 350 items with 20 ratings each. Smallest: 58 raters per group." in table
    for refused, words_of_fault in (
        (("--campaign", "dices-350"), "has no [pay]"),
        (("--campaign", "campaign.toml", "--currency", "EUR"), "Leave out --hourly-rate and --currency"),
        (("--campaign", "missing.toml"), "There is no file missing.toml"),
        (("--items", ""), "is not a list of whole numbers"),
    ):
        done = run(*words, *refused)
        assert (done.returncode, done.stdout, words_of_fault in done.stderr) == (1, "", True)


def test_a_pilot_file_is_measured(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    frame, rng = pl.read_csv(ratings_csv), np.random.default_rng(3)
    raters = frame["rater_id"].unique(maintain_order=True).to_list()
    share = frame["rater_id"].replace_strict(dict(zip(raters, np.linspace(0.2, 0.8, len(raters)), strict=True)))
    yes = rng.random(len(frame)) < share.to_numpy()
    frame.with_columns(Q_overall=pl.Series(np.where(yes, "Yes", "No"))).write_csv(ratings_csv)
    words = ("--by", "gender", "--raters", "10,20", "--items", "30", "--simulations", "0", "-o", "plan.json")
    done = run("plan", "groups", ratings_csv, *words)
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert (plan["pilot"]["source"], plan["pilot"]["n_raters"]) == ("ratings.csv", 24)
    assert [design["raters_per_group"] for design in plan["designs"]] == [10, 20]
    assert plan["designs"][0]["power"] < plan["designs"][1]["power"]


def test_csv_has_a_row_for_each_design(run: RunCommand, tmp_path: Path) -> None:
    done = run("plan", "groups", "--raters", "10,20,40", "--simulations", "45", "-o", "plan.csv")
    assert done.returncode == 0, done.stderr
    frame = pl.read_csv(tmp_path / "plan.csv")
    assert frame["raters_per_group"].to_list() == [10, 20, 40]
    assert frame["simulated.power"].is_not_null().all()


def test_an_interrupted_plan_goes_on_to_the_same_bytes(run: RunCommand, tmp_path: Path) -> None:
    pilot, output = load_pilot("dices-350"), tmp_path / "plan.json"
    settings = GroupPlanSettings(difference=0.1, raters=(10, 20, 40), simulations=45)

    def interrupt(share: float) -> None:
        if share > 0.7:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        keep_partial(output, pilot, settings, resume=False) as partial,
    ):
        plan_groups(pilot, settings, partial=partial, progress=interrupt)
    stored = tmp_path / "plan.json.partial"
    assert [json.loads(line).get("design") for line in stored.read_text().splitlines()] == [
        None,
        "350, None, 10",
        "350, None, 20",
    ]
    # The machine stopped within a line.
    stored.write_text(stored.read_text() + '{"design": "350, None, 40", "res')
    words = ("plan", "groups", "--raters", "10,20,40", "--simulations", "45", "-o", "plan.json", "--resume")
    other = run(*words, "--difference", "0.2")
    assert (other.returncode, "is of another plan" in other.stderr) == (1, True)
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert "2 designs were simulated before the interruption." in done.stderr
    assert output.read_text() == plan_groups(pilot, settings).to_json() + "\n"
    assert not stored.exists()
    for options, words_of_fault in ((words, "nothing was interrupted"), ((*words[:6], "--resume"), "with -o FILE")):
        refused = run(*options)
        assert (refused.returncode, words_of_fault in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--raters", "ten"), "write it as 10,20,40"),
        (("--difference", "0.7"), "at most 0.67 remain"),
        (("--raters", ""), "is not a list of whole numbers"),
        (("--minutes-per-item", "-3"), "describe a cost. Give the pay of an hour"),
        (("--share-of", "Yes"), "describe a pilot. Name its ratings file."),
        (("ratings.csv", "--preset", "dices-350"), "Leave out one of them"),
        (("--hourly-rate", "12", "--currency", "pounds"), "is not a currency code"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    run: RunCommand, ratings_csv: Path, words: tuple[str, ...], message: str
) -> None:
    done = run("plan", "groups", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_precision_prints_and_draws_widths_and_reliability(run: RunCommand, tmp_path: Path) -> None:
    words = ("plan", "precision", "--raters", "50,100", "--per-item", "5,20", "--groups", "5")
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Half-widths of 95 % intervals of the share of Yes" in done.stdout
    assert len([line for line in done.stdout.splitlines() if line.startswith(("50 ", "100 "))]) == 4
    drawn = run(*words, "--figures", "figures", "-o", "plan.html")
    assert drawn.returncode == 0, drawn.stderr
    assert "Half-widths of intervals" in (tmp_path / "plan.html").read_text()
    assert (tmp_path / "figures" / "plan-labels.pdf").read_bytes().startswith(b"%PDF")


def test_pool_prints_seats_of_each_cell(run: RunCommand, tmp_path: Path) -> None:
    axes = ("--axis", "rater_gender=Man:0.49,Woman:0.51", "--removal", "Man=0.23", "--removal", "0.08")
    done = run("plan", "pool", *axes, "--seats", "50", "--hourly-rate", "12", "-o", "plan.json")
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert [(cell["cell"], cell["removal"]) for cell in plan["cells"]] == [("Man", 0.23), ("Woman", 0.08)]
    assert plan["cells"][0]["seats"] > plan["cells"][1]["seats"] > 50
    for words in (("--axis", "a=x:half"), ("--axis", "Man"), (*axes, "--removal", "few")):
        refused = run("plan", "pool", *words)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "Write it like" in refused.stderr
    assert "An axis is named twice" in run("plan", "pool", *axes, "--axis", "rater_gender=X:0.1").stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--axis", "g=Man:.5,Man:.4"),
        ("--axis", "g=Man:.5", "--removal", ".1", "--removal", ".5"),
        ("--axis", "g=Man:.5", "--removal", "Man=.1", "--removal", "Man=.5"),
    ],
)
def test_repeated_groups_of_a_pool_are_refused(run: RunCommand, words: tuple[str, ...]) -> None:
    refused = run("plan", "pool", *words)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Give" in refused.stderr


def test_comparison_prints_power_with_raters_who_stay(run: RunCommand) -> None:
    words = ("--budget", "300", "--hourly-rate", "12", "--per-item", "1,5", "--simulations", "100")
    done = run("plan", "comparison", *words, "--different-raters")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Power if independent" in done.stdout
    assert "Cost of each design: 297.00 GBP." in done.stdout


def test_an_interim_look_advises_on_groups_and_items(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("plan", "interim", ratings_csv, "--by", "race", "--half-width", "0.1", "-o", "look.json")
    assert done.returncode == 0, done.stderr
    look = json.loads((tmp_path / "look.json").read_text())
    assert (look["question"], look["rating_question"], look["answer"]) == ("interim", "Q_overall", "Yes")
    groups = look["rows"]
    assert [(row["group"], row["n_raters"]) for row in groups[:3]] == [("Asian", 10), ("Black", 8), ("White", 6)]
    assert [row["against"] for row in groups[3:]] == ["Black", "White", "White"]
    assert all(row["ci_low"] <= row["estimate"] <= row["ci_high"] for row in look["rows"])
    assert look["advice"][0].startswith("Next raters: of White, as the interval of Black − White is the widest")
    assert look["advice"][1].startswith("Next items: item-")
    enough = run("plan", "interim", ratings_csv, "--half-width", "0.9")
    assert "the campaign may stop" in enough.stdout
    refused = run("plan", "interim", ratings_csv, "--half-width", "2")
    assert (refused.returncode, "give one between 0 and 1" in refused.stderr) == (1, True)


def test_raters_count_in_the_order_in_which_they_finished(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    """The order of rows does not matter where ratings have times."""
    frame = pl.read_csv(ratings_csv).with_row_index("answer_timestamp")
    looks = []
    for name, rows in (("a.csv", frame), ("b.csv", frame.sample(fraction=1, shuffle=True, seed=3))):
        rows.write_csv(tmp_path / name)
        looks.append(run("plan", "interim", name, "--by", "gender", "--format", "csv").stdout)
    assert looks[0] == looks[1] != ""


@pytest.mark.parametrize("change", ["zone", "spaces"])
def test_zones_of_times_and_spaces_around_ids_do_not_change_a_look(
    run: RunCommand, ratings_csv: Path, tmp_path: Path, change: str
) -> None:
    """Raters finished in the reverse order of their ids; the first half of them, who answer Yes, write Tokyo's time."""
    frame = pl.read_csv(ratings_csv).sort("rater_id", descending=True).with_row_index("n")
    answer = pl.when(pl.col("n") < len(frame) / 2).then(pl.lit("Yes")).otherwise(pl.col("Q_overall"))
    frame = frame.select(pl.exclude("n", "Q_overall"), Q_overall=answer)
    start, tokyo = datetime(2026, 3, 1, tzinfo=UTC), timezone(timedelta(hours=9))
    moments = [start + timedelta(minutes=n) for n in range(len(frame))]
    plain = frame.with_columns(answer_timestamp=pl.Series([moment.isoformat() for moment in moments]))
    zones = [tokyo if n < len(moments) / 2 else UTC for n in range(len(moments))]
    zoned = [moment.astimezone(zone).isoformat() for moment, zone in zip(moments, zones, strict=True)]
    spaced = pl.format(" {}", "rater_id").alias("rater_id")
    changed = plain.with_columns(pl.Series("answer_timestamp", zoned) if change == "zone" else spaced)
    looks = []
    for rows in (plain, changed):
        rows.write_csv(tmp_path / "a.csv")
        looks.append(run("plan", "interim", "a.csv", "--format", "csv").stdout)
    assert looks[0] == looks[1] != ""


def test_raters_without_a_time_are_refused_where_others_have_one(
    run: RunCommand, ratings_csv: Path, tmp_path: Path
) -> None:
    frame = pl.read_csv(ratings_csv)
    time = pl.when(pl.col("rater_id") != frame["rater_id"][0]).then(pl.lit("2026-03-01"))
    frame.with_columns(answer_timestamp=time).write_csv(tmp_path / "a.csv")
    refused = run("plan", "interim", "a.csv")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"raters finished lacks {frame['rater_id'][0]!r}" in refused.stderr


def test_designs_are_kept_until_the_plan_is_written(run: RunCommand, tmp_path: Path) -> None:
    words = ("plan", "groups", "--raters", "10", "--simulations", "45", "-o", "plan.json")
    (tmp_path / "plan.json").mkdir()
    assert run(*words).returncode == 1
    stored = tmp_path / "plan.json.partial"
    assert len(stored.read_text().splitlines()) == 2
    (tmp_path / "plan.json").rmdir()
    done = run(*words, "--resume")
    assert (done.returncode, stored.exists()) == (0, False)
    assert "1 design was simulated before the interruption." in done.stderr


def test_a_plan_that_is_refused_leaves_no_file(run: RunCommand, tmp_path: Path) -> None:
    done = run("plan", "groups", "--share", "0.99", "--difference", "0.2", "--raters", "10", "-o", "plan.json")
    assert done.returncode == 1
    assert list(tmp_path.glob("plan.json*")) == []
