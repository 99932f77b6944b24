"""A real SMTP server on loopback that keeps what it receives, with certificate and replies of choice."""

import asyncio
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

OK = "250 OK"


@dataclass
class Mailbox:
    """Messages that the server received, and its reply to the end of a message."""

    replies: list[str] = field(default_factory=list)  # One for each message; OK afterwards
    recipient_replies: list[str] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)  # Of accepted messages
    logins: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0
    n_attempts: int = 0
    encrypted: list[bool] = field(default_factory=list)
    trust: ssl.SSLContext = field(default_factory=ssl.create_default_context)  # Of clients that trust the server

    @property
    def messages(self) -> list[EmailMessage]:
        parser = BytesParser(policy=default)
        return [parser.parsebytes(envelope.content or b"") for envelope in self.envelopes]  # type: ignore[arg-type]

    # The names of the methods are those of the library.
    async def handle_RCPT(self, _server: SMTP, _session: Any, envelope: Envelope, address: str, _: Any) -> str:
        if self.recipient_replies:
            self.n_attempts += 1
            return self.recipient_replies.pop(0)
        envelope.rcpt_tos.append(address)
        return OK

    async def handle_DATA(self, server: SMTP, _session: Any, envelope: Envelope) -> str:
        self.n_attempts += 1
        self.encrypted.append(server.transport is not None and bool(server.transport.get_extra_info("sslcontext")))
        reply = self.replies.pop(0) if self.replies else OK
        if reply == OK:
            self.envelopes.append(envelope)
        return reply

    def authenticate(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"right", handled=False)


@contextmanager
def receiving(folder: Path, *, tls: str = "none", authentication: bool = False) -> Iterator[Mailbox]:
    """Run a server until the block ends; `tls` is none, starttls or tls."""
    mailbox, loop = Mailbox(), asyncio.new_event_loop()
    context = None if tls == "none" else _make_contexts(folder, mailbox)

    protocols = list[SMTP]()

    def protocol() -> SMTP:
        protocols.append(
            SMTP(
                mailbox,
                hostname="localhost",
                loop=loop,
                tls_context=context if tls == "starttls" else None,
                authenticator=mailbox.authenticate if authentication else None,
                auth_require_tls=False,
            )
        )
        return protocols[-1]

    listening = loop.create_server(protocol, "127.0.0.1", 0, ssl=context if tls == "tls" else None)
    server = loop.run_until_complete(listening)
    mailbox.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield mailbox
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.run_until_complete(_close(protocols))
        loop.close()


async def _close(protocols: list[SMTP]) -> None:
    """Abort open connections, and wait for their handlers."""
    for protocol in protocols:
        if isinstance(protocol.transport, asyncio.Transport):
            protocol.transport.abort()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0.01)


def _make_contexts(folder: Path, mailbox: Mailbox) -> ssl.SSLContext:
    """Make a certificate for 127.0.0.1; return the context of the server, and let clients of the mailbox trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    certificate = builder.add_extension(names, critical=False).sign(key, SHA256())
    pem = certificate.public_bytes(Encoding.PEM)
    path = folder / "smtp.pem"
    path.write_bytes(pem + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    mailbox.trust.load_verify_locations(cadata=pem.decode())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
