"""A platform on each kind of database."""

import pytest

from dissensus.store.database import Database
from dissensus.workflows.platform import Platform


@pytest.fixture
def platform(database: Database) -> Platform:
    return Platform(database)
