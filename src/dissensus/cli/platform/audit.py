"""`dissensus audit`: verification of the audit log of a campaign."""

import json
from typing import Annotated

import typer

from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform
from dissensus.workflows.campaign.audit import AuditReport
from dissensus.workflows.campaign.audit import audit_campaign as audited


def audit(
    name: NameArgument,
    head: Annotated[
        str | None, typer.Option(metavar="LINK", help="A link that was the last one once, to find in the chain.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Verify the chain of events of a campaign, and what must agree with it; exits with 1 where something is wrong.

    Keep the head that it prints elsewhere: with --head it shows later that nothing before was changed or taken out.

    Example: dissensus audit pilot
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        found = audited(platform, name, known=head)
    typer.echo(json.dumps(_as_dict(found), indent=2) if as_json else "\n".join(_lines(name, found)))
    if not found.holds:
        raise typer.Exit(1)


def _as_dict(found: AuditReport) -> dict[str, object]:
    broken = None if found.broken is None else {"sequence": found.broken.sequence, "why": found.broken.reason}
    numbers = {"holds": found.holds, "events": found.n, "erased": found.n_erased, "head": found.head}
    return {**numbers, "broken": broken, "knows_head": found.knows, "faults": list(found.faults)}


def _lines(name: str, found: AuditReport) -> list[str]:
    erased = f", {found.n_erased:,} of them erased by withdrawal" if found.n_erased else ""
    if found.broken is None:
        lines = [f"The chain of {name} holds: {found.n:,} events{erased}.", f"Head: {found.head}"]
    else:
        lines = [
            f"The chain of {name} is broken at event {found.broken.sequence:,} of {found.n:,}. {found.broken.reason}"
        ]
    if found.knows is not None:
        lines.append("That link is in the chain." if found.knows else "That link is not in the chain.")
    return lines + [f"- {fault}" for fault in found.faults]
