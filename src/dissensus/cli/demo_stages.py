"""Stages of `dissensus demo`: ratings over HTTP, gold labels, report, chats, online learning, audit, the site."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import httpx
import typer

from dissensus.cli import result_writer
from dissensus.cli.platform.options import open_site_platform, utc_now
from dissensus.demo import experts, online_loop, owner
from dissensus.demo.chatters import CONVERSATIONS, hold_conversations
from dissensus.demo.simulated import DemoCampaign, simulate_demo_campaign
from dissensus.demo.visitor import Visitor, take_part
from dissensus.errors import DissensusError, InvalidInput, Unavailable
from dissensus.files.ratings.reader import read_ratings
from dissensus.report import build
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.shipped import load_campaign, rename_campaign
from dissensus.schema.records.item import Item
from dissensus.settings import PREFIX, Settings
from dissensus.workflows.campaign import audit, campaigns, overview
from dissensus.workflows.export import ratings as ratings_workflow
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.platform import staff
from dissensus.workflows.rater.invite_links import personal_link_url

NAME, OWNER = "demo", "owner"
CHAT_CAMPAIGN: Final = "demo-red-team"
N_CHATTERS: Final = 6
MAX_LEARNERS: Final = 16
"""Limit of people from whom the registered model of the demo learns."""
# A name of its own: nobody's database is taken for one that an earlier demo left.
DATABASE, RATINGS, PAGE, CHAT_FOLDER = "dissensus-demo.db", "ratings.csv", "report.html", "conversations"
MODELS: Final = "models"
SEED = 1
# Permutations and replicates of the report: quick, and enough to look at.
DRAWS = 200
# Raters who take part at once.
N_THREADS = 4


def run_demo(folder: Path, *, once: bool, port: int, items: int, raters: int) -> None:
    """Run all stages in a folder; without `once`, serve the site until it is interrupted."""
    result_writer.make_folder("--dir", folder)
    settings = _settings(folder, port)
    drawn = simulate_demo_campaign(items, raters, seed=SEED)
    link = _campaign(settings, drawn)
    with _site(settings, folder / "site.log"):
        typer.echo(f"{raters} simulated raters judge {items} simulated conversations over HTTP, as DICES asked.")
        _take_part(link, drawn)
        typer.echo(f"One of them withdraws: {items} ratings are erased.")
        _label_and_decide(settings, drawn)
        _report(settings, folder)
        _collect_chats(settings, folder)
        _run_online_loop(settings, min(raters, MAX_LEARNERS))
        _audit(settings)
        if not once:
            _wait_for_visitors(settings, link)


def _settings(folder: Path, port: int) -> Settings:
    """Return settings with a database of their own; remove what an earlier demo left."""
    database = folder / DATABASE
    mine = (folder / RATINGS, folder / PAGE, folder / CHAT_FOLDER, folder / MODELS)
    if not database.exists() and any(path.exists() for path in mine):
        names = " and ".join(str(path) for path in mine if path.exists())
        raise InvalidInput(f"{names} would be replaced, which no demo made. Name another folder: --dir DIR")
    for end in ("", "-wal", "-shm", ".key"):
        database.with_name(DATABASE + end).unlink(missing_ok=True)
    for name in (CHAT_FOLDER, MODELS):
        shutil.rmtree(folder / name, ignore_errors=True)
    return Settings(database_url=f"sqlite:///{database}", port=port, model_registry=(folder / MODELS).absolute())


def _campaign(settings: Settings, drawn: DemoCampaign) -> str:
    """Create and open the campaign, and return its entry link."""
    return _open_campaign(settings, _definition(), drawn.items)


def _open_campaign(settings: Settings, campaign: Campaign, items: Sequence[Item]) -> str:

    with open_site_platform(settings) as platform:
        owner = staff.find_or_create_owner(platform, OWNER, now=utc_now())
        campaigns.create_campaign(platform, campaign, items, staff_id=owner.id, now=utc_now())
        kept = campaigns.change_state(platform, campaign.name, "open", staff_id=owner.id, now=utc_now())
    return personal_link_url(settings.address, campaign.name, str(kept.key))


def _definition() -> Campaign:

    return rename_campaign(load_campaign("dices-350"), NAME)


@contextmanager
def _site(settings: Settings, log: Path) -> Iterator[None]:
    """Serve the site in a subprocess."""
    known = {"database_url": settings.database_url, "port": settings.port, "model_registry": settings.model_registry}
    set_here = {f"{PREFIX}{name.upper()}": str(value) for name, value in known.items()}
    words = [sys.executable, "-m", "dissensus", "serve", "--host", settings.host]
    with log.open("wb") as written:
        server = subprocess.Popen(words, env={**os.environ, **set_here}, stdout=written, stderr=written)  # noqa: S603
        try:
            _wait(server, settings.address, log)
            yield
        finally:
            server.terminate()
            server.wait(timeout=60)


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:

    for _ in range(300):
        if server.poll() is not None:
            raise Unavailable(f"The site did not start. {log.read_text().strip().removeprefix('Error: ')}")
        try:
            if httpx.get(f"{address}/readyz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise Unavailable(f"The site does not answer at {address}.")


def _take_part(link: str, drawn: DemoCampaign) -> None:
    """Let all raters take part, `N_THREADS` at once; the first withdraws at the end."""
    campaign, done, n = _definition(), count(1), len(drawn.items) * len(drawn.raters)
    with result_writer.progress_bar("Rating") as progress, ExitStack() as browsers:

        def rated() -> None:
            if progress is not None:
                progress(next(done) / n)

        visitors = [browsers.enter_context(Visitor(link)) for _ in drawn.raters]
        with ThreadPoolExecutor(N_THREADS) as pool:
            ways = [
                pool.submit(take_part, visitor, rater, campaign, language="en", rated=rated)
                for visitor, rater in zip(visitors, drawn.raters, strict=True)
            ]
        for way in ways:
            way.result()
        visitors[0].withdraw()


def _label_and_decide(settings: Settings, drawn: DemoCampaign) -> None:
    """Let experts label the items, and the owner decide about flagged raters."""
    with open_site_platform(settings) as platform:
        owner_id = staff.find_or_create_owner(platform, OWNER, now=utc_now()).id
        made = experts.label_all(platform, _definition(), drawn.gold, owner_id=owner_id, seed=SEED, now=utc_now())
        typer.echo(f"{made[0]} simulated experts label them, unseen by each other; the owner decides on {made[1]}.")
        flagged, excluded = owner.decide_flags(platform, NAME, len(drawn.raters) - 1, owner_id=owner_id, clock=utc_now)
        typer.echo(f"Raters who are flagged: {flagged}. The owner excludes {excluded}, and says why; all data stay.")


def _report(settings: Settings, folder: Path) -> None:
    """Export the ratings, and write the report."""
    ratings, page = folder / RATINGS, folder / PAGE
    with open_site_platform(settings) as platform:
        ratings_workflow.export_ratings(platform, NAME, ratings, overwrite=True, now=utc_now())
    known = read_ratings(ratings, questions="all")
    found = build(known, permutations=DRAWS, bootstrap=DRAWS, title="The demo")
    result_writer.write_text(found.to_html(), page)
    typer.echo(f"{ratings} is what was collected, {page} what it tells.")


def _collect_chats(settings: Settings, folder: Path) -> None:
    """Let some people chat, and export the conversations."""
    campaign, done = rename_campaign(load_campaign("red-team"), CHAT_CAMPAIGN), count(1)
    link = _open_campaign(settings, campaign, ())
    typer.echo(
        f"{N_CHATTERS} simulated people talk with two scripted chatbots, and pick one of two responses each turn."
    )
    with (
        result_writer.progress_bar("Talking") as progress,
        ExitStack() as browsers,
        ThreadPoolExecutor(N_THREADS) as pool,
    ):

        def talked() -> None:
            if progress is not None:
                progress(next(done) / (N_CHATTERS * CONVERSATIONS))

        visitors = [browsers.enter_context(Visitor(link)) for _ in range(N_CHATTERS)]
        for way in [
            pool.submit(hold_conversations, one, campaign, seed, talked=talked) for seed, one in enumerate(visitors)
        ]:
            way.result()
    with open_site_platform(settings) as platform:
        came = export_conversations(platform, CHAT_CAMPAIGN, folder / CHAT_FOLDER, now=utc_now())
    typer.echo(
        f"{folder / CHAT_FOLDER} has {came.n_pairs} pairs and {came.n_attempts} red-team attempts, as hh-rlhf has them."
    )


def _run_online_loop(settings: Settings, people: int) -> None:
    """Run the online loop, and show how well the registered model learns the taste."""
    done, n = count(1), online_loop.CONVERSATIONS * online_loop.TURNS * len(online_loop.PHASES)
    typer.echo(
        f"{people} simulated people of a known taste pick one of two responses, {n} times each. A registered model"
    )
    typer.echo(f"learns from it and chooses what they see next, the best of {online_loop.SAMPLES}:")
    with open_site_platform(settings) as platform, result_writer.progress_bar("Preferring") as progress:

        def picked() -> None:
            if progress is not None:
                progress(next(done) / (n * people))

        def link_to(campaign: Campaign) -> str:
            return _open_campaign(settings, campaign, ())

        stage = online_loop.LoopSite(platform, settings.model_registry, link_to, utc_now)
        found = online_loop.run_online_loop(stage, people=people, seed=SEED, picked=picked)
        rows = [one.row() for one in found]
    typer.echo(
        result_writer.format_rows(
            result_writer.Format.TABLE, rows, online_loop.COLUMNS, name="phases", none="Nothing was learned."
        )
    )


def _audit(settings: Settings) -> None:
    """Verify the audit log of each campaign."""
    with open_site_platform(settings) as platform:
        names = [one.campaign_row.name for one in overview.list_all_campaigns(platform)]
        every = {name: audit.audit_campaign(platform, name) for name in names}
    for name, found in every.items():
        if not found.holds:
            raise DissensusError(f"The log does not hold. See what is wrong: dissensus audit {name}")
    found = every[NAME]
    typer.echo(f"The log of it all holds: {found.n:,} events in one chain, {found.n_erased:,} of them erased since.")


def _wait_for_visitors(settings: Settings, link: str) -> None:
    """Print the links, and wait for an interrupt."""
    with open_site_platform(settings) as platform:
        key = staff.create_sign_in_link(platform, OWNER, now=utc_now()).key
    typer.echo(f"\nRate as a rater:     {link}\nSign in as an owner: {settings.address}/sign-in/{key}\n\nCtrl-C ends.")
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        typer.echo("")
