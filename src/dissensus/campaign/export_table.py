"""Ratings tables of exports; for questionnaires of DICES with the columns of their released files."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.attention_check import AttentionCheck, check_state
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Answer, Question
from dissensus.schema.questionnaire.scale import take_worst
from dissensus.schema.questionnaire.shipped import load_questionnaire, published_questionnaires
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.schema.records.preference import Side
from dissensus.text.transcripts import DICES_350, DICES_990, DicesForm, write_dices

ROW_NUMBER: Final = "id"
"""Column of official files that counts the rows."""
TIMESTAMP: Final = "answer_timestamp"
RAW_RACE: Final = "rater_raw_race"
CONVERSATION_COLUMNS: Final = ("context", "response")
PAIR_COLUMNS: Final = ("item_response_b", "shown_first")
"""Columns of pairs: the response beside the other one, and which of the two, a or b, the rater had on the left."""
_CHECKED: Final = (names.CHECKS_PASSED, names.CHECKS_FAILED)
_RESERVED: Final = (
    names.ITEM_ID,
    names.RATER_ID,
    ROW_NUMBER,
    names.ANSWER_TIME,
    TIMESTAMP,
    *CONVERSATION_COLUMNS,
    *PAIR_COLUMNS,
)
_FORMS: Final[Mapping[str | None, DicesForm]] = {"dices-990": DICES_990}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRating:
    """One item as one rater rated it."""

    rater_id: str  # Who, in the store or in files
    item: Item
    answers: Mapping[str, Answer]  # Those that hold, by question
    declared: Mapping[str, Answer]  # What the rater said of themselves
    answer_time_ms: int  # How long it took
    answered_at: datetime  # When it was submitted last
    # What the rater answered to checks, all tries of each
    tries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    flagged: bool = False  # True if somebody decided that the rater is to be left out of analyses
    shown_first: Side | None = None  # Of a pair, the response on the left


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportForm:
    """The columns of an export, and what each holds."""

    questionnaire: Questionnaire  # What was asked about items
    # Name of the released dataset whose columns these are; None for the long table of the data contract
    official: str | None
    columns: tuple[str, ...]
    about_raters: tuple[str, ...]  # Columns of what raters said of themselves
    attributes: Mapping[str, str]  # Column of each attribute of items
    checks: tuple[AttentionCheck, ...] = ()  # What raters were checked by

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The type of each column: answers are categories in the order of their scale."""
        scales = {name: self.questionnaire.scale(name) for name in self._scaled}
        types: dict[str, pl.DataType] = {name: pl.Enum(scale) for name, scale in scales.items() if scale}
        types |= dict.fromkeys(
            (ROW_NUMBER, names.ANSWER_TIME, *_CHECKED, *(TIMESTAMP,) * bool(self.official)), pl.Int64()
        )
        types[names.FLAG] = pl.Boolean()
        return {name: types.get(name, pl.String()) for name in self.columns}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Questions, attributes and check results that have no column."""
        known = set(self.columns)
        asked = [name for question in self.questionnaire.questions for name in _columns_of_question(question)]
        fields = (*asked, *self.about_raters, *self.attributes.values(), *(_CHECKED if self.checks else ()))
        return tuple(name for name in fields if name not in known)

    @property
    def _scaled(self) -> tuple[str, ...]:
        single = [one.name for one in self.questionnaire.questions if one.kind in ("single", "likert")]
        return (*single, *self.questionnaire.overalls)


def export_form(
    campaign: Campaign, attributes: Collection[str] = (), *, with_text: bool = False, with_flag: bool = False
) -> ExportForm:
    """Return the columns of an export of a campaign.

    Examples
    --------
    >>> from dissensus.schema.campaign.shipped import load_campaign
    >>> form = export_form(load_campaign("dices-350"), ["phase"])
    >>> form.official, len(form.columns), form.columns[:3]
    ('dices-350', 41, ('id', 'rater_id', 'rater_gender'))
    """
    official = find_official_name(campaign.questionnaire)
    about = () if campaign.demographics is None else campaign.demographics.questions
    about_raters = tuple(name for question in about for name in _columns_of_question(question))
    named = _attribute_columns(attributes, {*about_raters, *_all_named(campaign.questionnaire), *_RESERVED})
    checked = _CHECKED if campaign.checks else ()
    columns = _official(official) if official else _long(campaign, (*about_raters, *checked), named)
    written = set() if with_text else _written((*campaign.questionnaire.questions, *about))
    return ExportForm(
        questionnaire=campaign.questionnaire,
        official=official,
        columns=(*(name for name in columns if name not in written), *(names.FLAG,) * with_flag),
        about_raters=about_raters,
        attributes=named,
        checks=campaign.checks,
    )


def find_official_name(questionnaire: Questionnaire) -> str | None:
    """Return the name of the shipped questionnaire that has these questions, scales and overalls, whatever its words.

    Examples
    --------
    >>> find_official_name(load_questionnaire("dices-990"))
    'dices-990'
    """
    return next(
        (
            name
            for name in published_questionnaires()
            if _identity(load_questionnaire(name)) == _identity(questionnaire)
        ),
        None,
    )


def _identity(questionnaire: Questionnaire) -> tuple[object, ...]:
    questions = [(one.name, one.scale, one.kind, one.own_words, one.decline) for one in questionnaire.questions]
    return questions, dict(questionnaire.overalls)


def _official(name: str) -> tuple[str, ...]:
    return load_questionnaire(name).columns


def _long(campaign: Campaign, about_raters: Sequence[str], attributes: Mapping[str, str]) -> tuple[str, ...]:
    answers = (*_all_named(campaign.questionnaire), *campaign.questionnaire.overalls)
    shown = (*CONVERSATION_COLUMNS, *(PAIR_COLUMNS if campaign.pair else ()))
    return (
        *(names.ITEM_ID, names.RATER_ID, *about_raters, *answers),
        *(names.ANSWER_TIME, TIMESTAMP, *shown, *attributes.values()),
    )


def _all_named(questionnaire: Questionnaire) -> tuple[str, ...]:
    return tuple(name for question in questionnaire.questions for name in _columns_of_question(question))


def _columns_of_question(question: Question) -> tuple[str, ...]:
    """Return the columns of a question: its answer, and the text that an answer opens."""
    return (question.name,) if question.own_words is None else (question.name, question.own_words)


def _written(questions: Iterable[Question]) -> set[str]:
    """Return the columns of what raters write themselves."""
    texts = (one.name if one.kind == "text" else one.own_words for one in questions)
    return {name for name in texts if name is not None}


def _attribute_columns(attributes: Collection[str], taken: Collection[str]) -> dict[str, str]:
    """Name the column of each attribute, so that readers know that it is one, and no two share a column."""
    result: dict[str, str] = {}
    for name in sorted(attributes, key=lambda one: (not names.is_item_attribute(one), one)):
        column = name if names.is_item_attribute(name) else f"item_{name}"
        while column in taken or column in result.values() or column == names.ITEM_ID:
            column = f"item_{column}"
        result[name] = column
    return result


def to_frame(rated: Sequence[ExportedRating], form: ExportForm, *, start: int = 0) -> pl.DataFrame:
    """Return the rows of some ratings."""
    rows = [_to_row(one, form, number) for number, one in enumerate(rated, start)]
    schema = form.schema
    values = {name: dtype for name, dtype in schema.items() if name not in form.questionnaire.overalls}
    columns = {name: pl.Series(name, [row.get(name) for row in rows], dtype) for name, dtype in values.items()}
    for name, parts in form.questionnaire.overalls.items():
        columns[name] = take_worst(pl.DataFrame([columns[part] for part in parts])).alias(name)
    return pl.DataFrame([columns[name] for name in schema])


def _to_row(rated: ExportedRating, form: ExportForm, number: int) -> dict[str, Any]:
    context, response = format_conversation(rated.item.conversation, _FORMS.get(form.official, DICES_350))
    declared = {name: _cell(value) for name, value in rated.declared.items()}
    declines = {one.name: one.decline for one in form.questionnaire.questions}
    answers = {name: _cell(value) for name, value in rated.answers.items() if value != declines.get(name)}
    states = [check_state(check, rated.tries.get(check.name, ())) for check in form.checks]
    return {
        # What a rater said, before it was made one of the released groups; where one group was asked, it is that.
        RAW_RACE: declared.get("rater_race"),
        **declared,
        **answers,
        **{form.attributes[name]: value for name, value in rated.item.attributes.items() if name in form.attributes},
        ROW_NUMBER: number,
        names.ITEM_ID: rated.item.item_id,
        names.RATER_ID: rated.rater_id,
        names.ANSWER_TIME: rated.answer_time_ms,
        TIMESTAMP: _time(rated.answered_at, form),
        names.CHECKS_PASSED: states.count("passed"),
        names.CHECKS_FAILED: states.count("failed"),
        names.FLAG: rated.flagged,
        CONVERSATION_COLUMNS[0]: context,
        CONVERSATION_COLUMNS[1]: response,
        PAIR_COLUMNS[0]: rated.item.response_b,
        PAIR_COLUMNS[1]: rated.shown_first,
    }


def _time(moment: datetime, form: ExportForm) -> int | str:
    """Return whole seconds of Unix time for official files, as theirs seem to be, and else ISO 8601."""
    if form.official:
        return int(moment.timestamp())
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_conversation(conversation: Conversation, form: DicesForm = DICES_350) -> tuple[str, str]:
    """Return a conversation as context and response, as DICES writes them.

    What that form cannot hold, such as a turn with a line that begins like another turn, is context as JSON.

    Examples
    --------
    >>> format_conversation(Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")]))
    ('USER: Hi', 'Hello!')
    >>> turns = [("human", "USER: Hi"), ("human", "LAMDA: no"), ("bot", "Hello!")]
    >>> format_conversation(Conversation.from_turns(turns))[1]
    'Hello!'
    """
    turns = [(turn.speaker, turn.text) for turn in conversation.turns]
    try:
        return write_dices(turns, form)
    except InvalidInput:
        before = conversation.to_dicts()[:-1]
        return json.dumps(before, ensure_ascii=False) if before else "", turns[-1][1]


def _cell(value: Answer) -> str:
    """Return an answer as text; several are a JSON list, since an answer may hold any separator."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
