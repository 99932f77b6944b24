"""Measure two servers behind nginx, and write benchmarks/web/results-servers.json and docs/generated/servers.md.

    .venv/bin/python benchmarks/web/servers.py [--answers 1e7]

Sixteen raters submit sixteen answers at a time to one or two server processes on one PostgreSQL with ten million stored
answers: four times a second together, or each as soon as the next item is there. Meanwhile an owner reads the page of
monitoring, or the servers are restarted one after the other.
"""

import argparse
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx
from sqlalchemy import text

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from chaos_site import DisturbedSite
from load import LoadResult, run_closed_loop, run_open_loop
from measure import N_ITEMS, NOW, QUESTIONS, SECRET, enrol_seats, machine, make_campaign, versions
from reproduce.comparison import table
from tests.databases import own_server
from tests.support.nginx import configure_plain, running_nginx
from tests.support.ports import find_port

from dissensus.store.core import schema
from dissensus.store.core.database import Database, connect
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform

RESULTS = HERE / "results-servers.json"
PAGE = HERE.parent.parent / "docs" / "generated" / "servers.md"
N_LOADED: Final = 16
SECONDS: Final = 20
PER_SECOND: Final = 4.0
PAUSE_S: Final = 0.5
Beside = Callable[[threading.Event], Mapping[str, Any]]
"""Work beside the load until an event, with columns of the row."""
MAX_MS: Final = {"submit": 200.0, "monitoring": 300.0}

STORE: Final = (
    "INSERT INTO rater (id, campaign_id, number, state, language, rehearsal, entered_at, last_seen_at, changed_at,"
    " full_at_ms) SELECT CAST(200000000 + n AS varchar), id, n, 'finished', 'en', false, :at, :at, :at, 0"
    " FROM campaign, generate_series(0, :n_raters - 1) n",
    "INSERT INTO assignment (id, rater_id, item_id, showing, position, state, planned_at, offered_at, closed_at)"
    " SELECT CAST(300000000 + row_number() OVER () AS varchar), rater.id, item.id, 1, item.position, 'done', :at, :at,"
    " :at FROM rater CROSS JOIN item",
    'INSERT INTO save (number, "key", assignment_id, revision, final, visit, visible_ms, idle_ms, received_at)'
    " SELECT CAST(id AS integer) - 300000000, id, id, 1, true, 'v', 2000, 0, :at FROM assignment",
    "INSERT INTO answer (save_number, question, value, first_ms, last_ms, changes, bulk)"
    " SELECT number, 'Q' || q, '\"No\"', 900, 1900, 0, false FROM save, generate_series(0, :n_questions - 1) q",
    "UPDATE campaign SET n_raters = :n_raters",
    "UPDATE item SET load = :n_raters",
    "SELECT setval(pg_get_serial_sequence('save', 'number'), (SELECT max(number) FROM save))",
)


