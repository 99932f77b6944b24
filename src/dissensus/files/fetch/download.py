"""Resumable HTTP download of one file, with retries, backoff and a size limit."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

import httpx

from dissensus.errors import NotFound, Unavailable
from dissensus.files.raw.content import GZIP
from dissensus.http_client import MAX_BACKOFF_S, check_environment, compute_backoff, parse_retry_after
from dissensus.schema.hints import format_value

MAX_FILE_BYTES = 4 * 2**30
MAX_REDIRECTS = 5

_CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class Download:
    """One download: source, target, and the expected size and hash."""

    client: httpx.Client
    url: httpx.URL
    part: Path
    size: int | None
    sha256: str | None
    report: Callable[[int, int | None], None]

    @property
    def limit(self) -> int:
        """Maximum number of bytes to accept."""
        return self.size or MAX_FILE_BYTES


def open_client(timeout: float) -> httpx.Client:
    """Return an HTTP client that accepts no content encoding."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "dissensus"}
    with check_environment():
        return httpx.Client(timeout=timeout, headers=headers)


def download(job: Download, *, tries: int, sleep: Callable[[float], None]) -> None:
    """Download a file, with retries and exponential backoff."""
    job.part.parent.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        problem = _attempt(job)
        if problem is None:
            return
        reason, wait = problem
        if number == tries or wait > MAX_BACKOFF_S:
            hint = " The partial download is kept, and the next fetch resumes it." if job.part.exists() else ""
            raise Unavailable(
                f"{without_password(job.url)} cannot be fetched: {reason} (try {number} of {tries}).{hint}"
            )
        sleep(compute_backoff(number, wait))


def _attempt(job: Download) -> tuple[str, float] | None:
    """Try once; return the reason and the seconds to wait if a retry may help."""
    try:
        return _receive(job)
    except httpx.TimeoutException:
        return f"no data for {job.client.timeout.read:g} seconds", 0.0
    except httpx.TransportError as error:
        return str(error) or type(error).__name__, 0.0


def _receive(job: Download) -> tuple[str, float] | None:
    offset, etag = _resumable_part(job)
    if offset and offset == job.size:
        return None
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    headers |= {"If-Range": etag} if offset and etag else {}
    with closing(_send(job, headers)) as response:
        status = response.status_code
        if offset and (status == 416 or (status == 206 and not _continues(response, offset, etag))):
            discard(job.part)
            return _receive(job)
        if status != 200 and not (status == 206 and offset):
            return _problem(response, job.url)
        _save(job, response, offset if status == 206 else 0)
    return None


def _send(job: Download, headers: dict[str, str]) -> httpx.Response:
    """Send a request and follow redirects, but never from https to another scheme."""
    request = job.client.build_request("GET", job.url, headers=headers)
    for _ in range(MAX_REDIRECTS + 1):
        response = job.client.send(request, stream=True)
        next_request = response.next_request
        if next_request is None:
            return response
        response.close()
        old, new = request.url.scheme, next_request.url.scheme
        if new != "https" and (old, new) != ("http", "http"):
            raise Unavailable(f"{without_password(job.url)} redirects from {old} to {new}, which is not followed.")
        request = next_request
    raise Unavailable(f"{without_password(job.url)} redirects too often: more than {MAX_REDIRECTS} times.")


def _continues(response: httpx.Response, offset: int, etag: str | None) -> bool:
    """Return whether a response is the rest of the same file, to its end."""
    same_etag = etag is None or response.headers.get("etag", etag) == etag
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", response.headers.get("content-range", ""))
    return same_etag and span is not None and int(span[1]) == offset and int(span[2]) + 1 == int(span[3])


def _problem(response: httpx.Response, url: httpx.URL) -> tuple[str, float]:
    """Return the problem of a busy server and its Retry-After; raise for other responses."""
    status, description = response.status_code, f"it answers HTTP {response.status_code} {response.reason_phrase}"
    if status in (404, 410):
        raise NotFound(
            f"There is no file {without_password(url)} (HTTP {status}). Is the address right, and the mirror complete?"
        )
    if status != 429 and status < 500:
        raise Unavailable(f"{without_password(url)} cannot be fetched: {description}.")
    wait = parse_retry_after(response.headers)
    return description + (f" and asks to wait {wait:,.0f} seconds" if wait else ""), wait


def _save(job: Download, response: httpx.Response, offset: int) -> None:
    """Write the raw body, up to the size limit."""
    length = response.headers.get("content-length")
    if length is None and job.sha256 is None and "transfer-encoding" not in response.headers:
        raise Unavailable(
            f"{without_password(job.url)} does not report its length, so truncation could not be detected."
        )
    total = job.size if length is None else offset + int(length)
    chunks = response.iter_raw(_CHUNK)
    first = next(chunks, b"")
    if not offset:
        _check_start(first, job.url)
    with job.part.open("r+b" if offset else "wb") as out:
        if not offset:
            _store_etag(job.part, response.headers.get("etag", ""))
        out.seek(offset)
        for chunk in chain([first], chunks):
            if max(out.tell() + len(chunk), total or 0) > job.limit:
                discard(job.part)
                raise Unavailable(
                    f"{without_password(job.url)} sends more than the {job.limit:,} bytes that it may have."
                )
            out.write(chunk)
            job.report(out.tell(), total)


def _check_start(start: bytes, url: httpx.URL) -> None:
    """Raise if the first bytes are not data, such as the sign-in page of a network."""
    line = start.lstrip(b"\xef\xbb\xbf \r\n\t").partition(b"\n")[0]
    csv = b"," in line and not line.startswith((b"<", b"{", GZIP))
    matches = {".gz": start.startswith(GZIP), ".csv": csv}.get(Path(url.path).suffix, True)
    if not (start and matches):
        description = f"begins with {format_value(start[:100].decode('utf-8', 'replace'))}" if start else "is empty"
        raise Unavailable(
            f"{without_password(url)} is not the data: the response {description}. "
            "If your network asks to sign in, do that first; if this is a mirror, check its files."
        )


def _resumable_part(job: Download) -> tuple[int, str | None]:
    """Return the size and ETag of a partial download; size 0 if it cannot be resumed safely."""
    if not job.part.exists():
        return 0, None
    size, tag = job.part.stat().st_size, _etag_path(job.part)
    etag = tag.read_text("ascii", "ignore") if tag.exists() else None
    return (size, etag) if etag or job.sha256 else (0, None)


def _store_etag(part: Path, etag: str) -> None:
    # A weak ETag (W/"…") does not promise the same bytes.
    if etag.startswith('"') and etag.isascii():
        _etag_path(part).write_text(etag, "ascii")
    else:
        _etag_path(part).unlink(missing_ok=True)


def _etag_path(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def discard(part: Path) -> None:
    """Remove a partial download and its ETag."""
    part.unlink(missing_ok=True)
    _etag_path(part).unlink(missing_ok=True)


def without_password(url: httpx.URL) -> str:
    """Return an address without user name and password."""
    return str(url.copy_with(userinfo=b""))
