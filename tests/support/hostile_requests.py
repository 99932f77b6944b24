"""Endpoints of the site: every route and its fields, listed from the application, and hostile input for each."""

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import BaseModel

from dissensus.web.api.auth import TokenRoute
from dissensus.web.core.forms import MAX_FIELD_BYTES
from dissensus.web.core.json_body import MAX_CONTAINERS, MAX_ERRORS, MAX_KEYS
from dissensus.web.core.staff_auth import Require
from dissensus.web.staff import campaign_form, curation_form

MIB = 1 << 20
JSON = {"content-type": "application/json"}
URLENCODED = {"content-type": "application/x-www-form-urlencoded"}
FORM_MODULES = {module.__name__: module for module in (campaign_form, curation_form)}
"""Modules that read the fields of a form together, by classes."""


@dataclass(frozen=True)
class HostileRequest:
    """A request, ready to be sent."""

    name: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    is_refused: bool = False  # True if no route may accept it


@dataclass(frozen=True)
class Endpoint:
    """A route with one method, and the fields that it reads."""

    route: APIRoute
    method: str

    @property
    def name(self) -> str:
        return f"{self.method} {self.route.path}"

    @property
    def is_api(self) -> bool:
        return isinstance(self.route, TokenRoute)

    @property
    def is_for_staff(self) -> bool:
        return any(isinstance(dependant.call, Require) for dependant in flatten(self.route.dependant))

    @property
    def is_upload(self) -> bool:
        """True if its forms may have files."""
        return not self.is_api and self.route.path.startswith(("/campaigns", "/curation"))

    @property
    def parser(self) -> tuple[object, ...]:
        """The code that parses cookies and the body: endpoints with the same code differ in their fields alone."""
        calls = frozenset(one.call for one in flatten(self.route.dependant) if inspect.isroutine(one.call))
        return self.method, type(self.route), self.is_upload, calls

    @property
    def reads_bytes(self) -> bool:
        """True if the route parses the body itself."""
        return any(getattr(one.call, "__name__", "") == "_body" for one in flatten(self.route.dependant))

    def fields(self, place: str) -> set[str]:
        """Names of the parameters in a place: path, query, header or cookie."""
        dependants = (self.route.dependant, *flatten(self.route.dependant))
        return {one.alias for dependant in dependants for one in getattr(dependant, f"{place}_params")}

    def json_models(self) -> list[type[BaseModel]]:
        """Models of the JSON body."""
        annotations = [one.field_info.annotation for one in self.route.dependant.body_params]
        return [one for one in annotations if isinstance(one, type) and issubclass(one, BaseModel)]

    def form_fields(self) -> set[str]:
        """Names of the form fields that the route reads, by functions of its module."""
        module = inspect.getmodule(self.route.endpoint)
        assert module is not None
        declared = {one.alias for one in self.route.dependant.body_params if not self.json_models()}
        return (declared | names_in(module, inspect.unwrap(self.route.endpoint).__name__)) - {""}


def flatten(dependant: Dependant) -> Iterator[Dependant]:
    for dependency in dependant.dependencies:
        yield dependency
        yield from flatten(dependency)


def list_endpoints(app: FastAPI) -> list[Endpoint]:
    routes = [context.original_route for context in iter_route_contexts(app.routes)]
    return [
        Endpoint(route, method)
        for route in routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods or ())
        if method != "HEAD"
    ]


@cache
def names_in(module: ModuleType, start: str | None = None) -> set[str]:
    """Texts that are passed together with a form, or to its methods: in a module, or in what a definition uses."""
    tree = ast.parse(inspect.getsource(module))
    if start is None:
        return texts_with_form(tree)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    definitions = {node.name: node for node in tree.body if isinstance(node, kinds)}
    texts, used, open_names = set[str](), set[str](), [start]
    while open_names:
        name = open_names.pop()
        if name in used:
            continue
        used.add(name)
        if name in definitions:
            texts |= texts_with_form(definitions[name])
            open_names += [one.id for one in ast.walk(definitions[name]) if isinstance(one, ast.Name)]
            continue
        imported = getattr(module, name, None)
        home = inspect.getmodule(imported)
        if home is not None and home.__name__ in FORM_MODULES:
            texts |= names_in(home)
        elif inspect.isfunction(imported) and home is not None and home.__name__.startswith("dissensus.web."):
            texts |= names_in(home, imported.__name__)
    return texts


