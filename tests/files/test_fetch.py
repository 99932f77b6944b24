"""Fetching from a real server on loopback with many kinds of faults."""

import gzip
import hashlib
import json
import os
import random
import re
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.file_refusals import as_unprivileged_user
from tests.support.file_server import ONE, Loopback, serving
from tests.support.loopback_server import CERTIFICATE
from tests.support.paths import ROOT

from dissensus.errors import Conflict, InvalidInput, NotFound, Unavailable
from dissensus.files.catalogue import Dataset, DatasetFile, datasets, load_dataset
from dissensus.files.fetch import Fetched, fetch

GZ, CSV = "base/train.jsonl.gz", "ratings.csv"
BODIES = {
    GZ: gzip.compress(random.Random(1).randbytes(400_000), mtime=0),
    CSV: b"id,rater_id\n" + b"".join(b"%d,%d\n" % (row, row % 7) for row in range(40_000)),
}
SIZE = len(BODIES[GZ])
HALF = SIZE // 2
# Data are written in blocks of 64 KiB, so that much of what arrives last may be lost.
KEPT = HALF // 2**16 * 2**16
SHA256 = {path: hashlib.sha256(body).hexdigest() for path, body in BODIES.items()}
KNOWN = DatasetFile(path=GZ, size=SIZE, sha256=SHA256[GZ])
UNKNOWN = DatasetFile(path=GZ)
TABLE = DatasetFile(path=CSV)
ANY = Dataset(name="any", title="", paper="", licence="", warning="", base="https://example.invalid", files=(KNOWN,))
NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)
Get = Callable[..., Fetched]


