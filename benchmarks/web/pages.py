"""Measure pages about a large campaign, and write benchmarks/web/results-pages.json and docs/benchmarks-pages.md.

    make benchmark-web                                    # 200,000 ratings, on SQLite and PostgreSQL
    .venv/bin/python benchmarks/web/pages.py --only postgresql --ratings 10000000 --without-figures

A campaign of 100,000 items with 1,000 raters, filled by statements of the database. An owner requests each page several
times. Measured are the processor time of the process that serves and requests it, with all its threads, less that of an
empty response; that of the processes of PostgreSQL; and the time until the response is complete.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import httpx
from measure import machine, versions
from sqlalchemy import Connection, Engine, text

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.databases import Databases, postgresql
from tests.support.campaigns import NOW, definition, items
from tests.support.live_site import LiveSite, serving
from tests.support.monitored_campaigns import ABOUT
from tests.support.staff_site import StaffSite

from dissensus.store.core import schema
from dissensus.store.core.database import Database, connect
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links

RESULTS = HERE / "results-pages.json"
PAGE = HERE.parent.parent / "docs" / "benchmarks-pages.md"
QUOTA: Final = {"axes": {"rater_gender": {"Woman": ["Woman"], "Man": ["Man"]}}, "seats": 600, "rest": 600}
MAX_KB, MAX_MS = 60.0, 100.0
REPETITIONS: Final = 5
TOO_SLOW_S: Final = 3.0
"""Time of a page above which it is measured once."""
PATHS: Final[Mapping[str, str]] = {
    "start page": "/",
    "campaigns": "/campaigns",
    "overview": "/campaigns/pilot",
    "items": "/campaigns/pilot/items",
    "items, between genders": "/campaigns/pilot/items?sort=rater_gender",
    "items, as in the file": "/campaigns/pilot/items?sort=position",
    "items, reported": "/campaigns/pilot/items?flag=reported",
    "items, withheld": "/campaigns/pilot/items?flag=withheld",
    "items, skipped": "/campaigns/pilot/items?flag=skipped&sort=position",
    "items, of a gold label": "/campaigns/pilot/items?gold=Yes",
    "items, of a topic": "/campaigns/pilot/items?attribute=topic&value=t7",
    "items, a word that all have": "/campaigns/pilot/items?search=Question&sort=position",
    "items, a word that none has": "/campaigns/pilot/items?search=zebra&sort=position",
    "items, a word that none has, most divided first": "/campaigns/pilot/items?search=zebra",
    "items, a topic that none has": "/campaigns/pilot/items?attribute=topic&value=none",
    "one item": "/campaigns/pilot/items/777",
    "raters": "/campaigns/pilot/raters",
    "raters, least agreement first": "/campaigns/pilot/raters?order=agreement",
    "raters, with messages": "/campaigns/pilot/raters?flag=notices",
    "monitoring": "/campaigns/pilot/monitoring",
    "quota": "/campaigns/pilot/quota",
    "gold": "/campaigns/pilot/gold",
    "labels": "/campaigns/pilot/gold/labels",
    "messages": "/campaigns/pilot/notices",
    "reports": "/campaigns/pilot/reports",
    "members": "/campaigns/pilot/staff",
    "log": "/campaigns/pilot/log",
    "log, everything": "/campaigns/pilot/log?by=all",
    "settings": "/campaigns/pilot/settings",
}


@dataclass(frozen=True)
class Size:
    """Size of a campaign."""

    items: int
    raters: int
    ratings: int

    @property
    def per_rater(self) -> int:
        """Ratings of each rater, of different items."""
        return self.ratings // self.raters

    @property
    def step(self) -> int:
        """Distance in the file of two items that a rater sees one after the other."""
        return max(1, self.items // self.per_rater)


QUICK: Final = Size(2_000, 50, 10_000)


def main() -> None:
    """Measure all pages on both databases, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--raters", type=int, default=1_000)
    parser.add_argument("--ratings", type=int, default=200_000)
    parser.add_argument("--only", choices=("sqlite", "postgresql"), help="one database; rows of the other one stay")
    parser.add_argument("--without-figures", action="store_true", help="fill summaries of items, compute no figures")
    parser.add_argument("--quick", action="store_true", help="a small campaign, nothing written")
    options = parser.parse_args()
    size = QUICK if options.quick else Size(options.items, options.raters, options.ratings)
    backends = (options.only,) if options.only else ("sqlite", "postgresql")
    figures = not options.without_figures
    rows = [row for backend in backends for row in _measure_backend(backend, size, figures=figures)]
    if not options.quick:
        write_results(size, backends, rows)


