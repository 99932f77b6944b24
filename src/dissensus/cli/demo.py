"""`dissensus demo`: a small campaign through every stage on this machine, then the site."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dissensus.cli import result_writer
from dissensus.errors import DissensusError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dissensus.demo.simulated import Drawn
    from dissensus.schema.campaign.definition import Campaign
    from dissensus.schema.records.item import Item
    from dissensus.settings import Settings

NAME, OWNER = "demo", "owner"
TALKING: Final = "demo-red-team"
TALKERS: Final = 6
LEARNED_FROM: Final = 16
"""People from whom the model line of the demo learns, at most."""
# A name of its own: nobody's database is taken for one that an earlier demo left.
DATABASE, RATINGS, PAGE, TALKS = "dissensus-demo.db", "ratings.csv", "report.html", "conversations"
MODELS: Final = "models"
SEED = 1
# Permutations and replicates of the report: quick, and enough to look at.
DRAWS = 200
# Raters who take part at once.
AT_ONCE = 4


def demo(
    once: Annotated[bool, typer.Option("--once", help="End when export and report are written.")] = False,
    port: Annotated[int, typer.Option(metavar="PORT", min=1, max=65535, help="Where the site listens.")] = 8000,
    dir: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where everything goes.")] = Path("dissensus-demo"),  # noqa: A002 - the option's name
    items: Annotated[int, typer.Option(metavar="N", min=2, max=350, help="Conversations to rate.")] = 24,
    raters: Annotated[int, typer.Option(metavar="N", min=3, max=123, help="Raters who take part.")] = 24,
) -> None:
    """Run a small campaign through every stage: simulated raters take part over HTTP; then export, report and the site.

    One of them withdraws, simulated experts label what is rated, a simulated owner decides about raters who are
    flagged, others talk with scripted chatbots, and the log of it all is verified. Nothing of it is real:
    conversations, people and answers are drawn, with the differences between groups that DICES-350 has. What an earlier
    demo left in DIR is replaced.

    Example: dissensus demo --once
    """
    from dissensus.demo.simulated import draw

    result_writer.make_folder("--dir", dir)
    settings = _settings(dir, port)
    drawn = draw(items, raters, seed=SEED)
    link = _campaign(settings, drawn)
    with _site(settings, dir / "site.log"):
        typer.echo(f"{raters} simulated raters judge {items} simulated conversations over HTTP, as DICES asked.")
        _take_part(link, drawn)
        typer.echo(f"One of them withdraws: {items} ratings are erased.")
        _look_after(settings, drawn)
        _report(settings, dir)
        _talk(settings, dir)
        _learn(settings, min(raters, LEARNED_FROM))
        _audit(settings)
        if not once:
            _show(settings, link)


def _settings(folder: Path, port: int) -> "Settings":
    """Return the settings of a site on a database of its own, without what an earlier demo left."""
    from dissensus.settings import Settings

    database = folder / DATABASE
    mine = (folder / RATINGS, folder / PAGE, folder / TALKS, folder / MODELS)
    if not database.exists() and any(path.exists() for path in mine):
        names = " and ".join(str(path) for path in mine if path.exists())
        raise InvalidInput(f"{names} would be replaced, which no demo made. Name another folder: --dir DIR")
    for end in ("", "-wal", "-shm", ".key"):
        database.with_name(DATABASE + end).unlink(missing_ok=True)
    for name in (TALKS, MODELS):
        shutil.rmtree(folder / name, ignore_errors=True)
    return Settings(database_url=f"sqlite:///{database}", port=port, models=(folder / MODELS).absolute())


def _campaign(settings: "Settings", drawn: "Drawn") -> str:
    """Make and open the campaign, and return the link by which raters enter."""
    return _made(settings, _definition(), drawn.items)


def _made(settings: "Settings", campaign: "Campaign", items: "Sequence[Item]") -> str:
    from dissensus.cli.platform.options import now, opened
    from dissensus.workflows.campaign import campaigns
    from dissensus.workflows.platform import staff
    from dissensus.workflows.rater.invite_links import personal_link

    with opened(settings) as platform:
        owner = staff.find_or_create_owner(platform, OWNER, now=now())
        campaigns.create_campaign(platform, campaign, items, staff_id=owner.id, now=now())
        kept = campaigns.change_state(platform, campaign.name, "open", staff_id=owner.id, now=now())
    return personal_link(settings.address, campaign.name, str(kept.key))


def _definition() -> "Campaign":
    from dissensus.schema.campaign.shipped import load_campaign, renamed

    return renamed(load_campaign("dices-350"), NAME)


@contextmanager
def _site(settings: "Settings", log: Path) -> Iterator[None]:
    """Serve the site in a process of its own."""
    from dissensus.settings import PREFIX

    known = {"database_url": settings.database_url, "port": settings.port, "models": settings.models}
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


def _wait(server: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    import httpx

    from dissensus.errors import Unavailable

    for _ in range(300):
        if server.poll() is not None:
            raise Unavailable(f"The site did not start. {log.read_text().strip().removeprefix('Error: ')}")
        try:
            if httpx.get(f"{address}/readyz").is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise Unavailable(f"The site does not answer at {address}.")


def _take_part(link: str, drawn: "Drawn") -> None:
    """Let all raters go the whole way, some at once; the first comes again in the end, and has it all erased."""
    from dissensus.demo.visitor import Visitor, take_part

    campaign, done, n = _definition(), count(1), len(drawn.items) * len(drawn.raters)
    with result_writer.progress("Rating") as progress, ExitStack() as browsers:

        def rated() -> None:
            if progress is not None:
                progress(next(done) / n)

        visitors = [browsers.enter_context(Visitor(link)) for _ in drawn.raters]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ways = [
                pool.submit(take_part, visitor, rater, campaign, language="en", rated=rated)
                for visitor, rater in zip(visitors, drawn.raters, strict=True)
            ]
        for way in ways:
            way.result()
        visitors[0].withdraw()


def _look_after(settings: "Settings", drawn: "Drawn") -> None:
    """Let experts label what is rated, and the owner decide about raters who are flagged."""
    from dissensus.cli.platform.options import now, opened
    from dissensus.demo import experts, owner
    from dissensus.workflows.platform import staff

    with opened(settings) as platform:
        owner_id = staff.find_or_create_owner(platform, OWNER, now=now()).id
        made = experts.label_all(platform, _definition(), drawn.gold, owner_id=owner_id, seed=SEED, now=now())
        typer.echo(f"{made[0]} simulated experts label them, unseen by each other; the owner decides on {made[1]}.")
        flagged, excluded = owner.decide_flags(platform, NAME, len(drawn.raters) - 1, owner_id=owner_id, clock=now)
        typer.echo(f"Raters who are flagged: {flagged}. The owner excludes {excluded}, and says why; all data stay.")


def _report(settings: "Settings", folder: Path) -> None:
    """Write what was collected, and what it tells."""
    from dissensus.cli.platform.options import now, opened
    from dissensus.files.ratings.reader import read_ratings
    from dissensus.report import build
    from dissensus.workflows.export import ratings as ratings_workflow

    ratings, page = folder / RATINGS, folder / PAGE
    with opened(settings) as platform:
        ratings_workflow.export_ratings(platform, NAME, ratings, overwrite=True, now=now())
    known = read_ratings(ratings, questions="all")
    found = build(known, permutations=DRAWS, bootstrap=DRAWS, title="The demo")
    result_writer.write(found.to_html(), page)
    typer.echo(f"{ratings} is what was collected, {page} what it tells.")


def _talk(settings: "Settings", folder: Path) -> None:
    """Let some people talk with chatbots, and write what came of it."""
    from dissensus.cli.platform.options import now, opened
    from dissensus.demo.chatters import CONVERSATIONS, talk
    from dissensus.demo.visitor import Visitor
    from dissensus.schema.campaign.shipped import load_campaign, renamed
    from dissensus.workflows.export.conversations import export_conversations

    campaign, done = renamed(load_campaign("red-team"), TALKING), count(1)
    link = _made(settings, campaign, ())
    typer.echo(f"{TALKERS} simulated people talk with two scripted chatbots, and pick one of two responses each turn.")
    with result_writer.progress("Talking") as progress, ExitStack() as browsers, ThreadPoolExecutor(AT_ONCE) as pool:

        def talked() -> None:
            if progress is not None:
                progress(next(done) / (TALKERS * CONVERSATIONS))

        visitors = [browsers.enter_context(Visitor(link)) for _ in range(TALKERS)]
        for way in [pool.submit(talk, one, campaign, seed, talked=talked) for seed, one in enumerate(visitors)]:
            way.result()
    with opened(settings) as platform:
        came = export_conversations(platform, TALKING, folder / TALKS, now=now())
    typer.echo(
        f"{folder / TALKS} has {came.n_pairs} pairs and {came.n_attempts} red-team attempts, as hh-rlhf has them."
    )


def _learn(settings: "Settings", people: int) -> None:
    """Let a model line learn from what people prefer, and show what it knows of their taste."""
    from dissensus.cli.platform.options import now, opened
    from dissensus.demo import online_loop

    done, n = count(1), online_loop.CONVERSATIONS * online_loop.TURNS * len(online_loop.PHASES)
    typer.echo(f"{people} simulated people of a known taste pick one of two responses, {n} times each. A model line")
    typer.echo(f"learns from it and chooses what they see next, the best of {online_loop.SAMPLES}:")
    with opened(settings) as platform, result_writer.progress("Preferring") as progress:

        def picked() -> None:
            if progress is not None:
                progress(next(done) / (n * people))

        def link_to(campaign: "Campaign") -> str:
            return _made(settings, campaign, ())

        stage = online_loop.Stage(platform, settings.models, link_to, now)
        found = online_loop.run(stage, people=people, seed=SEED, picked=picked)
        rows = [one.row() for one in found]
    typer.echo(
        result_writer.rows_as(
            result_writer.Format.TABLE, rows, online_loop.COLUMNS, name="phases", none="Nothing was learned."
        )
    )


def _audit(settings: "Settings") -> None:
    """Verify the log of what happened."""
    from dissensus.cli.platform.options import opened
    from dissensus.workflows.campaign import audit, overview

    with opened(settings) as platform:
        names = [one.kept.name for one in overview.list_all_campaigns(platform)]
        every = {name: audit.audit_campaign(platform, name) for name in names}
    for name, found in every.items():
        if not found.holds:
            raise DissensusError(f"The log does not hold. See what is wrong: dissensus audit {name}")
    found = every[NAME]
    typer.echo(f"The log of it all holds: {found.n:,} events in one chain, {found.n_erased:,} of them erased since.")


def _show(settings: "Settings", link: str) -> None:
    """Say where to look, and wait until somebody has seen enough."""
    from dissensus.cli.platform.options import now, opened
    from dissensus.workflows.platform import staff

    with opened(settings) as platform:
        key = staff.create_sign_in_link(platform, OWNER, now=now()).key
    typer.echo(f"\nRate as a rater:     {link}\nSign in as an owner: {settings.address}/sign-in/{key}\n\nCtrl-C ends.")
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        typer.echo("")
