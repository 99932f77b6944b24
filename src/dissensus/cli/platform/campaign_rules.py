"""`dissensus campaign adopt-rule`: adoption of a decision rule, recorded in the audit log."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.campaign.decision_rule_adoption import read_adopted_rule
from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.files.raw.content import read_bytes
from dissensus.workflows.campaign import campaigns, overview


def adopt_rule(
    name: NameArgument,
    comparison: Annotated[
        Path, typer.Argument(metavar="FILE", help="Comparison, as benchmark --decisions -o comparison.json writes it.")
    ],
    decision: Annotated[str, typer.Option(metavar="NAME", help="Name of the decision in the comparison.")],
    settings: SettingsOption = None,
) -> None:
    """Adopt one of the decisions of a comparison as the owner; the log has the rule, its costs and the file's SHA-256.

    Nothing is decided by it here: aggregate --rule labels the items. A later adoption supersedes it in the log.

    Example: dissensus campaign adopt-rule pilot comparison.json --decision "share at 1:4"
    """
    rule = read_adopted_rule(read_bytes(comparison), decision)
    with open_site_platform(load_settings(settings)) as platform:
        campaigns.adopt_rule(platform, name, rule, staff_id=overview.find_owner_id(platform, name), now=utc_now())
    typer.echo(f"{name} has adopted {rule.decision}: it blocks {rule.n_blocked:,} of {rule.n_items:,} items.")
