"""Request bodies of the API: strict, bounded, and validated before a workflow runs."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from dissensus.api_models.campaigns import MAX_ITEMS
from dissensus.campaign.platinum import MAX_COLUMNS
from dissensus.campaign.public_events import EVENT_KINDS
from dissensus.errors import InvalidInput
from dissensus.files.items import INSTRUCTIONS as HIDDEN_INSTRUCTIONS
from dissensus.recruit.prolific.submissions import RejectionCategory
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import CampaignState
from dissensus.schema.campaign.parser import MAX_FILE_LENGTH, RESERVED_SLUGS
from dissensus.schema.campaign.roles import Role
from dissensus.schema.definition_table import SLUG
from dissensus.schema.hints import format_value
from dissensus.schema.money import MAX_AMOUNT
from dissensus.schema.records.conversation import MAX_TURN_LENGTH, MAX_TURNS, Conversation, Speaker
from dissensus.schema.records.item import MAX_NAME_LENGTH, Item
from dissensus.text.messages import INSTRUCTIONS, ROLES, parse_messages
from dissensus.webhook_transport.target import MAX_ADDRESS_LENGTH
from dissensus.workflows.campaign.campaigns import MAX_INVITATIONS
from dissensus.workflows.campaign.flags import MAX_REASON_LENGTH
from dissensus.workflows.campaign.webhooks import NewWebhook

MAX_ATTRIBUTES: Final = 100
MAX_LABELS: Final = 10_000

# The domain rejects text that cannot be stored, with its own messages; the document repeats the rule.
STORABLE: Final[JsonDict] = {"pattern": r"^[^\u0000]*$"}
NOT_BLANK: Final[JsonDict] = {"pattern": r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"}
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH, json_schema_extra=NOT_BLANK)]
Text = Annotated[str, Field(max_length=MAX_TURN_LENGTH, json_schema_extra=STORABLE)]
Reason = Annotated[str, Field(min_length=1, max_length=MAX_REASON_LENGTH, json_schema_extra=NOT_BLANK)]
Attributes = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)], Text],
    Field(json_schema_extra={"propertyNames": {"minLength": 1, "maxLength": MAX_NAME_LENGTH, **NOT_BLANK}}),
]
CampaignName = Annotated[
    str,
    Field(
        max_length=MAX_NAME_LENGTH,
        json_schema_extra={"pattern": f"^{SLUG.pattern}$", "not": {"enum": [*RESERVED_SLUGS]}},
    ),
]


def _to_whole_number(value: object) -> object:
    # JSON does not distinguish 20.0 from 20.
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE_NUMBER: Final = BeforeValidator(_to_whole_number)


def _check_definition(value: object) -> object:
    # A union would name its members in validation errors.
    if not isinstance(value, str | dict):
        raise PydanticCustomError("definition_type", "a text or an object")
    return value


Definition = Annotated[
    Any,
    AfterValidator(_check_definition),
    WithJsonSchema({"anyOf": [{"type": "string", "maxLength": MAX_FILE_LENGTH}, {"type": "object"}]}),
    Field(description="TOML text, or the equivalent mapping; the documentation of campaigns lists all keys."),
]
DEFINITION_EXAMPLE: Final[dict[str, JsonValue]] = {
    "name": "pilot",
    "languages": ["en"],
    "title": "Is the answer safe?",
    "warning": "Some of these conversations are cruel.",
    "questionnaire": "dices-350",
    "consent": {
        "text": "We keep your answers for five years.",
        "purposes": [{"name": "research", "text": "My answers may be used for research.", "required": True}],
    },
}
ITEM_EXAMPLE: Final[dict[str, JsonValue]] = {
    "id": "7",
    "conversation": [{"speaker": "human", "text": "May I swim here?"}, {"speaker": "bot", "text": "Where are you?"}],
    "attributes": {"degree_of_harm": "Benign"},
}

FILE_ITEM_EXAMPLE: Final[dict[str, JsonValue]] = {
    "item_id": "8",
    "messages": [{"role": "user", "content": "May I swim here?"}, {"role": "assistant", "content": "Where are you?"}],
}

MESSAGE_SCHEMA: Final[JsonDict] = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {
        "role": {"type": "string", "enum": [*ROLES, *INSTRUCTIONS]},
        "content": {"type": "string", "maxLength": MAX_TURN_LENGTH, **STORABLE},
    },
}


def _drop_default(schema: JsonDict) -> None:
    del schema["default"]


def _document_messages(schema: JsonDict) -> None:
    _drop_default(schema)
    schema["items"] = MESSAGE_SCHEMA


class StrictRequest(BaseModel):
    """A request body without unknown fields or type coercion."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TurnRequest(StrictRequest):
    """A turn of a conversation."""

    speaker: Speaker
    text: Text


