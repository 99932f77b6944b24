"""Client for the gold part of the API."""

from collections.abc import Iterator, Mapping

from dissensus.api_models.gold import GoldComparisonResource, GoldItemResource, PlatinumCountResource
from dissensus.client.protocol import campaign_path, iterate_rows, parse_response, post_once
from dissensus.errors import InvalidInput
from dissensus.http_client import ServiceClient
from dissensus.schema.campaign.gold import GoldItemState
from dissensus.schema.hints import format_list


class GoldClient:
    """Expert labels: `dissensus.Client.gold`. Experts label on the pages of the site."""

    def __init__(self, service: ServiceClient) -> None:
        self._service = service

    def labels(self, name: str, *, state: GoldItemState | None = None) -> Iterator[GoldItemResource]:
        """Yield items with their labelling progress, optionally of one state. Scope: ``gold``."""
        query = {} if state is None else {"state": state}
        return iterate_rows(self._service, campaign_path(name, "gold"), GoldItemResource, query)

    def comparison(self, name: str) -> GoldComparisonResource:
        """Return how gold labels agree with the crowd so far, and with an earlier crowd. Scope: ``gold``."""
        return parse_response(
            GoldComparisonResource, self._service.request("GET", campaign_path(name, "gold", "comparison"))
        )

    def add_platinum(
        self,
        name: str,
        labels: Mapping[str, str],
        *,
        source: str,
        attributes: Mapping[str, Mapping[str, str]] | None = None,
        replace: bool = False,
    ) -> int:
        """Store labels of an earlier crowd, all or none, and return the number of items. Scope: ``gold``."""
        attributes = attributes or {}
        unlabelled = [item for item in attributes if item not in labels]
        if unlabelled:
            raise InvalidInput(
                f"There are attributes and no label of {format_list(unlabelled)}. Give a label for each."
            )
        rows = [
            {"item": item, "label": label, "attributes": dict(attributes.get(item, {}))}
            for item, label in labels.items()
        ]
        body = {"source": source, "labels": rows, "replace": replace}
        response = post_once(self._service, campaign_path(name, "gold", "platinum"), body)
        return parse_response(PlatinumCountResource, response).items
