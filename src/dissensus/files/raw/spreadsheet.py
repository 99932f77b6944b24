"""Spreadsheets (.xlsx) as tables of text."""

import zipfile
from io import BytesIO
from pathlib import Path

import polars as pl

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.raw import limits
from dissensus.files.raw.content import open_checked
from dissensus.files.raw.delimited import check_header
from dissensus.schema.hints import format_list, format_value


def read(path: Path) -> pl.DataFrame:
    """Return the only sheet with rows as a table of text, its first filled row as the header."""
    try:
        import fastexcel
    except ImportError:
        raise Unavailable(
            f"{path} is a spreadsheet, and fastexcel, which reads it, is not installed. Install it with: pip install "
            "'dissensus[excel]'; or save the sheet as CSV (UTF-8)."
        ) from None
    with open_checked(path) as (file, size):
        data = file.read(size + 1)
    _check_size(data, path)
    try:
        book = fastexcel.read_excel(data)
        # Without a header, since the library renames columns whose name is empty or is there twice.
        sheets = [book.load_sheet(name, dtypes="string", header_row=None).to_polars() for name in book.sheet_names]
    except fastexcel.FastExcelError as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInput(f"{path} is not a readable spreadsheet ({reason}). Save the sheet as CSV (UTF-8).") from None
    rows = [_drop_empty(sheet.with_columns(pl.all().cast(pl.String))) for sheet in sheets]
    filled = {name: sheet for name, sheet in zip(book.sheet_names, rows, strict=True) if sheet.height > 1}
    if not filled:
        raise InvalidInput(f"{path} has no rows.")
    if len(filled) > 1:
        raise InvalidInput(
            f"{path} has rows in the sheets {format_list(list(filled))}, and one sheet is read. Save that sheet as CSV "
            "(UTF-8)."
        )
    (sheet,) = filled.values()
    limits.check_cells(sheet.height, sheet.width, path)
    header = [name or "" for name in sheet.row(0)]
    check_header(header, path)
    frame = sheet[1:]
    frame.columns = header
    return frame


def _drop_empty(sheet: pl.DataFrame) -> pl.DataFrame:
    """Return the rows and columns in which a cell is filled."""
    columns = [column for column in sheet if column.null_count() < sheet.height]
    return pl.DataFrame(columns).filter(~pl.all_horizontal(pl.all().is_null())) if columns else pl.DataFrame()


def _check_size(data: bytes, path: Path) -> None:
    """Raise for data that unpack to too much, or are not a spreadsheet."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
    except Exception:  # the library raises many kinds for damaged archives
        members = []
    limits.check_bytes(sum(member.file_size for member in members), path, "unpacks to something")
    if not any(member.filename.startswith("xl/") for member in members):
        raise InvalidInput(f"{format_value(path)} is not a spreadsheet, though its name ends in .xlsx. Rename it.")
