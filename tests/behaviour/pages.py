"""Every page and API route for every role, and the database, after the story."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any, Final

from fastapi.routing import APIRoute, iter_route_contexts
from tests.behaviour import site
from tests.behaviour.determinism import as_json
from tests.behaviour.story import BASE, CAMPAIGNS, SHARED, World
from tests.behaviour.visitors import Visitor, found_in, is_json, shown
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
    found = [one.original_route for one in iter_route_contexts(world.app.routes)]
    return sorted((one.path, sorted(one.methods or ())) for one in found if isinstance(one, APIRoute))


def _get_routes(world: World) -> Iterator[APIRoute]:
    for one in iter_route_contexts(world.app.routes):
        route = one.original_route
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
            yield route


class _Recorder:
    def __init__(self, writer: Writer, world: World) -> None:
        self.writer, self.world = writer, world
        self.asked: set[tuple[str, str]] = set()
        self.links: list[str] = []

    def api(self, routes: list[APIRoute]) -> None:
        """Record routes of the API for the owner on all campaigns, and for others on one."""
        for who, program in self._programs():
            for route in routes:
                for path in self._filled(route.path, self._campaigns(who)):
                    limited = any(one.name == "limit" for one in route.dependant.query_params)
                    self._listed(who, program, path) if limited else self._get(who, program, path)

    def pages(self, routes: list[APIRoute]) -> None:
        """Record pages for everybody, and what else links of the owner's pages lead to."""
        for who, visitor in self._visitors():
            for route in routes:
                for path in self._filled(route.path, self._campaigns(who)):
                    self._get(who, visitor, path)
        owner = self.world.staff("ada")
        for path in self.links[:LINKS]:
            self._get("ada", owner, path)

    def _campaigns(self, who: str) -> tuple[str, ...]:
        every = (*CAMPAIGNS, "shipped", "talk", "draft", "clone", "by-hand", "nothing")
        return every if who == "ada" else SHARED

    def _programs(self) -> Iterator[tuple[str, Visitor]]:
        yield "ada", self.world.api()
        yield "nobody", self.world.visitor("nobody")
        scopes = [word for scope in sorted(site.SCOPES) for word in ("--scope", scope)]
        for who in ("analyst", "zoe"):
            key = found_in(self.world.shell.run("staff", "token", who, *scopes), r"(?m)\S{30,}$")
            program = self.world.visitor(who)
            program.headers["authorization"] = f"Bearer {key}"
            yield who, program

    def _visitors(self) -> Iterator[tuple[str, Visitor]]:
        yield "stranger", self.world.visitor("stranger")
        for name in ("small", "talk", "study"):
            yield f"rater of {name}", self.world.raters[name][0]
        for who in ("ada", "zoe", *(role for role in site.ROLES if role != "owner")):
            yield who, self.world.staff(who)

    def _filled(self, path: str, campaigns: tuple[str, ...]) -> Iterator[str]:
        """Yield the addresses that a route has, with what there is in the place of its parameters."""
        if "/static/" in path:
            return
        for name in campaigns if "{name}" in path else ("",):
            filled = path.replace("{name}", name)
            if filled == f"/c/{name}" and name in self.world.links:
                filled = self.world.links[name]
            first, *_ = [*re.findall(r"{(\w+)(?::\w+)?}", filled), ""]
            for value in self._values(first, name) if first else [""]:
                yield re.sub(r"{\w+(:\w+)?}", str(value), filled)

    def _values(self, parameter: str, name: str) -> list[Any]:
        """Return some values of a parameter."""
        if parameter == "position":
            return [0, 1, 5, 99]
        listed = {"rater_id": ("raters", "flags"), "submission": ("submissions",)}.get(parameter, ())
        found: dict[str, None] = {}
        for place in listed:
            rows = self.world.api().ask("GET", f"{API}/campaigns/{name}/{place}?limit=3").json().get("data", [])
            found |= dict.fromkeys(str(next(iter(row.values()))) for row in rows)
        return [*found, "unknown"]

    def _listed(self, who: str, program: Visitor, path: str) -> None:
        """Record a list in pages of two."""
        following, n = f"{path}?limit=2", 0
        while following and n < PAGES:
            answer = self._get(who, program, following, f"{path}?page={n}")
            after = answer.get("next") if isinstance(answer, dict) else None
            n, following = n + 1, f"{path}?limit=2&after={after}" if after else ""
        self._get(who, program, path)

    def _get(self, who: str, visitor: Visitor, path: str, name: str | None = None) -> Any:
        if (who, path) in self.asked:
            return None
        self.asked.add((who, path))
        answer = visitor.ask("GET", path, follow=False)
        text = shown(answer)
        if path == UNTIMED:
            text = re.sub(r"(?m) [\d.e+-]+$", " <number>", text)
        self.writer.write(
            f"{who}/{(name or path).strip('/').replace('/', '.')[:150] or 'root'}.txt", f"GET {path}\n{text}"
        )
        if who == "ada" and "html" in answer.headers.get("content-type", ""):
            self._note_links(answer.text)
        return answer.json() if is_json(answer) else None

    def _note_links(self, page: str) -> None:
        for found in re.findall(r'href="([^"#]+)', page):
            path = unescape(found).removeprefix(BASE)
            if path.startswith("/") and "/static/" not in path and path not in self.links:
                self.links.append(path)
