"""Output of a plan as a table, JSON, CSV or a page, and its figures."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dissensus.cli import result_writer
from dissensus.cli.result_writer import Format, OutputTarget, Row
from dissensus.pipeline.tables import Page

if TYPE_CHECKING:
    from dissensus.report.planning.report import Plan
    from dissensus.report.result import Document


def write_plan(plan: "Plan", rows: Sequence[Any], page: Page, target: OutputTarget) -> None:
    """Write a plan; CSV has its rows, with nested fields as columns FIELD.NAME."""

    def build_report(command: str) -> "Document":
        # Imported here, since Altair takes a fifth of a second.
        from dissensus.report.planning.report import plan_report

        return plan_report(plan, page, command=command)

    result_writer.write_result(
        target,
        build_report=build_report,
        build_page=lambda: page,
        to_json=plan.to_json,
        to_csv=lambda: _format_csv(rows),
    )


def _format_csv(rows: Sequence[Any]) -> str:
    table = [_flatten(asdict(row)) for row in rows]
    columns = list(dict.fromkeys(name for row in table for name in row))
    rectangular = [{name: row.get(name) for name in columns} for row in table]
    return result_writer.format_rows(Format.CSV, rectangular, columns, name="rows", if_empty="")


def _flatten(values: dict[str, Any]) -> Row:
    row: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            row |= {f"{name}.{key}": part for key, part in value.items()}
        else:
            row[name] = value
    return row