def texts_with_form(tree: ast.AST) -> set[str]:
    """Texts that are passed together with a form, or to its methods."""
    texts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            parts = [*node.args, node.func.value if isinstance(node.func, ast.Attribute) else node.func]
            if any(isinstance(part, ast.Name) and part.id == "form" for part in parts):
                texts |= {
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    return texts


@cache
def costly_json(size: int) -> dict[str, bytes]:
    """JSON that is expensive to parse or to validate, up to a size."""
    keys = min(100_000, size // 10)
    return {
        "deep JSON": b"[" * size,
        "JSON of nested arrays": b"[" + b",".join([b"[" * 900 + b"]" * 900] * (size // 1_900)) + b"]",
        "JSON of many keys": ("{" + ",".join(f'"{i:x}":0' for i in range(keys)) + "}").encode(),
        "JSON of many objects": b"[" + b'{"":0},' * (size // 7 - 2) + b"{}]",
        "JSON of many numbers": b"[" + b"1.5," * (size // 4 - 2) + b"1]",
        "JSON of a huge number": b"[" + b"9" * (size - 3) + b"]",
        "JSON of long strings": b'{"definition":"' + b"x" * (size - 30) + b'"}',
    }


def costly_bodies(model: type[BaseModel]) -> dict[str, bytes]:
    """JSON with many faults in each field of a model, as many as the parser lets through to it."""
    entries = b'{"a":{},"b":[],"c":1},' * (MAX_CONTAINERS // 3 - 1) + b"{}"
    keys = ("{" + ",".join(f'"k{i}":0' for i in range(MAX_KEYS)) + "}").encode()
    bodies = {}
    for name in model.model_fields:
        start = f'{{"{name}":['.encode()
        bodies[f"faults in {name}"] = start + entries + b"]}"
        bodies[f"keys in {name}"] = start + b",".join([keys] * 2 * MAX_ERRORS) + b"]}"
    return bodies


def costly_toml(size: int) -> dict[str, str]:
    """TOML that is expensive to parse, up to a size."""
    return {
        "dotted key": "a." * (size // 2 - 2) + "b=1",
        "dotted table": "[" + "a." * (size // 2 - 4) + "b]",
        "many tables": "".join(f"[a{i}]\n" for i in range(size // 10)),
        "deep array": "a=" + "[" * (size - 2),
    }


def multipart(parts: list[tuple[str, str, bytes]]) -> tuple[dict[str, str], bytes]:
    """Headers and body of a form with files: field, file name (or none) and content."""
    lines = []
    for field, file, content in parts:
        name = f'; filename="{file}"' if file else ""
        lines.append(
            f'--b\r\nContent-Disposition: form-data; name="{field}"{name}\r\n\r\n'.encode() + content + b"\r\n"
        )
    return {"content-type": "multipart/form-data; boundary=b"}, b"".join(lines) + b"--b--\r\n"


def attack(
    endpoint: Endpoint,
    path: str,
    form_token: str,
    headers: dict[str, str],
    *,
    parser: bool = True,
    size: int = 8 * MIB,
    file_size: int = 10 * MIB,
) -> Iterator[HostileRequest]:
    """Hostile requests for every field of an endpoint, and for its parser if asked; `path` has valid values.

    All uploads have one reader of files: `file_size` is the size of what only this meets, and `size` that of JSON.
    """

    def request(
        name: str, path: str = path, body: bytes = b"", *, is_refused: bool = False, **more: str
    ) -> HostileRequest:
        return HostileRequest(f"{endpoint.name}: {name}", endpoint.method, path, {**headers, **more}, body, is_refused)

    yield from _attack_address(endpoint, path, request, parser=parser)
    yield from _attack_headers(endpoint, headers, request, parser=parser)
    if endpoint.method not in ("POST", "PUT"):
        return
    if parser and (endpoint.is_api or endpoint.reads_bytes):
        for name, body in costly_json((size if endpoint.is_api else MIB) - 10).items():
            yield request(name, body=body, is_refused=True, **JSON)
    for model in endpoint.json_models():
        for name, body in costly_bodies(model).items():
            yield request(name, body=body, is_refused=True, **JSON)
    if not endpoint.is_api:
        if parser:
            yield from _attack_form_parser(endpoint, form_token, request)
        yield from _attack_fields(endpoint, form_token, request)
        if endpoint.is_upload:
            yield from _attack_files(endpoint, form_token, file_size, request)


def _attack_address(endpoint: Endpoint, path: str, request: Any, *, parser: bool) -> Iterator[HostileRequest]:
    parts = path.partition("?")[0].split("/")
    # The authorisation finds the campaign.
    known = set() if parser or not (endpoint.is_api or endpoint.is_for_staff) else {"{name}"}
    for position, part in enumerate(endpoint.route.path.split("/")):
        if part.startswith("{") and part not in known:
            for name, value in {"long": "x" * 10_000, "NUL": "%00" * 3_000, "odd": quote("é⁧" * 1_000)}.items():
                yield request(f"{name} {part}", "/".join([*parts[:position], value, *parts[position + 1 :]]))
    for field in sorted(endpoint.fields("query")) or ["unknown"] * parser:
        yield request(f"long {field}", f"{path.partition('?')[0]}?{field}={'x' * 14_000}")
        yield request(f"repeated {field}", f"{path.partition('?')[0]}?" + f"{field}=1&" * (14_000 // (len(field) + 3)))


def _attack_headers(
    endpoint: Endpoint, headers: dict[str, str], request: Any, *, parser: bool
) -> Iterator[HostileRequest]:
    for field in sorted(endpoint.fields("header")):
        yield request(f"long {field}", **{field: "x" * 12_000})
    cookies = headers.get("cookie", "")
    # Endpoints with one parser have the dependencies that read a session in common.
    own = {one.alias for one in endpoint.route.dependant.cookie_params}
    for field in sorted(endpoint.fields("cookie") if parser else own):
        others = "; ".join(one for one in cookies.split("; ") if not one.startswith(f"{field}="))
        yield request(f"long cookie {field}", cookie=f"{others}; {field}={'x' * 6_000}")
        yield request(f"quoted cookie {field}", cookie=f'{others}; {field}="' + "\\a" * 3_000 + '"')
    if parser:
        yield request("many cookies", cookie=cookies + "; a=1" * 1_300)


def _attack_form_parser(endpoint: Endpoint, form_token: str, request: Any) -> Iterator[HostileRequest]:
    token = f"form_token={form_token}&".encode()
    size = MIB - 10 - len(token)
    yield request("many fields", body=token + b"a&" * (size // 2), is_refused=True, **URLENCODED)
    yield request("quoted field", body=token + b"a=" + b"%41" * (size // 3 - 1), **URLENCODED)
    yield request("long field", body=token + b"a=" + b"x" * (size - 2), is_refused=True, **URLENCODED)
    most = 20 * MIB if endpoint.is_upload else MIB
    form = [("form_token", "", form_token.encode())]
    headers, body = multipart([*form, *[("a", "", b"")] * min(100_000, (most - 200) // 60)])
    yield request("many parts", body=body, is_refused=True, **headers)
    headers, body = multipart([*form, *[("a", "f", b"")] * min(100_000, (most - 200) // 75)])
    yield request("many files", body=body, is_refused=True, **headers)
    headers, body = multipart([("form_token\r\n" + "x: y\r\n" * (most // 7 - 50), "", b"")])
    yield request("many headers of a part", body=body, is_refused=True, **headers)


def _attack_fields(endpoint: Endpoint, form_token: str, request: Any) -> Iterator[HostileRequest]:
    """Attack each field with what the parser lets through to it."""
    token = f"form_token={form_token}&".encode()
    for field in sorted(endpoint.form_fields() - {"form_token"}):
        start = f"{field}=".encode()
        yield request(f"repeated {field}", body=token + f"{field}=1&".encode() * 900, **URLENCODED)
        yield request(f"long {field}", body=token + start + b"x" * (MAX_FIELD_BYTES - len(start)), **URLENCODED)


def _attack_files(endpoint: Endpoint, form_token: str, size: int, request: Any) -> Iterator[HostileRequest]:
    form, fields = [("form_token", "", form_token.encode())], sorted(endpoint.form_fields() - {"form_token"})
    for name, text in costly_toml(100_000).items():
        headers, body = multipart([*form, *((field, "", text.encode()) for field in fields)])
        yield request(f"{name} in every field", body=body, **headers)
    for name, content in costly_json(size).items():
        for field in fields:
            for file in ("", "f.json") if field.endswith("_file") or field == "items" else ():
                headers, body = multipart([*form, (field, file, content)])
                yield request(f"{name} in {field} {file}", body=body, **headers)


def large_items(endpoint: Endpoint, path: str, form_token: str, headers: dict[str, str]) -> Iterator[HostileRequest]:
    """Requests with many valid items, some of them beyond a limit: few long turns, many short ones, many items."""
    if endpoint.is_api:
        for name, (n, n_turns, length) in {"long turns": (1_000, 2, 2_400), "short turns": (1_000, 48, 40)}.items():
            items = [
                {"id": str(i), "conversation": [{"speaker": "bot", "text": "x" * length}] * n_turns} for i in range(n)
            ]
            body = json.dumps({"items": items}).encode()
            yield HostileRequest(f"{endpoint.name}: {name}", endpoint.method, path, {**headers, **JSON}, body)
        return
    for file, content in item_files().items():
        # With a faulty definition, the page carries the items.
        fields = {"form_token": form_token, "definition": "x =", "action": "plan"}
        form_headers, body = multipart(
            [*((field, "", text.encode()) for field, text in fields.items()), ("items_file", file, content)]
        )
        yield HostileRequest(f"{endpoint.name}: {file}", endpoint.method, path, {**headers, **form_headers}, body)
    fields = {
        "form_token": form_token,
        **dict.fromkeys(("items", "pasted", "example", "x"), "\N{SNAKE}" + "x" * 7 * MIB),
    }
    form_headers, body = multipart([(field, "", text.encode()) for field, text in fields.items()])
    yield HostileRequest(f"{endpoint.name}: long fields", endpoint.method, path, {**headers, **form_headers}, body)


@cache
def item_files() -> dict[str, bytes]:
    """Files of many items: their turns are long, short, or doubled in length by escapes, or there are many of them."""

    def write_lines(n: int, n_turns: int, text: str) -> bytes:
        messages = [{"role": "assistant", "content": text}] * (n_turns - 1)
        rows = [{"messages": [{"role": "user", "content": str(i)}, *messages]} for i in range(n)]
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()

    return {
        "long-turns.jsonl": write_lines(3_000, 2, "x" * 2_400),
        "wide-characters.jsonl": write_lines(3_000, 2, "x" * 2_400 + "\N{SNAKE}"),
        "quotes.jsonl": write_lines(3_000, 2, '"' * 1_200),
        "short-turns.jsonl": write_lines(1_000, 48, "x" * 80),
        "more-turns.jsonl": write_lines(5_000, 60, ""),
        "many-items.jsonl": write_lines(300_000, 2, ""),
        "one-row.jsonl": write_lines(1, 400_000, ""),
        "many-items.txt": b"User: a\nBot: b\n---\n" * 400_000,
        "one-item.txt": b"User: a\nBot: b\n" * 400_000,
    }
