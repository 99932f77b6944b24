"""The site on each database."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.live_site import LiveSite, serving
from tests.support.staff_site import StaffSite


@pytest.fixture
def live(database_url: str) -> Iterator[LiveSite]:
    with serving(database_url) as site:
        yield site


@pytest.fixture
def staff_site(live: LiveSite) -> Iterator[StaffSite]:
    with ExitStack() as browsers:
        yield StaffSite(live, browsers)
