"""The site over each kind of database."""

from collections.abc import Iterator

import pytest
from tests.web.live import Live, serving


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url) as site:
        yield site
