"""Pages about the JSON API, rendered from its OpenAPI document."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from dissensus.errors import NotFound
from dissensus.schema.hints import format_value, suggest
from dissensus.web.api.openapi import openapi_document
from dissensus.web.core.permissions import find_action
from dissensus.web.core.responses import page
from dissensus.web.core.staff_auth import Public, SiteOf
from dissensus.web.core.translations import DEFAULT_LANGUAGE

router = APIRouter(dependencies=[Depends(Public("look"))])

OperationId = Annotated[str, Path(max_length=100)]
MAX_CHOICES: Final = 12
"""Values of an enumeration that a row lists."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaField:
    """A parameter, or a field of a body."""

    name: str  # Path, such as `data[].id`
    type: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """A request of the API."""

    id: str
    method: str
    path: str
    tag: str
    summary: str
    description: str
    scope: str
    parameters: tuple[SchemaField, ...]
    body: tuple[SchemaField, ...]
    examples: tuple[str, ...]  # Bodies as JSON
    response: tuple[SchemaField, ...]
    statuses: tuple[tuple[str, str], ...]  # With their meaning

    @property
    def permission(self) -> str:
        """Description of the action that the scope permits."""
        return find_action(self.scope).description


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPage:
    """All requests of the API, by subject."""

    template: ClassVar[str] = "staff/api.html"

    operations: Mapping[str, Sequence[ApiOperation]]
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperationPage:
    """One request of the API."""

    template: ClassVar[str] = "staff/api-operation.html"

    operation: ApiOperation
    address: str  # Of the site
    language: str = DEFAULT_LANGUAGE


@router.get("/api")
def show_api(site: SiteOf) -> Response:
    """Show the requests of the API."""
    operations: dict[str, list[ApiOperation]] = {}
    for operation in list_operations().values():
        operations.setdefault(operation.tag, []).append(operation)
    return page(site, ApiPage(operations=operations))


@router.get("/api/{operation_id}")
def show_operation(site: SiteOf, request: Request, operation_id: OperationId) -> Response:
    """Show one request with its parameters, bodies and statuses."""
    operation = list_operations().get(operation_id)
    if operation is None:
        raise NotFound(
            f"The API has no request {format_value(operation_id)}.{suggest(operation_id, list(list_operations()))} "
            "/api lists all of them."
        )
    return page(site, ApiOperationPage(operation=operation, address=site.address_for(request)))


@cache
def list_operations() -> Mapping[str, ApiOperation]:
    """Return the requests of the OpenAPI document by their ids."""
    document = openapi_document()
    operations = (
        _read_operation(document, method.upper(), path, entry)
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    )
    return {operation.id: operation for operation in operations}


def _read_operation(document: Schema, method: str, path: str, entry: Schema) -> ApiOperation:
    schemas = document["components"]["schemas"]
    body = entry.get("requestBody")
    body_schema = {} if body is None else _resolve(schemas, _json_schema(body))
    success = next(response for status, response in entry["responses"].items() if status.startswith("2"))
    ((scope,),) = (tuple(need["token"]) for need in entry["security"])
    return ApiOperation(
        id=entry["operationId"],
        method=method,
        path=path,
        tag=entry["tags"][0],
        summary=entry["summary"],
        description=entry["description"],
        scope=scope,
        parameters=tuple(_read_parameter(parameter) for parameter in entry.get("parameters", ())),
        body=tuple(_iterate_fields(schemas, body_schema)),
        examples=tuple(json.dumps(one, indent=2, ensure_ascii=False) for one in body_schema.get("examples", ())),
        response=tuple(_iterate_fields(schemas, _json_schema(success))),
        statuses=tuple((status, response["description"]) for status, response in entry["responses"].items()),
    )


def _json_schema(content: Schema) -> Schema:
    """Return the schema of a body; empty without one."""
    schema: Schema = content.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _resolve(schemas: Schema, schema: Schema) -> Schema:
    resolved: Schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return resolved


def _read_parameter(parameter: Schema) -> SchemaField:
    return SchemaField(
        name=parameter["name"],
        type=_describe_type(parameter["schema"]),
        required=parameter["required"],
        description=parameter.get("description", ""),
    )


def _iterate_fields(schemas: Schema, schema: Schema, prefix: str = "") -> Iterator[SchemaField]:
    """Yield the fields of an object, and those of objects in it, by their paths."""
    resolved = _resolve(schemas, schema)
    for name, field in resolved.get("properties", {}).items():
        yield SchemaField(
            name=f"{prefix}{name}",
            type=_describe_type(field),
            required=name in resolved.get("required", ()),
            description=field.get("description", ""),
        )
        for inner, marks in _inner_objects(schemas, field):
            yield from _iterate_fields(schemas, inner, f"{prefix}{name}{marks}.")


def _inner_objects(schemas: Schema, schema: Schema) -> Iterator[tuple[Schema, str]]:
    """Yield the objects of a field, each with the marks of lists around it."""
    for choice in schema.get("anyOf", (schema,)):
        if "$ref" in choice or "properties" in choice:
            yield choice, ""
        elif choice.get("type") == "array" and "items" in choice:
            yield from ((inner, f"[]{marks}") for inner, marks in _inner_objects(schemas, choice["items"]))


def _describe_type(schema: Schema) -> str:
    """Return the type of a value in words.

    Examples
    --------
    >>> _describe_type({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string, or null'
    """
    if "anyOf" in schema:
        return ", or ".join(_describe_type(choice) for choice in schema["anyOf"])
    if "enum" in schema:
        choices = [json.dumps(value) for value in schema["enum"][:MAX_CHOICES]]
        return " | ".join([*choices, "…"] if len(schema["enum"]) > MAX_CHOICES else choices)
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_describe_type(schema['items'])}" if "items" in schema else "list"
    if "$ref" in schema:
        return "object"
    return str(schema.get("format") or schema.get("type") or "any")
