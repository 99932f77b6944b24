"""Documented settings, the container image and its services."""

import json
import os
import re
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tests.support.campaigns import definition
from tests.support.loopback_server import serve_requests
from tests.support.paths import ROOT

from dissensus.encryption import SecretKeys
from dissensus.schema.campaign.parser import KEYS, parse_campaign
from dissensus.settings import PREFIX, Settings, load_secret_keys, read_settings
from dissensus.web.app import create_app
from dissensus.web.core import metrics
from dissensus.workflows.jobs import N_CONNECTIONS

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
OPERATION = (ROOT / "docs" / "operation.md").read_text("utf-8")
CAMPAIGNS = (ROOT / "docs" / "campaigns.md").read_text("utf-8")
KEYS_TABLE = CAMPAIGNS.split("\n## The file\n", 1)[1].split("\n### ", 1)[0]


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
    assert documented == {name: format_default(field.default) for name, field in Settings.model_fields.items()}


def test_the_connections_of_a_worker_are_documented(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'site.db'}", threads=3)
    platform = create_app(settings, SecretKeys("a" * 32)).state.site.platform
    assert platform.database.engine.pool.size() == 3 + N_CONNECTIONS
    assert f"(threads + {N_CONNECTIONS})" in OPERATION
    assert f"{N_CONNECTIONS} for each `dissensus work`" in OPERATION


def test_every_metric_is_documented() -> None:
    metric_names = re.findall(r'"(dissensus_\w+)"', Path(metrics.__file__).read_text("utf-8"))
    assert metric_names
    assert all(name in OPERATION for name in metric_names)


def test_every_key_of_a_campaign_is_documented() -> None:
    assert tuple(re.findall(r"^\| `(\w+)` \|", KEYS_TABLE, re.MULTILINE)) == KEYS


def test_the_defaults_of_a_campaign_are_documented() -> None:
    defaults = dict(re.findall(r"^\| `(\w+)` \|.*\| default `?\"?(\w+)\"?`? \|$", KEYS_TABLE, re.MULTILINE))
    campaign = definition()
    assert {"break_every", "click_to_reveal", "demographics_position", "reclaim_after_h", "seed"} <= defaults.keys()
    assert defaults == {name: format_default(getattr(campaign, name)) for name in defaults}


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


def run_audit(folder: Path, report: dict[str, Any] | None, *options: str) -> tuple[int, str]:
    """Run the audit of the lock with a program in place of uv that writes a report, or none."""
    text = "" if report is None else f"for last; do :; done; cat > \"$last\" <<'END'\n{json.dumps(report)}\nEND\n"
    (folder / "uv").write_text(f"#!/bin/sh\n{text}exit 1\n")
    (folder / "uv").chmod(0o755)
    command = [sys.executable, str(ROOT / "deploy" / "audit_lock.py"), *options]
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    result = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return result.returncode, result.stdout


def test_an_audit_without_a_database_does_not_pass_for_one(tmp_path: Path) -> None:
    safe = {"name": "polars", "version": "1.0", "vulns": []}
    unknown = {"name": "httpx", "skip_reason": "Dependency not found on PyPI"}
    fault = {"name": "jinja2", "version": "2.10", "vulns": [{"id": "CVE-2019-10906", "fix_versions": ["2.10.1"]}]}
    code, output = run_audit(tmp_path, {"dependencies": [safe]})
    assert (code, output) == (0, "requirements.lock: no vulnerability is known in 1 packages.\n")
    code, output = run_audit(tmp_path, {"dependencies": [safe, fault]})
    assert code == 1
    assert output.startswith("jinja2 2.10: CVE-2019-10906, fixed in 2.10.1\n")
    for report in (None, {"dependencies": [safe, unknown]}):
        code, output = run_audit(tmp_path, report)
        assert (code, output.startswith("NOT AUDITED: ")) == (0, True)
        assert run_audit(tmp_path, report, "--strict")[0] == 1


def test_an_audit_that_fails_says_why(tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\necho 'error: pip-audit is unknown' >&2\nexit 2\n")
    uv.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, str(ROOT / "deploy" / "audit_lock.py")]
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "error: pip-audit is unknown"


def test_images_are_pinned_by_digest_or_nothing_is_changed(tmp_path: Path) -> None:
    class Registry(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            admitted = self.headers["authorization"] == "Bearer key"
            exists = self.path in ("/v2/library/python/manifests/3.13-slim", "/v2/library/postgres/manifests/17")
            self.send_response(401 if not admitted else 200 if exists else 404)
            realm = f"http://{self.headers['host']}/token"
            self.send_header("www-authenticate", f'Bearer realm="{realm}",service="registry"')
            self.send_header("docker-content-digest", "sha256:" + "a" * 64)
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"token": "key"}')

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    for name in ("Dockerfile", "compose.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    with serve_requests(Registry) as url:
        command = [sys.executable, str(ROOT / "deploy" / "pin_images.py"), str(tmp_path), url]
        for _ in range(2):
            subprocess.run(command, check=True, capture_output=True)
            pinned = (tmp_path / "Dockerfile").read_text() + (tmp_path / "compose.yaml").read_text()
            assert pinned.count("3.13-slim@sha256:" + "a" * 64) == 2
            assert pinned.count("postgres:17@sha256:" + "a" * 64) == 1
            assert pinned.count("@sha256:") == 3
        (tmp_path / "compose.yaml").write_text("image: unknown:1\n")
        before = (tmp_path / "Dockerfile").read_text()
        refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr.startswith("Nothing was pinned: HTTP Error 404")
    assert (tmp_path / "Dockerfile").read_text() == before