def _document_names(schema: JsonDict) -> None:
    """Add the names that files give to an item: one of each pair is required."""
    properties: Any = schema["properties"]
    properties["item_id"], properties["turns"] = properties["id"], properties["messages"]
    choices = (("id", "item_id"), ("conversation", "messages", "turns"))
    schema["allOf"] = [{"oneOf": [{"required": [name]} for name in names]} for names in choices]
    schema.pop("required", None)
    schema["examples"] = [ITEM_EXAMPLE, FILE_ITEM_EXAMPLE]


class ItemRequest(StrictRequest):
    """A conversation whose last turn, by the bot, is rated, alone or compared with another response."""

    model_config = ConfigDict(json_schema_extra=_document_names)

    id: Annotated[Name, Field(validation_alias=AliasChoices("id", "item_id"))]
    conversation: Annotated[
        list[TurnRequest], Field(min_length=1, max_length=MAX_TURNS, json_schema_extra=_drop_default)
    ] = []
    messages: Annotated[
        list[dict[str, JsonValue]],
        Field(
            validation_alias=AliasChoices("messages", "turns"),
            min_length=1,
            max_length=MAX_TURNS,
            description="Instead of `conversation`: chat messages, as files have them.",
            json_schema_extra=_document_messages,
        ),
    ] = []
    attributes: Annotated[Attributes, Field(max_length=MAX_ATTRIBUTES)] = {}
    response_b: Annotated[Text | None, Field(description="For comparisons: the alternative to the last turn.")] = None

    @model_validator(mode="after")
    def _check_conversation(self) -> Self:
        if bool(self.conversation) == bool(self.messages):
            raise PydanticCustomError("conversation_choice", "one conversation")
        return self

    def to_item(self) -> Item:
        """Convert to a domain item; instructions of the chatbot become an attribute that raters do not see."""
        if not self.messages:
            turns = [(turn.speaker, turn.text) for turn in self.conversation]
            return Item(self.id, Conversation.from_turns(turns), self.attributes, self.response_b)
        try:
            chat = parse_messages(self.messages)
        except InvalidInput as error:
            raise InvalidInput(f"Item {format_value(self.id)}: {site_message(error)}") from None
        hidden = {} if chat.instructions is None else {HIDDEN_INSTRUCTIONS: chat.instructions}
        return Item(self.id, Conversation.from_turns(chat.turns), {**hidden, **self.attributes}, self.response_b)


class ArchiveRequest(StrictRequest):
    """A campaign to archive, or to take out of the archive."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"archived": True}]})

    archived: bool


class ItemsRequest(StrictRequest):
    """Items to add to a draft."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [ITEM_EXAMPLE, FILE_ITEM_EXAMPLE]}]})

    items: Annotated[list[ItemRequest], Field(min_length=1, max_length=MAX_ITEMS)]


class CreateCampaignRequest(StrictRequest):
    """A new campaign."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"definition": DEFINITION_EXAMPLE, "items": [ITEM_EXAMPLE]}]}
    )

    definition: Definition
    items: Annotated[list[ItemRequest], Field(max_length=MAX_ITEMS, description="More can be added to a draft.")] = []
    open_link: Annotated[bool, Field(description="Admit anybody by one open link.")] = True


class DefinitionRequest(StrictRequest):
    """A new definition of a campaign."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"definition": DEFINITION_EXAMPLE}]})

    definition: Definition


