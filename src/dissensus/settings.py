"""Settings of the site, from the environment, else a TOML file, else defaults."""

import os
import secrets
import tempfile
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from dissensus.campaign.rate_limits import HOUR_S, SAVE_PERIOD_S, RateLimit, RaterLimits
from dissensus.encryption import SecretKeys
from dissensus.errors import DissensusError, InvalidInput
from dissensus.mail_transport import DEFAULT_PORTS, Encryption, MailSender, is_sender
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.urls import check_secure_url
from dissensus.store.core.database import parse_url
from dissensus.webhook_transport import Network, parse_networks

PREFIX = "DISSENSUS_"
MIN_KEY_LENGTH = 32
FILE = "dissensus.toml"
"""File of settings in the current folder, unless DISSENSUS_SETTINGS names another one."""

Hidden: Final = Field(repr=False)
"""Field left out of `repr`, and so of logs."""
RequestCount = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Settings(BaseModel):
    """Settings of the site. Each is ``DISSENSUS_NAME`` in the environment, or ``name`` in a TOML file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Database URL: ``sqlite:///FILE`` or ``postgresql://USER:PASSWORD@HOST/NAME``.
    database_url: Annotated[str, Hidden] = "sqlite:///dissensus.db"
    # Address and port on which the site listens.
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    # Public address of the site, used in links. With https, cookies are marked Secure.
    base_url: str | None = None
    # Web worker processes.
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    # Request threads per worker, each with a database connection.
    threads: Annotated[int, Field(ge=1, le=100)] = 10
    # Run background jobs in the web workers; one worker at a time holds the lease.
    background_jobs: bool = True
    # Key that signs tokens and links, at least 32 characters. Beside a SQLite database one is generated; with
    # PostgreSQL it is required, so that all machines share it.
    secret_key: Annotated[str | None, Hidden, Field(min_length=MIN_KEY_LENGTH)] = None
    # Comma-separated keys that were replaced: they still verify and decrypt, and do not sign or encrypt.
    previous_secret_keys: Annotated[str | None, Hidden] = None
    # Days for which browsers use HTTPS only (HSTS), if the public address has it; 0 disables the header.
    hsts_days: Annotated[int, Field(ge=0, le=3650)] = 365
    # Addresses or networks of proxies whose X-Forwarded headers are trusted, comma-separated; an asterisk trusts all.
    trusted_proxies: str = "127.0.0.1"
    # Bearer token required for ``/metrics``. Without it the metrics are public.
    metrics_token: Annotated[str | None, Hidden] = None
    # Rate limits of raters, counted in the database; 0 for no limit. Requests of one rater in five minutes, large saves
    # counted as several.
    saves_per_rater: RequestCount = 600
    # Requests for help, and separately reports, of one rater in an hour; both together from one network address.
    notices_per_rater: RequestCount = 20
    notices_per_address: RequestCount = 500
    # New raters in an hour: by one open link, and from one network address.
    entries_per_link: RequestCount = 3000
    entries_per_address: RequestCount = 300
    # Cost of hashing a password with Argon2id: passes, and memory in MiB for each sign-in.
    password_passes: Annotated[int, Field(ge=1, le=100)] = 3
    password_memory_mib: Annotated[int, Field(ge=1, le=4096)] = 64
    # Days for which the security log of staff is kept.
    security_log_days: Annotated[int, Field(ge=1, le=3650)] = 180
    # Minutes without a request after which a session of staff ends.
    session_idle_minutes: Annotated[int, Field(ge=1, le=720)] = 60
    # Require a second factor of owners of campaigns, also for their API tokens.
    owners_need_second_factor: bool = False
    # OpenID Connect provider for staff sign-in, and this site's client id there: both or neither.
    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    # Client secret for the provider, or the file that holds it.
    oidc_client_secret: Annotated[str | None, Hidden] = None
    oidc_client_secret_file: Path | None = None
    # Label of the button that leads to the provider.
    oidc_button: str = "Sign in with your organisation"
    # SMTP server that sends mails about changed credentials of staff; without it none are sent.
    smtp_host: str | None = None
    # Its port; 587 with STARTTLS, 465 with TLS and 25 without encryption, unless set.
    smtp_port: Annotated[int | None, Field(ge=1, le=65535)] = None
    # Encryption, which the server must have: starttls, tls (from the first byte) or none.
    smtp_encryption: Encryption = "starttls"
    # User and password at the server, or the file that holds the password.
    smtp_user: str | None = None
    smtp_password: Annotated[str | None, Hidden] = None
    smtp_password_file: Path | None = None
    # Sender of mails, such as Dissensus <notices@example.org>.
    smtp_sender: str | None = None
    # Webhook signing secret of the Prolific workspace. Without it, Prolific events are rejected.
    prolific_secret: Annotated[str | None, Hidden, Field(min_length=1)] = None
    # API token with which owners approve and reject Prolific submissions here, or the file that holds it. Without it
    # they do so at Prolific.
    prolific_token: Annotated[str | None, Hidden] = None
    prolific_token_file: Path | None = None
    # Base URL of the Prolific API, if not the official one.
    prolific_url: str | None = None
    # Comma-separated networks that webhooks may reach besides the public internet, over plain HTTP too.
    webhook_networks: str | None = None
    # Comma-separated allowlist of chatbot servers that campaigns may use, with ports unless they are the default.
    chatbot_hosts: str | None = None
    # Folder of the model registry. All machines need the same contents.
    model_registry: Path = Path("models")
    # Hours between retrainings of registered models that campaigns name; 0 disables the schedule.
    retrain_hours: Annotated[int, Field(ge=0, le=10_000)] = 0

    @property
    def address(self) -> str:
        """Public address of the site, for links."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.base_url or f"http://{host}:{self.port}"

    @property
    def session_idle(self) -> timedelta:
        """Time without a request after which a session of staff ends."""
        return timedelta(minutes=self.session_idle_minutes)

    @property
    def rater_limits(self) -> RaterLimits:
        """Rate limits of raters."""
        return RaterLimits(
            saves_per_rater=RateLimit(self.saves_per_rater, SAVE_PERIOD_S),
            notices_per_rater=RateLimit(self.notices_per_rater, HOUR_S),
            notices_per_address=RateLimit(self.notices_per_address, HOUR_S),
            entries_per_link=RateLimit(self.entries_per_link, HOUR_S),
            entries_per_address=RateLimit(self.entries_per_address, HOUR_S),
        )

    @property
    def is_secure(self) -> bool:
        """True if the public address of the site is HTTPS."""
        return self.address.startswith("https://")

    @property
    def proxy_networks(self) -> str:
        """Networks of trusted proxies, in the form that the server takes."""
        is_any = self.trusted_proxies.strip() == "*"
        return "*" if is_any else ",".join(map(str, parse_networks(self.trusted_proxies)))

    @property
    def networks(self) -> tuple[Network, ...]:
        """Networks that webhooks may reach besides the public internet."""
        return parse_networks(self.webhook_networks or "")

    @field_validator("trusted_proxies", "webhook_networks")
    @classmethod
    def _check_networks(cls, value: str | None, field: ValidationInfo) -> str | None:
        if field.field_name == "trusted_proxies" and value is not None and value.strip() == "*":
            return value
        try:
            parse_networks(value or "")
        except DissensusError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return value

    @field_validator("previous_secret_keys")
    @classmethod
    def _check_previous_keys(cls, value: str | None) -> str | None:
        if any(len(key) < MIN_KEY_LENGTH for key in _split(value)):
            raise ValueError(f"give keys of at least {MIN_KEY_LENGTH} characters, separated by commas")
        return value

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, value: str) -> str:
        try:
            parse_url(value)
        except DissensusError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return value

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("give a complete address, such as https://rate.example.org")
        return value if value is None else value.rstrip("/")

    @field_validator("oidc_issuer", "prolific_url")
    @classmethod
    def _check_secure_url(cls, value: str | None, field: ValidationInfo) -> str | None:
        if value is not None:
            example = "https://id.example.org" if field.field_name == "oidc_issuer" else "https://api.prolific.com"
            try:
                check_secure_url(value, example)
            except DissensusError as error:
                raise ValueError(str(error).rstrip(".")) from None
        return value

    @field_validator("smtp_sender")
    @classmethod
    def _check_sender(cls, value: str | None) -> str | None:
        if value is not None and not is_sender(value):
            raise ValueError("give one address, such as Dissensus <notices@example.org>")
        return value


