"""Error responses of the API, for the OpenAPI document."""

from typing import Any, Final

from dissensus.web.core.problem import MEDIA_TYPE

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
    400: "The request cannot be read.",
    401: "The token is missing or not valid.",
    403: "The token lacks the scope, or its owner may not do it.",
    404: "It does not exist, or the caller is not a member of the campaign.",
    409: "It exists already, or changed, or is in a state that does not allow it.",
    413: "It is too large.",
    422: "The request is not valid.",
    429: "Too many requests; `Retry-After` says when to retry.",
    500: "Internal error.",
    503: "The site is busy. A retry is safe; a request that creates something needs an `Idempotency-Key`.",
}
ERROR_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": why, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, why in STATUS_DESCRIPTIONS.items()
}
