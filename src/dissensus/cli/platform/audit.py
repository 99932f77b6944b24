"""`dissensus audit`: verification of the audit log of a campaign."""

import json
from typing import Annotated

import typer

from dissensus.cli.platform.options import NameArgument, SettingsOption, load_settings, open_site_platform
from dissensus.workflows.campaign.audit import AuditReport
from dissensus.workflows.campaign.audit import audit_campaign as verify


def audit(
    name: NameArgument,
    head: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="An earlier head of the chain, to be found in it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Verify the audit log of a campaign, and the tables that must agree with it; exits with 1 on a fault.

    Store the printed head elsewhere: --head verifies later that no earlier event was changed or removed.

    Example: dissensus audit pilot
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        report = verify(platform, name, known=head)
    typer.echo(json.dumps(_as_dict(report), indent=2) if as_json else "\n".join(_lines(name, report)))
    if not report.holds:
        raise typer.Exit(1)


def _as_dict(report: AuditReport) -> dict[str, object]:
    fault = report.first_break
    first_break = None if fault is None else {"sequence": fault.sequence, "reason": fault.reason}
    numbers = {"holds": report.holds, "events": report.n, "erased": report.n_erased, "head": report.head}
    return {**numbers, "first_break": first_break, "contains_head": report.contains_head, "faults": list(report.faults)}


def _lines(name: str, report: AuditReport) -> list[str]:
    erased = f", {report.n_erased:,} of them erased by withdrawal" if report.n_erased else ""
    if report.first_break is None:
        lines = [f"The chain of {name} holds: {report.n:,} events{erased}.", f"Head: {report.head}"]
    else:
        lines = [
            f"The chain of {name} is broken at event {report.first_break.sequence:,} of {report.n:,}. "
            f"{report.first_break.reason}"
        ]
    if report.contains_head is not None:
        lines.append("That digest is in the chain." if report.contains_head else "That digest is not in the chain.")
    return lines + [f"- {fault}" for fault in report.faults]
