"""Steps of the builder, its pages: each key of a campaign has its field in one of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from dissensus.campaign.builder.chat import CHAT, list_words
from dissensus.campaign.builder.field import (
    ChoiceField,
    Field,
    FieldContext,
    FlagField,
    FormNode,
    FormValues,
    LabelsField,
    NumberField,
    TextField,
    TextsField,
    WordingField,
)
from dissensus.campaign.builder.questionnaire import questionnaire_field
from dissensus.campaign.builder.quota import AxesField, CellsField
from dissensus.campaign.builder.table import NamesField, RowsField, TableField
from dissensus.errors import NotFound
from dissensus.schema.campaign.attention_check import KINDS
from dissensus.schema.campaign.completion_codes import PANEL_OUTCOMES
from dissensus.schema.records.preference import CRITERIA


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One page of the builder."""

    name: str
    title: str
    explanation: str
    fields: Mapping[str, Field]
    preview: str  # page of raters that the preview beside it shows

    @property
    def table(self) -> TableField:
        """The fields as one table."""
        return TableField(label=self.title, fields=self.fields)

    def show(self, definition: Mapping[str, Any]) -> tuple[FormNode, ...]:
        """Return the nodes of the fields, with the values of a definition."""
        return self.table.show(definition, FieldContext(name="", path=(), root=definition)).children

    def read(self, form: FormValues, definition: Mapping[str, Any]) -> dict[str, Any]:
        """Return the definition with the values of a form."""
        return self.table.read_keys(form, "", definition)


PAIR: Final = TableField(
    label="Compare two responses",
    hint="Items have two responses, and raters say which is better.",
    optional=True,
    fields={
        "criterion": ChoiceField(label="Raters pick the response that is", options=list_words(CRITERIA, "choose")),
        "allow_ties": FlagField(label="Raters may say that both are equal"),
    },
)

QUOTA: Final = TableField(
    label="Quota",
    hint="Seats for groups of raters, so that each group is heard.",
    optional=True,
    fields={
        "axes": AxesField(
            label="Groups",
            hint="Answers with the same group share seats. Answers without a group count to the rest.",
        ),
        "seats": NumberField(label="Raters in each cell", hint="Blank: 10."),
        "rest": NumberField(label="Raters outside all groups", hint="Those who decline too: they are not shut out."),
        "cells": CellsField(rare=True, label="Cells with another number", hint="Blank: as in each cell."),
        "margin_percent": NumberField(
            rare=True, label="More raters than needed, in percent", hint="Some will be excluded later."
        ),
        "hold_minutes": NumberField(
            rare=True, label="Minutes that a seat is held for a rater who pauses", hint="Blank: 120."
        ),
        "source": ChoiceField(
            rare=True,
            label="Who fills the cells",
            default="screener",
            options=(("", "the site: a screener asks first"), ("recruiter", "the recruiter: a link for each cell")),
        ),
        "balanced": FlagField(rare=True, label="Each item is rated by a share of each cell"),
    },
)

RECRUIT: Final = TableField(
    rare=True,
    label="Recruitment through a panel",
    hint="The panel sends raters to the open link, and at the end they return to it.",
    optional=True,
    fields={
        "kind": ChoiceField(
            label="Panel",
            options=(
                ("", "choose"),
                ("prolific", "Prolific"),
                ("link", "another one, by links with its id of a person"),
            ),
        ),
        "name": TextField(label="Name of the other panel, as raters know it", hint="Such as Upwork."),
        "parameter": TextField(label="Parameter of the link that holds its id of the person", hint="Such as pid."),
        "addresses": TableField(
            label="Addresses to which raters return, by outcome",
            optional=True,
            hint="The id of the person stands where {id} is. Not for Prolific, where codes are enough.",
            fields={name: TextField(label=name.replace("_", " ").capitalize()) for name in PANEL_OUTCOMES},
        ),
        "codes": TableField(
            label="Completion codes, by outcome",
            optional=True,
            hint="6 to 32 of A to Z and 0 to 9. Prolific needs one for each outcome but stopped.",
            fields={name: TextField(label=name.replace("_", " ").capitalize()) for name in PANEL_OUTCOMES},
        ),
    },
)

