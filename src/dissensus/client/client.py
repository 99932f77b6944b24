"""Client of the JSON API of a site."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import sleep as wait_seconds
from types import TracebackType
from typing import Any, Final, Literal, Self

import polars as pl

from dissensus.api_models.campaigns import CampaignResource, CampaignSummaryResource, ItemCountResource, QuotaResource
from dissensus.api_models.members import (
    MemberLinkResource,
    MemberResource,
    MembersResource,
    NoticeResource,
    RaterErasureResource,
    RaterLinksResource,
    RaterResource,
)
from dissensus.api_models.webhooks import CreatedWebhookResource, EventResource, WebhookResource, WebhooksResource
from dissensus.client.chats import ChatsClient
from dissensus.client.gold import GoldClient
from dissensus.client.monitoring import MonitoringClient
from dissensus.client.pay import PayClient
from dissensus.client.protocol import (
    build_ratings_frame,
    campaign_path,
    item_batches,
    iterate_pages,
    iterate_rows,
    parse_item,
    parse_response,
    post_once,
)
from dissensus.errors import InvalidInput, NotFound
from dissensus.http_client import RemoteService, ServiceClient, check_token, open_client
from dissensus.schema.campaign.definition import CampaignState
from dissensus.schema.campaign.roles import Role
from dissensus.schema.numbers import check_number, check_whole
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.item import Item
from dissensus.schema.urls import check_secure_url

SITE: Final = RemoteService(name="The site", remedies={}, status_page="its pages", trusted=True)


class Client:
    """Client of a site, authenticated by an API token; used in a ``with`` block.

    Parameters
    ----------
    base
        The address of the site.
    token
        API token from your account page, with a scope for each action. It appears in no representation, log or message.
    timeout
        Seconds to wait for a response.
    max_attempts
        Attempts of each request while the site is busy or cannot be reached. Requests that create something carry an
        idempotency key, so that retries are safe.
    sleep
        Called with the backoff before each retry: 1, 2, 4 … seconds, or what the site asks for, up to 60.

    Raises
    ------
    InvalidInput
        The token is malformed, the address is not secure, or a number is out of range.

    Notes
    -----
    `chats`, `monitoring`, `gold` and `pay` serve the parts of the API of that name. All methods raise `NotAllowed` if
    the token is not valid or lacks the scope, `NotFound` for missing resources and those of others, `Conflict` for
    duplicates and concurrent changes, `InvalidInput` for requests that the site rejects, and `Unavailable` if it does
    not respond.

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
        max_attempts: int = 5,
        sleep: Callable[[float], None] = wait_seconds,
    ) -> None:
        check_secure_url(base, like="https://rate.example.org")
        check_number("timeout", timeout, 0.001)
        check_whole("max_attempts", max_attempts, 1)
        self._base = base.rstrip("/")
        check_token(token, f"{self._base}/account")
        self._service = ServiceClient(
            SITE, open_client(self._base, f"Bearer {token}", timeout), token, max_attempts, sleep
        )

        self.chats = ChatsClient(self._service)
        self.monitoring = MonitoringClient(self._service)
        self.gold = GoldClient(self._service)
        self.pay = PayClient(self._service)

    def __repr__(self) -> str:
        return f"Client({self._base!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.http.close()

    def campaigns(self) -> Iterator[CampaignSummaryResource]:
        """Yield the campaigns of the token's owner, oldest first. Scope: ``list``."""
        return iterate_rows(self._service, "campaigns", CampaignSummaryResource)

    def campaign(self, name: str) -> CampaignResource:
        """Return a campaign. Scope: ``see``, and ``numbers`` for its progress."""
        return parse_response(CampaignResource, self._service.request("GET", campaign_path(name)))

    def create(
        self, definition: Mapping[str, Any] | str, items: Iterable[Item] = (), *, open_link: bool = True
    ) -> CampaignResource:
        """Create a draft. Scopes: ``create``, and ``items`` if there are more items than one request holds.

        Parameters
        ----------
        definition
            TOML text, or the mapping read from it.
        items
            Items to rate; more can be added to a draft.
        open_link
            Let anybody enter by one open link.
        """
        first, *more = list(item_batches(items)) or [[]]
        body = {"definition": _plain(definition), "items": first, "open_link": open_link}
        campaign = parse_response(CampaignResource, post_once(self._service, "campaigns", body))
        for batch in more:
            post_once(self._service, campaign_path(campaign.name, "items"), {"items": batch})
        return campaign

    def set_state(self, name: str, state: CampaignState) -> CampaignResource:
        """Open, pause or close a campaign. Scope: ``state``."""
        return parse_response(
            CampaignResource, post_once(self._service, campaign_path(name, "state"), {"state": state})
        )

    def archive(self, name: str, *, archived: bool = True) -> CampaignResource:
        """Archive a closed campaign, or take it out of the archive. Scope: ``archive``."""
        path = campaign_path(name, "archived")
        return parse_response(CampaignResource, self._service.request("PUT", path, body={"archived": archived}))

    def delete(self, name: str, *, confirm: str) -> None:
        """Delete a draft or a closed campaign with everything but its audit log. Scope: ``delete``.

        Parameters
        ----------
        name
            Name of the campaign.
        confirm
            The name once more, since a deletion cannot be undone.
        """
        self._service.request("DELETE", campaign_path(name), query={"confirm": confirm}, retry="if refused")

    def revise(self, name: str, definition: Mapping[str, Any] | str) -> CampaignResource:
        """Replace the definition of a draft, or the texts of a paused campaign. Scope: ``revise``."""
        body = {"definition": _plain(definition)}
        return parse_response(
            CampaignResource, self._service.request("PUT", campaign_path(name, "definition"), body=body)
        )

    def clone(self, name: str, new_name: str) -> CampaignResource:
        """Create a draft with the definition and the items of a campaign. Scope: ``clone``."""
        return parse_response(
            CampaignResource, post_once(self._service, campaign_path(name, "clones"), {"name": new_name})
        )

    def items(self, name: str) -> Iterator[Item]:
        """Yield the items of a campaign, in their order. Scope: ``items``."""
        for page in iterate_pages(self._service, campaign_path(name, "items")):
            yield from map(parse_item, page["data"])

    def add_items(self, name: str, items: Iterable[Item]) -> int:
        """Add items to a draft in batches, and return its number of items. Scope: ``items``."""
        n = None
        for batch in item_batches(items):
            response = post_once(self._service, campaign_path(name, "items"), {"items": batch})
            n = parse_response(ItemCountResource, response).items
        if n is None:
            raise InvalidInput("There are no items to add. Give at least one.")
        return n

    def remove_items(self, name: str) -> None:
        """Remove all items of a draft. Scope: ``items``."""
        self._service.request("DELETE", campaign_path(name, "items"))

    def invite(self, name: str, n: int, *, cell: str | None = None) -> tuple[str, ...]:
        """Create personal links, each for one rater. Scope: ``links``.

        Parameters
        ----------
        name
            Name of the campaign.
        n
            Number of links, up to 10,000.
        cell
            Quota cell of the raters, if a recruiter fills the quota.
        """
        response = post_once(self._service, campaign_path(name, "invitations"), {"n": n, "cell": cell})
        return parse_response(RaterLinksResource, response).links

    def raters(self, name: str) -> Iterator[RaterResource]:
        """Yield the raters of a campaign, in the order in which they entered. Scope: ``raters``."""
        return iterate_rows(self._service, campaign_path(name, "raters"), RaterResource)

    def withdraw(self, name: str, rater: str) -> int:
        """Withdraw a rater at their request, and return the number of erased items. Scope: ``withdraw-for``."""
        response = self._service.request("DELETE", campaign_path(name, "raters", rater), retry="if refused")
        return parse_response(RaterErasureResource, response).items

    def notices(self, name: str) -> Iterator[NoticeResource]:
        """Yield open notices of raters, oldest first. Scope: ``notices``."""
        return iterate_rows(self._service, campaign_path(name, "notices"), NoticeResource)

    def settle_notice(self, name: str, notice: str, *, show_again: bool = False) -> None:
        """Settle a notice; a reported item stays withheld unless it is shown again. Scope: ``notices``."""
        post_once(self._service, campaign_path(name, "notices", notice, "settlement"), {"show_again": show_again})

    def ratings_frame(self, name: str, *, purposes: Sequence[str] = ()) -> pl.DataFrame:
        """Return the finished ratings of consenting raters, with all columns of the export. Scope: ``export``.

        Parameters
        ----------
        name
            Name of the campaign.
        purposes
            Consent purposes that raters must have agreed to, besides the required ones.

        Raises
        ------
        NotFound
            There are no ratings yet.
        """
        pages = list(iterate_pages(self._service, campaign_path(name, "ratings"), {"purpose": list(purposes)}))
        if not pages[0]["data"]:
            raise NotFound(f"{name} has no finished rating of raters who agreed. Wait until there is one.")
        return build_ratings_frame(pages)

    def ratings(
        self,
        name: str,
        *,
        purposes: Sequence[str] = (),
        questions: Sequence[str] | Literal["all"] | None = None,
    ) -> Ratings:
        """Return the finished ratings of consenting raters, ready for `dissensus.analyse`. Scope: ``export``.

        Parameters
        ----------
        name
            Name of the campaign.
        purposes
            Consent purposes that raters must have agreed to, besides the required ones.
        questions
            As in `dissensus.Ratings.from_frame`.

        Raises
        ------
        NotFound
            There are no ratings yet.
        """
        return Ratings.from_frame(self.ratings_frame(name, purposes=purposes), questions=questions)

    def quota(self, name: str) -> QuotaResource:
        """Return the progress of a campaign's quota. Scope: ``small-numbers``."""
        return parse_response(QuotaResource, self._service.request("GET", campaign_path(name, "quota")))

    def events(self, name: str) -> Iterator[EventResource]:
        """Yield the audit log of a campaign, in order. Scope: ``log``."""
        return iterate_rows(self._service, campaign_path(name, "events"), EventResource)

    def members(self, name: str) -> MembersResource:
        """Return the members of a campaign, and its unused invitations. Scope: ``staff``."""
        return parse_response(MembersResource, self._service.request("GET", campaign_path(name, "members")))

    def invite_member(self, name: str, role: Role) -> MemberLinkResource:
        """Create an invitation link, by which one person can join a campaign. Scope: ``staff``."""
        return parse_response(
            MemberLinkResource, post_once(self._service, campaign_path(name, "members"), {"role": role})
        )

    def webhooks(self, name: str) -> tuple[WebhookResource, ...]:
        """Return the webhooks of a campaign. Scope: ``webhooks``."""
        return parse_response(WebhooksResource, self._service.request("GET", campaign_path(name, "webhooks"))).webhooks

    def add_webhook(
        self, name: str, address: str, *, kinds: Sequence[str] = (), after: int | None = None
    ) -> CreatedWebhookResource:
        """Create a webhook, and return it with its signing secret. Scope: ``webhooks``.

        Parameters
        ----------
        name
            Name of the campaign.
        address
            URL of the receiver, with https.
        kinds
            Event kinds; empty for all, including future ones.
        after
            Sequence number of the log after which events are delivered; None for new events only.
        """
        body = {"address": address, "kinds": list(kinds), "after": after}
        return parse_response(CreatedWebhookResource, post_once(self._service, campaign_path(name, "webhooks"), body))

    def resume_webhook(self, name: str, webhook: str) -> WebhookResource:
        """Resume a failing or paused webhook at once. Scope: ``webhooks``."""
        return parse_response(
            WebhookResource,
            post_once(self._service, campaign_path(name, "webhooks", webhook, "state"), {"state": "active"}),
        )

    def remove_webhook(self, name: str, webhook: str) -> None:
        """Delete a webhook. Scope: ``webhooks``."""
        self._service.request("DELETE", campaign_path(name, "webhooks", webhook), retry="if refused")

    def revoke_invitation(self, name: str, invitation: str) -> None:
        """Revoke an unused invitation. Scope: ``staff``."""
        self._service.request("DELETE", campaign_path(name, "members", "invitations", invitation), retry="if refused")

    def change_role(self, name: str, member: str, role: Role) -> MemberResource:
        """Change the role of a member. Scope: ``staff``."""
        response = self._service.request("PUT", campaign_path(name, "members", member, "role"), body={"role": role})
        return parse_response(MemberResource, response)

    def remove_member(self, name: str, member: str) -> None:
        """Remove a member from a campaign. Scope: ``staff``."""
        self._service.request("DELETE", campaign_path(name, "members", member), retry="if refused")


def _plain(definition: Mapping[str, Any] | str) -> object:
    return definition if isinstance(definition, str) else dict(definition)
