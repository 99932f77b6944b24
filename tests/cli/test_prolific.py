"""Studies on Prolific from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from tests.recruit.fake_prolific import TOKEN, WORKSPACE, Prolific
from tests.recruit.studies import CODES
from tests.support.campaigns import definition
from tests.support.commands import CompletedCommand, command_runner
from tests.support.prolific_study import ONE_OLD, YOU

Told = Callable[..., CompletedCommand]
STUDY = ("prolific", "study", "pilot", "--places", "120", "--description", "Judge what chatbots say.")


@pytest.fixture
def site(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, prolific: Prolific
) -> Told:
    """Run a command on a platform with a campaign, as its definition may be changed."""
    (tmp_path / "items.txt").write_text("User: Hi\nBot: Hello!\n")
    settings = {"base_url": "https://rate.example", "prolific_token": TOKEN, "prolific_url": prolific.root}
    run = command_runner(monkeypatch, capsys, tmp_path, database_url=f"sqlite:///{tmp_path / 'd.db'}", **settings)

    def told(*words: str, **changes: Any) -> CompletedCommand:
        if changes:
            made = definition(**changes).as_mapping()
            (tmp_path / "pilot.toml").write_text(tomli_w.dumps(made))
            done = run("campaign", "new", "pilot.toml", "--items", "items.txt", "--owner", "ada")
            assert done.returncode == 0, done.stderr
        return run(*words)

    return told


PAYS = {"currency": "GBP", "hour": 1200, "finished": 600, "screened_out": 50}
ALL = {"prolific": {"codes": CODES}, "pay": PAYS, "minutes": 20}


def test_a_study_is_drawn_up_from_the_campaign_and_published(site: Told, prolific: Prolific) -> None:
    done = site(*STUDY, "--filter", "age=18..35", "--filter", "sex=0,1", **ALL)
    assert done.returncode == 0, done.stderr
    (made,) = prolific.studies.values()
    assert done.stdout == f"{made['id']} is a draft on Prolific.\n"
    assert (made["status"], made["name"], made["total_available_places"]) == ("UNPUBLISHED", "A pilot", 120)
    assert (made["reward"], made["estimated_completion_time"]) == (600, 20)
    assert made["content_warning_details"] == "Some of it is cruel."
    assert made["external_study_url"].startswith("https://rate.example/c/pilot?key=")
    assert made["external_study_url"].count("PROLIFIC_PID={{%PROLIFIC_PID%}}") == 1
    assert made["filters"] == [
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 35}},
        {"filter_id": "sex", "selected_values": ["0", "1"]},
    ]
    fixed = [one for one in made["completion_codes"] if one["code_type"] == "FIXED_SCREENOUT"]
    assert [one["actions"][0]["fixed_screen_out_reward"] for one in fixed] == [50]
    assert "shown to 120 people" in site(*STUDY, "--publish").stdout
    assert sorted(one["status"] for one in prolific.studies.values()) == ["ACTIVE", "UNPUBLISHED"]


def test_a_study_of_a_cell_leads_to_its_link(site: Told, prolific: Prolific) -> None:
    quota = {**ONE_OLD, "source": "recruiter"}
    refused = site(*STUDY, **{**ALL, "demographics": YOU, "quota": quota})
    assert (refused.returncode, "--cell is missing. Cells are" in refused.stderr) == (1, True)
    assert "--cell is 'olt'. Did you mean 'old'?" in site(*STUDY, "--cell", "olt").stderr
    assert site(*STUDY, "--cell", "old").returncode == 0
    assert len(prolific.studies) == 1


@pytest.mark.parametrize(
    ("words", "changes", "told"),
    [
        ((), {"pay": PAYS, "minutes": 20}, "pilot has no [prolific] with codes in its definition"),
        ((), {**ALL, "pay": None}, "The campaign does not say it. Give --reward N."),
        ((), {**ALL, "minutes": None}, "The campaign does not say it. Give --minutes N."),
        (("--filter", "age"), ALL, "--filter 'age' is no ID=VALUE"),
        (("--filter", "age=.."), ALL, "filters: 'age' needs values or a range"),
        (("--reward", "40"), ALL, "screen_out.reward"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_made(
    site: Told, prolific: Prolific, words: tuple[str, ...], changes: dict[str, object], told: str
) -> None:
    done = site(*STUDY, *words, **{name: value for name, value in changes.items() if value is not None})
    assert done.returncode == 1
    assert told in done.stderr
    assert prolific.studies == {}


def test_without_a_token_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command_runner(monkeypatch, capsys, tmp_path)
    assert "There is no token of Prolific" in run("prolific", "events", "--workspace", WORKSPACE).stderr


def test_events_are_subscribed_with_a_new_secret(site: Told, prolific: Prolific) -> None:
    done = site("prolific", "events", "--workspace", WORKSPACE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"DISSENSUS_PROLIFIC_SECRET={prolific.secret}\n"
    (hook,) = prolific.hooks.values()
    assert (hook["target_url"], hook["is_enabled"]) == ("https://rate.example/prolific/events", True)
