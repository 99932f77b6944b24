"""A chatbot as data: who answers, what it is told, and how patiently it is asked."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from dissensus.schema.questionnaire.mapping import to_mapping
from dissensus.schema.registered_model import RegisteredModelName, parse_registered_model, names_registered_model

Kind: TypeAlias = Literal["openai_compatible", "best_of_n", "scripted", "local"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MODEL_TYPES: Final = ("plain lm", "context distillation", "rejection sampling", "rlhf")
"""As the published red-team attempts spell them."""
Manner: TypeAlias = Literal["mixed", "refusing", "helpful", "evasive"]
MANNERS: Final[tuple[Manner, ...]] = get_args(Manner)

Aim: TypeAlias = Literal["harmless", "helpful"]
AIMS: Final[tuple[Aim, ...]] = get_args(Aim)
"""What the best response may be."""

LONGEST_RESPONSE: Final = 20_000
"""Characters, unless a definition says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server that speaks the chat completions of OpenAI."""

    url: str  # Its address, up to what ``/chat/completions`` follows
    model: str  # What the server calls the model
    key_variable: str = ""  # The environment variable that holds the key; empty for a server that asks for none
    plain_http: bool = False  # Whether it may be reached by http although it is another machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The best of several responses of another chatbot."""

    of: "Chatbot"
    scorer: str  # What ranks the responses: the name of one that ships, where a preference model is, or a model line
    n: int = 16  # How many are drawn; 16 in the red-team paper
    purpose: Aim = "harmless"  # What a preference model must have been trained for
    sha256: str = ""  # Of that model, so that another one in its place is refused; empty for whatever is there

    @property
    def line(self) -> RegisteredModelName | None:
        """The model line that ranks them, None where something else does."""
        return parse_registered_model(self.scorer) if names_registered_model(self.scorer) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Responses that were written beforehand."""

    manner: Manner = "mixed"  # Which of the responses that ship
    responses: tuple[str, ...] = ()  # Others in place of them
    pause_s: float = 0.0  # Seconds before each word


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model that runs on this machine."""

    file: str = ""  # Its weights as GGUF; empty for the small one that ``make local-bot`` installs
    threads: int = 1  # Threads that it computes with


Source: TypeAlias = Endpoint | Samples | Script | Weights
KIND_OF: Final[Mapping[type[Source], Kind]] = MappingProxyType(
    {Endpoint: "openai_compatible", Samples: "best_of_n", Script: "scripted", Weights: "local"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How a chatbot is asked; none of it changes what it says."""

    # Seconds to wait for a turn, for a connection, for the first token of a try, for each further one, and in all from
    # the turn on
    queue_s: float = 60.0
    connect_s: float = 10.0
    first_token_s: float = 60.0
    between_tokens_s: float = 30.0
    total_s: float = 180.0
    tries: int = 3  # How often it is asked while it is busy or broken and has said nothing
    at_once: int = 4  # Responses that it gives at one time
    failures: int = 5  # After how many in a row it is left alone
    rest_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chatbot:
    """All that decides what a chatbot says, and what is known of it."""

    name: str  # Name in addresses and files
    source: Source  # Who gives the responses
    model_type: str  # One of `MODEL_TYPES`, or words of one's own
    version: str  # Of the model, as whoever made it counts
    num_params: str = ""  # Number of parameters, such as 52B; empty where it is not known
    system_prompt: str = ""  # What the model is told before the conversation; empty for nothing
    # What is sent along with every request, such as the temperature
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    longest: int = LONGEST_RESPONSE  # Characters after which a response is cut
    patience: Patience = Patience()  # How it is asked

    @property
    def kind(self) -> Kind:
        """What kind of chatbot it is."""
        return KIND_OF[type(self.source)]

    @property
    def line(self) -> RegisteredModelName | None:
        """The model line that ranks its responses, None where none does."""
        return self.source.line if isinstance(self.source, Samples) else None

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of all but the patience, which may change while a chatbot is used."""
        text = json.dumps(_without_patience(self.as_mapping()), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def as_mapping(self) -> dict[str, Any]:
        """Return what `parse_chatbot` reads as this chatbot, without what is as by default."""
        found = to_mapping(self)
        source = found.pop("source")
        if isinstance(self.source, Samples):
            source["of"] = self.source.of.as_mapping()
        return {"name": found.pop("name"), "kind": self.kind, **found, self.kind: source}


def _without_patience(mapping: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in mapping.items() if key != "patience"}
    samples = kept.get("best_of_n")
    return kept if samples is None else {**kept, "best_of_n": {**samples, "of": _without_patience(samples["of"])}}
