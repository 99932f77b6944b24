"""Stages of `dissensus demo`: ratings over HTTP, gold labels, report, chats, online learning, audit, the site."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final

import httpx
import typer

from dissensus.campaign.planning import CampaignPlan, apply_plan, read_plan
from dissensus.cli import result_writer
from dissensus.cli.demo.activity import Activity, show_activity
from dissensus.cli.platform.options import open_site_platform, utc_now
from dissensus.demo import online_loop
from dissensus.demo import release as demo_release
from dissensus.demo.simulation import DemoCampaign, plan_raters, simulate_demo_campaign
from dissensus.demo.staff import decide_flags, label_all
from dissensus.demo.visitor import N_CONVERSATIONS, Visitor, hold_conversations, take_part
from dissensus.errors import DissensusError, InvalidInput, Unavailable
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.plan.pool import PoolPlan
from dissensus.report import build
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.shipped import load_campaign, rename_campaign
from dissensus.schema.records.item import Item
from dissensus.settings import PREFIX, Settings
from dissensus.workflows.campaign import audit, campaigns, overview
from dissensus.workflows.export import ratings as ratings_workflow
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.platform import sign_in_links, staff
from dissensus.workflows.rater.invite_links import personal_link_url

NAME, OWNER = "demo", "owner"
CHAT_CAMPAIGN: Final = "demo-red-team"
N_CHATTERS: Final = 6
MAX_LEARNERS: Final = 16
"""Maximum number of people from whom the registered model of the demo learns."""
# The database has a distinct name, so that no other one is mistaken for that of an earlier demo.
DATABASE, RATINGS, PAGE, CHAT_FOLDER = "dissensus-demo.db", "ratings.csv", "report.html", "conversations"
MODELS: Final = "models"
PLAN: Final = "plan.json"
RELEASES: Final = {name: f"{name}-1.0" for name in (NAME, CHAT_CAMPAIGN)}
SEED = 1
# Permutations and replicates of the report: few, so that it is quick.
DRAWS = 200
# Polls of the site until it runs, a tenth of a second apart: a busy machine needs a minute to load it.
N_POLLS: Final = 1800
# Raters who take part concurrently.
N_THREADS = 4


def run_demo(folder: Path, *, once: bool, port: int, items: int, raters: int) -> None:
    """Run all stages in a folder; without `once`, serve the site until interrupted."""
    result_writer.make_folder("--dir", folder)
    settings = _prepare_folder(folder, port)
    with ExitStack() as site:
        with show_activity("Preparing the folder") as activity:
            activity.begin("Drawing the answers of simulated raters")
            campaign = simulate_demo_campaign(items, raters, seed=SEED)
            activity.begin("Planning the number of raters, and creating the campaign")
            plan = plan_raters(campaign.raters)
            (folder / PLAN).write_text(plan.to_json())
            link = _create_campaign(settings, campaign, plan)
            typer.echo(
                f"1. {raters} simulated raters judge {items} simulated conversations over HTTP, with the questions of "
                f"DICES.\n   The campaign is made from {folder / PLAN}: {plan.settings.seats} usable raters of each "
                f"gender need {plan.cells[0].seats} seats. Its log has the plan."
            )
            activity.begin("Starting the site")
            site.enter_context(_serve_site(settings, folder / "site.log"))
            typer.echo(f"   The site runs at {settings.address}.")
            _collect_ratings(link, campaign, activity)
            typer.echo(f"   One of them withdraws: {items} ratings are erased.")
            _label_and_decide(settings, campaign, activity)
            _write_report(settings, folder, activity)
            _collect_chats(settings, folder, activity)
            _run_online_loop(settings, min(raters, MAX_LEARNERS), activity)
            _release_campaigns(settings, folder, activity)
            _verify_logs(settings, activity)
            if once:
                activity.begin("Stopping the site")
                site.close()
        if once:
            typer.echo(f"\nThe report is {folder / PAGE}. Without --once the site stays open for a visit.")
        else:
            _wait_for_visitors(settings)


def _prepare_folder(folder: Path, port: int) -> Settings:
    """Remove the files of an earlier demo, and return settings with a new database."""
    database = folder / DATABASE
    outputs = tuple(folder / name for name in (RATINGS, PAGE, PLAN, CHAT_FOLDER, MODELS, *RELEASES.values()))
    if not database.exists() and any(path.exists() for path in outputs):
        names = " and ".join(str(path) for path in outputs if path.exists())
        raise InvalidInput(f"{names} would be replaced, but no demo wrote it. Name another folder: --dir DIR")
    for suffix in ("", "-wal", "-shm", ".key"):
        database.with_name(DATABASE + suffix).unlink(missing_ok=True)
    for name in RELEASES.values():
        (folder / f"{name}.key").unlink(missing_ok=True)
    for name in (CHAT_FOLDER, MODELS, *RELEASES.values()):
        shutil.rmtree(folder / name, ignore_errors=True)
    return Settings(database_url=f"sqlite:///{database}", port=port, model_registry=(folder / MODELS).absolute())


def _create_campaign(settings: Settings, campaign: DemoCampaign, pool: PoolPlan) -> str:
    """Create and open the campaign with the numbers of a plan, and return its entry link."""
    plan = read_plan(pool.to_json())
    return _open_campaign(settings, apply_plan(_load_definition(), plan), campaign.items, plan=plan)


def _open_campaign(
    settings: Settings, campaign: Campaign, items: Sequence[Item], *, plan: CampaignPlan | None = None
) -> str:
    with open_site_platform(settings, create=True) as platform:
        owner = staff.find_or_create_owner(platform, OWNER, now=utc_now())
        campaigns.create_campaign(platform, campaign, items, staff_id=owner.id, plan=plan, now=utc_now())
        row = campaigns.change_state(platform, campaign.name, "open", staff_id=owner.id, now=utc_now())
    return personal_link_url(settings.address, campaign.name, str(row.key))


def _load_definition() -> Campaign:
    return rename_campaign(load_campaign("dices-350"), NAME)


@contextmanager
def _serve_site(settings: Settings, log: Path) -> Iterator[None]:
    """Serve the site in a subprocess."""
    overrides = {
        "database_url": settings.database_url,
        "port": settings.port,
        "model_registry": settings.model_registry,
    }
    variables = {f"{PREFIX}{name.upper()}": str(value) for name, value in overrides.items()}
    command = [sys.executable, "-m", "dissensus", "serve", "--host", settings.host]
    with log.open("wb") as log_file:
        server = subprocess.Popen(command, env={**os.environ, **variables}, stdout=log_file, stderr=log_file)  # noqa: S603
        try:
            _wait_for_site(server, settings.address, log)
            yield
        finally:
            server.terminate()
            server.wait(timeout=60)


def _wait_for_site(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    for _ in range(N_POLLS):
        if server.poll() is not None:
            raise Unavailable(f"The site did not start. {log.read_text().strip().removeprefix('Error: ')}")
        with suppress(httpx.TransportError):
            if httpx.get(f"{address}/readyz").is_success:
                return
        time.sleep(0.1)
    raise Unavailable(f"The site does not answer at {address}.")


def _collect_ratings(link: str, simulated: DemoCampaign, activity: Activity) -> None:
    """Let all raters take part, `N_THREADS` concurrently; the first withdraws at the end."""
    campaign, done, n = _load_definition(), count(1), len(simulated.items) * len(simulated.raters)
    activity.begin("Rating")

    def count_rating() -> None:
        activity.report(next(done) / n)

    with ExitStack() as browsers:
        visitors = [browsers.enter_context(Visitor(link)) for _ in simulated.raters]
        with ThreadPoolExecutor(N_THREADS) as pool:
            futures = [
                pool.submit(take_part, visitor, rater, campaign, language="en", on_rating=count_rating)
                for visitor, rater in zip(visitors, simulated.raters, strict=True)
            ]
        for future in futures:
            future.result()
        visitors[0].withdraw()


def _label_and_decide(settings: Settings, campaign: DemoCampaign, activity: Activity) -> None:
    """Let experts label the items, and the owner decide about flagged raters."""
    typer.echo("2. Simulated experts label the conversations; the owner decides about flagged raters.")
    activity.begin("Labelling")
    with open_site_platform(settings) as platform:
        owner_id = staff.find_or_create_owner(platform, OWNER, now=utc_now()).id
        counts = label_all(platform, _load_definition(), campaign.gold, owner_id=owner_id, seed=SEED, now=utc_now())
        typer.echo(f"   {counts[0]} experts label them independently; the owner decides on {counts[1]}.")
        activity.begin("Waiting for the site's figures of all raters")
        flagged, excluded = decide_flags(platform, NAME, len(campaign.raters) - 1, owner_id=owner_id, clock=utc_now)
        typer.echo(
            f"   Raters who are flagged: {flagged}. The owner excludes {excluded}, with a reason; no data are deleted."
        )


def _write_report(settings: Settings, folder: Path, activity: Activity) -> None:
    """Export the ratings, and write the report."""
    typer.echo("3. The ratings are exported and analysed.")
    ratings, page = folder / RATINGS, folder / PAGE
    activity.begin("Exporting")
    with open_site_platform(settings) as platform:
        ratings_workflow.export_ratings(platform, NAME, ratings, overwrite=True, now=utc_now())
    collected_ratings = read_ratings(ratings, questions="all")
    activity.begin("Analysing")
    report = build(collected_ratings, permutations=DRAWS, bootstrap=DRAWS, title="The demo", progress=activity.report)
    activity.begin("Drawing the figures")
    result_writer.write_text(report.to_html(), page)
    typer.echo(f"   {ratings} has the collected ratings, {page} the report.")


def _collect_chats(settings: Settings, folder: Path, activity: Activity) -> None:
    """Let some people chat, and export the conversations."""
    campaign, done = rename_campaign(load_campaign("red-team"), CHAT_CAMPAIGN), count(1)
    link = _open_campaign(settings, campaign, ())
    typer.echo(
        f"4. {N_CHATTERS} simulated people talk with two scripted chatbots, and pick one of two responses each turn."
    )
    activity.begin("Talking")

    def count_conversation() -> None:
        activity.report(next(done) / (N_CHATTERS * N_CONVERSATIONS))

    with ExitStack() as browsers, ThreadPoolExecutor(N_THREADS) as pool:
        visitors = [browsers.enter_context(Visitor(link)) for _ in range(N_CHATTERS)]
        for future in [
            pool.submit(hold_conversations, visitor, campaign, seed, on_conversation=count_conversation)
            for seed, visitor in enumerate(visitors)
        ]:
            future.result()
    with open_site_platform(settings) as platform:
        exported = export_conversations(platform, CHAT_CAMPAIGN, folder / CHAT_FOLDER, now=utc_now())
    typer.echo(
        f"   {folder / CHAT_FOLDER} has {exported.n_pairs} pairs and {exported.n_attempts} red-team attempts, "
        "in the format of hh-rlhf."
    )


def _run_online_loop(settings: Settings, people: int, activity: Activity) -> None:
    """Run the online loop, and print how well the registered model learns the preferences."""
    n = online_loop.N_CONVERSATIONS * online_loop.N_TURNS * len(online_loop.PHASES)
    typer.echo(
        f"5. {people} simulated people of known preferences pick one of two responses, {n} times each. A registered "
        f"model\n   learns from it and chooses what they see next, the best of {online_loop.N_SAMPLES}:"
    )
    with open_site_platform(settings) as platform:

        def open_campaign(campaign: Campaign) -> str:
            return _open_campaign(settings, campaign, ())

        stage = online_loop.LoopSite(platform, settings.model_registry, open_campaign, utc_now)
        phases = online_loop.run_online_loop(
            stage, people=people, seed=SEED, on_step=activity.begin, on_progress=activity.report
        )
        rows = [phase.row() for phase in phases]
    typer.echo(
        result_writer.format_rows(
            result_writer.Format.TABLE, rows, online_loop.COLUMNS, name="phases", if_empty="Nothing was learned."
        )
    )


def _release_campaigns(settings: Settings, folder: Path, activity: Activity) -> None:
    """Take the ratings and the conversations through the gate of a release."""
    typer.echo("6. The owner releases the ratings and the conversations to the public.")
    changes = {NAME: demo_release.RATINGS, CHAT_CAMPAIGN: demo_release.CONVERSATIONS}
    with open_site_platform(settings) as platform:
        for name, plan_changes in changes.items():
            activity.begin(f"Judging and writing the release of {name}")
            released = demo_release.release_campaign(platform, name, folder, plan_changes, now=utc_now())
            typer.echo(f"   The first plan of {name} is refused: {', '.join(released.first_faults)}.")
            typer.echo(f"   {_describe_release(released, folder / RELEASES[name])}")


def _describe_release(released: demo_release.DemoRelease, folder: Path) -> str:
    if released.open_checks:
        return f"The second one too: {', '.join(released.open_checks)}. More raters would help."
    derived = f", {released.n_pairs} pairs and {released.n_attempts} attempts" if released.n_pairs else ""
    return (
        f"Mended, answered and signed it passes: {folder} has {released.n_ratings:,} ratings of "
        f"{released.n_raters:,} raters{derived}."
    )


def _verify_logs(settings: Settings, activity: Activity) -> None:
    """Verify the audit log of each campaign."""
    typer.echo("7. The audit log of each campaign is verified.")
    with open_site_platform(settings) as platform:
        names = [entry.campaign_row.name for entry in overview.list_all_campaigns(platform)]
        reports = {}
        for name in names:
            activity.begin(f"Verifying the log of {name}")
            reports[name] = audit.audit_campaign(platform, name)
    for name, report in reports.items():
        if not report.holds:
            raise DissensusError(f"The audit log is not intact. For the faults: dissensus audit {name}")
    report = reports[NAME]
    typer.echo(
        f"   The audit log is intact: {report.n:,} events in one chain, {report.n_erased:,} of them erased since."
    )


def _wait_for_visitors(settings: Settings) -> None:
    """Print the address of the site, and wait for an interrupt."""
    with open_site_platform(settings) as platform:
        key = sign_in_links.create_sign_in_link(platform, OWNER, now=utc_now()).key
    typer.echo(
        f"\nThe site, signed in as the owner of its campaigns: {settings.address}/sign-in/{key}\n"
        f"The page of the campaign {NAME!r} has the link for raters. Ctrl-C ends."
    )
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        typer.echo("")
