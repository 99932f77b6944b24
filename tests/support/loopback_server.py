"""HTTP server on loopback, in a thread of its own, for the servers that tests script."""

import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

# Self-signed for 127.0.0.1, for these tests only.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1sb29wYmFj
ayB0ZXN0MCAXDTAwMDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1sb29wYmFjayB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZqAu
BS1Hzj79IBM2E1qtKn/ydl1eA/K13gbuIGbdvQW+CiGRXV1ertQbYbh6WtExJmBr
hFraBsLNtSmVZC0/oqN0MHIwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUN2U3
sqG0VVKRBeZttjjJ5As7ePIwHwYDVR0jBBgwFoAUN2U3sqG0VVKRBeZttjjJ5As7
ePIwDgYDVR0PAQH/BAQDAgKEMA8GA1UdEQQIMAaHBH8AAAEwCgYIKoZIzj0EAwID
SAAwRQIhAPFfVmnGg1+4+9epcqeiyyO1AI7Ix5iYvXfcakbWb7/3AiByKY1tcf8i
Xk5xT4X1kr54VyGcQsKAFQK1e7JAENxgoQ==
-----END CERTIFICATE-----
"""
_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNbALzDvDNCyhOIjo
MJRbvneY3YP56/fkiR/KoG00ijOhRANCAARmoC4FLUfOPv0gEzYTWq0qf/J2XV4D
8rXeBu4gZt29Bb4KIZFdXV6u1BthuHpa0TEmYGuEWtoGws21KZVkLT+i
-----END PRIVATE KEY-----
"""


@contextmanager
def serve_requests(
    handler: type[BaseHTTPRequestHandler], *, host: str = "127.0.0.1", tls: bool = False
) -> Iterator[str]:
    """Serve until the block ends; yield the address."""
    with _Server((host, 0), handler) as server:
        if tls:
            server.socket = _tls_context().wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://{host}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


def _tls_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_text(CERTIFICATE + _KEY)
        context.load_cert_chain(path)
    return context