def read_settings(environment: Mapping[str, str], folder: Path = Path()) -> Settings:
    """Read the settings; `folder` may contain `FILE`. An error lists every invalid setting.

    Examples
    --------
    >>> read_settings({"DISSENSUS_PORT": "9000"}, Path("/nowhere")).port
    9000
    >>> read_settings({"DISSENSUS_PORT": "many"}, Path("/nowhere"))
    Traceback (most recent call last):
        ...
    dissensus.errors.InvalidInput: A setting is wrong:
    - DISSENSUS_PORT in the environment: Input should be a valid integer, unable to parse string as an integer.
    """
    explicit = environment.get(f"{PREFIX}SETTINGS")
    path = Path(explicit) if explicit else folder / FILE
    file_values = _read_toml(path) if explicit or path.exists() else {}
    overrides = {
        name: environment[PREFIX + name.upper()]
        for name in Settings.model_fields
        if PREFIX + name.upper() in environment
    }
    try:
        return Settings(**{**file_values, **overrides})
    except ValidationError as error:
        faults = [_describe_error(detail, overrides, path) for detail in error.errors()]
        raise InvalidInput("\n".join(["A setting is wrong:", *(f"- {fault}" for fault in faults)])) from None


def load_secret_keys(settings: Settings) -> SecretKeys:
    """Return the secret keys; beside a SQLite database a file with one is created on first use."""
    keys = _read_key_file(settings) if settings.secret_key is None else (settings.secret_key,)
    return SecretKeys(keys[0], (*keys[1:], *_split(settings.previous_secret_keys)))


