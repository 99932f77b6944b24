"""Access control of chatbots: allowed servers, secrets and files."""

from typing import Final
from urllib.parse import urlsplit

from dissensus.errors import NotAllowed
from dissensus.schema.campaign.chatbot import BestOfNSettings, Chatbot, Endpoint, LocalModel

KEY_VARIABLE_PREFIX: Final = "CHATBOT_"
"""Required prefix of environment variables with chatbot keys; campaigns cannot name others."""


def parse_hosts(setting: str) -> frozenset[str]:
    """Return the allowed chatbot hosts of a setting, with ports that are not the default.

    Examples
    --------
    >>> sorted(parse_hosts("api.example.com, 127.0.0.1:8080"))
    ['127.0.0.1:8080', 'api.example.com']
    """
    return frozenset(host.strip().lower() for host in setting.split(",") if host.strip())


def check_chatbot_allowed(chatbot: Chatbot, hosts: frozenset[str]) -> None:
    """Raise `NotAllowed` for a chatbot that would reach other hosts, other secrets or local files."""
    match chatbot.source:
        case Endpoint(url=url, key_variable=variable):
            host = urlsplit(url).netloc.lower()
            if host not in hosts:
                raise NotAllowed(f"{host} is not an allowed chatbot server. Add it to the setting chatbot_hosts.")
            if variable and not variable.startswith(KEY_VARIABLE_PREFIX):
                raise NotAllowed(
                    f"Variables with chatbot keys must begin with {KEY_VARIABLE_PREFIX}; {variable} does not."
                )
        case BestOfNSettings(chatbot=inner):
            check_chatbot_allowed(inner, hosts)
        case LocalModel(file=file) if file:
            raise NotAllowed(
                "A campaign cannot name a file on this machine. Leave out the file to use the bundled model."
            )
