"""Definition of a chatbot: source of responses, prompt, parameters, request policy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.schema.canonical_json import digest_json
from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.registered_model import RegisteredModelName, names_registered_model, parse_registered_model

ChatbotKind: TypeAlias = Literal["openai_compatible", "best_of_n", "scripted", "local"]
KINDS: Final[tuple[ChatbotKind, ...]] = get_args(ChatbotKind)
ResponseStyle: TypeAlias = Literal["mixed", "refusing", "helpful", "evasive"]
STYLES: Final[tuple[ResponseStyle, ...]] = get_args(ResponseStyle)

Aim: TypeAlias = Literal["harmless", "helpful"]
AIMS: Final[tuple[Aim, ...]] = get_args(Aim)
"""Criterion of the best response."""

MAX_RESPONSE_LENGTH: Final = 20_000
"""Default length limit in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server with an OpenAI-compatible chat completions API."""

    url: str  # without /chat/completions
    model: str
    key_variable: str = ""  # environment variable with the key; empty for none
    plain_http: bool = False  # allow HTTP to another machine


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfNSettings:
    """Best-of-n sampling from another chatbot."""

    chatbot: "Chatbot"
    scorer: str  # shipped scorer, path or address of a preference model, or registry:NAME
    n: int = 16  # 16 in the red-team paper
    purpose: Aim = "harmless"  # purpose of the preference model
    sha256: str = ""  # of the preference model; empty for any

    @property
    def registered_model(self) -> RegisteredModelName | None:
        """The registered model that ranks the responses, None for other scorers."""
        return parse_registered_model(self.scorer) if names_registered_model(self.scorer) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedResponses:
    """Prewritten responses."""

    style: ResponseStyle = "mixed"
    responses: tuple[str, ...] = ()  # replace the shipped ones
    pause_s: float = 0.0  # before each word


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model that runs on this machine."""

    file: str = ""  # GGUF weights; empty for those of `make local-bot`
    threads: int = 1


Source: TypeAlias = Endpoint | BestOfNSettings | ScriptedResponses | LocalModel
KIND_OF: Final[Mapping[type[Source], ChatbotKind]] = MappingProxyType(
    {Endpoint: "openai_compatible", BestOfNSettings: "best_of_n", ScriptedResponses: "scripted", LocalModel: "local"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """Timeouts, retries, concurrency limit and circuit breaker; none of them changes responses."""

    queue_s: float = 60.0  # wait for a free slot
    connect_s: float = 10.0
    first_token_s: float = 60.0  # of each attempt
    between_tokens_s: float = 30.0
    total_s: float = 180.0  # after a slot is free
    max_attempts: int = 3  # attempts while busy or failing before the first token
    max_concurrent: int = 4  # concurrency limit
    failure_threshold: int = 5  # consecutive failures until the circuit breaker opens
    recovery_s: float = 30.0  # until the circuit breaker lets one probe through


@dataclass(frozen=True, slots=True, kw_only=True)
class Chatbot:
    """Everything that determines the responses of a chatbot, with its metadata."""

    name: str  # slug
    source: Source
    model_type: str  # one of `records.attempt.MODEL_TYPES`, or free text
    version: str
    num_params: str = ""  # such as 52B; empty where unknown
    system_prompt: str = ""  # empty for none
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))  # sent with every request
    max_length: int = MAX_RESPONSE_LENGTH  # maximum length of a response in characters
    request_policy: RequestPolicy = RequestPolicy()

    @property
    def kind(self) -> ChatbotKind:
        """Kind of the source."""
        return KIND_OF[type(self.source)]

    @property
    def registered_model(self) -> RegisteredModelName | None:
        """The registered model that ranks its responses, None if there is none."""
        return self.source.registered_model if isinstance(self.source, BestOfNSettings) else None

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of everything but the request policy, which may change while a chatbot is used."""
        return digest_json(_without_request_policy(self.as_mapping()))

    def as_mapping(self) -> dict[str, Any]:
        """Return the input of `parse_chatbot` without default values."""
        mapping = to_mapping(self)
        source = mapping.pop("source")
        if isinstance(self.source, BestOfNSettings):
            source["chatbot"] = self.source.chatbot.as_mapping()
        return {"name": mapping.pop("name"), "kind": self.kind, **mapping, self.kind: source}


def _without_request_policy(mapping: Mapping[str, Any]) -> dict[str, Any]:
    result = {key: value for key, value in mapping.items() if key != "request_policy"}
    if "best_of_n" in result:
        settings = result["best_of_n"]
        result["best_of_n"] = {**settings, "chatbot": _without_request_policy(settings["chatbot"])}
    return result
