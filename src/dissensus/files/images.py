"""Reader of untrusted images: decoded within limits, and encoded anew without metadata."""

import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from dissensus.errors import InvalidInput
from dissensus.extras import require_extra
from dissensus.schema.records.image import ImageType, StoredImage, check_image_name

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_FILE_BYTES: Final = 8 << 20
MAX_IMAGE_BYTES: Final = 2 << 20
"""Bytes of an image after it is encoded anew."""
MAX_PIXELS: Final = 16_000_000
MAX_SIDE: Final = 8_000
MAX_IMAGES: Final = 1_000
"""Images of one upload."""
MAX_TOTAL_BYTES: Final = 64 << 20
"""Bytes of the images of one upload, unpacked."""
MAX_TOTAL_PIXELS: Final = 400_000_000
"""Pixels of the images of one upload."""
MAX_MEMBERS: Final = 4 * MAX_IMAGES
"""Members of an archive, with folders and hidden files."""
MAX_LISTED_REFUSALS: Final = 50

FORMATS: Final = ("PNG", "JPEG", "WEBP")
_OPTIONS: Final[Mapping[str, tuple[ImageType, Mapping[str, Any]]]] = MappingProxyType(
    {
        "PNG": ("image/png", {}),
        "JPEG": ("image/jpeg", {"quality": 95}),
        "WEBP": ("image/webp", {"quality": 95}),
    }
)
_PLAIN_MODES: Final = ("L", "RGB", "RGBA")
_ZIP_SIGNATURE: Final = b"PK\x03\x04"
_ENCRYPTED: Final = 0x1
_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedImage:
    """A file that is not added, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFiles:
    """Images of an upload, and the files that are refused."""

    images: tuple[StoredImage, ...]
    refused: tuple[RefusedImage, ...]  # the first MAX_LISTED_REFUSALS
    n_refused: int


def read_image_files(files: Sequence[tuple[str, bytes]]) -> ImageFiles:
    """Read images and ZIP archives of images, given by name and content; archives are never unpacked to a folder."""
    images: dict[str, StoredImage] = {}
    refused: list[RefusedImage] = []
    for name, content in _iterate_files(files, refused):
        try:
            if name.casefold() in images:
                raise InvalidInput("Another file of the upload has this name, or differs in case alone. Rename one.")
            images[name.casefold()] = read_image(name, content)
        except InvalidInput as error:
            refused.append(RefusedImage(name=name, reason=str(error)))
    if not images and not refused:
        raise InvalidInput("There is no image to add. Choose images, or ZIP archives of images.")
    return ImageFiles(
        images=tuple(images.values()), refused=tuple(refused[:MAX_LISTED_REFUSALS]), n_refused=len(refused)
    )


def write_images(images: Iterable[StoredImage], folder: Path) -> None:
    """Write images to a folder, which is made for the first one."""
    for image in images:
        folder.mkdir(exist_ok=True)
        (folder / image.name).write_bytes(image.content)


def read_image(name: str, content: bytes) -> StoredImage:
    """Decode a PNG, JPEG or WebP image, and encode its pixels anew: metadata and appended data are lost."""
    check_image_name(name)
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput(f"The file has more than {MAX_FILE_BYTES:,} bytes. Shrink the image.")
    image, kind = _decode_image(content)
    media_type, options = _OPTIONS[kind]
    stream = BytesIO()
    image.save(stream, kind, **options)
    if stream.tell() > MAX_IMAGE_BYTES:
        raise InvalidInput(
            f"Encoded anew as {kind} the image has {stream.tell():,} bytes, and {MAX_IMAGE_BYTES:,} are allowed. "
            "Shrink it, or save it in another format."
        )
    return StoredImage(
        name=name, media_type=media_type, width=image.width, height=image.height, content=stream.getvalue()
    )


def _decode_image(content: bytes) -> "tuple[Image, str]":
    """Return the upright pixels and the format of an image; its header is checked before it is decoded."""
    image = _open_image(content)
    from PIL import ImageOps

    kind = _format_of(image)
    try:
        image.load()
        return _copy_pixels(ImageOps.exif_transpose(image), kind), kind
    except Exception:  # decoders raise many kinds for damaged files
        raise InvalidInput("The image or its metadata are damaged or cut off. Save it again.") from None


def _open_image(content: bytes) -> "Image":
    """Open an image lazily, and check the size, frames and depth in its header."""
    # Imported here, since only uploads of images need the library.
    with require_extra("An image", "site"):
        from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(BytesIO(content), formats=FORMATS)
            _check_size(image)
            if _format_of(image) != "JPEG" and getattr(image, "n_frames", 1) > 1:
                raise InvalidInput("The image is animated. Give one frame of it.")
    except InvalidInput:
        raise
    except UnidentifiedImageError:
        raise InvalidInput("The file is not a PNG, JPEG or WebP image. Save it as one of these.") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InvalidInput(f"The image has more than {MAX_PIXELS:,} pixels. Shrink it.") from None
    except Exception:  # decoders raise many kinds for damaged files
        raise InvalidInput("The image is damaged or cut off. Save it again.") from None
    if image.mode.startswith(("I", "F")):
        raise InvalidInput("The image has more than 8 bits for each colour. Save it with 8 bits.")
    return image


def _format_of(image: "Image") -> str:
    return "JPEG" if image.format == "MPO" else str(image.format)


def _count_pixels(content: bytes) -> int:
    """Count the pixels of an image by its header; 0 if the header is refused."""
    try:
        image = _open_image(content)
    except InvalidInput:
        return 0
    return image.width * image.height


def _check_size(image: "Image") -> None:
    width, height = image.size
    if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
        raise InvalidInput(
            f"The image has {width:,} × {height:,} pixels; {MAX_PIXELS:,} in all are allowed, and {MAX_SIDE:,} on a "
            "side. Shrink it."
        )


def _copy_pixels(image: "Image", kind: str) -> "Image":
    """Copy the pixels alone, since encoders would write metadata of the image."""
    from PIL import Image

    mode = image.mode
    if mode not in _PLAIN_MODES:
        mode = "RGBA" if image.has_transparency_data else "L" if mode == "1" else "RGB"
    if kind == "JPEG" and mode == "RGBA":
        mode = "RGB"
    converted = image if image.mode == mode else image.convert(mode)
    copy = Image.new(mode, converted.size)
    copy.paste(converted)
    return copy


def _iterate_files(files: Sequence[tuple[str, bytes]], refused: list[RefusedImage]) -> Iterator[tuple[str, bytes]]:
    """Yield the files with those in archives, by the last part of their names."""
    n_files, n_bytes, n_pixels = 0, 0, 0
    for name, content in files:
        members = _iterate_archive(name, content, refused) if content.startswith(_ZIP_SIGNATURE) else [(name, content)]
        for member, part in members:
            n_files, n_bytes, n_pixels = n_files + 1, n_bytes + len(part), n_pixels + _count_pixels(part)
            if n_files > MAX_IMAGES or n_bytes > MAX_TOTAL_BYTES or n_pixels > MAX_TOTAL_PIXELS:
                raise InvalidInput(
                    f"At most {MAX_IMAGES:,} images with {MAX_TOTAL_BYTES:,} bytes and {MAX_TOTAL_PIXELS:,} pixels can "
                    "be added at once. Add them in several parts."
                )
            yield _last_part(member), part


def _last_part(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).name


def _iterate_archive(name: str, content: bytes, refused: list[RefusedImage]) -> Iterator[tuple[str, bytes]]:
    try:
        archive = zipfile.ZipFile(BytesIO(content))
    except Exception:  # the library raises many kinds for damaged archives
        refused.append(RefusedImage(name=_last_part(name), reason="The archive is damaged. Make it again."))
        return
    with archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise InvalidInput(
                f"{_last_part(name)} has {len(members):,} files and folders, and {MAX_MEMBERS:,} are allowed. Make "
                "several archives."
            )
        for member in members:
            hidden = _last_part(member.filename).startswith(".") or member.filename.startswith("__MACOSX/")
            if member.is_dir() or hidden:
                continue
            try:
                part = _read_member(archive, member)
            except InvalidInput as error:
                refused.append(RefusedImage(name=_last_part(member.filename), reason=str(error)))
            else:
                yield member.filename, part


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.flag_bits & _ENCRYPTED:
        raise InvalidInput("The file is encrypted in its archive. Make the archive without a password.")
    if member.compress_type not in _COMPRESSIONS:
        raise InvalidInput("The file is compressed by another method than Deflate. Make the archive with Deflate.")
    try:
        with archive.open(member) as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except Exception:  # the library raises many kinds for damaged archives
        raise InvalidInput("The file is damaged in its archive. Make the archive again.") from None
