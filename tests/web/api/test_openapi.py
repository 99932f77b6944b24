"""The document of the API: whole, and as the API is."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.live_site import Live
from tests.support.paths import ROOT

from dissensus.web.api import requests
from dissensus.web.api.openapi import errors_as_table, openapi_document, routes_as_table
from dissensus.web.core.permissions import SCOPES

METHODS = {"get", "post", "put", "delete"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, found in openapi_document()["paths"].items():
        for method in METHODS & set(found):
            yield path, method, found[method]


def test_every_operation_is_named_described_and_asks_for_a_scope() -> None:
    found = list(operations())
    assert len({one["operationId"] for *_, one in found}) == len(found) == 42
    for path, method, one in found:
        assert one["description"].endswith("."), (path, method)
        ((scope,),) = (tuple(need["token"]) for need in one["security"])
        assert scope in SCOPES
        assert {"401", "403", "404", "422", "429", "500", "503"} <= set(one["responses"])
        if method in ("post", "put"):
            assert "application/json" in one["requestBody"]["content"]


def test_everything_that_it_points_to_is_there() -> None:
    text = json.dumps(openapi_document())
    for name in re.findall(r'"#/components/schemas/([^"]+)"', text):
        assert name in openapi_document()["components"]["schemas"]
    assert "HTTPValidationError" not in text


@pytest.mark.parametrize(
    "model",
    [
        one
        for name, one in vars(requests).items()
        if name.startswith("Sent") and "json_schema_extra" in one.model_config
    ],
)
def test_its_examples_are_taken(model: type[requests.StrictRequest]) -> None:
    examples = openapi_document()["components"]["schemas"][model.__name__]["examples"]
    assert examples
    for example in examples:
        model.model_validate_json(json.dumps(example))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_anybody_may_read_it(live: Live) -> None:
    answer = live.visitor().get("/api/v1/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == openapi_document()
    assert answer.json()["openapi"].startswith("3.1")


@pytest.mark.parametrize("table", [routes_as_table(), errors_as_table()], ids=["requests", "troubles"])
def test_the_documentation_has_its_tables(table: str) -> None:
    page = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    head, _, _ = table.partition("\n")
    found = re.search(rf"^{re.escape(head)}.*?(?=\n\n)", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert found[0] == table