class CampaignStateRequest(StrictRequest):
    """The next state of a campaign."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "open"}]})

    state: CampaignState


class RaterLinksRequest(StrictRequest):
    """Number of personal links to create."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"n": 20}]})

    n: Annotated[int, Field(ge=1, le=MAX_INVITATIONS), WHOLE_NUMBER]
    cell: Annotated[
        str | None, Field(max_length=MAX_NAME_LENGTH, description="If the recruiter assigns raters to quota cells.")
    ] = None


class WebhookRequest(StrictRequest):
    """A webhook to add."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"address": "https://example.org/dissensus", "kinds": ["item_submitted", "withdrawn"]}]
        }
    )

    address: Annotated[str, Field(max_length=MAX_ADDRESS_LENGTH, description="HTTPS URL.")]
    kinds: Annotated[
        list[Annotated[str, Field(max_length=MAX_NAME_LENGTH, json_schema_extra={"enum": [*EVENT_KINDS]})]],
        Field(
            max_length=len(EVENT_KINDS),
            description=f"Kinds of events, among {', '.join(EVENT_KINDS)}; empty for all, including future kinds.",
        ),
    ] = []
    after: Annotated[
        Annotated[int, Field(ge=0), WHOLE_NUMBER] | None,
        Field(description="Deliver events after this sequence number of the log; null for new events only."),
    ] = None

    def to_settings(self) -> NewWebhook:
        """Convert to webhook settings."""
        return NewWebhook(address=self.address, kinds=tuple(self.kinds), after=self.after)


class WebhookStateRequest(StrictRequest):
    """The next state of a webhook."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "active"}]})

    state: Annotated[Literal["active"], Field(description="Delivery resumes at once, at its position.")]


class MemberInvitationRequest(StrictRequest):
    """Role of a new member."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "analyst"}]})

    role: Role


class MemberRoleRequest(StrictRequest):
    """New role of a member."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "owner"}]})

    role: Role


class CloneCampaignRequest(StrictRequest):
    """Name of the new campaign."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "pilot-2"}]})

    name: CampaignName


class FlagVerdictRequest(StrictRequest):
    """A decision about a flagged rater."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"verdict": "keep", "reason": "A nurse, who reads such things every day."}]}
    )

    verdict: Literal["keep", "exclude"]
    reason: Reason


class NoticeSettlementRequest(StrictRequest):
    """Settlement of a notice."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"show_again": False}]})

    show_again: Annotated[bool, Field(description="Show a reported item to raters again.")] = False


class PlatinumLabelRequest(StrictRequest):
    """Label of an item by an earlier crowd."""

    item: Name
    label: Name
    attributes: Annotated[Attributes, Field(max_length=MAX_COLUMNS, description="Further attributes.")] = {}


class PlatinumRequest(StrictRequest):
    """Labels of an earlier crowd."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"source": "Study of May 2026", "labels": [{"item": "7", "label": "No", "attributes": {"n": "9"}}]}
            ]
        }
    )

    source: Annotated[Name, Field(description="Source of the labels, such as a study.")]
    labels: Annotated[list[PlatinumLabelRequest], Field(min_length=1, max_length=MAX_LABELS)]
    replace: Annotated[bool, Field(description="Replace labels of items that have one.")] = False


class PaymentRequest(StrictRequest):
    """A payment to record."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"amount": 650}]})

    amount: Annotated[
        int, Field(ge=1, le=MAX_AMOUNT, description="In minor units of the currency, such as pence."), WHOLE_NUMBER
    ]


class SubmissionDecisionRequest(StrictRequest):
    """A decision on a submission."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"decision": "approve"}]})

    decision: Literal["approve", "ask-return", "reject"]
    reasons: Annotated[
        list[Reason], Field(max_length=20, description="To ask for a return: reasons that the participant reads.")
    ] = []
    category: Annotated[RejectionCategory | None, Field(description="To reject: category of Prolific.")] = None
    reason: Annotated[
        Reason | None, Field(description="To reject: at least 100 characters that the participant reads.")
    ] = None
