"""The site on each database."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.live_site import Live, serving
from tests.support.staff_browsers import House


@pytest.fixture
def live(database_url: str) -> Iterator[Live]:
    with serving(database_url) as site:
        yield site


@pytest.fixture
def house(live: Live) -> Iterator[House]:
    with ExitStack() as browsers:
        yield House(live, browsers)
