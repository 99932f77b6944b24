"""Documented settings, the container image and its services."""

import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tests.support.paths import ROOT

from dissensus.campaign.encryption import SecretKeys
from dissensus.schema.campaign.parser import KEYS, parse_campaign
from dissensus.settings import PREFIX, Settings, load_secret_keys, read_settings
from dissensus.web.core import metrics

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
OPERATION = (ROOT / "docs" / "operation.md").read_text("utf-8")
CAMPAIGNS = (ROOT / "docs" / "campaigns.md").read_text("utf-8")


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """Return the cells of a table of a page by the first cell of each row."""
    section = page.split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def format_default(default: object) -> str:
    """Format a value as TOML without quotes, None as none."""
    if default is None:
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {name: cells[0].strip("`") for name, cells in rows(OPERATION, "## Settings").items()}
    assert documented == {
        name: "none" if field.default is None else format_default(field.default)
        for name, field in Settings.model_fields.items()
    }


def test_every_metric_is_documented() -> None:
    metric_names = re.findall(r'"(dissensus_\w+)"', Path(metrics.__file__).read_text("utf-8"))
    assert metric_names
    assert all(name in OPERATION for name in metric_names)


def test_every_key_of_a_campaign_is_documented() -> None:
    table = CAMPAIGNS.split("\n## The file\n", 1)[1].split("\n### ", 1)[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == KEYS


def test_the_defaults_of_a_campaign_are_documented() -> None:
    defaults = dict(re.findall(r"^\| `(\w+)` \|.*\| default `?\"?(\w+)\"?`? \|$", CAMPAIGNS, re.MULTILINE))
    campaign = parse_campaign(example())
    for name in ("demographics_position", "reclaim_after_h"):
        assert defaults[name] == str(getattr(campaign, name))
    assert (defaults["break_every"], defaults["click_to_reveal"], defaults["seed"]) == ("20", "false", "0")


def example() -> str:
    code = re.search(r"^```toml\n(.*?)^```", CAMPAIGNS, re.MULTILINE | re.DOTALL)
    assert code is not None
    return code[1]


def test_the_example_of_a_campaign_is_one() -> None:
    campaign = parse_campaign(example())
    assert (campaign.name, campaign.replication, campaign.questionnaire.name) == ("kitchen-bot", 5, "kitchen")
    assert parse_campaign(campaign.as_mapping()) == campaign


def instructions(name: str) -> list[str]:
    """Return the arguments of an instruction in the last stage of the Dockerfile."""
    last = re.split(r"^FROM ", DOCKERFILE.replace("\\\n", " "), flags=re.MULTILINE)[-1]
    return re.findall(rf"^{name} +(.*)$", last, re.MULTILINE)


def test_the_image_runs_unprivileged_with_a_health_check() -> None:
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
    # A shell form would not pass on the termination signal.
    assert not re.search(r"^(ENTRYPOINT|CMD) [^[]", DOCKERFILE, re.MULTILINE)


def test_files_copied_into_the_image_exist_and_are_not_ignored() -> None:
    not_ignored = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name.removeprefix("./")
        for line in re.findall(r"^COPY (?!--)(.*)$", DOCKERFILE, re.MULTILINE)
        for name in line.split()[:-1]
    }
    assert copied == not_ignored
    assert all((ROOT / name).exists() for name in copied)


@pytest.fixture
def compose() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return services


def test_services_start_in_order_with_existing_settings(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["tables"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["site"]["depends_on"]["tables"]["condition"] == "service_completed_successfully"
    assert "healthcheck" in services["database"]
    environment = {name: fill_variables(value) for name, value in services["site"]["environment"].items()}
    assert {name.removeprefix(PREFIX).lower() for name in environment} <= set(Settings.model_fields)
    settings = read_settings(environment, Path("/nowhere"))
    assert (settings.workers, settings.address) == (2, "https://rate.example.org")
    assert load_secret_keys(settings) == SecretKeys(SECRET)


SECRET = "for-tests-alone-and-nobody-else-0123456789"


def fill_variables(setting: str) -> str:
    """Replace the variables of a setting by example values of .env."""
    values = {
        "POSTGRES_PASSWORD": "p",
        "DISSENSUS_SECRET_KEY": SECRET,
        "DISSENSUS_BASE_URL": "https://rate.example.org",
    }
    return re.sub(r"\$\{(\w+)(?::-)?([^}]*)\}", lambda match: values.get(match[1], match[2]), setting)


def test_the_gateway_of_the_bridge_is_the_trusted_proxy(compose: dict[str, Any]) -> None:
    (network,) = compose["networks"]["default"]["ipam"]["config"]
    gateway = ip_address(fill_variables(network["gateway"]))
    assert gateway in ip_network(fill_variables(network["subnet"]))
    environment = {name: fill_variables(value) for name, value in compose["services"]["site"]["environment"].items()}
    assert read_settings(environment, Path("/nowhere")).proxy_networks == f"{gateway}/32"


def test_services_contain_no_secrets_and_listen_on_localhost_only(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name or "SECRET" in name:
                assert value.startswith("${")
                assert ":?" in value
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
