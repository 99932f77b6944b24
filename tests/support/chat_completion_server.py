"""Server of chat completions on loopback, scripted by connection: right, wrong, slow or silent."""

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Play = Callable[["Wire"], None]
"""Reaction to a request that was read."""

EVENTS = "text/event-stream; charset=utf-8"
PATIENCE_S = 20.0


@dataclass
class Wire:
    """Connection whose request was read."""

    connection: socket.socket
    over: threading.Event
    closed: threading.Event = field(default_factory=threading.Event)
    keep_alive: bool = False
    """True if another request may follow on the connection."""

    def send(self, data: bytes) -> None:
        try:
            self.connection.sendall(data)
        except OSError:
            self.closed.set()

    def head(self, status: int = 200, kind: str = EVENTS, *lines: str) -> None:
        """Send the head of an answer that ends with the connection."""
        head = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", "Connection: close", *lines]
        self.send("\r\n".join([*head, "", ""]).encode())

    def chunk(self, text: str | None = None, **more: Any) -> None:
        self.event({"choices": [{"index": 0, "delta": {} if text is None else {"content": text}, **more}]})

    def event(self, data: object) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.send(f"data: {text}\n\n".encode())

    def hold(self) -> None:
        """Send nothing more until the other side hangs up, or the test is over."""
        self.connection.settimeout(0.02)
        while not self.over.is_set():
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.closed.set()


def says(*words: str, finish: str | None = "stop", usage: object = None, model: str | None = None) -> Play:
    """Stream words with a regular end."""

    def play(wire: Wire) -> None:
        wire.head()
        wire.event({"model": model, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        for word in words:
            wire.chunk(word)
        wire.chunk(finish_reason=finish)
        if usage is not None:
            wire.event({"choices": [], "usage": usage})
        wire.event("[DONE]")

    return play


def answers(status: int, body: object = "", kind: str = "application/json", *lines: str) -> Play:
    """Answer without streaming."""
    content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()

    def play(wire: Wire) -> None:
        wire.head(status, kind, *lines)
        wire.send(content)

    return play


def streams(data: bytes, *, hold: bool = False) -> Play:
    """Send these bytes as a stream, and hang up or fall silent."""

    def play(wire: Wire) -> None:
        wire.head()
        wire.send(data)
        if hold:
            wire.hold()

    return play


def keeps_alive(*words: str) -> Play:
    """Stream words, and keep the connection for another request."""

    def play(wire: Wire) -> None:
        wire.keep_alive = True
        chunks = [json.dumps({"choices": [{"index": 0, "delta": {"content": word}}]}) for word in words]
        body = "".join(f"data: {data}\n\n" for data in [*chunks, "[DONE]"]).encode()
        wire.send(f"HTTP/1.1 200 OK\r\nContent-Type: {EVENTS}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for start in range(0, len(body), 7):
            wire.send(body[start : start + 7])

    return play


@dataclass
class Loopback:
    """Script of the server, and requests received."""

    url: str
    plays: deque[Play] = field(default_factory=deque)
    otherwise: Play = field(default_factory=lambda: says("Hello", " there."))
    respond: Callable[[dict[str, Any]], Play] | None = None
    """Reaction by the body of a request, in place of `otherwise`."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    def will(self, *plays: Play) -> None:
        self.plays.extend(plays)

    def wait_all_closed(self) -> bool:
        """Wait until all connections are closed; return False after a timeout."""
        return all(wire.closed.wait(PATIENCE_S) for wire in self.wires)

    def serve(self, connection: socket.socket) -> None:
        wire = Wire(connection, self.over)
        with connection, connection.makefile("rb") as lines, suppress(OSError):
            self.wires.append(wire)
            while head := read_head(lines):
                length = next(int(line.split(":")[1]) for line in head if line.lower().startswith("content-length:"))
                wire.keep_alive = False
                body = lines.read(length)
                if len(body) < length:
                    break  # The caller has hung up
                self.next_for(head, json.loads(body))(wire)
                if not wire.keep_alive:
                    break
            connection.shutdown(socket.SHUT_RDWR)
        wire.closed.set()

    def next_for(self, head: Sequence[str], body: dict[str, Any]) -> Play:
        """Record a request; return the reaction to it."""
        with self.lock:
            self.heads.append("\n".join(head))
            self.bodies.append(body)
            if self.plays:
                return self.plays.popleft()
            return self.otherwise if self.respond is None else self.respond(body)


def read_head(lines: Any) -> Sequence[str]:
    head = []
    while line := lines.readline().decode().strip():
        head.append(line)
    return head


@contextmanager
def loopback() -> Iterator[Loopback]:
    """Serve until the block ends."""
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        server = Loopback(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                if server.over.is_set():
                    connection.close()
                    return
                threads.append(threading.Thread(target=server.serve, args=(connection,)))
                threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield server
        finally:
            server.over.set()
            with suppress(OSError), socket.create_connection(listening.getsockname(), timeout=1):
                pass
            accepting.join()
            for thread in threads:
                thread.join()
