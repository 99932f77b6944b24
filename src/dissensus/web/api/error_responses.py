"""What can go wrong, as the document of the API tells it."""

from typing import Any, Final

from dissensus.web.core.problem import MEDIA_TYPE

PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong (RFC 9457). `detail` says what was given, what is allowed and what to do.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "Everything that is wrong with what was sent, where it is not as this document says.",
            "items": {
                "type": "object",
                "required": ["at", "detail"],
                "properties": {"at": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
        "reference": {"type": "string", "description": "Of what broke, in the log of the site."},
    },
    "examples": [
        {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "There is no campaign 'pilot'."}
    ],
}
STATUS_DESCRIPTIONS: Final = {
    400: "What was sent cannot be read.",
    401: "There is no token, or none that is good.",
    403: "The token is not for that, or who made it may not do it.",
    404: "It is not there, or who asks does not belong to it.",
    409: "It is there already, or changed, or is in a state that does not allow it.",
    413: "It is too large.",
    422: "What was sent is not as it must be.",
    429: "Too many requests; `Retry-After` says when to go on.",
    500: "Something broke.",
    503: "The site is busy. The same again is safe, for what makes something with an `Idempotency-Key`.",
}
ERROR_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": why, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, why in STATUS_DESCRIPTIONS.items()
}
