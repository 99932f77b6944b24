"""Output of a plan as a table, JSON or CSV."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from dissensus.cli import result_writer
from dissensus.cli.result_writer import Format, Row
from dissensus.pipeline.tables import Page


class WritablePlan(Protocol):
    """A plan that becomes JSON."""

    def to_json(self) -> str:
        """Return the plan as JSON text."""


def write_plan(plan: WritablePlan, rows: Sequence[Any], page: Page, kind: Format, output: Path | None) -> None:
    """Write a plan; CSV has its rows, with fields of fields after a point."""
    if kind is Format.TABLE:
        result_writer.write_pages([page], output)
    elif kind is Format.JSON:
        result_writer.write_text(plan.to_json(), output)
    else:
        table = [_flatten(asdict(row)) for row in rows]
        columns = list(dict.fromkeys(name for row in table for name in row))
        filled = [{name: row.get(name) for name in columns} for row in table]
        result_writer.write_text(result_writer.format_rows(kind, filled, columns, name="rows", if_empty=""), output)


def _flatten(values: dict[str, Any]) -> Row:
    row: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            row |= {f"{name}.{key}": part for key, part in value.items()}
        else:
            row[name] = value
    return row
