"""What runs the platform elsewhere: settings as they are documented, an image and its services."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tests.support.paths import ROOT

from dissensus.schema.campaign.parser import KEYS, parse_campaign
from dissensus.settings import PREFIX, Settings, load_secret_key, read_settings
from dissensus.web.core import metrics

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
OPERATION = (ROOT / "docs" / "operation.md").read_text("utf-8")
CAMPAIGNS = (ROOT / "docs" / "campaigns.md").read_text("utf-8")


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The cells of a table of a page, by the first of each row."""
    section = page.split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def written(default: object) -> str:
    """A value as TOML has it, without quotes; none for none."""
    if default is None:
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {name: cells[0].strip("`") for name, cells in rows(OPERATION, "## Settings").items()}
    assert documented == {
        name: "none" if field.default is None else written(field.default)
        for name, field in Settings.model_fields.items()
    }


def test_every_metric_is_documented() -> None:
    made = re.findall(r'"(dissensus_\w+)"', Path(metrics.__file__).read_text("utf-8"))
    assert made
    assert all(name in OPERATION for name in made)


def test_every_key_of_a_campaign_is_documented() -> None:
    table = CAMPAIGNS.split("\n## The file\n", 1)[1].split("\n### ", 1)[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == KEYS


def test_the_defaults_of_a_campaign_are_documented() -> None:
    defaults = dict(re.findall(r"^\| `(\w+)` \|.*\| default `?\"?(\w+)\"?`? \|$", CAMPAIGNS, re.MULTILINE))
    found = parse_campaign(example())
    for name in ("demographics_placed", "reclaim_after_h"):
        assert defaults[name] == str(getattr(found, name))
    assert (defaults["break_every"], defaults["preview"], defaults["seed"]) == ("20", "false", "0")


def example() -> str:
    code = re.search(r"^```toml\n(.*?)^```", CAMPAIGNS, re.MULTILINE | re.DOTALL)
    assert code is not None
    return code[1]


def test_the_example_of_a_campaign_is_one() -> None:
    found = parse_campaign(example())
    assert (found.name, found.replication, found.questionnaire.name) == ("kitchen-bot", 5, "kitchen")
    assert parse_campaign(found.as_mapping()) == found


def instructions(name: str) -> list[str]:
    """What a Dockerfile says after a word, of its last stage."""
    last = re.split(r"^FROM ", DOCKERFILE.replace("\\\n", " "), flags=re.MULTILINE)[-1]
    return re.findall(rf"^{name} +(.*)$", last, re.MULTILINE)


def test_the_image_runs_without_rights_and_tells_its_health() -> None:
    (user,) = instructions("USER")
    assert user not in ("root", "0")
    (health,) = instructions("HEALTHCHECK")
    assert "/readyz" in health
    assert instructions("ENTRYPOINT") == ['["dissensus"]']
    assert instructions("CMD") == ['["serve"]']
    assert all(
        base.split()[0].count(":") == 1 and "latest" not in base
        for base in re.findall(r"^FROM (.*)$", DOCKERFILE, re.M)
    )
    # A shell before the program would keep the signal that ends it.
    assert not re.search(r"^(ENTRYPOINT|CMD) [^[]", DOCKERFILE, re.MULTILINE)


def test_what_the_image_copies_is_there_and_let_through() -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name.removeprefix("./")
        for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE)
        for name in line.split()[:-1]
    }
    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)


@pytest.fixture
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return found


def test_the_services_start_in_order_and_with_settings_that_exist(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["tables"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["site"]["depends_on"]["tables"]["condition"] == "service_completed_successfully"
    assert "healthcheck" in services["database"]
    environment = {name: filled(value) for name, value in services["site"]["environment"].items()}
    assert {name.removeprefix(PREFIX).lower() for name in environment} <= set(Settings.model_fields)
    found = read_settings(environment, Path("/nowhere"))
    assert (found.workers, found.address) == (2, "https://rate.example.org")
    assert load_secret_key(found) == SECRET


SECRET = "for-tests-alone-and-nobody-else-0123456789"


def filled(setting: str) -> str:
    """A setting with what people write into .env."""
    given = {"POSTGRES_PASSWORD": "p", "DISSENSUS_SECRET_KEY": SECRET, "DISSENSUS_BASE_URL": "https://rate.example.org"}
    return re.sub(r"\$\{(\w+)[^}]*\}", lambda found: given[found[1]], setting)


def test_no_secret_stands_in_the_services_and_only_this_machine_gets_in(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name or "SECRET" in name:
                assert value.startswith("${")
                assert ":?" in value
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
