"""Settings: sources, error messages, and the secret key."""

import stat
import threading
from dataclasses import asdict, fields
from pathlib import Path

import pytest
from pydantic import ValidationError

from dissensus.campaign.rate_limits import RaterLimits
from dissensus.encryption import SecretKeys
from dissensus.errors import InvalidInput
from dissensus.settings import Settings, load_mail_sender, load_prolific_token, load_secret_keys, read_settings
from dissensus.web.core.signed_tokens import TokenSigner
from dissensus.webhook_transport import WebhookSender
from dissensus.workflows.campaign.webhooks import WebhookSigner

KEY = "k" * 32


def test_the_environment_overrides_the_file_and_the_file_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "dissensus.toml").write_text('port = 9000\nworkers = 3\nbase_url = "https://rate.example.org/"\n')
    settings = read_settings({"DISSENSUS_PORT": "9001", "DISSENSUS_DATA": "unrelated"}, tmp_path)
    assert (settings.port, settings.workers, settings.threads, settings.host) == (9001, 3, 10, "127.0.0.1")
    assert settings.address == "https://rate.example.org"
    assert read_settings({}, tmp_path / "nowhere") == Settings()


def test_a_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("port = 7000")
    assert read_settings({"DISSENSUS_SETTINGS": str(tmp_path / "other.toml")}).port == 7000
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        read_settings({"DISSENSUS_SETTINGS": str(tmp_path / "none.toml")})


def test_all_invalid_settings_are_listed_without_their_values(tmp_path: Path) -> None:
    (tmp_path / "dissensus.toml").write_text('prot = 1\nworkers = 0\nbase_url = "rate.example.org"')
    with pytest.raises(InvalidInput) as caught:
        read_settings(
            {"DISSENSUS_SECRET_KEY": "s" * 31, "DISSENSUS_DATABASE_URL": "mysql://root:hunter2@db/x"}, tmp_path
        )
    message = str(caught.value)
    assert "prot in" in message
    assert "Did you mean 'port'?" in message
    assert "workers in" in message
    assert "give a complete address" in message
    assert "DISSENSUS_SECRET_KEY in the environment" in message
    assert "mysql is not a database" in message
    assert "hunter2" not in message
    assert "sss" not in message


@pytest.mark.parametrize("text", ["port =", "\x00", "port = 1\nport = 2"])
def test_a_file_that_is_not_toml(tmp_path: Path, text: str) -> None:
    (tmp_path / "dissensus.toml").write_text(text)
    with pytest.raises(InvalidInput, match="are not TOML"):
        read_settings({}, tmp_path)


def test_the_address_for_links_has_host_and_port() -> None:
    assert Settings().address == "http://127.0.0.1:8000"
    assert Settings(host="::1", port=80).address == "http://[::1]:80"


def test_a_key_that_is_set_is_used() -> None:
    assert load_secret_keys(Settings(secret_key=KEY, database_url="postgresql://db/x")) == SecretKeys(KEY)


def test_with_postgresql_a_key_must_be_set() -> None:
    with pytest.raises(InvalidInput, match=r"secret_key is required with PostgreSQL and not set.*openssl rand"):
        load_secret_keys(Settings(database_url="postgresql://db/x"))


def test_beside_a_sqlite_file_a_key_is_created_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    settings, path = Settings(database_url=f"sqlite:///{tmp_path}/x.db"), tmp_path / "x.db.key"
    first = load_secret_keys(settings)
    assert len(first.current) == 64
    assert load_secret_keys(settings) == first == SecretKeys(path.read_text().strip())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["x.db.key"]
    assert load_secret_keys(Settings(database_url=f"sqlite:///{tmp_path}/y.db")) != first


def test_processes_that_start_together_share_a_key(tmp_path: Path) -> None:
    settings, keys = Settings(database_url=f"sqlite:///{tmp_path}/x.db"), []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        keys.append(load_secret_keys(settings))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


