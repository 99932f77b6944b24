"""The OpenAPI document is complete and matches the API."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.databases import sqlite_only
from tests.support.live_site import LiveSite
from tests.support.paths import ROOT
from tests.support.permission_tables import tabulate_errors, tabulate_routes

from dissensus.web.api import requests
from dissensus.web.api.openapi import openapi_document
from dissensus.web.core.permissions import SCOPES

METHODS = {"get", "post", "put", "delete"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in openapi_document()["paths"].items():
        for method in METHODS & set(methods):
            yield path, method, methods[method]


def test_every_operation_is_named_described_and_asks_for_a_scope() -> None:
    documented = list(operations())
    assert len({operation["operationId"] for *_, operation in documented}) == len(documented) == 49
    for path, method, operation in documented:
        assert operation["description"].endswith("."), (path, method)
        assert operation["summary"].lower().replace(" ", "_") == operation["operationId"]
        ((scope,),) = (tuple(need["token"]) for need in operation["security"])
        assert scope in SCOPES
        assert {"401", "403", "404", "422", "429", "500", "503"} <= set(operation["responses"])
        if method in ("post", "put"):
            assert "application/json" in operation["requestBody"]["content"]


def test_all_references_of_the_document_resolve() -> None:
    text = json.dumps(openapi_document())
    for name in re.findall(r'"#/components/schemas/([^"]+)"', text):
        assert name in openapi_document()["components"]["schemas"]
    assert "HTTPValidationError" not in text


@pytest.mark.parametrize(
    "model",
    [
        model
        for model in vars(requests).values()
        if isinstance(model, type)
        and issubclass(model, requests.StrictRequest)
        and "json_schema_extra" in model.model_config
    ],
)
def test_examples_of_the_document_are_accepted(model: type[requests.StrictRequest]) -> None:
    examples = openapi_document()["components"]["schemas"][model.__name__]["examples"]
    assert examples
    for example in examples:
        model.model_validate_json(json.dumps(example))


@sqlite_only
def test_the_document_is_public(live: LiveSite) -> None:
    answer = live.visitor().get("/api/v1/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == openapi_document()
    assert answer.json()["openapi"].startswith("3.1")


@pytest.mark.parametrize("table", [tabulate_routes(), tabulate_errors()], ids=["requests", "troubles"])
def test_the_documentation_has_the_generated_tables(table: str) -> None:
    page = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
    head, _, _ = table.partition("\n")
    match = re.search(rf"^{re.escape(head)}.*?(?=\n\n)", page, re.MULTILINE | re.DOTALL)
    assert match is not None
    assert match[0] == table
