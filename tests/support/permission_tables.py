"""Markdown tables of permissions, API routes and error statuses, as the documentation has them."""

from collections.abc import Sequence, Set

from dissensus.web.api.openapi import route_scope, token_routes
from dissensus.web.core.permissions import ACTIONS, ACTORS, ANY_STAFF, ANYONE, MEMBERS, Actor
from dissensus.web.core.problem import STATUS_DESCRIPTIONS


def tabulate_permissions() -> str:
    """Return the table of actions and of those who may perform them."""
    rows = [
        [
            f"`{name}`",
            action.description,
            _list_actors(action.actors),
            "✓" if action.by_token else "",
            "✓" if action.shows_raters else "",
        ]
        for name, action in ACTIONS.items()
    ]
    return _write_table(["Action", "May", "Who", "Token", "Logged"], rows)


def _list_actors(actors: Set[Actor]) -> str:
    groups = {ANYONE: "anyone", ANY_STAFF: "all staff", MEMBERS: "all members"}
    return groups.get(frozenset(actors)) or ", ".join(actor for actor in ACTORS if actor in actors)


def tabulate_routes() -> str:
    """Return the table of the routes of the API."""
    head = ["Request", "Address, below `/api/v1`", "Scope", "Description"]
    rows = [
        [
            f"`{method}`",
            f"`{route.path.removeprefix('/api/v1')}`",
            f"`{route_scope(route)}`",
            route.description.partition("\n")[0],
        ]
        for route in token_routes()
        for method in route.methods or ()
    ]
    return _write_table(head, rows)


def tabulate_errors() -> str:
    """Return the table of error statuses."""
    rows = [[str(status), description] for status, description in STATUS_DESCRIPTIONS.items()]
    return _write_table(["Status", "Means"], rows)


def _write_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
