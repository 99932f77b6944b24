"""Output of a plan as a table, JSON, CSV or a page, and its figures."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.cli import result_writer
from dissensus.cli.result_writer import PAGE_SUFFIXES, Format, Row
from dissensus.pipeline.tables import Page

if TYPE_CHECKING:
    from dissensus.report.planning.report import Plan


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """Format and file of a plan, and folder of its figures."""

    kind: Format | None  # None for a page
    output: Path | None
    figures: Path | None


def check_target(format: Format | None, output: Path | None, figures: Path | None) -> PlanTarget:  # noqa: A002 - the option's name
    """Refuse a file or a folder that cannot be written, before work begins."""
    paged = format is None and output is not None and output.suffix.lower() in PAGE_SUFFIXES
    kind = None if paged else result_writer.choose_format(format, output)
    result_writer.check_output(output)
    if figures is not None:
        result_writer.check_folder_name("--figures", figures)
    return PlanTarget(kind, output, figures)


def write_plan(plan: "Plan", rows: Sequence[Any], page: Page, target: PlanTarget) -> None:
    """Write a plan; CSV has its rows, with fields of fields after a point."""
    kind, output = target.kind, target.output
    if target.figures is not None:
        from dissensus.report.planning.report import plan_figures

        result_writer.write_figures(plan_figures(plan), target.figures)
    if kind is None:
        # Imported here, since Altair takes a fifth of a second.
        from dissensus.report.planning.report import plan_report

        document = plan_report(plan, page, command=shlex.join(["dissensus", *sys.argv[1:]]))
        result_writer.write_text(document.to_html(), output)
    elif kind is Format.TABLE:
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
