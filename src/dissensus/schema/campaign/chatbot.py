"""Definition of a chatbot: source of responses, prompt, parameters, request policy."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.registered_model import RegisteredModelName, names_registered_model, parse_registered_model

ChatbotKind: TypeAlias = Literal["openai_compatible", "best_of_n", "scripted", "local"]
KINDS: Final[tuple[ChatbotKind, ...]] = get_args(ChatbotKind)
MODEL_TYPES: Final = ("plain lm", "context distillation", "rejection sampling", "rlhf")
"""As the published red-team attempts spell them."""
Manner: TypeAlias = Literal["mixed", "refusing", "helpful", "evasive"]
MANNERS: Final[tuple[Manner, ...]] = get_args(Manner)

Aim: TypeAlias = Literal["harmless", "helpful"]
AIMS: Final[tuple[Aim, ...]] = get_args(Aim)
"""What the best response may be."""

MAX_RESPONSE_LENGTH: Final = 20_000
"""Characters, unless a definition says otherwise."""


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

    of: "Chatbot"
    scorer: str  # shipped scorer, path or address of a preference model, or registry:NAME
    n: int = 16  # 16 in the red-team paper
    purpose: Aim = "harmless"  # that the preference model must have been trained for
    sha256: str = ""  # of the preference model; empty for any

    @property
    def registered_model(self) -> RegisteredModelName | None:
        """The registered model that ranks them, None where something else does."""
        return parse_registered_model(self.scorer) if names_registered_model(self.scorer) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedResponses:
    """Responses that were written beforehand."""

    manner: Manner = "mixed"
    responses: tuple[str, ...] = ()  # in place of those that ship
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
    """Timeouts, retries, concurrency limit and circuit breaker of a chatbot; none of it changes responses."""

    queue_s: float = 60.0  # wait for a free slot
    connect_s: float = 10.0
    first_token_s: float = 60.0  # of each try
    between_tokens_s: float = 30.0
    total_s: float = 180.0  # from the slot on
    tries: int = 3  # while busy or broken before the first token
    at_once: int = 4  # concurrency limit
    failures: int = 5  # in a row, until the circuit breaker opens
    rest_s: float = 30.0  # until the circuit breaker lets one probe through


@dataclass(frozen=True, slots=True, kw_only=True)
class Chatbot:
    """Everything that determines the responses of a chatbot, and its metadata."""

    name: str  # slug
    source: Source
    model_type: str  # one of `MODEL_TYPES`, or free text
    version: str
    num_params: str = ""  # such as 52B; empty where unknown
    system_prompt: str = ""  # empty for none
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))  # sent with every request
    longest: int = MAX_RESPONSE_LENGTH  # characters after which a response is cut
    patience: RequestPolicy = RequestPolicy()

    @property
    def kind(self) -> ChatbotKind:
        """The kind of its source."""
        return KIND_OF[type(self.source)]

    @property
    def registered_model(self) -> RegisteredModelName | None:
        """The registered model that ranks its responses, None where none does."""
        return self.source.registered_model if isinstance(self.source, BestOfNSettings) else None

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of all but the patience, which may change while a chatbot is used."""
        text = json.dumps(_without_patience(self.as_mapping()), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def as_mapping(self) -> dict[str, Any]:
        """Return what `parse_chatbot` reads as this chatbot, without what is as by default."""
        found = to_mapping(self)
        source = found.pop("source")
        if isinstance(self.source, BestOfNSettings):
            source["of"] = self.source.of.as_mapping()
        return {"name": found.pop("name"), "kind": self.kind, **found, self.kind: source}


def _without_patience(mapping: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in mapping.items() if key != "patience"}
    samples = kept.get("best_of_n")
    return kept if samples is None else {**kept, "best_of_n": {**samples, "of": _without_patience(samples["of"])}}
