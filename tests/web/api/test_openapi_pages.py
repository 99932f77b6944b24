"""Pages about the API show every request of the document."""

import re

from tests.databases import sqlite_only
from tests.support.live_site import LiveSite
from tests.support.monitored_campaigns import read

from dissensus.web.api.openapi import openapi_document
from dissensus.web.api.openapi_pages import list_operations


@sqlite_only
def test_every_request_has_a_page(live: LiveSite) -> None:
    visitor = live.visitor()
    index = visitor.get("/api")
    assert index.status_code == 200
    linked = set(re.findall(r'href="/api/(\w+)"', index.text))
    paths = openapi_document()["paths"]
    assert linked == {entry["operationId"] for methods in paths.values() for entry in methods.values()}
    for operation in list_operations().values():
        page = visitor.get(f"/api/{operation.id}")
        assert page.status_code == 200
        assert len(page.content) < 60_000
        text = read(page)
        assert operation.path in text
        assert f"Scope {operation.scope}" in text
        assert all(field.name in text for field in (*operation.parameters, *operation.body, *operation.response))
    assert "<script" not in index.text
    assert len(index.content) < 60_000


@sqlite_only
def test_nested_fields_and_examples_are_shown(live: LiveSite) -> None:
    page = live.visitor().get("/api/list_conversations")
    assert "data[].exchanges[].candidates[].text" in read(page)
    items = read(live.visitor().get("/api/add_items"))
    assert "items[].messages" in items
    assert '"role": "assistant"' in items
    unknown = live.visitor().get("/api/list_item")
    assert (unknown.status_code, "list_items" in unknown.text) == (404, True)
