"""API error responses: problem details as in RFC 9457."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response

from dissensus.web.core.forms import describe_fault

API_PREFIX: Final = "/api/"
MEDIA_TYPE: Final = "application/problem+json"
API_LOCATIONS: Final[Mapping[str, str]] = {"body": "the body", "query": "the query", "path": "the address"}


def problem_response(status: int, detail: str, **more: Any) -> Response:
    r"""Return a problem-details response.

    Examples
    --------
    >>> problem_response(404, "There is no campaign 'pilot'.").body.decode()
    '{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "There is no campaign \'pilot\'."}'
    """
    told = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    # All in ASCII: names that were sent may have halves of surrogate pairs, which no UTF-8 has.
    return Response(json.dumps({**told, **more}), status, media_type=MEDIA_TYPE)


def validation_problem(faults: Sequence[Mapping[str, Any]]) -> Response:
    """Return a problem-details response that lists all validation errors."""
    told = [_fault(fault) for fault in faults]
    detail = " ".join(f"{one['at']} {one['detail']}." for one in told)
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors=told)


def _fault(fault: Mapping[str, Any]) -> dict[str, str]:
    place, *names = fault["loc"]
    where = API_LOCATIONS.get(str(place), "a header")
    if fault["type"] == "json_invalid":
        return {"at": "The body", "detail": "is no JSON"}
    field = ".".join(map(str, names))
    at = f"{field} in {where}" if field else where[0].upper() + where[1:]
    return {"at": at, "detail": describe_fault(fault)}