def test_an_invalid_key_file(tmp_path: Path) -> None:
    settings, path = Settings(database_url=f"sqlite:///{tmp_path}/x.db"), tmp_path / "x.db.key"
    for content in ("", "k" * 31, f"{KEY}\n{'k' * 31}"):
        path.write_text(content)
        with pytest.raises(InvalidInput, match=r"x\.db\.key is too short\. Delete the file"):
            load_secret_keys(settings)
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(InvalidInput, match="cannot be read or created"):
        load_secret_keys(settings)
    with pytest.raises(InvalidInput, match="cannot be read or created"):
        load_secret_keys(Settings(database_url=f"sqlite:///{tmp_path}/no/such/folder/x.db"))


def test_the_prolific_token_is_a_setting_or_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(" in-a-file\n")
    assert load_prolific_token(Settings()) is None
    assert load_prolific_token(Settings(prolific_token="set")) == "set"
    assert load_prolific_token(Settings(prolific_token="set", prolific_token_file=path)) == "in-a-file"
    path.write_text(" \n")
    assert load_prolific_token(Settings(prolific_token_file=path)) is None
    path.write_bytes(b"\xff")
    for token_file in (path, tmp_path / "none"):
        with pytest.raises(InvalidInput, match=r"The token of Prolific, .* cannot be read"):
            load_prolific_token(Settings(prolific_token_file=token_file))


def test_the_prolific_url_must_be_https() -> None:
    with pytest.raises(InvalidInput, match=r"is not an https address\. Give one such as https://api\.prolific\.com\."):
        read_settings({"DISSENSUS_PROLIFIC_URL": "http://api.prolific.com"}, Path("/nowhere"))


def test_webhook_networks_are_parsed() -> None:
    assert Settings().networks == ()
    assert list(map(str, read_settings({"DISSENSUS_WEBHOOK_NETWORKS": "10.0.0.0/8, ::1"}).networks)) == [
        "10.0.0.0/8",
        "::1/128",
    ]
    with pytest.raises(InvalidInput, match=r"DISSENSUS_WEBHOOK_NETWORKS in the environment: .*Give networks such as"):
        read_settings({"DISSENSUS_WEBHOOK_NETWORKS": "10.0.0.0/99"})


def test_rate_limits_of_raters_are_settings_over_their_periods() -> None:
    names = [field.name for field in fields(RaterLimits)]
    limits = Settings.model_validate({name: number for number, name in enumerate(names)}).rater_limits
    periods = {name: 300 if name == "saves_per_rater" else 3600 for name in names}
    assert asdict(limits) == {name: {"n": n, "period_s": periods[name]} for n, name in enumerate(names)}
    assert Settings().rater_limits == RaterLimits()
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Settings(saves_per_rater=-1)


def test_no_representation_shows_a_secret() -> None:
    keys = ("secret_key", "previous_secret_keys", "metrics_token")
    names = (*keys, "oidc_client_secret", "prolific_secret", "prolific_token")
    values = {**dict.fromkeys(names, KEY), "database_url": f"postgresql://ada:{KEY}@localhost/dissensus"}
    settings = Settings.model_validate(values)
    secrets = SecretKeys(KEY, (KEY,))
    assert KEY not in f"{settings!r} {settings} {TokenSigner(secrets)!r} {WebhookSigner(secrets, WebhookSender())!r}"
    assert "port=8000" in repr(settings)


def test_further_lines_of_the_key_file_are_previous_keys(tmp_path: Path) -> None:
    path = tmp_path / "x.db.key"
    path.write_text("n" * 32 + "\n" + KEY + "\n")
    assert load_secret_keys(Settings(database_url=f"sqlite:///{tmp_path}/x.db")) == SecretKeys("n" * 32, (KEY,))