def write_results(size: Size, backends: Collection[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows of a size and of some databases; those of others stay."""
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    others = [row for row in stored if row["ratings"] != size.ratings or row["backend"] not in backends]
    rows = sorted([*others, *({"ratings": size.ratings, **row} for row in rows)], key=itemgetter("backend", "ratings"))
    results = {"machine": machine(), "versions": versions(), "size": vars(size), "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


def _measure_backend(backend: str, size: Size, *, figures: bool) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, postgresql() if backend == "postgresql" else nullcontext() as server:
        url = f"sqlite:///{folder}/pages.db" if server is None else Databases(server).blank()
        schema.upgrade(connect(url))
        with serving(url) as live:
            staff_site = StaffSite(live, live.open)
            begin = time.process_time()
            _make_campaign(staff_site)
            with live.platform.database.writing() as tx:
                _fill(tx, size)
            _update_statistics(live.platform.database)
            print(f"{backend}: filled, {time.process_time() - begin:.0f} s", file=sys.stderr, flush=True)
            if figures:
                yield from _measure_figures(live)
            else:
                fill_summaries(live.platform.database)
            for row in measure_pages(live, staff_site.owner(), size):
                print(_to_line({"ratings": size.ratings, **row}), file=sys.stderr, flush=True)
                yield row


def measure_pages(live: LiveSite, browser: httpx.Client, size: Size) -> Iterator[dict[str, Any]]:
    """Yield the row of each page."""
    browser.timeout = 120
    database = live.platform.database.engine
    idle = _ask(browser, database, "/healthz", size)["cpu_ms"]
    for name, path in PATHS.items():
        row = _ask(browser, database, path, size)
        yield {"backend": database.dialect.name, "page": name, **row, "cpu_ms": max(0.0, row["cpu_ms"] - idle)}


def _read_server_time(database: Engine) -> float:
    """Return the processor time in seconds of the processes of PostgreSQL on this machine that serve its database.

    Processes that help with one statement are gone afterwards and not counted. SQLite has none.
    """
    if database.dialect.name == "sqlite":
        return 0.0
    with database.connect() as tx:
        processes = tx.scalars(text("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")).all()
    schedules = [Path(f"/proc/{process}/schedstat") for process in processes]
    return sum(int(path.read_text().split()[0]) for path in schedules if path.exists()) / 1e9


def _measure_figures(live: LiveSite) -> Iterator[dict[str, Any]]:
    backend, cache = live.platform.database.engine.dialect.name, MonitoringCache()
    yield {"backend": backend, "page": "(figures made anew, in the background)", **_refresh(live, cache)}
    with live.platform.database.writing() as tx:
        tx.execute(text(RATE_MORE.replace("<yes>", "true" if backend == "postgresql" else "1")))
    yield {"backend": backend, "page": "(figures after a hundred ratings)", **_refresh(live, cache)}
    _update_statistics(live.platform.database)


def fill_summaries(database: Database) -> None:
    """Store summaries of items by a statement of the database, in place of those that figures come with."""
    counts = "CAST('[60,30,10]' AS jsonb)" if database.engine.dialect.name == "postgresql" else "'[60,30,10]'"
    with database.writing() as tx:
        if tx.dialect.name == "postgresql":
            tx.execute(text("SET LOCAL statement_timeout = 0"))
        tx.execute(text(SUMMARIES.replace("<counts>", counts)))
    _update_statistics(database)


def _update_statistics(database: Database) -> None:
    """Do what a server of PostgreSQL does by itself, and a job of the site for SQLite."""
    database.update_statistics()
    if database.engine.dialect.name == "postgresql":
        with database.engine.connect() as connection:
            tx = connection.execution_options(isolation_level="AUTOCOMMIT")
            tx.execute(text("SET statement_timeout = 0"))
            tx.execute(text("VACUUM ANALYZE"))
            tx.execute(text("RESET statement_timeout"))


def _refresh(live: LiveSite, cache: MonitoringCache) -> dict[str, Any]:
    """Return the time that figures take, as columns of a row."""
    before = _read_server_time(live.platform.database.engine)
    begin, since = time.process_time(), time.perf_counter()
    assert refresh_snapshots(live.platform, cache, now=live.clock()) == 1
    return {
        "kb": None,
        "cpu_ms": 1000 * (time.process_time() - begin),
        "database_ms": 1000 * (_read_server_time(live.platform.database.engine) - before),
        "ms": 1000 * (time.perf_counter() - since),
    }


def _ask(browser: httpx.Client, database: Engine, path: str, size: Size) -> dict[str, Any]:
    """Return the median times and the size of a page, after one request to warm up; of a slow page a single time."""
    path = path.replace("/777", f"/{size.items // 2}")
    cpu, wall, server = [], [], []
    for _ in range(1 + REPETITIONS):
        before, begin, since = _read_server_time(database), time.process_time(), time.perf_counter()
        answer = browser.get(path)
        wall.append(time.perf_counter() - since)
        cpu.append(time.process_time() - begin)
        server.append(_read_server_time(database) - before)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:2000])
        if len(wall) > 1 and wall[-1] > TOO_SLOW_S:
            break
    return {
        "kb": len(answer.content) / 1000,
        "cpu_ms": 1000 * statistics.median(cpu[1:]),
        "database_ms": 1000 * statistics.median(server[1:]),
        "ms": 1000 * statistics.median(wall[1:]),
    }


def _make_campaign(staff_site: StaffSite) -> None:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaign = definition(demographics=ABOUT, replication=20, quota=QUOTA, gold={})
    campaigns.create_campaign(staff_site.platform, campaign, items(1), staff_id=owner_id, now=NOW)
    campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=owner_id, now=NOW)


def _fill(tx: Connection, size: Size) -> None:
    """Store items, raters and their answers by statements of the database."""
    postgres = tx.dialect.name == "postgresql"
    at = "CAST('2026-03-01 12:00:00+00' AS timestamptz)" if postgres else "'2026-03-01 12:00:00.000000'"
    yes, no = ("true", "false") if postgres else ("1", "0")
    texts = {"question": QUESTION, "answer": ANSWER, "search": SEARCH}
    names = {"at": at, **texts, "yes": yes, "no": no, "json": "CAST({} AS jsonb)" if postgres else "{}", **vars(size)}
    names |= {"per_rater": size.per_rater, "step": size.step, "load": size.ratings // size.items}
    if postgres:
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        tx.execute(text("SET LOCAL session_replication_role = replica"))  # checks no foreign keys
        tx.execute(text("SET LOCAL maintenance_work_mem = '512MB'"))
    indexes = tx.execute(text(INDEXES[tx.dialect.name])).all()
    for name, _ in indexes:
        tx.execute(text(f'DROP INDEX "{name}"'))
    for statement in FILL:
        tx.execute(text(_fill_names(statement, names)))
    for _, index in indexes:
        tx.execute(text(index))
    if postgres:
        for table in ("save", "event"):
            tx.execute(
                text(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), (SELECT max(number) FROM {table}))")
            )


def _fill_names(statement: str, names: Mapping[str, Any]) -> str:
    for name, value in names.items():
        if name != "json":
            statement = statement.replace(f"<{name}>", str(value))
    while "<json:" in statement:
        before, _, rest = statement.partition("<json:")
        inside, _, after = rest.partition(">")
        statement = before + str(names["json"]).format(inside) + after
    return statement.replace(":", "\\:")


INDEXES: Final = {
    "postgresql": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    " AND indexname NOT IN (SELECT conname FROM pg_constraint)",
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
}
"""Names and definitions of indexes that belong to no constraint; to build them at once is faster than row by row."""
NUMBERS: Final = "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {end})"
ID: Final = "CAST({base} + {number} AS varchar)"
CAMPAIGN: Final = "(SELECT id FROM campaign)"
ONE: Final = "(r.number * 7919 + k.i * <step>) % <items>"
QUESTION: Final = "Question ' || i || ', which is about as long as one is here."
ANSWER: Final = "An answer of some length, so that the row is about as wide as one of DICES is."
SEARCH: Final = f"'conversation-' || i || '\n{QUESTION.lower()}\n{ANSWER.lower()}'"
RATING: Final = "r.number * <per_rater> + k.i"
CROSSED: Final = (
    NUMBERS.format(first=0, end="<per_rater>").replace(" n(i)", " k(i)").replace("FROM n", "FROM k")
    + " SELECT {columns} FROM rater r CROSS JOIN k"
)
FILL: Final = (
    "INSERT INTO item (id, campaign_id, position, name, content, salt, digest, load, withheld, search_text) "
    + NUMBERS.format(first=1, end="<items>")
    + " SELECT CAST(100000000 + i AS varchar), (SELECT id FROM campaign), i, 'conversation-' || i, "
    """<json:'{"turns":[{"speaker":"human","text":"<question>"},{"speaker":"bot","text":"<answer>"}],"""
    """"attributes":{"topic":"t' || (i % 50) || '"}}'>, NULL, 'x', <load>, """
    "(CASE WHEN i % 500 = 3 THEN <yes> ELSE <no> END), <search> FROM n",
    "INSERT INTO rater (id, campaign_id, number, cell, state, language, rehearsal, entered_at, last_seen_at,"
    " changed_at, full_at_ms) "
    + NUMBERS.format(first=0, end="<raters>")
    + " SELECT CAST(200000000 + i AS varchar), (SELECT id FROM campaign), i,"
    " CASE WHEN i % 2 = 0 THEN 'Woman' ELSE 'Man' END, 'finished', 'en', <no>, <at>, <at>, <at>, 0 FROM n",
    "INSERT INTO declaration (id, rater_id, content, at) SELECT id, id, "
    """<json:'{"rater_gender":"' || cell || '","rater_age":"' || (CASE number % 3 WHEN 0 THEN '18-29' WHEN 1 THEN """
    """'30-49' ELSE '50+' END) || '"}'>, <at> FROM rater""",
    "INSERT INTO consent_text (id, campaign_id, version, digest, content)"
    " SELECT 'consent', id, 9, 'x', <json:'{}'> FROM campaign",
    "INSERT INTO consent (rater_id, consent_text_id, purpose, agreed, at)"
    " SELECT id, 'consent', 'rating', <yes>, <at> FROM rater",
    "INSERT INTO assignment (id, rater_id, item_id, showing, position, state, planned_at, offered_at, closed_at) "
    + CROSSED.format(
        columns=f"CAST(300000000 + {RATING} AS varchar), r.id, i.id, 1, k.i,"
        " CASE WHEN k.i % 50 = 7 THEN 'skipped' WHEN k.i % 40 = 3 THEN 'open' ELSE 'done' END, <at>, <at>, <at>"
    )
    + f" JOIN item i ON i.campaign_id = r.campaign_id AND i.position = {ONE}",
    'INSERT INTO save (number, "key", assignment_id, revision, final, visit, visible_ms, idle_ms, received_at)'
    " SELECT CAST(a.id AS integer) - 299999999, a.id, a.id, 1, <yes>, 'v',"
    " 20000 + CAST(a.id AS integer) % 60000, 0, <at> FROM assignment a WHERE a.state = 'done'",
    "INSERT INTO answer (save_number, question, value, first_ms, last_ms, changes, bulk)"
    " SELECT number, 'Q_safe', CASE WHEN (number * 7919 + number / 13) % 10 < 6 THEN '\"No\"'"
    " WHEN (number * 7919 + number / 13) % 10 < 9 THEN '\"Yes\"' ELSE '\"Unsure\"' END, 900, 1900, 0, <no> FROM save",
    "INSERT INTO notice (id, rater_id, assignment_id, kind, text, at)"
    " SELECT id, rater_id, id, CASE WHEN position % 2 = 0 THEN 'help' ELSE 'illegal' END, 'It is about a weapon.', <at>"
    " FROM assignment WHERE position IN (10, 401)",
    "INSERT INTO gold_label (id, item_id, staff_id, part, position, revision, answers, at)"
    " SELECT i.id || p.part, i.id, (SELECT id FROM staff), p.part, 0, 1, p.answers, <at> FROM item i CROSS JOIN"
    """ (SELECT 'safety' AS part, <json:'{"safety":"Yes","reason":""}'> AS answers"""
    """ UNION ALL SELECT 'degree', <json:'{"degree":"Moderate"}'>"""
    """ UNION ALL SELECT 'topics', <json:'{"topics":["Violence"]}'>) p WHERE i.position % 5 = 0 AND i.position > 0""",
    "INSERT INTO gold_progress (item_id, campaign_id, position, state, safety, n_safety, n_degree, n_topics,"
    " labellers)"
    " SELECT id, campaign_id, position,"
    " CASE position % 3 WHEN 0 THEN 'in_progress' WHEN 1 THEN 'disputed' ELSE 'settled' END,"
    " CASE position % 3 WHEN 2 THEN 'Yes' END, CASE position % 3 WHEN 0 THEN 5 ELSE 0 END,"
    " CASE position % 3 WHEN 0 THEN 2 ELSE 0 END, CASE position % 3 WHEN 0 THEN 2 ELSE 0 END,"
    """ <json:'{"' || (SELECT id FROM staff) || '":{"safety":1,"degree":1,"topics":1}}'>"""
    " FROM item WHERE position % 5 = 0 AND position > 0",
    "INSERT INTO event (campaign_id, kind, rater_id, staff_id, content, salt, digest, at)"
    """ SELECT (SELECT id FROM campaign), 'item_skipped', rater_id, NULL, <json:'{"item":"x"}'>, 'x', 'x', <at>"""
    " FROM assignment WHERE state = 'done'",
)

SUMMARIES: Final = (
    "INSERT INTO item_summary (campaign_id, position, question, axis, counts, disagreement)"
    " SELECT campaign_id, position, 'Q_safe', axis, <counts>, (position * 7919 % 1000) / 1000.0 FROM item CROSS JOIN"
    " (SELECT '' AS axis UNION ALL SELECT 'cell' UNION ALL SELECT 'rater_gender' UNION ALL SELECT 'rater_age') a"
)
RATE_MORE: Final = (
    'INSERT INTO save (number, "key", assignment_id, revision, final, visit, visible_ms, idle_ms, received_at)'
    " SELECT number + (SELECT max(number) FROM save), 'again ' || number, assignment_id, 2, <yes>, visit, visible_ms,"
    " idle_ms, received_at FROM save ORDER BY number LIMIT 100"
)
"""Submissions that supersede earlier ones, without answers."""


BACKENDS: Final = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}


