"""Schemathesis generates requests from the OpenAPI document and checks the responses."""

import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from click.testing import CliRunner
from schemathesis.cli import schemathesis as command
from tests.databases import sqlite_only
from tests.support.api_programs import token
from tests.support.api_resources import create_resources
from tests.support.paths import ROOT
from tests.support.prolific_server import Prolific
from tests.support.staff_site import StaffSite

pytestmark = pytest.mark.slow
CONFIG = ROOT / "schemathesis.toml"
REFUSED, N_EXAMPLES = 422, 8


@schemathesis.check
def check_rejections(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """Assert that valid requests are not rejected by the schema."""
    if response.status_code == REFUSED and case.meta and case.meta.generation.mode.is_positive:
        assert "errors" not in response.json(), response.text


# Made-up paths, of which hardly one reaches a database, and both databases are in test_fuzz.py.
@sqlite_only
def test_schemathesis_finds_no_failures(staff_site: StaffSite, prolific: Prolific, tmp_path: Path) -> None:
    """Systematic, random and linked requests to existing resources."""
    # No item has the number: a fixed number replaces the invalid ones that are to be refused.
    parts = create_resources(staff_site, prolific)
    staff_site.live.site.rate_limiter.burst = 10**9
    config = tmp_path / "schemathesis.toml"
    fixed = [f'"path.{name}" = "{value}"' for name, value in parts.items()]
    config.write_text("\n".join(["[cache]", "enabled = false", "[parameters]", *fixed, CONFIG.read_text()]))
    url, key = f"{staff_site.live.url}/api/v1/openapi.json", token(staff_site.platform, "ada")
    words = ("--checks", "all", "--max-examples", str(N_EXAMPLES), "--seed", "1")
    head = ("--config-file", str(config), "run", url, "--header", f"Authorization: Bearer {key}")
    done = CliRunner().invoke(command, [*head, *words, "--continue-on-failure", "--no-color"])
    assert done.exit_code == 0, done.output
    n_cases = re.search(r"(\d+) generated, \1 passed", done.output)
    assert n_cases is not None, done.output
    assert int(n_cases[1]) > 40 * N_EXAMPLES
