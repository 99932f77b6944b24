"""`dissensus audit`: verification of the audit logs of campaigns, and publication of their heads."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dissensus.campaign.audit_heads import (
    HeadStatement,
    derive_signing_key,
    parse_signing_key,
    parse_verification_key,
)
from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_noun
from dissensus.settings import Settings, load_secret_keys
from dissensus.workflows.campaign.audit import AuditReport, audit_campaign, load_campaign_ids
from dissensus.workflows.platform.audit_publication import publish_heads, read_statements


def audit(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The campaign. Default: all campaigns.", show_default=False)
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(metavar="DIGEST|FILE", help="An earlier head, or a file of --publish, to be found in the chain."),
    ] = None,
    publish: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append a signed statement of the heads, one JSON line, if all is valid."),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PEM",
            help="Ed25519 key that signs statements, or must have signed them. Default: derived from the secret key "
            "of the site; to verify, the key that each line states.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Verify the audit log of a campaign, and the tables that must agree with it; exits with 1 on a fault.

    Keep the printed head elsewhere, or publish the heads of all campaigns: --head verifies later that nothing
    before them was changed or removed.

    Example: dissensus audit pilot
    """
    if head is not None and _is_digest(head) and name is None:
        raise InvalidInput("A head is of one campaign. Name it: dissensus audit NAME --head DIGEST.")
    site_settings = load_settings(settings)
    key_pem = None if key is None else _read_key(key)
    statements = _load_statements(head, publish, key_pem)
    signing_key = None if publish is None else _load_signing_key(site_settings, key_pem)
    with open_site_platform(site_settings) as platform:
        ids = load_campaign_ids(platform)
        reports = [
            audit_campaign(platform, campaign, heads=_list_heads(head, statements, ids.get(campaign)))
            for campaign in (ids if name is None else [name])
        ]
    missing = _find_missing_campaigns(statements, ids) if name is None else []
    holds = not missing and all(report.holds for report in reports)
    typer.echo(
        _format_json(name, reports, missing) if as_json else "\n".join(_list_lines(reports, statements, missing))
    )
    if publish is not None and signing_key is not None and holds:
        statement = publish_heads(publish, reports, signing_key, now=utc_now())
        heads = f"heads of {count_noun(len(reports), 'campaign')} of {statement.at}"
        typer.echo(f"{publish}: {heads}, signed with the key {statement.key}.", err=True)
    if not holds:
        if publish is not None:
            typer.echo("No head was published.", err=True)
        raise typer.Exit(1)


def _is_digest(head: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", head) is not None


def _load_statements(head: str | None, publish: Path | None, key_pem: bytes | None) -> tuple[HeadStatement, ...]:
    """Read the statements of --head, or those of --publish that a new one is to follow."""
    path = Path(head) if head is not None and not _is_digest(head) else None
    if path is None and head is None and publish is not None and publish.exists():
        path = publish
    if path is None:
        return ()
    return read_statements(path, None if key_pem is None else parse_verification_key(key_pem))


def _load_signing_key(settings: Settings, key_pem: bytes | None) -> Ed25519PrivateKey:
    return derive_signing_key(load_secret_keys(settings).current) if key_pem is None else parse_signing_key(key_pem)


def _read_key(path: Path) -> bytes:
    # The path may be a pipe, such as <(age -d key.age): not a regular file, and readable only once.
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"The key {path} cannot be read: {error.strerror}.") from None


def _list_heads(head: str | None, statements: Sequence[HeadStatement], campaign_id: str | None) -> Sequence[str] | None:
    """Return the earlier heads of a campaign, None if none were given."""
    if head is not None and _is_digest(head):
        return [head]
    if not statements:
        return None
    return [
        published.head for statement in statements for published in statement.heads if published.campaign == campaign_id
    ]


def _find_missing_campaigns(statements: Sequence[HeadStatement], ids: Mapping[str, str]) -> list[str]:
    """Return the ids of published campaigns that the site no longer has."""
    published = {head.campaign for statement in statements for head in statement.heads}
    return sorted(published - set(ids.values()))


def _format_json(name: str | None, reports: Sequence[AuditReport], missing: Sequence[str]) -> str:
    campaigns = {report.name: _to_mapping(report) for report in reports}
    holds = not missing and all(report.holds for report in reports)
    document = {"holds": holds, "campaigns": campaigns, "missing_campaigns": list(missing)}
    return json.dumps(document if name is None else campaigns[name], indent=2)


def _to_mapping(report: AuditReport) -> dict[str, object]:
    fault, missing = report.first_break, report.missing_heads
    return {
        "holds": report.holds,
        "campaign": report.campaign_id,
        "events": report.n,
        "erased": report.n_erased,
        "withdrawals": report.n_withdrawals,
        "head": report.head,
        "first_break": None if fault is None else {"sequence": fault.sequence, "reason": fault.reason},
        "contains_head": None if missing is None else not missing,
        "missing_heads": None if missing is None else list(missing),
        "compares_summaries": report.compares_summaries,
        "faults": list(report.faults),
    }


def _list_lines(
    reports: Sequence[AuditReport], statements: Sequence[HeadStatement], missing: Sequence[str]
) -> Iterator[str]:
    for report in reports:
        yield from _describe_report(report)
        yield from _describe_heads(report, statements)
        yield from (f"- {fault}" for fault in report.faults)
    for campaign_id in missing:
        yield f"The campaign {campaign_id} was published, and the site has none with this id."
    if statements:
        keys = ", ".join(dict.fromkeys(statement.key for statement in statements))
        yield f"{count_noun(len(statements), 'statement')} up to {statements[-1].at}, signed with {keys}."


def _describe_report(report: AuditReport) -> Iterator[str]:
    if report.first_break is not None:
        sequence, reason = report.first_break.sequence, report.first_break.reason
        yield f"The chain of {report.name} is broken at event {sequence:,} of {report.n:,}. {reason}"
        return
    erased = f", {report.n_erased:,} of them erased by withdrawal" if report.n_erased else ""
    yield f"The chain of {report.name} holds: {report.n:,} events{erased}."
    yield f"Campaign: {report.campaign_id}"
    if report.n_withdrawals:
        yield f"Withdrawals: {report.n_withdrawals:,}"
    yield f"Head: {report.head}"
    if report.compares_summaries:
        yield "Summaries of items and raters were compared with the answers."


def _describe_heads(report: AuditReport, statements: Sequence[HeadStatement]) -> Iterator[str]:
    if report.missing_heads is None:
        return
    if not statements:
        yield f"That digest is {'not ' if report.missing_heads else ''}in the chain."
        return
    published = {
        head.head: f"The head of {statement.at}, after {head.events:,} events,"
        for statement in statements
        for head in statement.heads
        if head.campaign == report.campaign_id
    }
    yield from (f"{published[digest]} is not in the chain." for digest in report.missing_heads)
    if not report.missing_heads:
        yield f"All {len(published):,} published heads are in the chain." if published else "It has no published head."
