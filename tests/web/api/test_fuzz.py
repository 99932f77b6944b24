"""Responses to random requests match the OpenAPI document, on both kinds of database."""

import copy
import json
import re
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.support.api_programs import API, program
from tests.support.api_resources import create_resources
from tests.support.prolific_server import Prolific
from tests.support.staff_site import StaffSite

from dissensus.web.api.openapi import openapi_document

Options = dict[str, Any]
N_REQUESTS = 5
ANY_TEXT = st.text(st.characters(), max_size=20)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
# A trailing slash redirects to the address without it, as on pages.
TYPED = st.text(min_size=1, max_size=120).filter(lambda text: text.strip("./") == text)
# What is deleted is missing afterwards.
OPERATIONS = [
    (path, method, found[method])
    for method in ("get", "post", "put", "delete")
    for path, found in openapi_document()["paths"].items()
    if method in found
]


def values_of_schema(schema: dict[str, Any]) -> SearchStrategy[Any]:
    """Values that match a schema of the document."""
    match schema:
        case {"$ref": str(ref)}:
            return values_of_schema(openapi_document()["components"]["schemas"][ref.rpartition("/")[2]])
        case {"examples": examples}:
            return st.sampled_from(examples) | values_of_schema(
                {key: one for key, one in schema.items() if key != "examples"}
            )
        case {"anyOf": choices}:
            return st.one_of(*map(values_of_schema, choices))
        case {"enum": values}:
            return st.sampled_from(values)
        case {"type": "integer"}:
            return st.integers(schema.get("minimum"), min(schema.get("maximum", 9), 9))
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "null"}:
            return st.none()
        case {"type": "array", "items": items}:
            return st.lists(values_of_schema(items), min_size=schema.get("minItems", 0), max_size=3)
        case {"type": "string"}:
            return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 20), 20))
        case {"type": "object", "properties": properties}:
            needed = schema.get("required", [])
            strategies = {name: values_of_schema(one) for name, one in properties.items()}
            return st.fixed_dictionaries(
                {name: strategies[name] for name in needed},
                optional={name: one for name, one in strategies.items() if name not in needed},
            )
    return st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3)


@st.composite
def distort(draw: DrawFn, value: Any) -> Any:
    """A value with one part replaced by an arbitrary one."""
    if draw(st.booleans()) and isinstance(value, dict | list) and value:
        value = copy.deepcopy(value)
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        value[key] = draw(distort(value[key]))
        return value
    return draw(ANY_JSON)


@st.composite
def requests(draw: DrawFn, path: str, operation: dict[str, Any], known: dict[str, list[str]]) -> tuple[str, Options]:
    """The path and options of a random request to an operation, on known resources or made-up ones.

    The first one that Hypothesis draws is the simplest: on known resources.
    """
    exists = draw(st.sampled_from([True, True, False]))
    for part in re.findall(r"{(\w+)}", path):
        value = draw(st.sampled_from(known[part]) if exists and part in known else TYPED)
        path = path.replace(f"{{{part}}}", quote(value, safe=""))
    options: Options = {"params": {}, "headers": {}}
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "path" and draw(st.booleans()):
            value = draw(values_of_schema(parameter["schema"]) | st.text(max_size=20))
            if parameter["in"] == "query":
                options["params"][parameter["name"]] = value
            else:
                options["headers"][parameter["name"]] = (
                    str(value).encode("utf-8", "replace").replace(b"\0", b"").strip()
                )
    if "requestBody" in operation:
        body = draw(values_of_schema(operation["requestBody"]["content"]["application/json"]["schema"]))
        options["content"] = json.dumps(draw(st.just(body) | distort(body)))
        options["headers"]["content-type"] = "application/json"
    return path, options


@pytest.mark.slow
def test_responses_to_random_requests_match_the_document(staff_site: StaffSite, prolific: Prolific) -> None:
    known = {name: [value] for name, value in create_resources(staff_site, prolific).items()}
    known |= {"name": ["pilot", "draft"], "number": ["1", "2", "99"]}
    http = program(staff_site)
    staff_site.live.site.rate_limiter.burst = 10**9
    response = http.post(API, json={"definition": http.get(f"{API}/pilot").json()["definition"] | {"name": "draft"}})
    assert response.status_code == 201
    statuses = set[str]()
    for template, method, operation in OPERATIONS:
        send_random_requests(http, method, operation, requests(template, operation, known), statuses)
    # Requests passed authentication and validation.
    assert {"200", "201", "404", "409", "422"} <= statuses


def send_random_requests(
    http: httpx.Client,
    method: str,
    operation: dict[str, Any],
    strategy: SearchStrategy[tuple[str, Options]],
    statuses: set[str],
) -> None:
    """Send requests to an operation, compare the responses with the document, and collect their statuses."""

    @settings(
        max_examples=N_REQUESTS, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
    )
    @given(strategy)
    def ask(request: tuple[str, Options]) -> None:
        path, options = request
        try:
            answer = http.request(method, path, **options)
        except (httpx.LocalProtocolError, UnicodeEncodeError):
            return
        status = str(answer.status_code)
        statuses.add(status)
        assert status in operation["responses"], (method, path, options, answer.text)
        assert status != "500", (method, path, options)
        (kind,) = operation["responses"][status]["content"]
        assert answer.headers["content-type"] == kind
        if answer.is_error:
            problem = answer.json()
            assert {"type", "title", "status", "detail"} <= set(problem)
            assert problem["status"] == answer.status_code
            assert problem["detail"]

    ask()
