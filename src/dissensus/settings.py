"""Settings of the platform: from the environment, else from a TOML file, else as they are here."""

import os
import secrets
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from dissensus.errors import DissensusError, InvalidInput
from dissensus.schema.hints import suggest, format_list
from dissensus.store.core.database import parse_url
from dissensus.webhook_transport import Network, parse_networks

PREFIX = "DISSENSUS_"
SHORTEST_KEY = 32
SAFE = ("https://", "http://127.0.0.1", "http://localhost")
FILE = "dissensus.toml"
"""Read from the current folder, unless DISSENSUS_SETTINGS names another file."""

Hidden: Final = Field(repr=False)
"""In no representation, and so in no log."""


class Settings(BaseModel):
    """How a platform runs; each can be set as ``DISSENSUS_NAME`` in the environment, or as ``name`` in a TOML file.

    Parameters
    ----------
    database_url
        Where everything is kept: ``sqlite:///FILE`` or ``postgresql://USER:PASSWORD@HOST/NAME``.
    host, port
        Where the site listens.
    base_url
        The address by which people reach it, for links; with https, cookies go by https alone.
    workers
        Processes that answer.
    threads
        Requests that one of them answers at once, and connections that it holds.
    jobs
        Whether the processes that answer also do what runs beside the site; one of them does at a time.
    secret_key
        Signs tokens and links, at least 32 characters. One is made and kept beside a SQLite database by itself; with
        PostgreSQL it must be given, so that all machines have the same.
    trusted_proxies
        Addresses of proxies whose word on the address of a visitor counts; an asterisk for all.
    metrics_token
        What asks for ``/metrics`` must carry, as ``Authorization: Bearer TOKEN``; without one anybody may.
    password_passes, password_memory_mib
        What it costs to try a password, as Argon2id counts it; each request that signs in takes so much memory.
    oidc_issuer, oidc_client_id
        The OpenID provider that staff may sign in by, and what it calls this site; both or none.
    oidc_client_secret, oidc_client_secret_file
        What this site shows the provider, or the file that holds it.
    oidc_button
        What stands on the button that leads to the provider.
    prolific_secret
        Of the workspace at Prolific, which signs its events with it; without one none is taken.
    prolific_token, prolific_token_file
        By which the site decides on submissions at Prolific for owners who press the buttons, or the file that holds
        it; without one they decide there.
    prolific_url
        Where the API of Prolific is, if it is elsewhere.
    webhook_networks
        Networks that webhooks may lead to besides the public internet, by http too, divided by commas.
    chatbot_hosts
        Servers of chatbots that campaigns may use, with their ports where they are others, divided by commas.
    models
        Folder of the model lines that campaigns may name; all machines that answer need the same.
    retrain_h
        Hours after which lines that campaigns name learn from what came since; 0 for when they are told to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    database_url: Annotated[str, Hidden] = "sqlite:///dissensus.db"
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    base_url: str | None = None
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    threads: Annotated[int, Field(ge=1, le=100)] = 10
    jobs: bool = True
    secret_key: Annotated[str | None, Hidden, Field(min_length=SHORTEST_KEY)] = None
    trusted_proxies: str = "127.0.0.1"
    metrics_token: Annotated[str | None, Hidden] = None
    password_passes: Annotated[int, Field(ge=1, le=100)] = 3
    password_memory_mib: Annotated[int, Field(ge=1, le=4096)] = 64
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: Annotated[str | None, Hidden] = None
    oidc_client_secret_file: Path | None = None
    oidc_button: str = "Sign in with your organisation"
    prolific_secret: Annotated[str | None, Hidden, Field(min_length=1)] = None
    prolific_token: Annotated[str | None, Hidden] = None
    prolific_token_file: Path | None = None
    prolific_url: str | None = None
    webhook_networks: str | None = None
    chatbot_hosts: str | None = None
    models: Path = Path("models")
    retrain_h: Annotated[int, Field(ge=0, le=10_000)] = 0

    @property
    def address(self) -> str:
        """Return the address by which people reach the site, for links."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.base_url or f"http://{host}:{self.port}"

    @property
    def networks(self) -> tuple[Network, ...]:
        """Return where webhooks may lead besides the public internet."""
        return parse_networks(self.webhook_networks or "")

    @field_validator("webhook_networks")
    @classmethod
    def _known_networks(cls, value: str | None) -> str | None:
        try:
            parse_networks(value or "")
        except DissensusError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return value

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: str) -> str:
        try:
            parse_url(value)
        except DissensusError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("base_url")
    @classmethod
    def _whole_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("give a whole address, such as https://rate.example.org")
        return value if value is None else value.rstrip("/")

    @field_validator("oidc_issuer")
    @classmethod
    def _safe_issuer(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(SAFE):
            raise ValueError("give the issuer as the provider names itself, with https://")
        return value

    @field_validator("prolific_url")
    @classmethod
    def _safe_prolific(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(SAFE):
            raise ValueError("give the address of the API, with https://")
        return value


def load(environment: Mapping[str, str], folder: Path = Path()) -> Settings:
    """Return the settings.

    Parameters
    ----------
    environment
        Variables by name; those that are no setting are left alone.
    folder
        Where dissensus.toml is looked for.

    Raises
    ------
    InvalidInput
        The file cannot be read, or a setting is wrong; the message names each, and where it was set.

    Examples
    --------
    >>> load({"DISSENSUS_PORT": "9000"}, Path("/nowhere")).port
    9000
    >>> load({"DISSENSUS_PORT": "many"}, Path("/nowhere"))
    Traceback (most recent call last):
        ...
    dissensus.errors.InvalidInput: A setting is wrong:
    - DISSENSUS_PORT in the environment: Input should be a valid integer, unable to parse string as an integer.
    """
    named = environment.get(f"{PREFIX}SETTINGS")
    path = Path(named) if named else folder / FILE
    written = _read(path) if named or path.exists() else {}
    set_here = {
        name: environment[PREFIX + name.upper()]
        for name in Settings.model_fields
        if PREFIX + name.upper() in environment
    }
    try:
        return Settings(**{**written, **set_here})
    except ValidationError as error:
        faults = [_fault(one, set_here, path) for one in error.errors()]
        raise InvalidInput("\n".join(["A setting is wrong:", *(f"- {fault}" for fault in faults)])) from None


def secret_of(settings: Settings) -> str:
    """Return the key that signs tokens; for a SQLite database one is made once, in a file beside it.

    Raises
    ------
    InvalidInput
        The database is PostgreSQL, and no key is set; or the file does not hold one.
    """
    if settings.secret_key is not None:
        return settings.secret_key
    url = parse_url(settings.database_url)
    if url.get_backend_name() != "sqlite":
        raise InvalidInput(
            f"secret_key is not set, and with PostgreSQL it must be. Make one, and keep it: "
            f"export {PREFIX}SECRET_KEY=$(openssl rand -hex 32)"
        )
    path = Path(f"{url.database}.key")
    try:
        if not path.exists():
            _keep_key(path)
        key = path.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The key {path} cannot be read or made: {error}.") from None
    if len(key) < SHORTEST_KEY:
        raise InvalidInput(f"The key {path} is too short. Delete the file, and another one is made; links end then.")
    return key


def oidc_secret_of(settings: Settings) -> str:
    """Return what this site shows its OpenID provider.

    Raises
    ------
    InvalidInput
        There is none, or the file that is named cannot be read.
    """
    path = settings.oidc_client_secret_file
    try:
        found = settings.oidc_client_secret if path is None else path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The secret for the provider, {path}, cannot be read: {error}.") from None
    if not found or not settings.oidc_client_id:
        raise InvalidInput(
            "With oidc_issuer, oidc_client_id must be set too, and oidc_client_secret or oidc_client_secret_file."
        )
    return found


def prolific_token_of(settings: Settings) -> str | None:
    """Return the token of Prolific, None where there is none.

    Raises
    ------
    InvalidInput
        The file that is named cannot be read.
    """
    path = settings.prolific_token_file
    if path is None:
        return settings.prolific_token or None
    try:
        return path.read_text("utf-8").strip() or None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The token of Prolific, {path}, cannot be read: {error}.") from None


def _keep_key(path: Path) -> None:
    """Write a new key whole, for its owner alone; where another process was first, its key stays."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"The settings {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise InvalidInput(f"The settings {path} are not TOML: {error}.") from None


def _fault(error: Any, set_here: Mapping[str, str], path: Path) -> str:
    name = str(error["loc"][0])
    where = f"{PREFIX}{name.upper()} in the environment" if name in set_here else f"{name} in {path}"
    if error["type"] == "extra_forbidden":
        known = list(Settings.model_fields)
        return f"{where} means nothing.{suggest(name, known)} Settings are {format_list(known, 20)}."
    # What was given is not told: it may be a password.
    return f"{where}: {error['msg'].removeprefix('Value error, ')}."
