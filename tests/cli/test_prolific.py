"""`dissensus prolific`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from tests.support.campaigns import definition
from tests.support.commands import CompletedCommand, command_runner
from tests.support.pilot_study import CODES
from tests.support.prolific_server import TOKEN, WORKSPACE, Prolific
from tests.support.prolific_study import DEMOGRAPHICS, ONE_OLD_SEAT

RunOnSite = Callable[..., CompletedCommand]
STUDY = ("prolific", "study", "pilot", "--places", "120", "--description", "Judge what chatbots say.")


@pytest.fixture
def site(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, prolific: Prolific
) -> RunOnSite:
    """Return a function that runs a command, after creating a campaign with changes of its definition."""
    (tmp_path / "items.txt").write_text("User: Hi\nBot: Hello!\n")
    settings = {"base_url": "https://rate.example", "prolific_token": TOKEN, "prolific_url": prolific.root}
    run = command_runner(monkeypatch, capsys, tmp_path, database_url=f"sqlite:///{tmp_path / 'd.db'}", **settings)

    def run_changed(*words: str, **changes: Any) -> CompletedCommand:
        if changes:
            mapping = definition(**changes).as_mapping()
            (tmp_path / "pilot.toml").write_text(tomli_w.dumps(mapping))
            done = run("campaign", "new", "pilot.toml", "--items", "items.txt", "--owner", "ada")
            assert done.returncode == 0, done.stderr
        return run(*words)

    return run_changed


PAYS = {"currency": "GBP", "hourly_rate": 1200, "finished": 600, "screened_out": 50}
ALL = {"recruit": {"kind": "prolific", "codes": CODES}, "pay": PAYS, "estimated_minutes": 20}


def test_a_study_is_created_from_the_campaign_and_published(site: RunOnSite, prolific: Prolific) -> None:
    done = site(*STUDY, "--filter", "age=18..35", "--filter", "sex=0,1", **ALL)
    assert done.returncode == 0, done.stderr
    (created,) = prolific.studies.values()
    assert done.stdout == f"{created['id']} is a draft on Prolific.\n"
    assert (created["status"], created["name"], created["total_available_places"]) == ("UNPUBLISHED", "A pilot", 120)
    assert (created["reward"], created["estimated_completion_time"]) == (600, 20)
    assert created["content_warning_details"] == "Some of it is cruel."
    assert created["external_study_url"].startswith("https://rate.example/c/pilot?key=")
    assert created["external_study_url"].count("PROLIFIC_PID={{%PROLIFIC_PID%}}") == 1
    assert created["filters"] == [
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 35}},
        {"filter_id": "sex", "selected_values": ["0", "1"]},
    ]
    fixed = [code for code in created["completion_codes"] if code["code_type"] == "FIXED_SCREENOUT"]
    assert [code["actions"][0]["fixed_screen_out_reward"] for code in fixed] == [50]
    assert "published for 120 people" in site(*STUDY, "--publish").stdout
    assert sorted(code["status"] for code in prolific.studies.values()) == ["ACTIVE", "UNPUBLISHED"]


def test_a_study_of_a_cell_leads_to_its_link(site: RunOnSite, prolific: Prolific) -> None:
    quota = {**ONE_OLD_SEAT, "source": "recruiter"}
    refused = site(*STUDY, **{**ALL, "demographics": DEMOGRAPHICS, "quota": quota})
    assert (refused.returncode, "--cell is missing. Cells are" in refused.stderr) == (1, True)
    assert "--cell is 'olt'. Did you mean 'old'?" in site(*STUDY, "--cell", "olt").stderr
    assert site(*STUDY, "--cell", "old").returncode == 0
    assert len(prolific.studies) == 1


@pytest.mark.parametrize(
    ("words", "changes", "says"),
    [
        ((), {"pay": PAYS, "estimated_minutes": 20}, 'pilot has no [recruit] with kind = "prolific" and codes'),
        ((), {**ALL, "pay": None}, "The campaign does not define the reward. Give --reward N."),
        ((), {**ALL, "estimated_minutes": None}, "The campaign does not define the minutes. Give --minutes N."),
        (("--filter", "age"), ALL, "--filter 'age' is not ID=VALUE"),
        (("--filter", "age=.."), ALL, "filters: 'age' needs values or a range"),
        (("--reward", "40"), ALL, "screen_out.reward"),
    ],
)
def test_invalid_options_create_no_study(
    site: RunOnSite, prolific: Prolific, words: tuple[str, ...], changes: dict[str, object], says: str
) -> None:
    done = site(*STUDY, *words, **{name: value for name, value in changes.items() if value is not None})
    assert done.returncode == 1
    assert says in done.stderr
    assert prolific.studies == {}


def test_a_token_is_required(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command_runner(monkeypatch, capsys, tmp_path)
    assert "There is no Prolific token" in run("prolific", "events", "--workspace", WORKSPACE).stderr


def test_events_are_subscribed_with_a_new_secret(site: RunOnSite, prolific: Prolific) -> None:
    done = site("prolific", "events", "--workspace", WORKSPACE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"DISSENSUS_PROLIFIC_SECRET={prolific.secret}\n"
    (hook,) = prolific.hooks.values()
    assert (hook["target_url"], hook["is_enabled"]) == ("https://rate.example/prolific/events", True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--cell", "old"), "pilot has one open link and no links of cells. Leave out --cell."),
        (("--filter", "age=65..18"), "--filter 'age=65..18' has its ends in the wrong order"),
    ],
)
def test_a_study_without_a_cell_or_a_range_is_refused(
    site: RunOnSite, prolific: Prolific, words: tuple[str, str], says: str
) -> None:
    done = site(*STUDY, *words, **ALL)
    assert (done.returncode, prolific.studies) == (1, {})
    assert says in done.stderr
