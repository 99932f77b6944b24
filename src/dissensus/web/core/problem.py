"""API error responses: problem details as in RFC 9457, and their description in the OpenAPI document."""

import json
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from dissensus.web.core.forms import describe_error

API_ADDRESS: Final = re.compile(r"/api/v\d+/")
"""Start of an address of the API, of any version; other addresses below `/api` are pages about it."""
MEDIA_TYPE: Final = "application/problem+json"
API_LOCATIONS: Final[Mapping[str, str]] = {"body": "the body", "query": "the query", "path": "the address"}
PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "Problem details (RFC 9457). `detail` says what was given, what is allowed and what to do.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "All validation errors of the request.",
            "items": {
                "type": "object",
                "required": ["at", "detail"],
                "properties": {"at": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
        "reference": {"type": "string", "description": "Id of the error in the log of the site."},
    },
    "examples": [
        {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "There is no campaign 'pilot'."}
    ],
}
STATUS_DESCRIPTIONS: Final = {
    400: "The request cannot be read: its body is not JSON.",
    401: "The token is missing or not valid.",
    403: "The token lacks the scope, or its owner may not do it.",
    404: "It does not exist, or the caller is not a member of the campaign.",
    408: "The body arrived too slowly.",
    409: "It exists already, was changed meanwhile, or its state does not allow the request.",
    413: "The request is too large.",
    421: "The site does not answer for this host; its `base_url` is the one to use.",
    422: "The request is not valid, or has query parameters that its address does not have.",
    429: "Too many requests; `Retry-After` says when to retry.",
    431: "The address, headers or cookies are too large.",
    500: "Internal error.",
    503: "The site is busy. A retry is safe; a request that creates something needs an `Idempotency-Key`.",
}
ERROR_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": description, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, description in STATUS_DESCRIPTIONS.items()
}


def problem_response(status: int, detail: str, **more: Any) -> Response:
    r"""Return a problem-details response.

    Examples
    --------
    >>> problem_response(404, "There is no campaign 'pilot'.").body.decode()
    '{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "There is no campaign \'pilot\'."}'
    """
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    # ASCII only: submitted names may contain unpaired surrogates, which cannot be encoded in UTF-8.
    return Response(json.dumps({**body, **more}), status, media_type=MEDIA_TYPE)


def validation_problem(validation_errors: Sequence[Mapping[str, Any]]) -> Response:
    """Return a problem-details response that lists all validation errors."""
    errors = [_to_entry(error) for error in validation_errors]
    detail = " ".join(f"{error['at']} {error['detail']}." for error in errors)
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=errors)


def _to_entry(error: Mapping[str, Any]) -> dict[str, str]:
    part, *names = error["loc"]
    location = API_LOCATIONS.get(str(part), "a header")
    if error["type"] == "json_invalid":
        return {"at": "The body", "detail": "is not valid JSON"}
    field = ".".join(map(str, names))
    at = f"{field} in {location}" if field else location[0].upper() + location[1:]
    return {"at": at, "detail": describe_error(error)}
