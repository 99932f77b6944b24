"""Every page and API route for every role, and the database, after the story."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final

from fastapi.routing import APIRoute, iter_route_contexts
from tests.behaviour import site
from tests.behaviour.determinism import as_json
from tests.behaviour.story import BASE, CAMPAIGNS, SHARED, World
from tests.behaviour.visitors import Visitor, as_text, find_match, is_json
from tests.behaviour.writer import Writer

API: Final = "/api/v1"
PAGES: Final = 4
"""Pages of a list that are followed."""
LINKS: Final = 250
"""Links that are followed from pages of an owner."""
UNTIMED: Final = "/metrics"
"""The page that has measured durations."""


def record(writer: Writer, world: World) -> None:
    """Record everything that is left of the story."""
    routes = list(_get_routes(world))
    writer.write("routes.lines.txt", "".join(f"{','.join(methods)} {path}\n" for path, methods in _all_routes(world)))
    _Recorder(writer.under("api"), world).api([one for one in routes if one.path.startswith(f"{API}/")])
    _Recorder(writer.under("pages"), world).pages([one for one in routes if not one.path.startswith(f"{API}/")])
    with site.reading(world.app) as connection:
        for name in sorted(site.tables().tables):
            writer.write(f"database/{name}.txt", as_json(site.rows_of(connection, name)))


def _all_routes(world: World) -> list[tuple[str, list[str]]]:
    routes = [one.original_route for one in iter_route_contexts(world.app.routes)]
    return sorted((one.path, sorted(one.methods or ())) for one in routes if isinstance(one, APIRoute))


def _get_routes(world: World) -> Iterator[APIRoute]:
    for context in iter_route_contexts(world.app.routes):
        route = context.original_route
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
            yield route


class _Recorder:
    def __init__(self, writer: Writer, world: World) -> None:
        self.writer, self.world = writer, world
        self.recorded: set[tuple[str, str]] = set()
        self.links: list[str] = []

    def api(self, routes: list[APIRoute]) -> None:
        """Record routes of the API for the owner on all campaigns, and for others on one."""
        for name, program in self._programs():
            for route in routes:
                for path in self._fill_path(route.path, self._campaigns(name)):
                    limited = any(one.name == "limit" for one in route.dependant.query_params)
                    self._record_list(name, program, path) if limited else self._record(name, program, path)

    def pages(self, routes: list[APIRoute]) -> None:
        """Record pages for all visitors, and further links of the owner's pages."""
        for name, visitor in self._visitors():
            for route in routes:
                for path in self._fill_path(route.path, self._campaigns(name)):
                    self._record(name, visitor, path)
        owner = self.world.staff("ada")
        for path in self.links[:LINKS]:
            self._record("ada", owner, path)

    def _campaigns(self, member: str) -> tuple[str, ...]:
        every = (*CAMPAIGNS, "shipped", "talk", "draft", "clone", "by-hand", "nothing")
        return every if member == "ada" else SHARED

    def _programs(self) -> Iterator[tuple[str, Visitor]]:
        yield "ada", self.world.api()
        yield "nobody", self.world.visitor("nobody")
        scopes = [word for scope in sorted(site.SCOPES) for word in ("--scope", scope)]
        for member in ("analyst", "zoe"):
            key = find_match(self.world.shell.run("staff", "token", member, *scopes), r"(?m)\S{30,}$")
            program = self.world.visitor(member)
            program.headers["authorization"] = f"Bearer {key}"
            yield member, program

    def _visitors(self) -> Iterator[tuple[str, Visitor]]:
        yield "stranger", self.world.visitor("stranger")
        for name in ("small", "talk", "study"):
            yield f"rater of {name}", self.world.raters[name][0]
        for member in ("ada", "zoe", *(role for role in site.ROLES if role != "owner")):
            yield member, self.world.staff(member)

    def _fill_path(self, path: str, campaigns: tuple[str, ...]) -> Iterator[str]:
        """Yield addresses of a route with existing values as its parameters."""
        if "/static/" in path:
            return
        for name in campaigns if "{name}" in path else ("",):
            address = path.replace("{name}", name)
            if address == f"/c/{name}" and name in self.world.links:
                address = self.world.links[name]
            first, *_ = [*re.findall(r"{(\w+)(?::\w+)?}", address), ""]
            for value in self._values(first, name) if first else [""]:
                yield re.sub(r"{\w+(:\w+)?}", str(value), address)

    def _values(self, parameter: str, name: str) -> list[Any]:
        """Return some values of a parameter."""
        if parameter == "position":
            return [0, 1, 5, 99]
        listed = {"rater_id": ("raters", "flags"), "submission": ("submissions",)}.get(parameter, ())
        values: dict[str, None] = {}
        for listing in listed:
            rows = self.world.api().ask("GET", f"{API}/campaigns/{name}/{listing}?limit=3").json().get("data", [])
            values |= dict.fromkeys(str(next(iter(row.values()))) for row in rows)
        return [*values, "unknown"]

    def _record_list(self, member: str, program: Visitor, path: str) -> None:
        """Record a list in pages of two."""
        following, n = f"{path}?limit=2", 0
        while following and n < PAGES:
            answer = self._record(member, program, following, f"{path}?page={n}")
            after = answer.get("next") if isinstance(answer, dict) else None
            n, following = n + 1, f"{path}?limit=2&after={after}" if after else ""
        self._record(member, program, path)

    def _record(self, member: str, visitor: Visitor, path: str, name: str | None = None) -> Any:
        if (member, path) in self.recorded:
            return None
        self.recorded.add((member, path))
        answer = visitor.ask("GET", path, follow=False)
        text = as_text(answer)
        if path == UNTIMED:
            text = re.sub(r"(?m) [\d.e+-]+$", " <number>", text)
        self.writer.write(
            f"{member}/{(name or path).strip('/').replace('/', '.')[:150] or 'root'}.txt", f"GET {path}\n{text}"
        )
        if member == "ada" and "html" in answer.headers.get("content-type", ""):
            self._note_links(answer.text)
        return answer.json() if is_json(answer) else None

    def _note_links(self, page: str) -> None:
        for link in re.findall(r'href="([^"#]+)', page):
            path = unescape(link).removeprefix(BASE)
            if path.startswith("/") and "/static/" not in path and path not in self.links:
                self.links.append(path)
