"""Whatever is sent to the API, on either kind of database, is answered as its document says, and breaks nothing."""

import copy
import json
import re
from typing import Any
from urllib.parse import quote

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.support.api_programs import API, opened, program, rate
from tests.support.staff_browsers import House

from dissensus.web.api.openapi import openapi_document

ANY_TEXT = st.text(st.characters(), max_size=20)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
# A slash too many leads on to the address without it, as on pages.
TYPED = st.text(min_size=1, max_size=120).filter(lambda text: text.strip("./") == text)
NAMES = st.sampled_from(["pilot", "draft"]) | TYPED
OPERATIONS = [
    (path, method, found[method])
    for path, found in openapi_document()["paths"].items()
    for method in ("get", "post", "put", "delete")
    if method in found
]


def as_told(schema: dict[str, Any]) -> SearchStrategy[Any]:
    """Values as a schema of the document describes them."""
    match schema:
        case {"$ref": str(ref)}:
            return as_told(openapi_document()["components"]["schemas"][ref.rpartition("/")[2]])
        case {"examples": examples}:
            return st.sampled_from(examples) | as_told({key: one for key, one in schema.items() if key != "examples"})
        case {"anyOf": choices}:
            return st.one_of(*map(as_told, choices))
        case {"enum": values}:
            return st.sampled_from(values)
        case {"type": "integer"}:
            return st.integers(schema.get("minimum"), min(schema.get("maximum", 9), 9))
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "null"}:
            return st.none()
        case {"type": "array", "items": items}:
            return st.lists(as_told(items), min_size=schema.get("minItems", 0), max_size=3)
        case {"type": "string"}:
            return st.text(min_size=schema.get("minLength", 0), max_size=min(schema.get("maxLength", 20), 20))
        case {"type": "object", "properties": properties}:
            needed = schema.get("required", [])
            known = {name: as_told(one) for name, one in properties.items()}
            return st.fixed_dictionaries(
                {name: known[name] for name in needed},
                optional={name: one for name, one in known.items() if name not in needed},
            )
    return st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3)


@st.composite
def bent(draw: DrawFn, value: Any) -> Any:
    """A value of which one part is anything."""
    if draw(st.booleans()) and isinstance(value, dict | list) and value:
        value = copy.deepcopy(value)
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        value[key] = draw(bent(value[key]))
        return value
    return draw(ANY_JSON)


@st.composite
def requests(draw: DrawFn) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """An operation, and something to ask it."""
    path, method, operation = draw(st.sampled_from(OPERATIONS))
    for part in re.findall(r"{\w+}", path):
        path = path.replace(part, quote(draw(NAMES), safe=""))
    asked: dict[str, Any] = {"params": {}, "headers": {}}
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "path" and draw(st.booleans()):
            value = draw(as_told(parameter["schema"]) | st.text(max_size=20))
            if parameter["in"] == "query":
                asked["params"][parameter["name"]] = value
            else:
                asked["headers"][parameter["name"]] = str(value).encode("utf-8", "replace").replace(b"\0", b"").strip()
    if "requestBody" in operation:
        body = draw(as_told(operation["requestBody"]["content"]["application/json"]["schema"]))
        asked["content"] = json.dumps(draw(st.just(body) | bent(body)))
        asked["headers"]["content-type"] = "application/json"
    return method, path, operation, asked


def test_whatever_is_sent_is_answered_as_the_document_says(house: House) -> None:
    rate(house, opened(house), 2)
    http = program(house)
    house.live.site.rate_limiter.burst = 10**9
    made = http.post(API, json={"definition": http.get(f"{API}/pilot").json()["definition"] | {"name": "draft"}})
    assert made.status_code == 201
    seen = set()

    @settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
    @given(requests())
    def ask(request: tuple[str, str, dict[str, Any], dict[str, Any]]) -> None:
        method, path, operation, asked = request
        try:
            answer = http.request(method, path, **asked)
        except (httpx.LocalProtocolError, UnicodeEncodeError):
            return
        status = str(answer.status_code)
        seen.add(status)
        assert status in operation["responses"], (method, path, asked, answer.text)
        assert status != "500", (method, path, asked)
        (kind,) = operation["responses"][status]["content"]
        assert answer.headers["content-type"] == kind
        if answer.is_error:
            problem = answer.json()
            assert {"type", "title", "status", "detail"} <= set(problem)
            assert problem["status"] == answer.status_code
            assert problem["detail"]

    ask()
    # It came further than to the gate.
    assert {"200", "201", "404", "409", "422"} <= seen
