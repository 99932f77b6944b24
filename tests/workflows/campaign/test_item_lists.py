"""Query plans of lists of items."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Connection, event, insert
from tests.support.campaigns import NOW, definition, open_campaign, owner

from dissensus.campaign.filters.item_filter import ItemFilter
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store import campaigns as campaigns_store
from dissensus.store import overview
from dissensus.store.monitoring import ItemSummaryTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

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


def test_pages_by_disagreement_need_no_sorting(platform: Platform) -> None:
    if platform.database.engine.dialect.name != "sqlite":
        pytest.skip("the plan is that of SQLite")
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
    """As SQLite sees no upper case beyond ASCII, case is ignored there alone."""
    texts = ('It\'s 100 % "fine"', "C:\\Temp_1", "Über 😀 Straße", "a\nb\tc", "plain")
    rated = [Item(f"i{n}", Conversation.from_turns([("human", text), ("bot", "Yes")])) for n, text in enumerate(texts)]
    campaigns.create_campaign(platform, definition(), rated, staff_id=owner(platform.database), now=NOW)
    queries = ('"FINE"', "100 %", "%", "_1", "\\temp", "😀", "straße", "Über", "a\nB", "\tc", "\\u", "turns", "YES")
    with platform.database.reading() as tx:
        campaign_id = campaigns_store.get_campaign_by_name(tx, "pilot").id
        for search in queries:
            listed = overview.list_items_after(tx, campaign_id, ItemFilter(search=search), most=9)
            expected = [n for n, text in enumerate(texts) if search.lower() in f"{text}\0yes".lower()]
            assert [item.position for item in listed] == expected, search
