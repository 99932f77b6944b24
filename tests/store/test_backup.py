"""Batches of rows in which a backup is restored."""

import re
from collections import defaultdict
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from sqlalchemy import event
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, open_campaign

from dissensus.schema.records.image import StoredImage
from dissensus.store import images
from dissensus.store.core import backup, schema
from dissensus.store.core.backup import BATCH_SIZE, LARGE_BATCH_SIZE
from dissensus.store.core.database import Database, connect
from dissensus.workflows.platform.platform import Platform


@sqlite_only
def test_few_rows_of_tables_with_large_ones_are_in_memory_at_once(database: Database, tmp_path: Path) -> None:
    campaign = open_campaign(Platform(database), BATCH_SIZE + 1)
    dot = StoredImage(name="dot.png", media_type="image/png", width=1, height=1, content=b"dot")
    with database.writing() as tx:
        images.add_images(tx, campaign.id, [replace(dot, name=f"{n}.png") for n in range(LARGE_BATCH_SIZE + 1)])
    file = BytesIO()
    with database.reading() as tx:
        backup.write_backup(tx, file, version="1", now=NOW)
    target = connect(f"sqlite:///{tmp_path / 'target.db'}")
    schema.upgrade(target)
    sizes = defaultdict[str, list[int]](list)

    def count_rows(_0: Any, _1: Any, statement: str, parameters: Any, _2: Any, executemany: bool) -> None:
        if match := re.match(r"INSERT INTO (\w+)", statement):
            sizes[match[1]].append(len(parameters) if executemany else 1)

    event.listen(target.engine, "before_cursor_execute", count_rows)
    with ZipFile(file) as archive, target.writing() as tx:
        backup.restore_backup(tx, archive)
    target.dispose()
    assert (sizes["item"], sizes["image"]) == ([BATCH_SIZE, 1], [LARGE_BATCH_SIZE, 1])