CHECK: Final = TableField(
    label="Check",
    fields={
        "name": TextField(label="Name"),
        "kind": ChoiceField(label="Kind", options=list_words(KINDS, "choose")),
        "text": WordingField(label="Question", lines=2),
        "scale": TextsField(label="Answers", hint="One a line."),
        "labels": LabelsField(label="Answers as raters read them", hint="One a line, in the same order."),
        "correct_answers": TextsField(label="Answers that pass", lines=2, hint="One a line."),
        "after": NumberField(label="Items before it"),
    },
)

STEPS: Final = (
    Step(
        name="kind",
        title="Kind",
        explanation="A name for the address, and whether raters judge single responses, compare two, or chat.",
        preview="rating",
        fields={
            "name": TextField(label="Name", hint="Up to 60 of a to z, 0 to 9 and -, such as pilot-2."),
            "pair": PAIR,
            "chat": CHAT,
            "registered_models": TextsField(
                rare=True,
                label="Preference models that learn from the answers",
                lines=2,
                hint="Names in the registry, one a line.",
            ),
        },
    ),
    Step(
        name="texts",
        title="Texts",
        explanation="What raters read before and after, in each language.",
        preview="warning",
        fields={
            "languages": TextsField(
                label="Languages", lines=2, hint="Tags such as en or de, one a line; the default first."
            ),
            "title": WordingField(label="Title"),
            "warning": WordingField(label="Content warning, before anything else", lines=6),
            "guidelines": WordingField(
                label="Guidelines, before the first item and on request",
                hint="This and the other long texts may use Markdown: **bold**, lists, [links](https://example.org).",
                lines=4,
            ),
            "help": WordingField(label="Help, shown on request", lines=4),
            "thanks": WordingField(label="Thanks, at the end", lines=3),
        },
    ),
    Step(
        name="questions",
        title="Questions",
        explanation="What raters are asked about each item.",
        preview="rating",
        fields={
            "questionnaire": questionnaire_field(
                "Questions about each item", "item", missing="None: the comparison or the chat is all"
            ),
            "response_format": ChoiceField(
                label="Responses of chatbots are shown",
                default="plain",
                options=(("", "as typed"), ("markdown", "as Markdown, with code and lists")),
            ),
            "bulk_answers": FlagField(
                rare=True,
                label="Raters may give the first answer to the rest of a grid at once",
                hint="It invites careless answers. Exports and vetting tell which answers were given so.",
            ),
        },
    ),
    Step(
        name="people",
        title="People",
        explanation="Who takes part, and how much each does.",
        preview="about-you",
        fields={
            "demographics": questionnaire_field("Questions about raters", "rater", missing="None"),
            "demographics_position": ChoiceField(
                label="They are asked",
                default="after",
                options=(("", "after the items"), ("before", "before the items")),
            ),
            "quota": QUOTA,
            "replication": NumberField(label="Ratings per item", hint="Blank: every rater rates all."),
            "max_items": NumberField(label="Maximum items per rater"),
            "repeat": TableField(
                label="Items that each rater sees twice",
                optional=True,
                hint="Repeated answers show how consistent raters are.",
                fields={
                    "share": NumberField(decimal=True, label="Share of the items", hint="Such as 0.05."),
                    "distance": NumberField(label="Minimum items between the two showings", hint="Blank: 10."),
                },
            ),
            "max_per_day": NumberField(rare=True, label="Maximum items per rater in 24 hours"),
            "phase": TextField(
                rare=True, label="Phase of the collection", hint="For items that name none, such as Phase1."
            ),
            "reclaim_after_h": NumberField(rare=True, label="Idle hours until items go to others", hint="Blank: 48."),
            "seed": NumberField(rare=True, label="Seed of all random orders", hint="Blank: 0."),
            "recruit": RECRUIT,
        },
    ),
    Step(
        name="care",
        title="Care",
        explanation="Distressing texts are covered, breaks are offered, and somebody can be reached.",
        preview="care",
        fields={
            "click_to_reveal": FlagField(label="Cover each conversation until the rater opens it"),
            "show_topic": FlagField(rare=True, label="Write the topic of experts on the cover"),
            "break_every": NumberField(label="Items between two breaks", hint="Blank: 20. 0: no breaks."),
            "reports_to_withhold": NumberField(
                rare=True, label="Reports until an item is withheld from everybody", hint="Blank: 2."
            ),
            "care": TableField(
                label="Wellbeing survey and contact",
                optional=True,
                fields={
                    "contact": WordingField(
                        label="Contact",
                        hint="A person who neither pays raters nor reviews their work. Invite them as carer.",
                    ),
                    "survey": questionnaire_field("Survey", "rater", missing="The one that ships: care-survey"),
                    "survey_every": NumberField(label="Items between two surveys", hint="Blank: 10."),
                    "topics": NamesField(
                        rare=True,
                        label="Topics that raters may avoid",
                        noun="topic",
                        name_label="Topic, as items name it",
                        row=WordingField(label="As raters read it"),
                    ),
                },
            ),
        },
    ),
    Step(
        name="consent",
        title="Consent",
        explanation="What is kept and what for. Raters agree to each purpose separately.",
        preview="consent",
        fields={
            "consent": TableField(
                label="Consent",
                fields={
                    "text": WordingField(label="Text", lines=8),
                    "purposes": RowsField(
                        label="Purposes",
                        noun="purpose",
                        row=TableField(
                            label="Purpose",
                            fields={
                                "name": TextField(label="Name", hint="A letter, then letters, digits and _."),
                                "text": WordingField(label="Text that raters agree to", lines=2),
                                "required": FlagField(label="Required to take part"),
                            },
                        ),
                    ),
                },
            )
        },
    ),
    Step(
        name="quality",
        title="Pay and quality",
        explanation="What raters are paid, and what their answers are compared with.",
        preview="rating",
        fields={
            "estimated_minutes": NumberField(label="Minutes that the work takes"),
            "release_signers": NumberField(
                rare=True,
                label="People who sign each check of a release that needs a person",
                hint="They sign on the page of the release. Blank: the plan of the release names who signed.",
            ),
            "pay": TableField(
                label="Pay",
                optional=True,
                hint="Amounts in minor units, such as pence or cents: 1200 for 12.00.",
                fields={
                    "currency": TextField(label="Currency", hint="Its code, such as GBP."),
                    "hourly_rate": NumberField(label="Pay for an hour"),
                    "finished": NumberField(label="At least, for finishing"),
                    "screened_out": NumberField(label="At least, for raters who are screened out"),
                },
            ),
            "checks": RowsField(label="Attention and comprehension checks", noun="check", row=CHECK),
            "gold": TableField(
                label="Gold labels of experts",
                optional=True,
                fields={
                    "verifiers": NumberField(label="Experts who verify the first label", hint="Blank: 5."),
                    "checkers": NumberField(label="Experts who check degree and topics", hint="Blank: 2."),
                    "scale": TextsField(label="Answers of experts", lines=2, hint="One a line. Blank: as raters have."),
                    "reasons": TextsField(rare=True, label="Reasons", hint="Blank: those of DICES."),
                    "degrees": TextsField(rare=True, label="Degrees of harm", hint="Blank: those of DICES."),
                    "topics": TextsField(rare=True, label="Topics", hint="Blank: those of DICES."),
                    "sample": NumberField(
                        rare=True, label="Items that experts label", hint="A random sample by the seed. Blank: all."
                    ),
                    "sample_by": TextsField(
                        rare=True,
                        label="Attributes of items in whose proportions the sample is drawn",
                        hint="One a line. Blank: none.",
                    ),
                },
            ),
        },
    ),
)

STEP_OF: Final[Mapping[str, str]] = MappingProxyType({key: step.name for step in STEPS for key in step.fields})
"""Step of each key of a campaign."""


def find_step(name: str) -> Step:
    """Return the step with a name."""
    for step in STEPS:
        if step.name == name:
            return step
    raise NotFound("There is no such step of the builder.")
