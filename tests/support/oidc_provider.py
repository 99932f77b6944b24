"""A small OpenID provider on loopback with one person, whose claims a test sets."""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from tests.support.campaigns import NOW
from tests.support.loopback_server import serve_requests

CLIENT, SECRET = "dissensus & co", "s%cret/:é"


@cache
def generate_key(_owner: str) -> RSAKey:
    """A key generated once for all tests, because that is slow."""
    return RSAKey.generate_key(2048, {"kid": "1"})


@dataclass
class Provider:
    """Claims, keys and issued codes of the provider."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    key: RSAKey | OctKey = field(default_factory=lambda: generate_key("ours"))
    public_key: RSAKey = field(init=False)
    refuses: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    n_metadata: int = 0
    status: int = 200
    free: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        assert isinstance(self.key, RSAKey)
        self.public_key = self.key
        self.free.set()

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize?tenant=1",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }

    def let_in(self, parameters: dict[str, str]) -> str:
        """Sign the person in and return the callback address."""
        assert parameters["response_type"] == "code"
        assert parameters["code_challenge_method"] == "S256"
        assert set(parameters["scope"].split()) >= {"openid", "email"}
        code = secrets.token_urlsafe(16)
        self.codes[code] = parameters
        result = {"error": "access_denied"} if self.refuses else {"code": code}
        return f"{parameters['redirect_uri']}?{urlencode({**result, 'state': parameters['state']})}"

    def give(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Return tokens for an unused code of the same client."""
        parameters = self.codes.pop(form.get("code", ""), None)
        credentials = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")
        if parameters is None or [unquote(one) for one in credentials] != [CLIENT, SECRET]:
            return None
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if challenge != parameters["code_challenge"] or form["redirect_uri"] != parameters["redirect_uri"]:
            return None
        now = int(NOW.timestamp())
        claims = {
            "iss": self.url,
            "sub": "7",
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": parameters["nonce"],
        }
        header = {"alg": self.algorithm, "kid": "1"}
        token = jwt.encode(header, {**claims, **self.claims}, self.key, algorithms=[self.algorithm])
        return {"access_token": "unused", "token_type": "Bearer", "id_token": token}


@contextmanager
def providing() -> Iterator[Provider]:
    """Run a provider until the block ends."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path)
            if path.path == "/authorize":
                parameters = {name: values[0] for name, values in parse_qs(path.query).items()}
                self.send_response(302)
                self.send_header("location", provider.let_in(parameters))
                self.end_headers()
                return
            provider.n_metadata += path.path.startswith("/.well-known/")
            provider.free.wait()
            keys = KeySet([provider.public_key]).as_dict(private=False)
            documents = {"/.well-known/openid-configuration": provider.metadata(), "/keys": keys}
            self.answer(documents.get(path.path))

        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["content-length"])).decode()
            fields = {name: values[0] for name, values in parse_qs(form).items()}
            self.answer(provider.give(fields, self.headers["authorization"]))

        def answer(self, data: Any) -> None:
            body = json.dumps({"error": "invalid_grant"} if data is None else data).encode()
            self.send_response(400 if data is None else provider.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with serve_requests(Handler) as provider.url:
        yield provider
