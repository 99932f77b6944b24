"""Fields of a questionnaire and its questions."""

from collections.abc import Mapping
from typing import Final

from dissensus.campaign.builder.field import (
    ChoiceField,
    Field,
    FlagField,
    LabelsField,
    NumberField,
    TextField,
    TextsField,
    WordingField,
)
from dissensus.campaign.builder.table import NamesField, QuestionnaireField, RowsField, TableField
from dissensus.schema.questionnaire.definition import Subject
from dissensus.schema.questionnaire.shipped import load_questionnaire, questionnaires

QUESTION: Final = TableField(
    label="Question",
    fields={
        "name": TextField(label="Column", hint="Name of the column of its answers, such as Q_safe or rater_age."),
        "kind": ChoiceField(
            label="Answers",
            default="single",
            options=(
                ("", "One of several answers"),
                ("likert", "A step of a scale (Likert)"),
                ("multiple", "Any number of answers"),
                ("text", "A text"),
            ),
        ),
        "text": WordingField(label="Question", lines=2),
        "help": WordingField(label="Explanation", lines=2),
        "examples": RowsField(rare=True, label="Examples", row=WordingField(label="Example"), noun="example"),
        "scale": TextsField(
            label="Answers as they are stored", hint="One a line, from no problem to the worst. Blank: the shared ones."
        ),
        "decline": TextField(label="Answer that declines", hint="Such as: Prefer not to answer."),
        "labels": LabelsField(
            label="Answers as raters read them",
            hint="One a line, in the order of the answers; the answer that declines is last. Blank: as stored.",
        ),
        "when": TableField(
            label="Follow-up: ask only after certain answers",
            optional=True,
            fields={
                "question": TextField(label="Column of an earlier question"),
                "is": TextsField(label="Answers after which this is asked", hint="One a line."),
            },
        ),
        "required": FlagField(label="An answer is required", default=True),
        "heading": TextField(
            rare=True, label="Heading", hint="Name of a heading of this questionnaire, above the question."
        ),
        "self_describe": TextField(rare=True, label="Answer that opens a text field"),
        "exclusive": TextsField(rare=True, label="Answers that exclude all others", lines=2),
        "max_answers": NumberField(rare=True, label="Maximum answers"),
        "max_length": NumberField(rare=True, label="Maximum characters per text", hint="Blank: 2,000."),
        "threshold": TextField(rare=True, label="First step that counts as yes"),
        "category": TextField(rare=True, label="Category", hint="Column that aggregates several questions."),
        "in_overall": ChoiceField(
            rare=True,
            label="Counts towards the overall",
            options=(("", "As usual for its kind"), ("yes", "Yes"), ("no", "No")),
            words={"yes": True, "no": False},
        ),
    },
)


def list_shipped_questions(about: Subject) -> tuple[tuple[str, str], ...]:
    """Return the shipped questions as options: questionnaire and name, and the text in English."""
    return tuple(
        (f"{name}/{question.name}", f"{name}: {question.text.get('en', question.name)}")
        for name in questionnaires(about=about)
        for question in load_questionnaire(name).questions
    )


def questionnaire_fields(about: Subject) -> Mapping[str, Field]:
    """Return the fields of a questionnaire about items or raters."""
    return {
        "title": WordingField(label="Title above the questions"),
        "introduction": WordingField(label="Introduction", lines=4),
        "questions": RowsField(
            label="Questions", row=QUESTION, noun="question", shipped=list_shipped_questions(about), has_pages=True
        ),
        "scale": TextsField(
            rare=True, label="Shared answers", hint="One a line; for questions without answers of their own."
        ),
        "labels": LabelsField(
            rare=True, label="Shared answers as raters read them", hint="One a line, in the same order."
        ),
        "headings": NamesField(
            rare=True,
            label="Headings above several questions",
            noun="heading",
            row=TableField(
                label="Heading",
                fields={"text": WordingField(label="Heading"), "help": WordingField(label="Explanation")},
            ),
        ),
        "overall": TextField(
            rare=True, label="Column of the overall", hint="The worst of all answers that count, as Q_overall."
        ),
        "rating_target": ChoiceField(
            rare=True,
            label="Raters judge",
            default="response",
            options=(("", "the last response"), ("conversation", "the whole conversation")),
        ),
        "name": TextField(rare=True, label="Name of the questionnaire"),
        "about": ChoiceField(
            rare=True, label="It asks about", default="item", options=(("", "the item"), ("rater", "the rater"))
        ),
        "languages": TextsField(
            rare=True, label="Languages of its texts", lines=2, hint="One a line, the default first."
        ),
        "leading_columns": TextsField(
            rare=True, label="Columns before those of the questions in released files", lines=2
        ),
        "flagged_raters": TextsField(rare=True, label="Ids of raters whom the authors of a data set removed", lines=2),
    }


def questionnaire_field(label: str, about: Subject, *, missing: str = "") -> QuestionnaireField:
    """Return the field of a questionnaire; `missing` is the label of the choice of none."""
    own = TableField(label="Questions of your own", fields=questionnaire_fields(about))
    return QuestionnaireField(label=label, own=own, about=about, missing=missing)
