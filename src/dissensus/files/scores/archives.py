"""Archives of Inspect (`.eval`): a ZIP file with a header and a file for each sample."""

import re
from pathlib import Path
from typing import Any, Final

from dissensus.errors import DissensusError, InvalidInput, MissingExtra
from dissensus.files.raw import content, limits
from dissensus.files.raw.json_decoder import describe_decode_error, strict_decoder

try:
    from backports.zstd import zipfile
except ModuleNotFoundError:
    # Reads Zstandard from Python 3.14 on.
    import zipfile  # type: ignore[no-redef]


EXTENSION: Final = ".eval"
ZSTANDARD: Final = 93
"""Number of the method in ZIP files, the usual one of Inspect."""
HEADERS: Final = ("header.json", "_journal/start.json")
"""Names of the header: of a log that is complete, and of one that was cut off."""
SAMPLE: Final = re.compile(r"samples/.+_epoch_\d+(/sample)?\.json", re.DOTALL)
"""Name of the file of a sample, which is in a folder of its own if it is large."""


def read_inspect_archive(path: Path) -> dict[str, Any]:
    """Read an archive of Inspect as the JSON log that it stands for: the header, with the samples."""
    content.check_file(path)
    with content.open_checked(path) as (file, _):
        try:
            with zipfile.ZipFile(file) as archive:
                return _read_log(archive, path)
        except DissensusError:
            raise
        except Exception as error:  # Each compression has errors of its own
            raise InvalidInput(f"{path} is not an archive of Inspect, or damaged ({error}). Copy it again.") from None


def _read_log(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    names = list(dict.fromkeys(archive.namelist()))
    header = next((name for name in HEADERS if name in names), None)
    samples = [name for name in names if SAMPLE.fullmatch(name)]
    if header is None or not samples:
        raise InvalidInput(
            f"{path} has {'no samples' if header else 'no header.json'}, so it is not a log of Inspect with scores."
        )
    members = [archive.getinfo(name) for name in (header, *samples)]
    if not hasattr(zipfile, "ZIP_ZSTANDARD") and any(member.compress_type == ZSTANDARD for member in members):
        raise MissingExtra(f"{path} is compressed by Zstandard, which", "backports.zstd", "inspect")
    limits.check_bytes(sum(member.file_size for member in members), path, "unpacks to something")
    log = _read_member(archive, header, path)
    return {**log, "samples": [_read_member(archive, name, path) for name in samples]}


def _read_member(archive: zipfile.ZipFile, name: str, path: Path) -> dict[str, Any]:
    try:
        value = strict_decoder("the log", nan_as_null=True).decode(archive.read(name).decode())
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path}, {name}: {describe_decode_error(error)}. Give the log as Inspect wrote it."
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{path}, {name} holds no object. Give the log as Inspect wrote it.")
    return value
