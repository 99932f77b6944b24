"""Prolific client with the token of the site."""

from typing import Final

from dissensus.errors import Conflict
from dissensus.recruit.prolific import PROLIFIC_API, ProlificClient
from dissensus.settings import load_prolific_token
from dissensus.web.core.site import Site

PROLIFIC_TIMEOUT_S: Final = 10.0
"""Timeout for Prolific, while a page waits."""


def open_prolific(site: Site) -> ProlificClient:
    """Return a Prolific client with the configured token."""
    token = load_prolific_token(site.settings)
    if token is None:
        raise Conflict("The site has no Prolific token. Decide on https://app.prolific.com, or set prolific_token.")
    return ProlificClient(
        token, base=site.settings.prolific_url or PROLIFIC_API, timeout=PROLIFIC_TIMEOUT_S, max_attempts=1
    )