def _read_key_file(settings: Settings) -> tuple[str, ...]:
    """Return the keys of the file beside a SQLite database, one on each line, the current one first."""
    url = parse_url(settings.database_url)
    if url.get_backend_name() != "sqlite":
        raise InvalidInput(
            "secret_key is required with PostgreSQL and not set. Generate a key and keep it: "
            f"export {PREFIX}SECRET_KEY=$(openssl rand -hex 32)"
        )
    path = Path(f"{url.database}.key")
    try:
        if not path.exists():
            _create_key_file(path)
        keys = tuple(path.read_text("ascii").split())
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The key {path} cannot be read or created: {error}.") from None
    if not keys or any(len(key) < MIN_KEY_LENGTH for key in keys):
        raise InvalidInput(
            f"The key {path} is too short. Delete the file to create a new one; all links become invalid."
        )
    return keys


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def load_oidc_client_secret(settings: Settings) -> str:
    """Return the client secret of this site at its OpenID provider."""
    secret = _read_secret(settings.oidc_client_secret, settings.oidc_client_secret_file, "The secret for the provider")
    if not secret or not settings.oidc_client_id:
        raise InvalidInput(
            "With oidc_issuer, oidc_client_id must be set too, and oidc_client_secret or oidc_client_secret_file."
        )
    return secret


def load_mail_sender(settings: Settings) -> MailSender | None:
    """Return the sender of mails, None if no server is set."""
    if settings.smtp_host is None:
        return None
    if settings.smtp_sender is None:
        raise InvalidInput("With smtp_host, smtp_sender must be set too, such as Dissensus <notices@example.org>.")
    password = _read_secret(settings.smtp_password, settings.smtp_password_file, "The password for the SMTP server")
    if bool(settings.smtp_user) != bool(password):
        raise InvalidInput("Set smtp_user and smtp_password (or smtp_password_file) together, or neither.")
    if password and settings.smtp_encryption == "none":
        raise InvalidInput("With smtp_encryption none, the password would be readable on its way. Use starttls or tls.")
    return MailSender(
        host=settings.smtp_host,
        port=settings.smtp_port or DEFAULT_PORTS[settings.smtp_encryption],
        encryption=settings.smtp_encryption,
        sender=settings.smtp_sender,
        user=settings.smtp_user or None,
        password=password or None,
    )


def load_prolific_token(settings: Settings) -> str | None:
    """Return the Prolific API token, None if it is not set."""
    return _read_secret(settings.prolific_token, settings.prolific_token_file, "The token of Prolific") or None


def _read_secret(value: str | None, path: Path | None, noun: str) -> str | None:
    """Return a secret, from its file if one is set."""
    try:
        return value if path is None else path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{noun}, {path}, cannot be read: {error}.") from None


def _create_key_file(path: Path) -> None:
    """Write a new key atomically, readable only by its owner; a key written by another process meanwhile stays."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"The settings {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise InvalidInput(f"The settings {path} are not TOML: {error}.") from None


def _describe_error(detail: Any, overrides: Mapping[str, str], path: Path) -> str:
    name = str(detail["loc"][0])
    source = f"{PREFIX}{name.upper()} in the environment" if name in overrides else f"{name} in {path}"
    if detail["type"] == "extra_forbidden":
        names = list(Settings.model_fields)
        return f"{source} is not a setting.{suggest(name, names)} Settings are {format_list(names, 20)}."
    # The value is left out of the message, since it may be a password.
    return f"{source}: {detail['msg'].removeprefix('Value error, ')}."