@pytest.fixture(autouse=True)
def loopback_only(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bypass proxies, and trust only the certificate of the server."""
    path = tmp_path_factory.mktemp("trusted") / "loopback.pem"
    path.write_text(CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving(dict(BODIES)) as server:
        yield server


@pytest.fixture
def waits() -> list[float]:
    """Seconds that a fetch would have slept."""
    return []


@pytest.fixture
def get(server: Loopback, waits: list[float], tmp_path: Path) -> Get:
    """Return a function that fetches one file from a server with a given behaviour."""

    def get(behaviour: str, file: DatasetFile = KNOWN, *, folder: Path = tmp_path, **options: object) -> Fetched:
        settings: dict[str, object] = {"mirror": server.address(behaviour), "sleep": waits.append, "now": NOON}
        (fetched,) = fetch(replace(ANY, files=(file,)), folder, **{**settings, **options})  # type: ignore[arg-type]
        return fetched

    return get


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def write_partial(folder: Path, size: int, etag: str | None = ONE) -> Path:
    """Write the files of an interrupted download."""
    part = folder / f"{GZ}.part"
    part.parent.mkdir()
    part.write_bytes(BODIES[GZ][:size])
    if etag:
        Path(f"{part}.etag").write_text(etag)
    return part


def test_a_file_is_fetched_and_verified(get: Get, server: Loopback, tmp_path: Path) -> None:
    assert get("whole") == Fetched(
        path=tmp_path / GZ, size=SIZE, sha256=SHA256[GZ], checked_against="catalogue", downloaded=True
    )
    assert (tmp_path / GZ).read_bytes() == BODIES[GZ]
    assert files_in(tmp_path) == {GZ, "NOTICE.md", "fetched.json"}
    assert json.loads((tmp_path / "fetched.json").read_text()) == {
        GZ: {
            "dataset": "any",
            "date": "2030-01-02T12:00:00Z",
            "sha256": SHA256[GZ],
            "size": SIZE,
            "url": f"{server.root}/whole/{GZ}",
        }
    }
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_a_verified_file_is_not_fetched_again(get: Get, server: Loopback) -> None:
    first = get("whole")
    modified_ns = first.path.stat().st_mtime_ns
    assert get("missing") == replace(first, downloaded=False)
    assert get("missing", force=True) == replace(first, downloaded=False)
    assert len(server.requests) == 1
    assert first.path.stat().st_mtime_ns == modified_ns


def test_a_wrong_file_is_replaced_only_by_force(get: Get, server: Loopback, tmp_path: Path) -> None:
    (tmp_path / GZ).parent.mkdir()
    (tmp_path / GZ).write_bytes(b"mine")
    with pytest.raises(Conflict, match=r"it has 4 bytes and SHA-256 .* catalogue says .*\. Move it away, or .*--force"):
        get("whole")
    assert (tmp_path / GZ).read_bytes() == b"mine"
    assert server.requests == []
    with pytest.raises(Unavailable, match="sent a damaged file"):
        get("corrupted", force=True)
    assert (tmp_path / GZ).read_bytes() == b"mine"
    assert get("whole", force=True).downloaded
    assert (tmp_path / GZ).read_bytes() == BODIES[GZ]


def test_unknown_hashes_are_recorded_and_compared(get: Get, server: Loopback, tmp_path: Path) -> None:
    assert get("whole", UNKNOWN).checked_against is None
    assert get("missing", UNKNOWN).checked_against == "record"
    (tmp_path / GZ).unlink()
    assert get("whole", UNKNOWN) == Fetched(
        path=tmp_path / GZ, size=SIZE, sha256=SHA256[GZ], checked_against="record", downloaded=True
    )
    (tmp_path / GZ).write_bytes(b"mine")
    with pytest.raises(Conflict, match=r"is there, .* while fetched\.json says"):
        get("whole", UNKNOWN)


def test_a_changed_file_is_accepted_only_by_force(get: Get, server: Loopback, tmp_path: Path) -> None:
    get("whole", TABLE).path.unlink()
    server.bodies[CSV] += b"40000,0\n"
    with pytest.raises(Conflict, match=r"is another file than before: .* fetched\.json says .*--force"):
        get("whole", TABLE)
    assert files_in(tmp_path) == {"NOTICE.md", "fetched.json"}
    fetched = get("whole", TABLE, force=True)
    assert (fetched.checked_against, fetched.size) == (None, len(server.bodies[CSV]))
    assert get("whole", TABLE) == replace(fetched, checked_against="record", downloaded=False)


def test_an_unrecorded_file_is_replaced_only_by_force(get: Get, tmp_path: Path) -> None:
    (tmp_path / CSV).write_bytes(BODIES[CSV])
    with pytest.raises(Conflict, match="is there, and no SHA-256 is known to check it with"):
        get("whole", TABLE)
    assert get("whole", TABLE, force=True).downloaded


@pytest.mark.parametrize("file", [KNOWN, UNKNOWN], ids=["known", "unknown"])
def test_a_broken_connection_is_resumed(get: Get, server: Loopback, waits: list[float], file: DatasetFile) -> None:
    assert get("cut_once", file).sha256 == SHA256[GZ]
    assert waits == [1.0]
    assert (server.requests[1].headers["range"], server.requests[1].headers["if-range"]) == (f"bytes={KEPT}-", ONE)


@pytest.mark.parametrize("file", [KNOWN, UNKNOWN], ids=["known", "unknown"])
def test_the_next_fetch_resumes_the_partial_download(
    get: Get, server: Loopback, tmp_path: Path, file: DatasetFile
) -> None:
    with pytest.raises(Unavailable, match=r"\(try 1 of 1\)\. The partial download is kept"):
        get("cut", file, tries=1)
    assert (tmp_path / f"{GZ}.part").stat().st_size == KEPT
    server.n_sent = 0
    assert get("ranges", file).sha256 == SHA256[GZ]
    assert server.n_sent == SIZE - KEPT
    assert files_in(tmp_path) == {GZ, "NOTICE.md", "fetched.json"}


def test_a_complete_part_is_not_requested(get: Get, server: Loopback, tmp_path: Path) -> None:
    write_partial(tmp_path, SIZE)
    assert get("missing").sha256 == SHA256[GZ]
    assert server.requests == []


@pytest.mark.parametrize("behaviour", ["whole", "changed", "careless", "tail_of_one", "piecemeal"])
@pytest.mark.parametrize("file", [KNOWN, UNKNOWN], ids=["known", "unknown"])
def test_an_unsafe_resume_starts_over(
    get: Get, tmp_path: Path, waits: list[float], behaviour: str, file: DatasetFile
) -> None:
    """The server does not support ranges, has another file, or sends another or a shorter range."""
    write_partial(tmp_path, HALF).write_bytes(b"\x1f\x8b of an older file")
    assert get(behaviour, file).sha256 == SHA256[GZ]
    assert waits == []


def test_without_an_etag_resuming_needs_a_known_hash(get: Get, server: Loopback, tmp_path: Path) -> None:
    write_partial(tmp_path, HALF, etag=None)
    get("ranges", KNOWN)
    assert server.requests[-1].headers["range"] == f"bytes={HALF}-"
    assert "if-range" not in server.requests[-1].headers
    shutil.rmtree(tmp_path / "base")
    (tmp_path / "fetched.json").unlink()
    write_partial(tmp_path, HALF, etag=None).write_bytes(b"\x1f\x8b of an older file")
    assert get("ranges", UNKNOWN).sha256 == SHA256[GZ]
    assert "range" not in server.requests[-1].headers


@pytest.mark.parametrize("behaviour", ["cut_weak", "cut_untagged"])
def test_a_weak_etag_is_ignored(get: Get, server: Loopback, tmp_path: Path, behaviour: str) -> None:
    write_partial(tmp_path, 9)
    with pytest.raises(Unavailable, match=r"\(try 3 of 3\)"):
        get(behaviour, UNKNOWN, tries=3)
    assert ["range" in asked.headers for asked in server.requests] == [True, False, False]
    assert files_in(tmp_path) == {f"{GZ}.part"}


@pytest.mark.parametrize(("file", "size"), [(KNOWN, SIZE + 1), (UNKNOWN, SIZE), (UNKNOWN, SIZE + 9)])
def test_a_part_that_is_too_long_is_discarded(get: Get, tmp_path: Path, file: DatasetFile, size: int) -> None:
    write_partial(tmp_path, size).write_bytes(BODIES[GZ].ljust(size, b"x"))
    assert get("ranges", file).sha256 == SHA256[GZ]


@pytest.mark.parametrize("behaviour", ["corrupted", "short"])
def test_a_damaged_file_is_removed(get: Get, server: Loopback, tmp_path: Path, behaviour: str) -> None:
    with pytest.raises(Unavailable, match=r"sent a damaged file: it has .* catalogue says .*Try again") as error:
        get(behaviour)
    assert SHA256[GZ] in str(error.value)
    assert files_in(tmp_path) == set()
    get("ranges")
    assert "range" not in server.requests[-1].headers


def test_a_size_without_a_hash_is_compared(get: Get) -> None:
    with pytest.raises(
        Unavailable, match=rf"it has {SIZE:,} bytes and .* while the catalogue says {SIZE + 1:,} bytes\."
    ):
        get("whole", DatasetFile(path=GZ, size=SIZE + 1))


def test_a_damaged_part_is_detected_at_the_end_and_removed(get: Get, tmp_path: Path) -> None:
    write_partial(tmp_path, HALF).write_bytes(b"\x1f\x8b" + bytes(HALF - 2))
    with pytest.raises(Unavailable, match="sent a damaged file"):
        get("ranges")
    assert files_in(tmp_path) == set()


@pytest.mark.parametrize(
    ("behaviour", "file", "limit"),
    [("longer", KNOWN, f"{SIZE:,}"), ("endless", KNOWN, f"{SIZE:,}"), ("huge", UNKNOWN, "4,294,967,296")],
)
def test_a_response_over_the_size_limit_is_refused(
    get: Get, server: Loopback, tmp_path: Path, behaviour: str, file: DatasetFile, limit: str
) -> None:
    with pytest.raises(Unavailable, match=f"sends more than the {limit} bytes"):
        get(behaviour, file)
    assert files_in(tmp_path) == set()
    assert len(server.requests) == 1
    # The buffers of both sockets come on top of the file.
    assert server.n_sent < SIZE + 2**24


@pytest.mark.parametrize("file", [KNOWN, UNKNOWN, TABLE], ids=["known", "unknown", "table"])
@pytest.mark.parametrize("behaviour", ["page", "pointer", "empty"])
def test_a_page_instead_of_data_is_refused(get: Get, tmp_path: Path, behaviour: str, file: DatasetFile) -> None:
    reasons = {"page": "begins with '<html>", "pointer": "begins with 'version https://git-lfs", "empty": "is empty"}
    with pytest.raises(Unavailable, match=f"is not the data: the response {reasons[behaviour]}.*sign in"):
        get(behaviour, file)
    assert files_in(tmp_path) == set()


def test_an_unexpectedly_compressed_table_is_refused(get: Get, server: Loopback) -> None:
    server.bodies[CSV] = gzip.compress(BODIES[CSV])
    with pytest.raises(Unavailable, match="is not the data"):
        get("encoded", TABLE)


def test_a_page_instead_of_the_rest_keeps_the_part(get: Get, server: Loopback, tmp_path: Path) -> None:
    write_partial(tmp_path, HALF)
    with pytest.raises(Unavailable, match="is not the data"):
        get("page", UNKNOWN)
    get("ranges", UNKNOWN)
    assert server.requests[-1].headers["range"] == f"bytes={HALF}-"


def test_a_response_without_length_needs_a_known_hash(get: Get, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="does not report its length"):
        get("unsized", UNKNOWN)
    assert get("unsized", KNOWN).downloaded


@pytest.mark.parametrize("behaviour", ["chunked", "encoded"])
@pytest.mark.parametrize("file", [KNOWN, UNKNOWN], ids=["known", "unknown"])
def test_bytes_are_stored_without_decoding(get: Get, behaviour: str, file: DatasetFile) -> None:
    assert get(behaviour, file).path.read_bytes() == BODIES[GZ]


def test_a_silent_server_times_out(get: Get, waits: list[float], tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no data for 0\.2 seconds \(try 2 of 2\)\.$"):
        get("silent", timeout=0.2, tries=2)
    assert waits == [1.0]
    assert files_in(tmp_path) == set()


@pytest.mark.slow
def test_a_download_that_stalls_is_resumed(get: Get, server: Loopback, waits: list[float]) -> None:
    assert get("stalling_once", timeout=3).downloaded
    assert server.requests[1].headers["range"] == f"bytes={KEPT}-"
    assert waits == [1.0]


@pytest.mark.slow
def test_a_slow_server_is_waited_for(get: Get, waits: list[float]) -> None:
    start = time.monotonic()
    assert get("drip", timeout=3).downloaded
    assert time.monotonic() - start > 3
    assert waits == []


def test_redirects_are_followed(get: Get, server: Loopback, tmp_path: Path) -> None:
    assert get("redirect").downloaded
    assert [asked.behaviour for asked in server.requests] == ["redirect", "absolute", "cut_once"] * 2
    assert json.loads((tmp_path / "fetched.json").read_text())[GZ]["url"] == f"{server.root}/redirect/{GZ}"


def test_redirects_are_limited(get: Get, server: Loopback, waits: list[float]) -> None:
    with pytest.raises(Unavailable, match="redirects too often: more than 5 times"):
        get("loop")
    assert (len(server.requests), waits) == (6, [])


def test_https_never_redirects_to_http(get: Get, server: Loopback) -> None:
    with serving(dict(BODIES), tls=True, elsewhere=server.address("whole")) as safe:
        with pytest.raises(Unavailable, match="redirects from https to http, which is not followed"):
            get("", mirror=safe.address("away"))
        assert server.requests == []
        assert get("", mirror=safe.address("redirect")).downloaded


def test_an_untrusted_certificate_is_refused(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with (
        serving(dict(BODIES), tls=True) as safe,
        pytest.raises(Unavailable, match="certificate verify failed: self-signed certificate"),
    ):
        get("", mirror=safe.address("whole"))


@pytest.mark.parametrize(
    ("behaviour", "error", "message"),
    [
        ("missing", NotFound, r"There is no file http://127\..*/base/train\.jsonl\.gz \(HTTP 404\)"),
        ("forbidden", Unavailable, "answers HTTP 403 Forbidden"),
        ("tail", Unavailable, "answers HTTP 206"),
    ],
)
def test_permanent_errors_are_not_retried(
    get: Get, server: Loopback, behaviour: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        get(behaviour)
    assert len(server.requests) == 1


def test_server_errors_are_retried(get: Get, server: Loopback, waits: list[float]) -> None:
    assert get("broken_once").downloaded
    assert (len(server.requests), waits) == (2, [1.0])


def test_retries_end_after_the_last_try(get: Get, server: Loopback, waits: list[float]) -> None:
    with pytest.raises(Unavailable, match=r"answers HTTP 500 Internal Server Error \(try 3 of 3\)"):
        get("broken", tries=3)
    assert (len(server.requests), waits) == (3, [1.0, 2.0])


def test_retry_after_is_respected(get: Get, waits: list[float]) -> None:
    assert get("busy").downloaded
    assert waits == [7.0, 9.0]


def test_a_long_retry_after_ends_the_fetch(get: Get, server: Loopback, waits: list[float]) -> None:
    with pytest.raises(Unavailable, match=r"HTTP 429 Too Many Requests and asks to wait 3,600 seconds \(try 1 of 4\)"):
        get("busy_for_long")
    assert (len(server.requests), waits) == (1, [])


def test_a_server_that_is_down(get: Get, waits: list[float]) -> None:
    with serving({}) as server:
        pass
    with pytest.raises(Unavailable, match=r"cannot be fetched: .*refused \(try 4 of 4\)"):
        get("", mirror=server.address("whole"))
    assert waits == [1.0, 2.0, 4.0]


def test_a_password_is_sent_but_never_shown(get: Get, server: Loopback, tmp_path: Path) -> None:
    secret = server.root.replace("://", "://me:secret@")
    with pytest.raises(NotFound) as error:
        get("", mirror=f"{secret}/missing")
    assert get("", mirror=f"{secret}/whole/").downloaded
    assert server.requests[-1].headers["authorization"].startswith("Basic ")
    assert "secret" not in str(error.value) + (tmp_path / "fetched.json").read_text()


@pytest.mark.parametrize("mirror", ["", "here", "ftp://example.org", "https://", "https://a/?b", "http://a:port/"])
def test_an_invalid_mirror_is_refused(get: Get, mirror: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(repr(mirror)) + " is not the address of a folder"):
        get("", mirror=mirror)


def test_only_some_files(server: Loopback, tmp_path: Path) -> None:
    dataset = replace(ANY, files=(KNOWN, TABLE))
    (fetched,) = fetch(dataset, tmp_path, only="*.csv", mirror=server.address("whole"))
    assert fetched.path == tmp_path / CSV
    assert [file.downloaded for file in fetch(dataset, tmp_path, mirror=server.address("whole"))] == [True, False]
    with pytest.raises(NotFound, match=r"No file of any matches 'x\*'\. There are 'base/train\.jsonl\.gz'"):
        fetch(dataset, tmp_path, only="x*")


@pytest.mark.parametrize("behaviour", ["whole", "cut_once"])
def test_progress_goes_from_0_to_1(server: Loopback, tmp_path: Path, waits: list[float], behaviour: str) -> None:
    shares: list[float] = []
    dataset = replace(ANY, files=(KNOWN, TABLE))
    fetch(dataset, tmp_path, mirror=server.address(behaviour), progress=shares.append, sleep=waits.append)
    assert shares == sorted(shares)
    assert len(set(shares)) > 8
    assert (0 < shares[0] < 0.25, 0.5 in shares, shares[-1]) == (True, True, 1.0)


def test_two_fetches_do_not_write_to_one_folder(get: Get, server: Loopback, tmp_path: Path) -> None:
    def second(_: float) -> None:
        with pytest.raises(Conflict, match=f"Another fetch is writing to {re.escape(str(tmp_path))}"):
            get("whole")

    assert get("whole", progress=second).downloaded
    assert len(server.requests) == 1


def test_memory_does_not_grow_with_the_file(server: Loopback, tmp_path: Path) -> None:
    body = server.bodies[CSV] = BODIES[CSV] * 80
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        fetch(replace(ANY, files=(TABLE,)), tmp_path, mirror=server.address("whole"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(body) > 20_000_000
    assert peak - before < 4_000_000


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"a": {"sha256": 1, "size": 1, "url": ""}}', "\xff"])
def test_a_damaged_record_is_refused(get: Get, tmp_path: Path, text: str) -> None:
    (tmp_path / "fetched.json").write_text(text, "latin-1")
    with pytest.raises(InvalidInput, match=r"fetched\.json is damaged\. Restore it, or remove it"):
        get("whole")


def test_a_folder_path_that_is_a_file_is_refused(get: Get, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(Unavailable, match=r"taken.* cannot be read or written: (Not a directory|File exists)"):
        get("whole", folder=tmp_path / "taken")
    (tmp_path / GZ).mkdir(parents=True)
    with pytest.raises(Unavailable, match=r"gz cannot be read or written: Is a directory"):
        get("whole")


def test_an_unwritable_folder_is_refused(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    with as_unprivileged_user(), tempfile.TemporaryDirectory() as name:
        certificate = Path(name, "loopback.pem")
        certificate.write_text(CERTIFICATE)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        Path(name).chmod(0o500)
        with pytest.raises(Unavailable, match="cannot be read or written: Permission denied"):
            get("whole", folder=Path(name))
        Path(name).chmod(0o700)


@pytest.mark.parametrize(("name", "value"), [("ALL_PROXY", "nonsense://x"), ("SSL_CERT_FILE", os.devnull + "/x")])
def test_an_environment_that_allows_no_connection(
    get: Get, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(Unavailable, match=r"No connection can be made: .*Check SSL_CERT_FILE"):
        get("whole")


@pytest.mark.parametrize("options", [{"timeout": 0}, {"tries": 0}])
def test_invalid_timeouts_and_tries_are_refused(get: Get, options: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="both are above 0"):
        get("whole", **options)


def test_an_unknown_data_set(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no data set 'dices350'; there are 'dices-350', .* Did you mean 'dices-350'"):
        fetch("dices350", tmp_path)


@pytest.mark.parametrize("name", datasets())
def test_the_catalogue_is_pinned_licensed_and_warns(name: str) -> None:
    dataset = load_dataset(name)
    assert re.fullmatch(r"https://(raw\.githubusercontent|github)\.com/.*/[0-9a-f]{40}/([\w-]+/)?", dataset.base)
    assert dataset.licence in ("CC BY 4.0, Google LLC", "MIT, Anthropic")
    assert re.search(r"arXiv \d{4}\.\d{5}$", dataset.paper)
    assert "may offend" in dataset.warning
    assert all((dataset.citation, dataset.purpose, dataset.disclaimer, dataset.stated_in))
    for file in dataset.files:
        assert re.fullmatch(r"[\w-]+(/[\w-]+)?(\.csv|\.jsonl\.gz)", file.path)
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size is None or 0 < file.size < 2**30


@pytest.mark.parametrize("name", datasets())
def test_the_docs_agree_with_the_catalogue(name: str) -> None:
    dataset = load_dataset(name)
    page = (ROOT / "docs" / "fetch.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |") and dataset.licence in line)
    size = sum(file.size or 0 for file in dataset.files)
    assert f"| {len(dataset.files)} | {f'{size:,}' if size else 'not known'} " in row
    assert dataset.paper.rpartition(" ")[2] in row
    (commit,) = re.findall(r"/([0-9a-f]{8})[0-9a-f]{32}/", dataset.base)
    assert f"`{commit}`" in page


def test_the_real_file_matches_the_catalogue(real_data: Callable[[str], Path], get: Get, server: Loopback) -> None:
    (file,) = (file for file in load_dataset("hh-rlhf").files if file.path == "harmless-base/test.jsonl.gz")
    server.bodies[file.path] = body = real_data("hh-rlhf/harmless-base-test.jsonl.gz").read_bytes()
    assert (file.size, file.sha256) == (len(body), hashlib.sha256(body).hexdigest())
    assert get("redirect", file).checked_against == "catalogue"


def test_a_file_of_the_right_size_is_not_blamed_for_its_size(get: Get, tmp_path: Path) -> None:
    (tmp_path / CSV).write_text("abc")
    with pytest.raises(Conflict, match="no SHA-256 is known to check it with"):
        get("", DatasetFile(path=CSV, size=3))
