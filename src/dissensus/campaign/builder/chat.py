"""Fields of the chat of a campaign: modes and chatbots."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from dissensus.campaign.builder.field import (
    ChoiceField,
    Field,
    FlagField,
    NumberField,
    TextField,
    TextsField,
    TomlField,
    WordingField,
)
from dissensus.campaign.builder.table import RowsField, TableField
from dissensus.schema.campaign.chatbot import AIMS, STYLES, RequestPolicy
from dissensus.schema.campaign.chatbot_parser import COUNTS
from dissensus.schema.records.preference import CRITERIA


def list_words(words: tuple[str, ...], blank: str | None = None) -> tuple[tuple[str, str], ...]:
    """Return words as options of a choice, after a blank one with the label `blank`."""
    none = () if blank is None else (("", blank),)
    return (*none, *((word, word) for word in words))


MODE: Final = TableField(
    label="Mode",
    fields={
        "name": TextField(label="Name in files", hint="Such as: red team."),
        "title": WordingField(label="Title"),
        "text": WordingField(label="Task", lines=2),
        "criterion": ChoiceField(
            label="Of two responses raters pick the one that is",
            options=list_words(CRITERIA, "none: there is one response"),
        ),
        "continue_with": ChoiceField(
            rare=True,
            label="The conversation goes on with",
            options=(
                ("", "the response that was picked"),
                ("other", "the other response"),
                ("random", "one at random"),
            ),
        ),
        "allow_edits": FlagField(label="Raters may edit the better response"),
        "intent": FlagField(label="Raters write their plan first"),
        "success": FlagField(label="Raters say how far they got"),
    },
)

POLICY: Final = TableField(
    rare=True,
    label="Timeouts and retries",
    optional=True,
    fields={
        setting.name: NumberField(
            label=setting.name.replace("_s", " (seconds)").replace("_", " ").capitalize(),
            decimal=setting.name not in COUNTS,
            hint=f"Blank: {setting.default:g}.",
        )
        for setting in fields(RequestPolicy)
    },
)

MODEL: Final[Mapping[str, Field]] = {
    "name": TextField(label="Name", hint="a to z, 0 to 9 and -; raters do not see it."),
    "kind": ChoiceField(
        label="Source of responses",
        options=(
            ("", "choose"),
            ("openai_compatible", "a server with the API of OpenAI"),
            ("best_of_n", "the best of several responses of another chatbot"),
            ("scripted", "texts written before"),
            ("local", "a model on the machine of the site"),
        ),
    ),
    "model_type": TextField(label="Type of model", hint="Such as plain lm, context distillation, rlhf."),
    "num_params": TextField(rare=True, label="Number of parameters", hint="Such as 7B."),
    "version": TextField(label="Version"),
    "system_prompt": TextField(rare=True, label="System prompt", lines=3),
    "parameters": TomlField(rare=True, label="Parameters of requests, as TOML", hint="Such as: temperature = 0.7"),
    "max_length": NumberField(rare=True, label="Maximum characters per response"),
    "request_policy": POLICY,
    "openai_compatible": TableField(
        label="Server with the API of OpenAI",
        optional=True,
        fields={
            "url": TextField(label="Address", hint="Such as https://api.example.com/v1"),
            "model": TextField(label="Model"),
            "key_variable": TextField(label="Environment variable with the key", hint="Never the key itself."),
            "plain_http": FlagField(rare=True, label="Allow HTTP without encryption, on a private network"),
        },
    ),
    "scripted": TableField(
        label="Texts written before",
        optional=True,
        fields={
            "style": ChoiceField(label="Style of those that ship", options=list_words(STYLES, "as usual")),
            "responses": TextsField(label="Texts instead of those that ship", hint="One a line."),
            "pause_s": NumberField(label="Seconds before each word", decimal=True),
        },
    ),
    "local": TableField(
        label="Model on the machine of the site",
        optional=True,
        fields={
            "file": TextField(label="File of weights (GGUF)"),
            "threads": NumberField(label="Threads"),
        },
    ),
}

BEST_OF_N: Final = TableField(
    label="Best of several responses",
    optional=True,
    fields={
        "n": NumberField(label="Number of responses", hint="Blank: 16."),
        "scorer": TextField(label="Preference model that ranks them", hint="A path, or registry:NAME."),
        "purpose": ChoiceField(label="Best means", options=list_words(AIMS, "as usual")),
        "sha256": TextField(rare=True, label="SHA-256 of the model"),
        "chatbot": TableField(label="Chatbot that gives the responses", fields=MODEL),
    },
)

CHATBOT: Final = TableField(label="Chatbot", fields={**MODEL, "best_of_n": BEST_OF_N})

CHAT: Final = TableField(
    label="Conversations with chatbots",
    hint="Raters write to chatbots instead of rating items.",
    optional=True,
    fields={
        "modes": RowsField(label="Modes", row=MODE, noun="mode", has_pages=True),
        "chatbots": RowsField(label="Chatbots", row=CHATBOT, noun="chatbot", has_pages=True),
        "pairing": ChoiceField(
            rare=True,
            label="Two responses come from",
            default="different",
            options=(("", "different chatbots"), ("same", "the same chatbot")),
        ),
        "allow_ties": FlagField(rare=True, label="Raters may say that both are equal"),
        "turns": NumberField(rare=True, label="Usual number of turns", hint="Blank: 4."),
        "max_turns": NumberField(rare=True, label="Maximum turns", hint="Blank: 20."),
        "max_conversations": NumberField(rare=True, label="Maximum conversations per rater", hint="Blank: 5."),
    },
)
