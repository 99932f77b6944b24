"""Stream of the folder that an export writes, as a ZIP archive."""

import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dissensus.workflows.campaign import campaigns
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.export.pairs import export_pairs
from dissensus.workflows.export.ratings import ExportOptions
from dissensus.workflows.platform.platform import Platform

CHUNK_BYTES: Final = 1 << 16


def stream_archive(
    platform: Platform, name: str, *, staff_id: str, options: ExportOptions, now: datetime
) -> Iterator[bytes]:
    """Yield the export of conversations or pairs as an archive of its files."""
    campaign = campaigns.load_definition(platform, name, staff_id=staff_id)
    export = export_pairs if campaign.pair is not None else export_conversations
    with TemporaryDirectory(prefix="dissensus-export-") as parent:
        folder, path = Path(parent) / name, Path(parent) / "archive.zip"
        export(platform, name, folder, options=options, staff_id=staff_id, now=now)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(parent))
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
