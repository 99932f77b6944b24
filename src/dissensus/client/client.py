"""Asking the platform over its API."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import sleep as wait_seconds
from types import TracebackType
from typing import Any, Final, Literal, Self

import polars as pl

from dissensus.client.campaigns import Campaign, Line, Quota
from dissensus.client.events import Event, Webhook
from dissensus.client.gold import GoldClient
from dissensus.client.monitoring import MonitoringClient
from dissensus.client.pay import PayClient
from dissensus.client.people import Invitation, Member, Members, Notice, Rater
from dissensus.client.requests import parse_item, item_batches, campaign_path, post_once
from dissensus.client.responses import ratings_frame, iterate_pages, parse_response, iterate_rows
from dissensus.errors import InvalidInput, NotFound
from dissensus.http_client import ServiceClient, RemoteService, check_token, open_client
from dissensus.schema.address import check_secure_url
from dissensus.schema.campaign.definition import State
from dissensus.schema.campaign.roles import Role
from dissensus.schema.numbers import check_number, check_whole
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.item import Item

SITE: Final = RemoteService(name="The site", remedies={}, look="its pages", ours=True)


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
    `watching`, `gold` and `pay` ask for what the pages of that name show. All methods raise `NotAllowed` where the
    token is not good or not for that, `NotFound` for what is not there or belongs to others, `Conflict` where something
    is there already or changed, `InvalidInput` for what the site refuses, and `Unavailable` where it does not answer;
    the messages are those of the site.

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
        check_secure_url(base, like="https://rate.example.org")
        check_number("timeout", timeout, 0.001)
        check_whole("tries", tries, 1)
        self._base = base.rstrip("/")
        check_token(token, f"{self._base}/account")
        self._asking = ServiceClient(SITE, open_client(self._base, f"Bearer {token}", timeout), token, tries, sleep)

        self.watching = MonitoringClient(self._asking)
        self.gold = GoldClient(self._asking)
        self.pay = PayClient(self._asking)

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
        return iterate_rows(self._asking, "campaigns", Line)

    def campaign(self, name: str) -> Campaign:
        """Return all about a campaign. Scope: ``see``, and ``numbers`` for how far it is."""
        return parse_response(Campaign, self._asking.ask("GET", campaign_path(name)))

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
        first, *others = list(item_batches(items)) or [[]]
        body = {"definition": _plain(definition), "items": first, "by_link": by_link}
        made = parse_response(Campaign, post_once(self._asking, "campaigns", body))
        for part in others:
            post_once(self._asking, campaign_path(made.name, "items"), {"items": part})
        return made

    def move(self, name: str, to: State) -> Campaign:
        """Open, pause or close a campaign. Scope: ``move``."""
        return parse_response(Campaign, post_once(self._asking, campaign_path(name, "state"), {"to": to}))

    def revise(self, name: str, definition: Mapping[str, Any] | str) -> Campaign:
        """Change all of a draft, and of a campaign that is paused what raters read. Scope: ``revise``."""
        body = {"definition": _plain(definition)}
        return parse_response(Campaign, self._asking.ask("PUT", campaign_path(name, "definition"), body=body))

    def clone(self, name: str, new_name: str) -> Campaign:
        """Make a draft with the definition and the items of a campaign, which one owns. Scope: ``clone``."""
        return parse_response(Campaign, post_once(self._asking, campaign_path(name, "clones"), {"name": new_name}))

    def items(self, name: str) -> Iterator[Item]:
        """Yield the items of a campaign, in their order. Scope: ``items``."""
        for page in iterate_pages(self._asking, campaign_path(name, "items")):
            yield from map(parse_item, page["data"])

    def add_items(self, name: str, items: Iterable[Item]) -> int:
        """Add items to a draft, some at a time, and return how many it has. Scope: ``items``."""
        n = None
        for part in item_batches(items):
            n = parse_response(dict[str, int], post_once(self._asking, campaign_path(name, "items"), {"items": part}))["items"]
        if n is None:
            raise InvalidInput("There are no items to add. Give at least one.")
        return n

    def remove_items(self, name: str) -> None:
        """Take all items out of a draft. Scope: ``items``."""
        self._asking.ask("DELETE", campaign_path(name, "items"))

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
        answer = post_once(self._asking, campaign_path(name, "invitations"), {"n": n, "cell": cell})
        return tuple(parse_response(dict[str, list[str]], answer)["links"])

    def raters(self, name: str) -> Iterator[Rater]:
        """Yield the raters of a campaign, in the order in which they entered. Scope: ``raters``."""
        return iterate_rows(self._asking, campaign_path(name, "raters"), Rater)

    def withdraw(self, name: str, rater: str) -> int:
        """Erase all that a rater said, who asked for it, and return of how many items. Scope: ``withdraw-for``."""
        answer = self._asking.ask("DELETE", campaign_path(name, "raters", rater), repeat="if refused")
        return parse_response(dict[str, int], answer)["items"]

    def notices(self, name: str) -> Iterator[Notice]:
        """Yield what raters reported and nobody has dealt with, the earliest first. Scope: ``notices``."""
        return iterate_rows(self._asking, campaign_path(name, "notices"), Notice)

    def settle(self, name: str, notice: str, *, show_again: bool = False) -> None:
        """Keep that a notice was dealt with; an item stays withheld unless it is shown again. Scope: ``notices``."""
        post_once(self._asking, campaign_path(name, "notices", notice, "settlement"), {"show_again": show_again})

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
        found = list(iterate_pages(self._asking, campaign_path(name, "ratings"), {"purpose": list(purposes)}))
        if not found[0]["data"]:
            raise NotFound(f"{name} has no finished rating of raters who agreed. Wait until there is one.")
        return ratings_frame(found)

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
        return parse_response(Quota, self._asking.ask("GET", campaign_path(name, "quota")))

    def events(self, name: str) -> Iterator[Event]:
        """Yield what happened in a campaign, in the order of its chain. Scope: ``log``."""
        return iterate_rows(self._asking, campaign_path(name, "events"), Event)

    def members(self, name: str) -> Members:
        """Return who belongs to a campaign, and the links that nobody has used. Scope: ``staff``."""
        return parse_response(Members, self._asking.ask("GET", campaign_path(name, "members")))

    def invite_member(self, name: str, role: Role) -> Invitation:
        """Return a link by which somebody comes to belong to a campaign, once. Scope: ``staff``."""
        return parse_response(Invitation, post_once(self._asking, campaign_path(name, "members"), {"role": role}))

    def webhooks(self, name: str) -> tuple[Webhook, ...]:
        """Return the addresses that are told what happens in a campaign. Scope: ``webhooks``."""
        return parse_response(dict[str, tuple[Webhook, ...]], self._asking.ask("GET", campaign_path(name, "webhooks")))["webhooks"]

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
        return parse_response(Webhook, post_once(self._asking, campaign_path(name, "webhooks"), body))

    def go_on_with_webhook(self, name: str, webhook: str) -> Webhook:
        """Let a webhook, by its id, that fails or was paused go on at once. Scope: ``webhooks``."""
        return parse_response(Webhook, post_once(self._asking, campaign_path(name, "webhooks", webhook, "state"), {"to": "going"}))

    def remove_webhook(self, name: str, webhook: str) -> None:
        """Remove a webhook, by its id: it is told nothing more. Scope: ``webhooks``."""
        self._asking.ask("DELETE", campaign_path(name, "webhooks", webhook), repeat="if refused")

    def take_invitation_back(self, name: str, invitation: str) -> None:
        """Take a link back that nobody has used, by its id. Scope: ``staff``."""
        self._asking.ask("DELETE", campaign_path(name, "members", "invitations", invitation), repeat="if refused")

    def change_role(self, name: str, member: str, role: Role) -> Member:
        """Change what somebody is in a campaign, by their id. Scope: ``staff``."""
        answer = self._asking.ask("PUT", campaign_path(name, "members", member, "role"), body={"role": role})
        return parse_response(Member, answer)

    def remove_member(self, name: str, member: str) -> None:
        """Let somebody not belong to a campaign any more, by their id. Scope: ``staff``."""
        self._asking.ask("DELETE", campaign_path(name, "members", member), repeat="if refused")


def _plain(definition: Mapping[str, Any] | str) -> object:
    return definition if isinstance(definition, str) else dict(definition)