def test_previous_keys_are_a_setting() -> None:
    previous = "a" * 32 + ", " + "b" * 32
    settings = Settings(secret_key=KEY, database_url="postgresql://db/x", previous_secret_keys=previous)
    assert load_secret_keys(settings) == SecretKeys(KEY, ("a" * 32, "b" * 32))
    with pytest.raises(InvalidInput, match="give keys of at least 32 characters, separated by commas"):
        read_settings({"DISSENSUS_PREVIOUS_SECRET_KEYS": f"{KEY}, {'k' * 31}"}, Path("/nowhere"))


def test_trusted_proxies_are_addresses_and_networks() -> None:
    assert Settings().proxy_networks == "127.0.0.1/32"
    networks = Settings(trusted_proxies="10.0.0.5, 172.20.0.0/16, ::1").proxy_networks
    assert networks == "10.0.0.5/32,172.20.0.0/16,::1/128"
    assert Settings(trusted_proxies="*").proxy_networks == "*"
    for text in ("proxy", "10.0.0.5/16", "10.0.0.5;10.0.0.6"):
        with pytest.raises(InvalidInput, match=r"DISSENSUS_TRUSTED_PROXIES .*Give networks such as"):
            read_settings({"DISSENSUS_TRUSTED_PROXIES": text})


def test_the_sender_of_mails_has_the_port_of_its_encryption(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    base = {"smtp_host": "mail.example.org", "smtp_sender": "Dissensus <notices@example.org>"}
    assert load_mail_sender(Settings()) is None
    for encryption, port in (("starttls", 587), ("tls", 465), ("none", 25)):
        sender = load_mail_sender(Settings.model_validate({**base, "smtp_encryption": encryption}))
        assert sender is not None
        assert (sender.port, sender.encryption, sender.user) == (port, encryption, None)
    settings = Settings(**base, smtp_port=2525, smtp_user="site", smtp_password_file=tmp_path / "password")  # type: ignore[arg-type]
    sender = load_mail_sender(settings)
    assert sender is not None
    assert (sender.port, sender.user, sender.password) == (2525, "site", "hunter2")
    assert "hunter2" not in repr(sender)
    assert "hunter2" not in repr(Settings(smtp_password="hunter2"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "With smtp_host, smtp_sender must be set too"),
        ({"smtp_sender": "a@b.org", "smtp_user": "site"}, "Set smtp_user and smtp_password"),
        ({"smtp_sender": "a@b.org", "smtp_password": "x"}, "Set smtp_user and smtp_password"),
        (
            {"smtp_sender": "a@b.org", "smtp_user": "site", "smtp_password": "x", "smtp_encryption": "none"},
            "the password would be readable on its way",
        ),
        ({"smtp_sender": "a@b.org", "smtp_user": "site", "smtp_password_file": "/nowhere"}, "/nowhere, cannot be read"),
    ],
)
def test_incomplete_settings_of_mails_are_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_mail_sender(Settings.model_validate({"smtp_host": "mail.example.org", **values}))


@pytest.mark.parametrize(
    "sender", ["Dissensus", "a@b.org, c@d.org", "a@b.org\nBcc: c@d.org", "@b.org", "", "<", "a@", "a@["]
)
def test_the_sender_of_mails_is_one_address(tmp_path: Path, sender: str) -> None:
    with pytest.raises(InvalidInput, match="SMTP_SENDER") as caught:
        read_settings({"DISSENSUS_SMTP_SENDER": sender}, tmp_path)
    assert "give one address" in str(caught.value)


@pytest.mark.parametrize("name", ["oidc_issuer", "prolific_url"])
@pytest.mark.parametrize("address", ["http://localhost.example.org", "http://127.0.0.1.example.org/api", "https://"])
def test_addresses_that_begin_like_loopback_are_not_secure(name: str, address: str) -> None:
    Settings.model_validate({name: "http://localhost:8080/realm"})
    with pytest.raises(ValidationError, match="is not an https address"):
        Settings.model_validate({name: address})


def test_a_fault_of_the_database_url_ends_with_one_point(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"HOST/NAME\.$"):
        read_settings({"DISSENSUS_DATABASE_URL": "nonsense"}, tmp_path)