def main() -> None:
    """Measure one server and two, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=float, default=1e7)
    n_raters = -(-int(parser.parse_args().answers) // (N_ITEMS * QUESTIONS))
    about = {"machine": machine(), "versions": versions(), "stored": n_raters * N_ITEMS * QUESTIONS}
    results = about | {"rows": list(_measure(n_raters))}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text("\n".join(page(results)) + "\n", encoding="utf-8")


def _measure(n_raters: int) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        server = stack.enter_context(own_server(fsync=True))
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="dissensus-servers-")))
        database = connect(url := server.url.render_as_string())
        schema.upgrade(database)
        platform = Platform(database)
        key = make_campaign(platform)
        store_answers(database, n_raters)
        sites = [_site(folder / f"{number}", url) for number in range(2)]
        for site in sites:
            stack.callback(site.kill)
            site.start()
        link = sign_in_links.create_sign_in_link(platform, "owner", now=datetime.now(UTC))
        owner = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{sites[0].port}", timeout=60))
        sign_in(owner, f"/sign-in/{link.key}")

        def run(port: int, n_servers: int, beside: Beside, *, paced: bool) -> dict[str, Any]:
            seats, pid = enrol_seats(platform, key, N_LOADED), sites[0].processes()[0]
            spare, ended = enrol_seats(platform, key, 2 * N_LOADED), threading.Event()
            with ThreadPoolExecutor(1) as pool:
                others = pool.submit(beside, ended)
                if paced:
                    load = run_open_loop(seats, port, per_second=PER_SECOND, seconds=2 * SECONDS, pid=pid)
                else:
                    load = run_closed_loop(seats, spare, port, seconds=SECONDS, pid=pid)
                ended.set()
            row = load.row() | {"servers": n_servers, "paced": paced, **others.result()}
            print(json.dumps(row), file=sys.stderr, flush=True)
            return row

        for paced in (True, False):
            yield run(sites[0].port, 1, lambda _: {}, paced=paced)
        with _proxy(sites, folder) as entrance:
            owner.base_url = f"http://127.0.0.1:{entrance}"
            for paced in (True, False):
                yield run(entrance, 2, lambda _: {}, paced=paced)
                yield run(entrance, 2, partial(read_monitoring, owner), paced=paced)
                yield run(entrance, 2, partial(restart_in_turn, sites), paced=paced)


def store_answers(database: Database, n_raters: int) -> None:
    """Store the answers of raters who are done with all items, by statements of PostgreSQL."""
    values = {"at": NOW, "n_raters": n_raters, "n_questions": QUESTIONS}
    with database.writing() as tx:
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        tx.execute(text("SET LOCAL session_replication_role = replica"))  # Checks no foreign keys
        for statement in STORE:
            used = {name: value for name, value in values.items() if f":{name}" in statement}
            tx.execute(text(statement), used)
    with database.engine.connect() as connection:
        tx = connection.execution_options(isolation_level="AUTOCOMMIT")
        tx.execute(text("SET statement_timeout = 0"))
        tx.execute(text("VACUUM ANALYZE"))
        tx.execute(text("RESET statement_timeout"))


def _site(folder: Path, url: str) -> DisturbedSite:
    folder.mkdir()
    port = find_port()
    # Simulated raters are faster than any person.
    settings = {"DATABASE_URL": url, "SECRET_KEY": SECRET, "PORT": str(port), "SAVES_PER_RATER": "0"}
    return DisturbedSite(folder, url, {f"DISSENSUS_{name}": value for name, value in settings.items()}, port)


@contextmanager
def _proxy(sites: list[DisturbedSite], folder: Path) -> Iterator[int]:
    entrance = find_port()
    configuration = configure_plain([site.port for site in sites], entrance, find_port())
    with running_nginx(configuration, folder, entrance):
        yield entrance


def sign_in(browser: httpx.Client, path: str) -> None:
    """Sign in a member of the staff."""
    token = re.search(r'name="form_token" value="([0-9a-f]{64})"', browser.get(path).text)
    if token is None or browser.post(path, data={"form_token": token[1]}).status_code != 303:
        raise SystemExit("The owner cannot sign in.")


def read_monitoring(browser: httpx.Client, ended: threading.Event) -> dict[str, Any]:
    """Read the page of monitoring until the load ends."""
    times = []
    while not ended.is_set():
        since = time.perf_counter()
        browser.get("/campaigns/load/monitoring").raise_for_status()
        times.append(time.perf_counter() - since)
        ended.wait(PAUSE_S)
    read = LoadResult(SECONDS, times).row()
    return {"beside": "page of monitoring"} | {f"monitoring_{name}": read[name] for name in ("n", "p50_ms", "p99_ms")}


def restart_in_turn(sites: list[DisturbedSite], ended: threading.Event) -> dict[str, Any]:
    """Restart one server after the other."""
    n_restarts = 0
    for site in sites:
        ended.wait(PAUSE_S)
        site.stop()
        site.start()
        n_restarts += not ended.is_set()
    return {"beside": f"restart of {n_restarts} servers in turn"}


def page(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "% Made by `benchmarks/web/servers.py`; do not edit.\n"
    yield from table(
        ("Servers", "Load", "Meanwhile", "Submits a second", "p50", "p99", "Slowest", "Errors"),
        (
            (
                str(row["servers"]),
                "paced" if row["paced"] else "closed",
                row.get("beside", ""),
                f"{row['per_second']:,.0f}",
                *(f"{row[name]:,.0f} ms" for name in ("p50_ms", "p99_ms", "max_ms")),
                str(row["errors"]),
            )
            for row in results["rows"]
        ),
        right=(0, *range(3, 8)),
    )
    yield ""
    for paced, load in ((True, "paced"), (False, "closed")):
        two = next(row for row in results["rows"] if row["servers"] == 2 and row["paced"] == paced)
        reading = next(row for row in results["rows"] if "monitoring_n" in row and row["paced"] == paced)
        yield (
            f"- 2 servers, {load}, {results['stored']:,} answers stored: p99 of a submit is {two['p99_ms']:,.0f} ms "
            f"({MAX_MS['submit']:,.0f} were aimed at). The page of monitoring, read {reading['monitoring_n']} times "
            f"meanwhile, takes {reading['monitoring_p50_ms']:,.0f} ms at the median, p99 "
            f"{reading['monitoring_p99_ms']:,.0f} ms ({MAX_MS['monitoring']:,.0f} were aimed at)."
        )


if __name__ == "__main__":
    main()
