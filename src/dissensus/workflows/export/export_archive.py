"""Stream of the folder that an export writes, as a ZIP archive."""

import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dissensus.files.images import write_images
from dissensus.files.raw.table_stream import escape_formulas
from dissensus.workflows.campaign import campaigns, images
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.export.pairs import export_pairs
from dissensus.workflows.export.ratings import ExportOptions, export_ratings
from dissensus.workflows.platform.platform import Platform

CHUNK_BYTES: Final = 1 << 16
RATINGS: Final = "ratings.csv"
IMAGE_TABLE: Final = "images.csv"
IMAGES: Final = "images"
"""Folder of images, by the names that item_image has."""


def stream_archive(
    platform: Platform, name: str, *, staff_id: str, options: ExportOptions, now: datetime
) -> Iterator[bytes]:
    """Yield the export of a campaign as an archive of its files, with the images of its items."""
    campaign = campaigns.load_definition(platform, name, staff_id=staff_id)
    with TemporaryDirectory(prefix="dissensus-export-") as parent:
        folder, path = Path(parent) / name, Path(parent) / "archive.zip"
        if campaign.pair is not None or campaign.chat is not None:
            export = export_pairs if campaign.pair is not None else export_conversations
            export(platform, name, folder, options=options, staff_id=staff_id, now=now)
        else:
            folder.mkdir()
            export_ratings(platform, name, folder / RATINGS, options=options, staff_id=staff_id, now=now)
        table = images.load_image_table(platform, name, staff_id=staff_id)
        if not table.is_empty():
            (folder / IMAGE_TABLE).write_bytes(escape_formulas(table)[0].write_csv().encode())
        write_images(images.iterate_images(platform, name, staff_id=staff_id), folder / IMAGES)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                # Images are compressed by their formats.
                compression = zipfile.ZIP_STORED if file.parent == folder / IMAGES else None
                archive.write(file, file.relative_to(parent), compression)
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
