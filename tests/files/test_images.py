"""Images from untrusted files: pixels are kept, metadata is not, and hostile files are refused."""

import struct
import zipfile
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin
from tests.strategies import quick
from tests.support.image_files import announce_png, chunk, draw, pack, pack_as

from dissensus.errors import InvalidInput
from dissensus.files.images import read_image, read_image_files

GPS = 0x8825
PLACE = b"48.1374N"
SECRET = "made by ada"
ENTRIES = ((0x0112, 3, 1, 6), (0x011A, 2, 1, 9))
TEXT_AS_RESOLUTION = b"II*\0\x08\0\0\0\x02\0" + b"".join(struct.pack("<HHII", *entry) for entry in ENTRIES) + b"\0" * 4
"""EXIF metadata of an image to be turned, with a text where a number should be."""
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def photograph(orientation: int = 1) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x013B] = SECRET
    exif.get_ifd(GPS)[1] = PLACE.decode()
    return draw("JPEG", exif=exif, comment=SECRET.encode(), icc_profile=b"profile " * 20)


def with_metadata(kind: str, exif: bytes) -> bytes:
    """An image with these bytes as its EXIF metadata."""
    image = draw(kind)
    if kind == "PNG":
        return image[:33] + chunk(b"eXIf", exif) + image[33:]
    body = b"Exif\0\0" + exif
    return image[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + image[2:]


def opened(content: bytes) -> Image.Image:
    return Image.open(BytesIO(content))


@pytest.mark.parametrize(("kind", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")])
def test_pixels_are_kept(kind: str, media_type: str) -> None:
    image = read_image("kitchen.png", draw(kind))
    assert (image.media_type, image.width, image.height) == (media_type, 40, 30)
    stored = opened(image.content).convert("RGB")
    for place, colour in (((5, 15), (255, 0, 0)), ((35, 15), (0, 0, 255))):
        assert stored.getpixel(place) == pytest.approx(colour, abs=6)
    assert read_image("kitchen.png", draw(kind)).digest == image.digest


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
def test_all_modes_of_png_can_be_read(mode: str) -> None:
    assert opened(read_image("a.png", draw(mode=mode)).content).size == (40, 30)


def test_metadata_are_gone_and_photographs_are_upright() -> None:
    raw = photograph(orientation=6)
    assert PLACE in raw
    assert SECRET.encode() in raw
    image = read_image("a.jpg", raw)
    assert (image.width, image.height) == (30, 40)
    assert not [part for part in (PLACE, SECRET.encode(), b"Exif", b"profile") if part in image.content]
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Author", SECRET)
    texts.add_itxt("Place", PLACE.decode(), zip=True)
    stored = opened(read_image("a.png", draw(pnginfo=texts)).content)
    assert stored.info == {}
    described = draw("WEBP", exif=opened(raw).getexif(), xmp=SECRET.encode())
    assert SECRET.encode() in described
    assert SECRET.encode() not in read_image("a.webp", described).content


def test_appended_data_are_gone() -> None:
    payload = pack(evil__html=b"<script>alert(1)</script>")
    for kind in ("PNG", "JPEG", "WEBP"):
        image = read_image("a.png", draw(kind) + payload)
        assert b"PK\x03\x04" not in image.content
        assert not zipfile.is_zipfile(BytesIO(image.content))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (SVG, "not a PNG, JPEG or WebP image"),
        (draw("GIF"), "not a PNG, JPEG or WebP image"),
        (draw("TIFF"), "not a PNG, JPEG or WebP image"),
        (b"", "not a PNG, JPEG or WebP image"),
        (b"\x89PNG\r\n\x1a\n", "not a PNG, JPEG or WebP image"),
        (draw()[:-30], "damaged or cut off"),
        (draw("JPEG")[:400], "damaged or cut off"),
        (announce_png(50_000, 50_000), "more than 16,000,000 pixels"),
        (announce_png(8_001, 2), "8,001 × 2 pixels; 16,000,000 in all are allowed, and 8,000 on a side"),
        (announce_png(4_001, 4_000), "4,001 × 4,000 pixels"),
        (draw("WEBP", save_all=True, append_images=[Image.new("RGB", (40, 30))]), "The image is animated"),
        (draw("PNG", save_all=True, append_images=[Image.new("RGB", (40, 30))]), "The image is animated"),
        (draw(mode="I;16"), "more than 8 bits"),
        (b"\xff" * ((8 << 20) + 1), "The file has more than 8,388,608 bytes"),
        (with_metadata("PNG", b"not a TIFF file"), "its metadata are damaged"),
        (with_metadata("PNG", TEXT_AS_RESOLUTION), "its metadata are damaged"),
        (with_metadata("JPEG", TEXT_AS_RESOLUTION), "its metadata are damaged"),
    ],
    ids=range(17),
)
def test_other_files_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        read_image("a.png", content)


@pytest.mark.parametrize(
    "name", ["../a.png", "a.svg", "a.png.html", "", ".png", "ä.png", "\u017f.png", "a b.png", "a" * 101 + ".png"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of an image"):
        read_image(name, draw())


def test_noise_that_grows_when_it_is_encoded_anew_is_refused() -> None:
    noise = Image.effect_noise((1600, 1600), 100).convert("RGB")
    stream = BytesIO()
    noise.save(stream, "JPEG", quality=40)
    with pytest.raises(InvalidInput, match="Encoded anew as JPEG the image has"):
        read_image("noise.jpg", stream.getvalue())


def test_archives_are_read_by_the_last_part_of_names() -> None:
    archive = pack(
        ______etc___a__png=draw(), folder___b__jpg=draw("JPEG"), c__png=SVG, other___a__png=draw(), readme__txt=b"x",
        __MACOSX___a__png=b"x", folder___=b"",
    )  # fmt: skip
    read = read_image_files([("all.zip", archive), ("d.webp", draw("WEBP"))])
    assert [image.name for image in read.images] == ["a.png", "b.jpg", "d.webp"]
    reasons = {refused.name: refused.reason for refused in read.refused}
    assert "Another file of the upload has this name" in reasons["a.png"]
    assert "not a PNG, JPEG or WebP image" in reasons["c.png"]
    assert "cannot be the name of an image" in reasons["readme.txt"]


def test_damaged_archives_and_bombs_are_refused() -> None:
    archive = pack(a__png=draw())
    for damaged in (archive[:-40], archive[:60] + b"\xff" * 20 + archive[80:]):
        read = read_image_files([("all.zip", damaged)])
        assert (read.images, len(read.refused)) == ((), 1)
    bomb = pack(**{f"a{i}__png": b"\0" * (9 << 20) for i in range(8)})
    with pytest.raises(InvalidInput, match="At most 1,000 images with 67,108,864 bytes"):
        read_image_files([("bomb.zip", bomb)])
    with pytest.raises(InvalidInput, match="4,001 files and folders, and 4,000 are allowed"):
        read_image_files([("folders.zip", pack(**{f"{i}___": b"" for i in range(4_001)}))])


def test_other_compressions_of_archives_are_refused_by_file() -> None:
    archives = [
        ("l.zip", pack_as(zipfile.ZIP_LZMA, "l.png", draw())),
        ("b.zip", pack_as(zipfile.ZIP_BZIP2, "b.png", b"x")),
    ]
    read = read_image_files([*archives, ("a.png", draw())])
    assert [image.name for image in read.images] == ["a.png"]
    assert [refused.name for refused in read.refused] == ["l.png", "b.png"]
    assert all("another method than Deflate" in refused.reason for refused in read.refused)


def test_a_damaged_file_of_an_archive_leaves_the_others() -> None:
    archive = bytearray(pack_as(zipfile.ZIP_STORED, "a.png", draw()))
    archive[50] ^= 0xFF
    read = read_image_files([("all.zip", bytes(archive)), ("b.png", draw())])
    assert [image.name for image in read.images] == ["b.png"]
    assert "damaged in its archive" in read.refused[0].reason


def test_an_encrypted_file_of_an_archive_leaves_the_others() -> None:
    archive = bytearray(pack_as(zipfile.ZIP_STORED, "a.png", draw()))
    archive[archive.index(b"PK\x01\x02") + 8] |= 1
    read = read_image_files([("all.zip", bytes(archive)), ("b.png", draw())])
    assert [image.name for image in read.images] == ["b.png"]
    assert "encrypted in its archive" in read.refused[0].reason


def test_the_pixels_of_an_upload_are_limited() -> None:
    image = announce_png(4_000, 4_000)
    with pytest.raises(InvalidInput, match="400,000,000 pixels can be added at once"):
        read_image_files([("all.zip", pack(**{f"a{i}__png": image for i in range(26)}))])


def test_names_that_differ_in_case_alone_are_one() -> None:
    read = read_image_files([("a.png", draw()), ("A.PNG", draw())])
    assert ([image.name for image in read.images], read.refused[0].name) == (["a.png"], "A.PNG")


def test_few_refused_files_are_listed() -> None:
    read = read_image_files([(f"{i}.svg", SVG) for i in range(60)])
    assert (len(read.refused), read.n_refused) == (50, 60)


@pytest.mark.parametrize("files", [[], [("all.zip", pack(folder___=b""))]])
def test_an_upload_without_images_is_refused(files: list[tuple[str, bytes]]) -> None:
    with pytest.raises(InvalidInput, match="There is no image to add"):
        read_image_files(files)


@quick
@given(st.sampled_from(["PNG", "JPEG", "WEBP"]), st.data())
def test_mutated_images_are_read_or_refused(kind: str, data: st.DataObject) -> None:
    content = bytearray(draw(kind))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InvalidInput):
        assert opened(read_image("a.png", bytes(content)).content).format == kind