def page(results: Mapping[str, Any]) -> str:
    """Return the page of the documentation."""
    about, numbers, size = results["machine"], results["versions"], results["size"]
    n_ratings = {row["ratings"] for row in results["rows"]}
    without_figures = sorted(n_ratings - {row["ratings"] for row in results["rows"] if row["kb"] is None})
    lines = [
        "<!-- made by benchmarks/web/pages.py; do not edit -->",
        "# Pages of a large campaign",
        "",
        f"An owner reads pages about a campaign of {size['items']:,} items, {size['raters']:,} raters and "
        f"{' or '.join(f'{n:,}' for n in sorted(n_ratings))} assignments; experts labelled {size['items'] // 5:,} "
        "items. CPU is the processor time of the process that serves and requests the page, with all its threads, less "
        "that of an empty response, and that of the processes of PostgreSQL (SQLite works in the first one); the time "
        f"is until the response is complete. Medians of {REPETITIONS} requests after one to warm up; of a single one "
        f"if the page takes more than {TOO_SLOW_S:.0f} s. The budget of a page is {MAX_KB:.0f} KB, and "
        f"{MAX_MS:.0f} ms of CPU with that of the database. "
        + "".join(
            f"With {n:,} ratings the summaries of items were filled by a statement, and the figures of the page "
            "*Monitoring* not computed. "
            for n in without_figures
        )
        + "PostgreSQL has the extension pg_trgm, and the statistics that its autovacuum collects.",
        "",
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}; "
        + ", ".join(f"{name} {number}" for name, number in numbers.items())
        + ".",
        "",
        *_tabulate(results["rows"]),
        "`make benchmark-web` measures 200,000 ratings again; `benchmarks/web/pages.py --help` has options for others.",
    ]
    return "\n".join(lines) + "\n"


def _tabulate(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a section with a table for each database and number of ratings."""
    for (backend, ratings), group in groupby(rows, key=itemgetter("backend", "ratings")):
        yield from (f"## {BACKENDS[backend]}, {ratings:,} ratings", "")
        yield from ("| Page | KB | CPU ms | of PostgreSQL | ms | Met |", "|---|--:|--:|--:|--:|---|")
        yield from map(_to_line, group)
        yield ""


def _to_line(row: Mapping[str, Any]) -> str:
    cells = f"| {row['page']} |"
    if row["kb"] is None:
        return f"{cells} – | {row['cpu_ms']:,.0f} | {row['database_ms']:,.0f} | {row['ms']:,.0f} | – |"
    met = row["kb"] <= MAX_KB and row["cpu_ms"] + row["database_ms"] <= MAX_MS
    numbers = f"{row['kb']:,.1f} | {row['cpu_ms']:,.1f} | {row['database_ms']:,.1f} | {row['ms']:,.1f}"
    return f"{cells} {numbers} | {'yes' if met else 'no'} |"


if __name__ == "__main__":
    main()
