"""Every table with data of raters is erased on withdrawal or listed as staying."""

from sqlalchemy import Table

from dissensus.store.core.metadata import METADATA
from dissensus.store.erasure import rater_data_tables

STAYING = {
    "rater": "that somebody took part and withdrew; the cell, topics and link are blanked",
    "seat": "released for another rater",
    "payment": "what was paid stays in the accounts",
    "event": "its content and salt are erased, and its digest stays in the chain",
}


def leads_to_rater(table: Table) -> bool:
    return "rater_id" in table.c or any(
        key.column.table.name == "rater" or (key.column.table is not table and leads_to_rater(key.column.table))
        for key in table.foreign_keys
    )


def test_every_table_of_rater_data_is_marked_or_listed_as_staying() -> None:
    of_raters = {table.name for table in METADATA.sorted_tables if leads_to_rater(table)} | {"rater"}
    marked = {table.name for table in rater_data_tables()}
    assert marked | set(STAYING) == of_raters
    assert not marked & set(STAYING)


def test_tables_are_erased_before_those_that_they_refer_to() -> None:
    order = [table.name for table in rater_data_tables()]
    for table in rater_data_tables():
        for key in table.foreign_keys:
            if (other := key.column.table.name) in order and other != table.name:
                assert order.index(table.name) < order.index(other)
