"""The site over each kind of database."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.live_site import Live, serving
from tests.support.staff_browsers import House

HERE = Path(__file__).parent
#: what pages and answers say: their queries are tested on both kinds of databases by the workflows, and all of these
#: by the slow tests; whatever waits, locks, counts or sorts stays here with both
SAYING = {
    *(
        "api",
        "api_document",
        "api_enumeration",
        "api_errors",
        "api_gold",
        "api_pay",
        "attempting",
        "caring",
        "chatting",
    ),
    *("checking", "curation_pages", "drafting", "entering", "enumeration", "gold", "hostile_texts", "limited", "lines"),
    *("looks", "oidc", "owner", "pairing", "pay", "prolific", "rater_safety", "staff", "submissions", "watch"),
    *("webhooks", "withdrawing"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what pages say over PostgreSQL to the slow tests: the quick ones ask them over SQLite."""
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        ours = item.path.parent == HERE and item.path.stem.removeprefix("test_") in SAYING
        if ours and params.get("database_url") == "postgresql":
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url) as site:
        yield site


@pytest.fixture
def house(live: Live) -> Iterator[House]:
    with ExitStack() as browsers:
        yield House(live, browsers)
