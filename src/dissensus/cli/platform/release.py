"""`dissensus release`: a public dataset that passes the checks of the gate."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.cli.result_writer import Format, FormatOption, choose_format, format_rows
from dissensus.files.releases.folder import check_new_folder, is_release
from dissensus.pipeline.release.gate import JudgedCheck, ReleaseVerdict
from dissensus.workflows.release.registration import PreparedRelease
from dissensus.workflows.release.release import prepare_release, read_plan, register_folder, write_prepared

LOSS_COLUMNS = ("statistic", "axis", "group", "before", "after")


def release(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan of the release, a TOML file.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="New folder. Default: NAME-VERSION.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the verdict, and write nothing but a new key, which signatures need."),
    ] = False,
    register: Annotated[
        bool,
        typer.Option(
            "--register",
            help="Register a complete folder that was not logged because the program was interrupted.",
        ),
    ] = False,
    format: FormatOption = None,  # noqa: A002 - the option's name
    settings: SettingsOption = None,
) -> None:
    """Write a public dataset with its documents, if it passes every check of the gate.

    Checks are of consent, withdrawals, ids, k-anonymity, diversity, membership, joins, times, texts, the datasheet and
    the key. Some need a person's signature: the verdict prints the code to sign. Exits with 1 if it did not pass.

    Example: dissensus release pilot.toml --dry-run
    """
    plan = read_plan(plan_file)
    folder = Path(f"{plan.name}-{plan.version}") if output is None else output
    if not (dry_run or is_release(folder)):
        check_new_folder(folder)
    site = nullcontext() if plan.campaign is None else open_site_platform(load_settings(settings))
    with site as platform:
        prepared = prepare_release(plan, plan_file.absolute().parent, platform)
        verdict = prepared.assessed.verdict
        typer.echo(_format_verdict(prepared, choose_format(format, None)))
        if dry_run or not verdict.passed:
            if not dry_run:
                typer.echo("Nothing was written.", err=True)
            raise typer.Exit(0 if verdict.passed else 1)
        write = register_folder if register else write_prepared
        manifest = write(prepared, folder, platform=platform, now=utc_now())
    typer.echo(
        f"{'Registered' if register else 'Wrote'} {folder}. The SHA-256 of its SHA256SUMS is {manifest}.", err=True
    )
    typer.echo(f"Keep {prepared.key_file} apart from it, and secret.", err=True)


def _format_verdict(prepared: PreparedRelease, kind: Format) -> str:
    verdict = prepared.assessed.verdict
    if kind is Format.JSON:
        return json.dumps(verdict.as_mapping(), ensure_ascii=False, indent=2)
    if kind is Format.CSV:
        rows = [{"check": row.check.name, "outcome": row.outcome, "code": row.code} for row in verdict.checks]
        return format_rows(kind, rows, ("check", "outcome", "code"), name="checks", if_empty="")
    return "\n".join(_list_lines(prepared, verdict))


def _list_lines(prepared: PreparedRelease, verdict: ReleaseVerdict) -> Iterator[str]:
    table, plan = prepared.assessed.publication.table, prepared.plan
    yield f"{plan.name} {plan.version}: {table.height:,} rows, {len(table.columns):,} columns"
    yield ""
    for judged_check in verdict.checks:
        yield from _describe_check(judged_check, verdict.people, on_site=_signs_on_site(prepared))
    if verdict.loss:
        yield ""
        yield "Effects of the protection of raters (confidential, since they reveal raters who are left out):"
        rows = [
            {
                "statistic": row.statistic,
                "axis": row.axis,
                "group": row.group,
                "before": None if row.before is None else f"{row.before:.3f}",
                "after": None if row.after is None else f"{row.after:.3f}",
            }
            for row in verdict.loss
        ]
        yield format_rows(Format.TABLE, rows, LOSS_COLUMNS, name="loss", if_empty="")
    yield ""
    yield "It passed." if verdict.passed else "It did not pass."


def _signs_on_site(prepared: PreparedRelease) -> bool:
    campaign = prepared.source.campaign
    return campaign is not None and campaign.release_signers is not None


def _describe_check(judged_check: JudgedCheck, n_people: int, *, on_site: bool) -> Iterator[str]:
    check = judged_check.check
    outcome = "FAILED" if judged_check.outcome == "failed" else judged_check.outcome
    yield f"{outcome:<9} {check.name}: {check.promise}"
    yield from (f"          {line}" for line in check.evidence)
    yield from (f"          {line} (for you alone)" for line in check.internal)
    if judged_check.signed_by:
        yield f"          Signed by {', '.join(judged_check.signed_by)}."
    if judged_check.outcome == "failed":
        yield f"          → {check.remedy}"
    if judged_check.outcome == "unsigned":
        who = "A person" if n_people == 1 else f"{n_people} people"
        if on_site:
            yield f"          → {who} who looked at this may sign it on the page of the release."
            return
        yield f"          → {who} who looked at this may sign it in the plan:"
        yield from (f"            {line}" for line in ("[[signatures]]", f'check = "{check.name}"', 'by = "…"'))
        yield f'            code = "{judged_check.code}"'
