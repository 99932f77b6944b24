"""A platform on each kind of database."""

import pytest

from dissensus.store.core.database import Database
from dissensus.workflows.platform.platform import Platform


@pytest.fixture
def platform(database: Database) -> Platform:
    return Platform(database)
