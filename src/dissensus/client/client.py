"""Asking the platform over its API."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import sleep as wait_seconds
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import quote
from uuid import uuid4

import httpx
import polars as pl

from dissensus.asking import Asking, Service, check_token, connected
from dissensus.client.reading import frame, pages, read, rows
from dissensus.client.results import Campaign, Event, Invitation, Line, Members, Quota, Rater, Webhook
from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.address import check_secure
from dissensus.schema.campaign import State
from dissensus.schema.conversation import Conversation
from dissensus.schema.item import Item
from dissensus.schema.numbers import check_number, check_whole
from dissensus.schema.ratings import Ratings
from dissensus.schema.roles import Role

SITE: Final = Service(name="The site", remedies={}, look="its pages", ours=True)
MOST_ITEMS: Final = 1_000
MOST_BYTES: Final = 4 << 20
"""Of items in one request."""


class Client:
    """Asks a site on behalf of whoever a token belongs to; used in a ``with`` block.

    Parameters
    ----------
    base
        The address of the site.
    token
        From the page of one's account; it needs a scope for each thing that it does. It is in no representation, log or
        message.
    timeout
        Seconds after which an answer is given up on.
    tries
        How often something is asked while the site is busy or cannot be reached. What makes something carries a key, by
        which the site makes it once.
    sleep
        Called with the seconds to wait between tries: 1, 2, 4 …, or what the site asks for, up to 60.

    Raises
    ------
    InvalidInput
        The token cannot be one, the address is not secure, or a number makes no sense.

    Notes
    -----
    All methods raise `NotAllowed` where the token is not good or not for that, `NotFound` for what is not there or
    belongs to others, `Conflict` where something is there already or changed, `InvalidInput` for what the site refuses,
    and `Unavailable` where it does not answer; the messages are those of the site.

    Examples
    --------
    >>> Client("https://rate.example.org", "a-token")
    Client('https://rate.example.org')
    """

    def __init__(
        self,
        base: str,
        token: str,
        *,
        timeout: float = 30.0,
        tries: int = 5,
        sleep: Callable[[float], None] = wait_seconds,
    ) -> None:
        check_secure(base, like="https://rate.example.org")
        check_number("timeout", timeout, 0.001)
        check_whole("tries", tries, 1)
        self._base = base.rstrip("/")
        check_token(token, f"{self._base}/account")
        self._asking = Asking(SITE, connected(self._base, f"Bearer {token}", timeout), token, tries, sleep)

    def __repr__(self) -> str:
        return f"Client({self._base!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._asking.http.close()

    def campaigns(self) -> Iterator[Line]:
        """Yield the campaigns that one belongs to, the earliest first. Scope: ``list``."""
        return rows(self._asking, "campaigns", Line)

    def campaign(self, name: str) -> Campaign:
        """Return all about a campaign. Scope: ``see``, and ``numbers`` for how far it is."""
        return read(Campaign, self._asking.ask("GET", _path(name)))

    def create(
        self, definition: Mapping[str, Any] | str, items: Iterable[Item] = (), *, by_link: bool = True
    ) -> Campaign:
        """Make a draft, which one owns. Scopes: ``create``, and ``items`` for more than one request holds.

        Parameters
        ----------
        definition
            As TOML, or as the mapping that it reads as.
        items
            What is rated; more can be added to a draft.
        by_link
            Whether one open link lets anybody in.
        """
        first, *others = list(_parts(items)) or [[]]
        body = {"definition": _plain(definition), "items": first, "by_link": by_link}
        made = read(Campaign, self._post("campaigns", body))
        for part in others:
            self._post(_path(made.name, "items"), {"items": part})
        return made

    def move(self, name: str, to: State) -> Campaign:
        """Open, pause or close a campaign. Scope: ``move``."""
        return read(Campaign, self._post(_path(name, "state"), {"to": to}))

    def revise(self, name: str, definition: Mapping[str, Any] | str) -> Campaign:
        """Change all of a draft, and of a campaign that is paused what raters read. Scope: ``revise``."""
        body = {"definition": _plain(definition)}
        return read(Campaign, self._asking.ask("PUT", _path(name, "definition"), body=body))

    def items(self, name: str) -> Iterator[Item]:
        """Yield the items of a campaign, in their order. Scope: ``items``."""
        for page in pages(self._asking, _path(name, "items")):
            yield from (
                Item(row["id"], Conversation.from_dicts(row["conversation"]), row["attributes"]) for row in page["data"]
            )

    def add_items(self, name: str, items: Iterable[Item]) -> int:
        """Add items to a draft, some at a time, and return how many it has. Scope: ``items``."""
        n = None
        for part in _parts(items):
            n = read(dict[str, int], self._post(_path(name, "items"), {"items": part}))["items"]
        if n is None:
            raise InvalidInput("There are no items to add. Give at least one.")
        return n

    def invite(self, name: str, n: int, *, cell: str | None = None) -> tuple[str, ...]:
        """Return new personal links for raters, each of which lets one in. Scope: ``links``.

        Parameters
        ----------
        name
            Of the campaign.
        n
            How many, up to 10,000.
        cell
            For whom they are, where a recruiter fills a quota.
        """
        answer = self._post(_path(name, "invitations"), {"n": n, "cell": cell})
        return tuple(read(dict[str, list[str]], answer)["links"])

    def raters(self, name: str) -> Iterator[Rater]:
        """Yield the raters of a campaign, in the order in which they entered. Scope: ``raters``."""
        return rows(self._asking, _path(name, "raters"), Rater)

    def withdraw(self, name: str, rater: str) -> int:
        """Erase all that a rater said, who asked for it, and return of how many items. Scope: ``withdraw-for``."""
        answer = self._asking.ask("DELETE", _path(name, "raters", rater), repeat="if refused")
        return read(dict[str, int], answer)["items"]

    def table(self, name: str, *, purposes: Sequence[str] = ()) -> pl.DataFrame:
        """Return the finished ratings of raters who agreed, with all columns of the export. Scope: ``export``.

        Parameters
        ----------
        name
            Of the campaign.
        purposes
            What raters must have agreed to, besides what the campaign requires.

        Raises
        ------
        NotFound
            There is no rating yet.
        """
        found = list(pages(self._asking, _path(name, "ratings"), {"purpose": list(purposes)}))
        if not found[0]["data"]:
            raise NotFound(f"{name} has no finished rating of raters who agreed. Wait until there is one.")
        return frame(found)

    def ratings(
        self,
        name: str,
        *,
        purposes: Sequence[str] = (),
        questions: Sequence[str] | Literal["all"] | None = None,
    ) -> Ratings:
        """Return the finished ratings of raters who agreed, ready for `dissensus.analyse`. Scope: ``export``.

        Parameters
        ----------
        name
            Of the campaign.
        purposes
            What raters must have agreed to, besides what the campaign requires.
        questions
            As in `dissensus.Ratings.from_frame`.

        Raises
        ------
        NotFound
            There is no rating yet.
        """
        return Ratings.from_frame(self.table(name, purposes=purposes), questions=questions)

    def quota(self, name: str) -> Quota:
        """Return how the quota of a campaign fills. Scope: ``numbers``."""
        return read(Quota, self._asking.ask("GET", _path(name, "quota")))

    def events(self, name: str) -> Iterator[Event]:
        """Yield what happened in a campaign, in the order of its chain. Scope: ``log``."""
        return rows(self._asking, _path(name, "events"), Event)

    def members(self, name: str) -> Members:
        """Return who belongs to a campaign, and the links that nobody has used. Scope: ``staff``."""
        return read(Members, self._asking.ask("GET", _path(name, "members")))

    def invite_member(self, name: str, role: Role) -> Invitation:
        """Return a link by which somebody comes to belong to a campaign, once. Scope: ``staff``."""
        return read(Invitation, self._post(_path(name, "members"), {"role": role}))

    def webhooks(self, name: str) -> tuple[Webhook, ...]:
        """Return the addresses that are told what happens in a campaign. Scope: ``webhooks``."""
        return read(dict[str, tuple[Webhook, ...]], self._asking.ask("GET", _path(name, "webhooks")))["webhooks"]

    def add_webhook(self, name: str, address: str, *, kinds: Sequence[str] = (), after: int | None = None) -> Webhook:
        """Return a new webhook, with the secret that signs what it is told. Scope: ``webhooks``.

        Parameters
        ----------
        name
            Of the campaign.
        address
            Where it is told, with https.
        kinds
            Of events; none for all, also for those to come.
        after
            The place in the log from which on it is told; None for what happens from now on.
        """
        body = {"address": address, "kinds": list(kinds), "after": after}
        return read(Webhook, self._post(_path(name, "webhooks"), body))

    def go_on_with_webhook(self, name: str, webhook: str) -> Webhook:
        """Let a webhook, by its id, that fails or was paused go on at once. Scope: ``webhooks``."""
        return read(Webhook, self._post(_path(name, "webhooks", webhook, "state"), {"to": "going"}))

    def remove_webhook(self, name: str, webhook: str) -> None:
        """Remove a webhook, by its id: it is told nothing more. Scope: ``webhooks``."""
        self._asking.ask("DELETE", _path(name, "webhooks", webhook), repeat="if refused")

    def _post(self, path: str, body: object) -> httpx.Response:
        # By its key the site knows the same request again, so that it can be asked as often as it takes.
        return self._asking.ask("POST", path, body=body, headers={"Idempotency-Key": str(uuid4())})


def _path(name: str, *parts: str) -> str:
    return "/".join(("campaigns", *(quote(part, safe="") for part in (name, *parts))))


def _plain(definition: Mapping[str, Any] | str) -> object:
    return definition if isinstance(definition, str) else dict(definition)


def _parts(items: Iterable[Item]) -> Iterator[list[dict[str, Any]]]:
    """Yield items as the API takes them, so many at once as one request holds."""
    part: list[dict[str, Any]] = []
    size = 0
    for item in items:
        row = {"id": item.item_id, "conversation": item.conversation.to_dicts(), "attributes": dict(item.attributes)}
        n_bytes = len(json.dumps(row))
        if part and (len(part) == MOST_ITEMS or size + n_bytes > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += n_bytes
    if part:
        yield part
