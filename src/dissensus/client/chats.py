"""Client for conversations with chatbots and red-team attempts."""

from collections.abc import Iterator
from typing import Literal

from dissensus.api_models.chats import AttemptsResource, ChatDetailResource, ChatResource
from dissensus.client.protocol import campaign_path, iterate_rows, parse_response
from dissensus.http_client import ServiceClient


class ChatsClient:
    """Conversations with chatbots: `dissensus.Client.chats`."""

    def __init__(self, service: ServiceClient) -> None:
        self._service = service

    def conversations(
        self,
        name: str,
        *,
        order: Literal["latest", "success", "turns"] = "latest",
        search: str = "",
        state: Literal["open", "done"] | None = None,
        tag: str = "",
    ) -> Iterator[ChatResource]:
        """Yield conversations, with a text in their intent, messages or responses, or a tag. Scope: ``raters``."""
        query = {"order": order, "search": search, "tag": tag, **({} if state is None else {"state": state})}
        return iterate_rows(self._service, campaign_path(name, "conversations"), ChatResource, query)

    def conversation(self, name: str, conversation: str) -> ChatDetailResource:
        """Return one conversation, with the content warning. Scope: ``raters``."""
        path = campaign_path(name, "conversations", conversation)
        return parse_response(ChatDetailResource, self._service.request("GET", path))

    def attempts(self, name: str) -> AttemptsResource:
        """Return the success of red-team attempts. Scope: ``raters``."""
        return parse_response(AttemptsResource, self._service.request("GET", campaign_path(name, "attempts")))
