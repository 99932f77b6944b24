"""A server on loopback that a test tells, connection by connection, what to send: right, wrong, slow or never."""

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Play = Callable[["Wire"], None]
"""What is done with one request once it was read."""

EVENTS = "text/event-stream; charset=utf-8"
PATIENCE_S = 20.0


@dataclass
class Wire:
    """One connection, after its request was read."""

    connection: socket.socket
    over: threading.Event
    gone: threading.Event = field(default_factory=threading.Event)
    again: bool = False
    """Whether another request may come on the same connection."""

    def send(self, data: bytes) -> None:
        try:
            self.connection.sendall(data)
        except OSError:
            self.gone.set()

    def head(self, status: int = 200, kind: str = EVENTS, *lines: str) -> None:
        """Send the head of an answer that ends with the connection."""
        given = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", "Connection: close", *lines]
        self.send("\r\n".join([*given, "", ""]).encode())

    def chunk(self, text: str | None = None, **more: Any) -> None:
        self.event({"choices": [{"index": 0, "delta": {} if text is None else {"content": text}, **more}]})

    def event(self, data: object) -> None:
        said = data if isinstance(data, str) else json.dumps(data)
        self.send(f"data: {said}\n\n".encode())

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
        self.gone.set()


def says(*words: str, finish: str | None = "stop", usage: object = None, model: str | None = None) -> Play:
    """Stream words and end as servers do."""

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
    """Answer all at once."""
    given = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()

    def play(wire: Wire) -> None:
        wire.head(status, kind, *lines)
        wire.send(given)

    return play


def streams(data: bytes, *, hold: bool = False) -> Play:
    """Send these bytes as a stream, and hang up or fall silent."""

    def play(wire: Wire) -> None:
        wire.head()
        wire.send(data)
        if hold:
            wire.hold()

    return play


def kept(*words: str) -> Play:
    """Stream words, and keep the connection for another request."""

    def play(wire: Wire) -> None:
        wire.again = True
        chunks = [json.dumps({"choices": [{"index": 0, "delta": {"content": word}}]}) for word in words]
        body = "".join(f"data: {data}\n\n" for data in [*chunks, "[DONE]"]).encode()
        wire.send(f"HTTP/1.1 200 OK\r\nContent-Type: {EVENTS}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for place in range(0, len(body), 7):
            wire.send(body[place : place + 7])

    return play


@dataclass
class Loopback:
    """What is to be sent, and what came."""

    url: str
    plays: deque[Play] = field(default_factory=deque)
    otherwise: Play = field(default_factory=lambda: says("Hello", " there."))
    bodies: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    def will(self, *plays: Play) -> None:
        self.plays.extend(plays)

    def all_gone(self) -> bool:
        """Wait until nobody is connected any more; tell whether that came to be."""
        return all(wire.gone.wait(PATIENCE_S) for wire in self.wires)

    def serve(self, connection: socket.socket) -> None:
        wire = Wire(connection, self.over)
        with connection, connection.makefile("rb") as lines, suppress(OSError):
            self.wires.append(wire)
            while head := read_head(lines):
                length = next(int(line.split(":")[1]) for line in head if line.lower().startswith("content-length:"))
                self.next_for(head, json.loads(lines.read(length)))(wire)
                if not wire.again:
                    break
            connection.shutdown(socket.SHUT_RDWR)
        wire.gone.set()

    def next_for(self, head: Sequence[str], body: dict[str, Any]) -> Play:
        """Note a request; return what is done with it."""
        with self.lock:
            self.heads.append("\n".join(head))
            self.bodies.append(body)
            return self.plays.popleft() if self.plays else self.otherwise


def read_head(lines: Any) -> Sequence[str]:
    found = []
    while line := lines.readline().decode().strip():
        found.append(line)
    return found


@contextmanager
def loopback() -> Iterator[Loopback]:
    """Run it until the block ends."""
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
