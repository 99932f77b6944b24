"""Images as files: plain ones, and hostile ones."""

import struct
import zipfile
import zlib
from io import BytesIO
from typing import Any

from PIL import Image


def draw(kind: str = "PNG", size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: Any) -> bytes:
    """An image whose left half is red and whose right half is blue."""
    image = Image.new(mode, size, "blue" if mode.startswith("RGB") else 0)
    if mode.startswith("RGB"):
        image.paste("red", (0, 0, size[0] // 2, size[1]))
    stream = BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pack(**members: bytes) -> bytes:
    """A ZIP archive; names of members have . for two underscores, and / for three."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("___", "/").replace("__", "."), content)
    return stream.getvalue()


def pack_as(compression: int, name: str, content: bytes) -> bytes:
    """A ZIP archive of one file, compressed by a method of `zipfile`."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def announce_png(width: int, height: int) -> bytes:
    """A small PNG file that says to be of this size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
