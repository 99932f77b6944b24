"""Query plans of lists of items."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from sqlalchemy import Connection, event, insert, update
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, definition, open_campaign, owner
from tests.support.raters import enter, submit

from dissensus.campaign.filters.item_filter import ItemFilter
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store import campaigns as campaigns_store
from dissensus.store import items as items_store
from dissensus.store import overview
from dissensus.store.lists import raters
from dissensus.store.monitoring import ItemSummaryTable
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import next_step, rating

N_ITEMS = 400


@contextmanager
def kept_statements(tx: Connection) -> Iterator[list[tuple[str, object]]]:
    """Statements with their parameters."""
    statements: list[tuple[str, object]] = []

    def keep(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        statements.append((statement, parameters))

    event.listen(tx, "before_cursor_execute", keep)
    yield statements
    event.remove(tx, "before_cursor_execute", keep)


def plan_of(tx: Connection, campaign_id: str, item_filter: ItemFilter, after: tuple[float, int] | None = None) -> str:
    """The plan of the query of a list."""
    with kept_statements(tx) as statements:
        overview.list_items_after(tx, campaign_id, item_filter, after=after, most=50)
    statement, parameters = statements[0]
    rows = tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)  # type: ignore[arg-type]
    return "\n".join(row.detail for row in rows)


@sqlite_only
def test_pages_by_disagreement_need_no_sorting(platform: Platform) -> None:
    campaign = open_campaign(platform, N_ITEMS)
    with platform.database.writing() as tx:
        rows = [
            {"campaign_id": campaign.id, "question": "Q_safe", "axis": "", "position": position}
            | {"counts": [1, 2, 0], "disagreement": (position % 7) / 7}
            for position in range(N_ITEMS)
        ]
        tx.execute(insert(ItemSummaryTable), rows)
    with platform.database.reading() as tx:
        divided = ItemFilter(question="Q_safe", axis="")
        for after in (None, (0.5, 3)):
            plan = plan_of(tx, campaign.id, divided, after)
            assert "ix_item_summary_disagreement" in plan
            assert "TEMP B-TREE" not in plan
        # Few items of a filter are looked up once, and many read in their order.
        for search, n_scans in (("", 0), ("item-", 3), ("item-1", 1)):
            seen: list[int] = []
            cursor = None
            listed = replace(divided, search=search)
            while page := overview.list_items_after(tx, campaign.id, listed, after=cursor, most=90):
                seen += [item.position for item in page]
                cursor = (page[-1].distance, page[-1].position)
            positions = [position for position in range(N_ITEMS) if search in f"item-{position}"]
            assert seen == sorted(positions, key=lambda position: (-(position % 7), position))
            earlier, place, later = seen[49:52]
            with kept_statements(tx) as statements:
                around = overview.find_neighbours(tx, campaign.id, listed, ((place % 7) / 7, place))
            assert around == (earlier, later)
            assert sum("LIKE" in statement for statement, _ in statements) == n_scans
        reported = plan_of(tx, campaign.id, ItemFilter(question="Q_safe", axis="", flag="reported"))
        assert "ix_notice_rater_id" in reported, reported
        assert "ix_item_summary_disagreement" not in reported, reported


def test_any_text_of_a_turn_is_found(platform: Platform) -> None:
    texts = ('It\'s 100 % "fine"', "C:\\Temp_1", "Über 😀 Straße", "a\nb\tc", "plain")
    rated = [Item(f"i{n}", Conversation.from_turns([("human", text), ("bot", "Yes")])) for n, text in enumerate(texts)]
    campaigns.create_campaign(platform, definition(), rated, staff_id=owner(platform.database), now=NOW)
    queries = (
        '"FINE"',
        "100 %",
        "%",
        "_1",
        "\\temp",
        "😀",
        "straße",
        "STRASSE",
        "über",
        "a\nB",
        "\tc",
        "\\u",
        "turns",
        "YES",
    )
    with platform.database.reading() as tx:
        campaign_id = campaigns_store.get_campaign_by_name(tx, "pilot").id
        for search in queries:
            listed = overview.list_items_after(tx, campaign_id, ItemFilter(search=search), most=9)
            expected = [n for n, text in enumerate(texts) if search.casefold() in f"{text}\0yes".casefold()]
            assert [item.position for item in listed] == expected, search


def test_erased_text_is_not_found(platform: Platform) -> None:
    campaign = open_campaign(platform)
    with platform.database.writing() as tx:
        (item,) = items_store.list_item_states(tx, campaign.id, [0])
        (text,) = [one.text for one in overview.list_items_after(tx, campaign.id, ItemFilter(search=item.name), most=1)]
        assert overview.list_items_after(tx, campaign.id, ItemFilter(search=text.upper()), most=9)
        items_store.erase_item(tx, item.id)
        (erased,) = overview.list_items_after(tx, campaign.id, ItemFilter(search="withdrawn BY"), most=9)
        assert erased.name == item.name
        others = overview.list_items_after(tx, campaign.id, ItemFilter(search=text), most=9)
        assert item.name not in [one.name for one in others]


def test_counts_follow_states_and_leave_previews_out(platform: Platform) -> None:
    campaign = open_campaign(platform, 5)
    rater = enter(platform, campaign.key)
    at = next_step.find_next_step(platform, rater, now=NOW)
    for number in range(2):
        at = submit(platform, rater, at, f"key-{number}")
    assert at.assignment is not None
    rating.skip_item(platform, rater, at.assignment.id, now=NOW)
    with platform.database.writing() as tx:
        numbers = overview.load_campaign_numbers(tx, campaign.id)
        progress = overview.load_campaign_progress(tx, campaign.id)
        counts = raters.load_rater_counts(tx, [rater.id])[rater.id]
        assert (counts.n_open, counts.n_skipped) == (2, 1)
        assert raters.count_ratings(tx, [rater.id, "nobody"]) == {rater.id: 2, "nobody": 0}
        assert numbers.n_skipped == 1
        assert (numbers.n_items, numbers.n_done) == (progress.n_items, progress.n_done) == (5, 2)
        tx.execute(update(RaterTable).values(rehearsal=True))
        assert overview.load_campaign_numbers(tx, campaign.id).n_skipped == 0
