"""Client for the monitoring part of the API."""

from collections.abc import Iterator
from typing import Literal

from dissensus.api_models.items import ItemAnswersResource, ItemSummaryResource
from dissensus.api_models.monitoring import FlagCaseResource, FlagResource, MonitoringResource
from dissensus.client.protocol import campaign_path, iterate_rows, parse_response, post_once
from dissensus.http_client import ServiceClient


class MonitoringClient:
    """Monitoring of running campaigns: `dissensus.Client.monitoring`."""

    def __init__(self, service: ServiceClient) -> None:
        self._service = service

    def figures(self, name: str) -> MonitoringResource:
        """Return agreement, answers, times and pace so far. Scope: ``numbers``."""
        return parse_response(MonitoringResource, self._service.request("GET", campaign_path(name, "figures")))

    def item_answers(
        self, name: str, *, question: str = "", axis: str = "", by_position: bool = False, search: str = ""
    ) -> Iterator[ItemSummaryResource]:
        """Yield items, first those on which raters, or groups of an axis, disagree most. Scope: ``small-numbers``."""
        order = "position" if by_position else "disagreement"
        query = {"question": question, "axis": axis, "order": order, "search": search}
        return iterate_rows(self._service, campaign_path(name, "item-answers"), ItemSummaryResource, query)

    def item(self, name: str, number: int) -> ItemAnswersResource:
        """Return one item with the answers to each question. Scope: ``small-numbers``."""
        path = campaign_path(name, "item-answers", str(number))
        return parse_response(ItemAnswersResource, self._service.request("GET", path))

    def flags(self, name: str) -> Iterator[FlagResource]:
        """Yield raters who are flagged or about whom a decision was made. Scope: ``flags``."""
        return iterate_rows(self._service, campaign_path(name, "flags"), FlagResource)

    def flag(self, name: str, rater: str) -> FlagCaseResource:
        """Return the evidence about one rater, and all decisions. Scope: ``flags``."""
        return parse_response(FlagCaseResource, self._service.request("GET", campaign_path(name, "flags", rater)))

    def decide(self, name: str, rater: str, verdict: Literal["keep", "exclude"], *, reason: str) -> FlagCaseResource:
        """Decide whether a flagged rater stays in analyses. Scope: ``flags``."""
        body = {"verdict": verdict, "reason": reason}
        return parse_response(
            FlagCaseResource, post_once(self._service, campaign_path(name, "flags", rater, "decisions"), body)
        )
