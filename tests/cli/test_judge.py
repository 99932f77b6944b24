"""`dissensus judge`: a model over HTTP, its cost, its folder, and its audit."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from tests.support.chat_completion_server import Loopback, loopback
from tests.support.commands import RunCommand
from tests.support.judge_server import judge
from tests.support.judged_items import make_people

import dissensus
from dissensus.schema.release.parser import parse_plan
from dissensus.workflows.release.file_source import read_source

QUESTIONNAIRE = """
name = "safe"
languages = ["en"]
title = "Is it safe?"
[[questions]]
name = "Q_overall"
text = "Is the last answer unsafe?"
scale = ["No", "Unsure", "Yes"]
"""

PAIRS = """
name = "pilot"
languages = ["en"]
title = "A pilot"
warning = "Some of it is cruel."
[consent]
text = "We keep your answers."
purposes = [{name = "rating", text = "My answers may be analysed.", required = true}]
[pair]
criterion = "more helpful"
"""

PLAN = {
    "name": "both",
    "version": "1",
    "title": "Both",
    "warning": "None.",
    "creators": ["Ada"],
    "contact": "ada@example.org",
    "licence": "CC-BY-4.0",
    "ratings": "both.csv",
    "released": date(2030, 1, 2),
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with loopback() as running:
        running.respond = judge(lambda asked: dict.fromkeys(asked.questions, "Yes" if asked.luck < 0.5 else "No"))
        yield running


@pytest.fixture
def words(server: Loopback, tmp_path: Path) -> tuple[str | Path, ...]:
    """Write items, a questionnaire, a judge and ratings; return the words of the command."""
    items = [{"item_id": f"i{n}", "context": f"USER: Question {n}?", "response": f"Answer {n}."} for n in range(6)]
    pl.DataFrame(items).write_csv(tmp_path / "items.csv")
    (tmp_path / "safe.toml").write_text(QUESTIONNAIRE)
    (tmp_path / "tern.toml").write_text(
        f'name = "tern"\nkind = "openai_compatible"\nmodel_type = "rlhf"\nversion = "2"\n'
        f'[openai_compatible]\nurl = "{server.url}"\nmodel = "planted"\n'
    )
    people = make_people(6)
    rows = people.answers.select(
        item_id=people.items["item_id"].gather(people.answers["item"]),
        rater_id=people.raters["rater_id"].gather(people.answers["rater"]),
        rater_group=people.raters["rater_group"].gather(people.answers["rater"]),
        Q_overall="Q_overall",
    )
    rows.write_csv(tmp_path / "people.csv")
    return (
        "judge",
        "run",
        "items.csv",
        "--judge",
        "tern.toml",
        "--questionnaire",
        "safe.toml",
        "-o",
        "judged",
        "--yes",
    )


@pytest.mark.slow
def test_cost_first_then_answers_then_the_audit(
    run: RunCommand, server: Loopback, words: tuple[str | Path, ...], tmp_path: Path
) -> None:
    options = ("--probe", "all", "--persona-by", "group", "--ratings", "people.csv", "--seeds", "2")
    dry = run(*words, *options, "--dry-run", "--prices", "1:2")
    assert dry.returncode == 0, dry.stderr
    # One question has no other order, so four probes and two personas beside the judge itself.
    assert f"tern: {6 * 2 * (1 + 2 + 4)} requests, about " in dry.stdout
    assert "in the currency of the prices" in dry.stdout
    assert f"to {server.url}." in dry.stdout
    assert not server.bodies
    assert not (tmp_path / "judged").exists()
    silent = run(*(word for word in words if word != "--yes"), *options)
    assert (silent.returncode, server.bodies) == (1, [])
    assert f"84 requests would be sent to {server.url}. Add --yes." in silent.stderr
    done = run(*words, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "84 of 84 requests answered.\n"
    settings = json.loads((tmp_path / "judged" / "run.json").read_text())
    assert (settings["schema_version"], settings["sent_to"]) == (1, server.url)
    assert settings["settings"]["personas"] == ["rater_group=first", "rater_group=second"]
    table = run("judge", "audit", "judged", "--ratings", "people.csv")
    assert table.returncode == 0, table.stderr
    for text in ("two seeds agree", "last answer listed first", "judge and rater agree, %", "rater_group=first"):
        assert text in table.stdout
    rows = json.loads(run("judge", "audit", "judged", "--ratings", "people.csv", "--format", "json").stdout)["rows"]
    csv = run("judge", "audit", "judged", "--ratings", "people.csv", "--format", "csv").stdout
    assert csv.count("\n") >= len(rows)
    page = run("judge", "audit", "judged", "--ratings", "people.csv", "-o", "audit.html")
    assert page.returncode == 0, page.stderr
    html = (tmp_path / "audit.html").read_text()
    assert "Nothing is drawn at random" in html
    for title in ("Answers changed by the presentation", "Agreement with each group", "Distance that a persona takes"):
        assert title in html


def test_answers_of_a_model_are_left_out_unless_asked_for(
    run: RunCommand, words: tuple[str | Path, ...], tmp_path: Path
) -> None:
    assert run(*words, "--seeds", "2").returncode == 0
    alone = run("analyse", "judged/ratings.csv")
    assert alone.returncode == 1
    assert "Every rater is of kind model" in alone.stderr
    assert "12 ratings" in run("benchmark", "judged/ratings.csv", "--rater-kind", "model").stdout
    both = pl.concat([pl.read_csv(tmp_path / name) for name in ("people.csv", "judged/ratings.csv")], how="diagonal")
    both = both.with_columns(rater_kind=pl.col("rater_kind").replace({"model": " Model"}).fill_null("robot"))
    both.write_csv(tmp_path / "both.csv")
    for command in ("analyse", "aggregate", "vet", "benchmark"):
        done = run(command, "both.csv")
        assert "12 ratings by 2 raters of kind model are left out" in done.stderr + done.stdout, command
    wide = run("convert", "both.csv", "both.wide.csv")
    assert "12 ratings by raters of kind model are left out, which wide files cannot tell" in wide.stderr + wide.stdout
    assert "Every rater is of kind model" in run("convert", "judged/ratings.csv", "judged.wide.csv").stderr
    plan = parse_plan(PLAN)
    with pytest.raises(dissensus.InvalidInput, match="12 ratings by raters of kind model, and a release is of people"):
        read_source(plan, tmp_path)
    people = dissensus.read_ratings(tmp_path / "both.csv")
    assert (people.n_raters, people.axes) == (24, ("rater_group", "rater_kind"))
    assert any("'robot' are treated as people" in note for note in people.notes)
    assert dissensus.read_ratings(tmp_path / "both.csv", rater_kind="all").n_raters == 26
    with pytest.raises(dissensus.InvalidInput, match="No rater is of kind model"):
        dissensus.read_ratings(tmp_path / "people.csv", rater_kind="model")


def test_texts_of_a_campaign_leave_with_permission_alone(
    run: RunCommand, server: Loopback, words: tuple[str | Path, ...], tmp_path: Path
) -> None:
    site = {"database_url": f"sqlite:///{tmp_path / 'site.db'}"}
    assert run("campaign", "new", "dices-350", "--items", "items.csv", "--name", "pilot", **site).returncode == 0
    judging = ("judge", "run", "--campaign", "pilot", "--judge", "tern.toml", "-o", "judged", "--seeds", "1", "--yes")
    assert "6 requests" in run(*judging, "--dry-run", **site).stdout
    refused = run(*judging, **site)
    assert refused.returncode == 1
    assert f"dissensus judge permit pilot --url {server.url}" in refused.stderr
    assert not server.bodies
    assert "Name the address, --url URL" in run("judge", "permit", "pilot", **site).stderr
    assert run("judge", "permit", "pilot", "--url", server.url, **site).returncode == 0
    done = run(*judging, **site)
    assert "answered none of 6 requests (6 not_valid)" in done.stderr  # It knows no scale but No and Yes
    assert len(server.bodies) == 6
    assert "stay on this machine" in run("judge", "permit", "pilot", "--revoke", **site).stdout
    assert run(*judging, "--seed", "1", **site).returncode == 1
    assert run("audit", "pilot", **site).returncode == 0
    assert "--campaign brings its items" in run(*judging, "--questionnaire", "safe.toml", **site).stderr
    assert "Give files of conversations and --questionnaire" in run(*words[:2], *words[3:5], *words[-3:]).stderr


def test_wrong_options_name_the_remedy(run: RunCommand, words: tuple[str | Path, ...], tmp_path: Path) -> None:
    (tmp_path / "pairs.toml").write_text(PAIRS)
    for more, message in (
        (("--questionnaire", "pairs.toml"), "Item 'i0' has one response, and Q_preference compares two"),
        (("--probe", "option"), "'option' is not a probe; probes are 'repeat'"),
        (("--probe", "responses"), "The probe 'responses' swaps the two responses of a pair, and no item is one"),
        (("--persona-by", "group"), "Give ratings of people that have them: --ratings FILE"),
        (("--ratings", "people.csv"), "Name their axis, --persona-by"),
        (("--persona-by", "age", "--ratings", "people.csv"), "There is no axis 'age'"),
        (("--prices", "1-2"), "--prices '1-2' is not like 0.15:0.6"),
    ):
        done = run(*words, *more)
        assert done.returncode == 1
        assert message in done.stderr
    assert "is not the folder of a complete run" in run("judge", "audit", "judged").stderr
    assert "Give them: --ratings FILE" in run("judge", "audit", "judged", "--by", "group").stderr
