"""The site on each database."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.live_site import Live, serving
from tests.support.staff_browsers import House

FOLDER = Path(__file__).parent
# Tests whose queries are tested with the workflows on both databases. Tests of waiting, locking, counting and sorting
# are not listed and run on both.
PAGES_ON_SQLITE = {
    "api": ("api", "openapi", "chats", "enumeration", "errors", "gold", "monitoring", "pay"),
    "core": ("appearance", "enumeration", "hostile_texts"),
    "middleware": ("access_log",),
    "rater": ("attention_checks", "chat", "entry", "pairs", "prolific", "recruit", "safety"),
    "staff": (
        *("account_mails", "attempts", "campaign_settings", "campaigns", "care", "curation", "drafts"),
        *("gold", "images", "members", "model_registry"),
        *("monitoring", "oidc", "passkey", "pay", "second_factor", "sign_in_mails", "staff", "submissions", "tasks"),
        *("webhooks", "withdrawals"),
    ),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the listed pages on PostgreSQL to the slow tests; the quick ones run them on SQLite."""
    paths = {FOLDER / room / f"test_{name}.py" for room, names in PAGES_ON_SQLITE.items() for name in names}
    assert all(path.is_file() for path in paths)
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if item.path in paths and params.get("database_url") == "postgresql":
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url) as site:
        yield site


@pytest.fixture
def house(live: Live) -> Iterator[House]:
    with ExitStack() as browsers:
        yield House(live, browsers)
