"""A receiver of webhooks on loopback: it accepts everything but what is sent to `gone`."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """Address of the receiver, and the requests that it got."""

    port: int = 0
    requests: list[str] = field(default_factory=list)

    def address(self, path: str) -> str:
        """Return an address at which it accepts what is sent."""
        return f"http://127.0.0.1:{self.port}/{path}"


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Receive until the block ends."""
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            names = sorted(name for name in self.headers if name.lower() not in ("host", "content-length"))
            head = "\n".join(f"{name}: {self.headers[name]}" for name in names)
            state.requests.append(f"POST {self.path}\n{head}\n\n{body}\n")
            self.send_response(410 if self.path == "/gone" else 204)
            self.end_headers()

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
