"""Schemathesis generates requests from the OpenAPI document and checks the responses."""

import re
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from click.testing import CliRunner
from schemathesis.cli import schemathesis as command
from tests.support.api_programs import open_api_campaign, rate, token
from tests.support.campaigns import NOW
from tests.support.gold_campaigns import SMALL, YES, label_item
from tests.support.paths import ROOT
from tests.support.prolific_server import Prolific
from tests.support.raters import enter
from tests.support.recruited_raters import PAYING, add_submission
from tests.support.staff_browsers import House

from dissensus.workflows.campaign import members
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import rating

pytestmark = pytest.mark.slow
CONFIG = ROOT / "schemathesis.toml"
REFUSED = 422


@schemathesis.check
def check_rejections(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """Assert that valid requests are not rejected by the schema."""
    if response.status_code == REFUSED and case.meta and case.meta.generation.mode.is_positive:
        assert "errors" not in response.json(), response.text


def populate(house: House, prolific: Prolific) -> dict[str, str]:
    """Create a campaign with resources of each kind; return path parameters of existing ones.

    No item has the number: a fixed number replaces the invalid ones that are to be refused.
    """
    platform, campaign = house.platform, open_api_campaign(house, gold=SMALL, **PAYING)
    rate(house, campaign, 3)
    rater = enter(platform, campaign.key)
    rating.report_item(platform, rater, "help", "I am not well.", assignment_id=None, now=NOW)
    submission = add_submission(platform, prolific, campaign.id, rater.id)
    add_submission(platform, prolific, campaign.id, None)
    owner_id = staff.create_sign_in_link(platform, "ada", now=NOW).staff.id
    members.add_member(platform, "pilot", "eve", "expert", staff_id=owner_id, now=NOW)
    label_item(platform, staff.create_sign_in_link(platform, "eve", now=NOW).staff.id, YES)
    return {"name": "pilot", "rater_id": rater.id, "submission": submission, "number": "99"}


# Of random paths hardly one reaches a database; those that do are in test_fuzz.py. The systematic requests of the phase
# "coverage" are refused before they reach a resource or a database, so one of the three makes them.
@pytest.mark.parametrize(
    ("database_url", "existing", "examples", "phases"),
    [
        ("sqlite", False, 5, "fuzzing"),
        ("sqlite", True, 8, "examples,coverage,fuzzing,stateful"),
        ("postgresql", True, 6, "examples,fuzzing,stateful"),
    ],
    ids=["sqlite-made up", "sqlite-known", "postgresql-known"],
    indirect=["database_url"],
)
def test_schemathesis_finds_no_failures(
    house: House, prolific: Prolific, tmp_path: Path, *, existing: bool, examples: int, phases: str
) -> None:
    """Random paths, or paths of existing resources."""
    parts = populate(house, prolific)
    house.live.site.rate_limiter.burst = 10**9
    config = tmp_path / "schemathesis.toml"
    fixed = [f'"path.{name}" = "{value}"' for name, value in parts.items()] if existing else []
    config.write_text("\n".join(["[cache]", "enabled = false", "[parameters]", *fixed, CONFIG.read_text()]))
    url, key = f"{house.live.url}/api/v1/openapi.json", token(house.platform, "ada")
    words = ("--checks", "all", "--max-examples", str(examples), "--phases", phases, "--seed", "1")
    head = ("--config-file", str(config), "run", url, "--header", f"Authorization: Bearer {key}")
    done = CliRunner().invoke(command, [*head, *words, "--continue-on-failure", "--no-color"])
    assert done.exit_code == 0, done.output
    n_cases = re.search(r"(\d+) generated, \1 passed", done.output)
    assert n_cases is not None, done.output
    assert int(n_cases[1]) > 40 * examples
