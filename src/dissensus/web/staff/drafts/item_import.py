"""Import of items on a page: a table, the roles of its columns, and what would be added."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from markupsafe import Markup
from starlette.datastructures import FormData, UploadFile

from dissensus.errors import DissensusError, InvalidInput
from dissensus.files.item_import import (
    ROLES,
    ColumnRole,
    ItemColumn,
    ItemImport,
    RefusedRow,
    assign_roles,
    describe_columns,
    guess_roles,
    import_items,
    read_text_table,
)
from dissensus.files.items import PASTED, Items
from dissensus.files.raw.limits import restrict_to_upload
from dissensus.files.raw.table_stream import escape_formulas
from dissensus.schema.advice import site_message
from dissensus.schema.records.item import Item
from dissensus.web.core.forms import check_carried, read_uploaded, write_carried
from dissensus.web.core.json_body import iterate_json_array
from dissensus.workflows.campaign.campaigns import ItemComparison

Compare = Callable[[tuple[Item, ...]], ItemComparison]

MAX_LISTED: Final = 20
"""Maximum number of refused rows on the page; the CSV file has all of them."""

ROLE_LABELS: Final[Mapping[ColumnRole, str]] = {
    "id": "Id",
    "messages": "Conversation as a list of messages",
    "transcript": "Conversation as text",
    "context": "Context: the turns before the response",
    "response": "Response",
    "response_a": "Response A",
    "response_b": "Response B",
    "prompt": "Prompt of chosen and rejected",
    "chosen": "Chosen response or conversation",
    "rejected": "Rejected response or conversation",
    "harm_type": "Topic (harm_type)",
    "image": "File name of its image",
    "image_alt": "Alternative text of its image",
    "attribute": "Attribute of the item",
    "ignore": "Leave out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTableProposal:
    """A submitted table of items with the roles of its columns, and what it would add."""

    table: pl.DataFrame
    columns: tuple[ItemColumn, ...]
    imported: ItemImport
    comparison: ItemComparison
    refused: tuple[RefusedRow, ...]  # Also items whose id another item of the campaign has
    fault: str | None = None  # Fault of the roles, or of all rows

    @property
    def items(self) -> tuple[Item, ...]:
        """Items that would be added."""
        return self.comparison.new

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the reader."""
        return self.imported.items.notes

    @property
    def carried_table(self) -> Markup:
        """The table as JSON in a hidden form field, since browsers do not resubmit files."""
        return write_carried(_rows(self.table))

    @property
    def refused_csv(self) -> bytes:
        """Refused rows as CSV, safe for spreadsheets."""
        rows = {
            "row": [row.number for row in self.refused],
            "item_id": [row.item_id for row in self.refused],
            "reason": [row.reason for row in self.refused],
        }
        frame = pl.DataFrame(rows, schema={"row": pl.Int64, "item_id": pl.String, "reason": pl.String})
        return escape_formulas(frame)[0].write_csv().encode()


def holds_table(form: FormData) -> bool:
    """Return whether a form has a table: a file that is not pasted text (.txt, .md), or the table of the last step."""
    uploaded = form.get("items_file")
    if isinstance(uploaded, UploadFile) and uploaded.filename:
        return not uploaded.filename.lower().endswith(PASTED)
    return bool(form.get("table"))


def read_item_table(form: FormData, reader: Callable[[Any], Items], compare: Compare) -> ItemTableProposal:
    """Read the table of a form; roles of a new file are guessed by the names of its columns, later ones submitted."""
    uploaded = form.get("items_file")
    if isinstance(uploaded, UploadFile) and uploaded.filename:
        table = read_uploaded(uploaded.filename, uploaded.file.read(), read_text_table)
        check_carried(_rows(table))
        roles = guess_roles(table.columns)
    else:
        table = _parse_table(str(form.get("table", "")))
        roles = _parse_roles([str(role) for role in form.getlist("role")], table.columns)
    columns = describe_columns(table, roles)
    try:
        with restrict_to_upload():
            imported = import_items(assign_roles(table, roles), reader)
    except DissensusError as error:
        nothing = ItemImport(items=Items(()), refused=(), is_complete=True)
        comparison = ItemComparison(new=(), equal=(), differing=())
        return ItemTableProposal(
            table=table, columns=columns, imported=nothing, comparison=comparison, refused=(), fault=site_message(error)
        )
    comparison = compare(imported.items.items)
    return ItemTableProposal(
        table=table,
        columns=columns,
        imported=imported,
        comparison=comparison,
        refused=(*imported.refused, *_refuse_differing(table, roles, comparison, imported.refused)),
    )


def _refuse_differing(
    table: pl.DataFrame,
    roles: tuple[ColumnRole, ...],
    comparison: ItemComparison,
    refused: tuple[RefusedRow, ...],
) -> tuple[RefusedRow, ...]:
    """Return the rows whose id another item of the campaign has, without those that are refused already."""
    names = [item.item_id for item in comparison.differing]
    if not names or "id" not in roles:
        return ()
    ids = table[table.columns[roles.index("id")]]
    refused_numbers = {row.number for row in refused}
    return tuple(
        RefusedRow(index + 1, ids[index], "The campaign has another item with this id.")
        for index in ids.is_in(names).arg_true().to_list()
        if index + 1 not in refused_numbers
    )


def _rows(table: pl.DataFrame) -> list[tuple[str | None, ...]]:
    return [tuple(table.columns), *table.rows()]


def _parse_table(text: str) -> pl.DataFrame:
    """Return the table of the last step."""
    try:
        header, *rows = iterate_json_array(text)
        has_names = all(isinstance(name, str) for name in header)
        has_texts = all(cell is None or isinstance(cell, str) for row in rows for cell in row)
        if has_names and has_texts and rows and all(len(row) == len(header) for row in rows):
            return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
    except (ValueError, TypeError, AttributeError, RecursionError, pl.exceptions.PolarsError):
        pass
    raise InvalidInput("The table was changed after this page was sent. Choose the file again.")


def _parse_roles(submitted: list[str], columns: list[str]) -> tuple[ColumnRole, ...]:
    roles = tuple(role for role in submitted for known in ROLES if role == known)
    if len(roles) != len(columns):
        raise InvalidInput("The meaning of a column is missing or unknown. Choose the file again.")
    return roles
