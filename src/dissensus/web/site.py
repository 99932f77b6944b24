"""What every request of one worker uses."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import Request, Response

from dissensus.settings import Settings
from dissensus.web.pages import Pages
from dissensus.web.tokens import Tokens
from dissensus.workflows.platform import Platform


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Site:
    """One worker of the site.

    Parameters
    ----------
    settings
        How it runs.
    platform
        Its way to the database.
    tokens
        Signs what visitors carry.
    pages
        Renders what they see.
    clock
        Tells the time.
    """

    settings: Settings
    platform: Platform
    tokens: Tokens
    pages: Pages
    clock: Callable[[], datetime] = now

    def set_cookie(self, answer: Response, name: str, value: str, seconds: int) -> None:
        """Let a browser carry a key that no script reads and no other site sends."""
        secure = (self.settings.base_url or "").startswith("https://")
        answer.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax")


def site_of(request: Request) -> Site:
    """Return the site that a request came to."""
    site: Site = request.app.state.site
    return site
