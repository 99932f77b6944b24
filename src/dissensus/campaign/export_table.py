"""Ratings tables of exports; DICES questionnaires have the columns of their released files."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from dissensus.campaign.assignment import FIRST
from dissensus.campaign.corrections import SubmissionTimes
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
"""Column with the row number in official files."""
TIMESTAMP: Final = "answer_timestamp"
PHASE: Final = "phase"
RACE: Final = "rater_race"
RAW_RACES: Final = ("rater_raw_race", "rater_race_raw")
"""Columns of DICES-350 and DICES-990 with the answer before it is mapped to a released group."""
SEVERAL_RACES: Final = "Multiracial"
"""Released group of raters who named several."""
CONVERSATION_COLUMNS: Final = ("context", "response")
PAIR_COLUMNS: Final = ("item_response_b", "shown_first")
"""Columns of pairs: the second response, and the left one for the rater, a or b."""
_CHECK_COLUMNS: Final = (names.CHECKS_PASSED, names.CHECKS_FAILED)
BULK_COLUMNS: Final = (names.BULK_QUESTIONS, names.BULK_SHARE)
CORRECTION_COLUMNS: Final = (names.CORRECTION_TIME, names.CORRECTED_AT)
_RESERVED: Final = (
    names.ITEM_ID,
    names.RATER_ID,
    ROW_NUMBER,
    names.ANSWER_TIME,
    names.OPEN_TIME,
    *BULK_COLUMNS,
    *CORRECTION_COLUMNS,
    names.REPEAT,
    TIMESTAMP,
    *CONVERSATION_COLUMNS,
    *PAIR_COLUMNS,
)
_FORMS: Final[Mapping[str | None, DicesForm]] = {"dices-990": DICES_990}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRating:
    """A rating of one item by one rater."""

    rater_id: str  # id in the store or in files
    item: Item
    answers: Mapping[str, Answer]  # by question
    declared: Mapping[str, Answer]  # demographic answers of the rater
    times: SubmissionTimes
    bulk: frozenset[str] = frozenset()  # questions that were answered in bulk
    showing: int = FIRST
    check_answers: Mapping[str, Sequence[str]] = field(default_factory=dict)  # all answers to each check, by its name
    flagged: bool = False  # True if the rater is excluded from analyses by a decision
    shown_first: Side | None = None  # left response of a pair


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportForm:
    """Columns of an export, and what they are made from."""

    questionnaire: Questionnaire  # about items
    official: str | None  # shipped questionnaire whose released file has these columns; None for the long table
    columns: tuple[str, ...]
    about_raters: tuple[str, ...]  # columns of demographic answers
    attributes: Mapping[str, str]  # column of each attribute of items
    checks: tuple[AttentionCheck, ...] = ()
    phase: str | None = None  # of items without one

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The type of each column; answers are categories in the order of their scale."""
        scales = {name: self.questionnaire.scale(name) for name in self._scaled_columns}
        types: dict[str, pl.DataType] = {name: pl.Enum(scale) for name, scale in scales.items() if scale}
        types |= dict.fromkeys(
            (ROW_NUMBER, names.ANSWER_TIME, names.OPEN_TIME, names.CORRECTION_TIME, names.REPEAT, *_CHECK_COLUMNS),
            pl.Int64(),
        )
        if self.official:
            types |= dict.fromkeys((TIMESTAMP, names.CORRECTED_AT), pl.Int64())
        types |= {names.FLAG: pl.Boolean(), names.BULK_SHARE: pl.Float64()}
        return {name: types.get(name, pl.String()) for name in self.columns}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Questions, attributes and check results without a column."""
        columns = set(self.columns)
        questions = _question_columns(self.questionnaire.questions)
        fields = (*questions, *self.about_raters, *self.attributes.values(), *(_CHECK_COLUMNS if self.checks else ()))
        return tuple(name for name in fields if name not in columns)

    @property
    def _scaled_columns(self) -> tuple[str, ...]:
        scaled = [question.name for question in self.questionnaire.questions if question.kind in ("single", "likert")]
        return (*scaled, *self.questionnaire.overalls)


def export_form(
    campaign: Campaign,
    attributes: Collection[str] = (),
    *,
    with_text: bool = False,
    with_flag: bool = False,
    with_corrections: bool = False,
    with_repeats: bool = False,
) -> ExportForm:
    """Return the columns of an export of a campaign.

    Examples
    --------
    >>> from dissensus.schema.campaign.shipped import load_campaign
    >>> form = export_form(load_campaign("dices-350"), ["phase"])
    >>> form.official, len(form.columns), form.columns[:3]
    ('dices-350', 42, ('id', 'rater_id', 'rater_gender'))
    """
    official = find_official_name(campaign.questionnaire)
    questions = campaign.questionnaire.questions
    demographics = () if campaign.demographics is None else campaign.demographics.questions
    about_raters = _question_columns(demographics)
    attributes = {*attributes, *((PHASE,) if campaign.phase else ())}
    answer_columns = {*_question_columns(questions), *campaign.questionnaire.overalls}
    attribute_columns = _name_attributes(attributes, {*about_raters, *answer_columns, *_RESERVED})
    checks = _CHECK_COLUMNS if campaign.checks else ()
    if official:
        columns = load_questionnaire(official).columns
    else:
        columns = _long_columns(campaign, (*about_raters, *checks), attribute_columns)
    optional = (
        *(names.OPEN_TIME,) * campaign.click_to_reveal,
        *BULK_COLUMNS * campaign.bulk_answers,
        *CORRECTION_COLUMNS * with_corrections,
        *(names.REPEAT,) * with_repeats,
        *(names.FLAG,) * with_flag,
    )
    texts = set() if with_text else _text_columns((*questions, *demographics))
    return ExportForm(
        questionnaire=campaign.questionnaire,
        official=official,
        columns=(*(name for name in columns if name not in texts), *optional),
        about_raters=about_raters,
        attributes=attribute_columns,
        checks=campaign.checks,
        phase=campaign.phase,
    )


def find_official_name(questionnaire: Questionnaire) -> str | None:
    """Return the name of the shipped questionnaire with these questions, scales and overalls, in any wording.

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
    questions = [
        (question.name, question.scale, question.kind, question.own_words, question.decline)
        for question in questionnaire.questions
    ]
    return questions, dict(questionnaire.overalls)


def _long_columns(campaign: Campaign, about_raters: Sequence[str], attributes: Mapping[str, str]) -> tuple[str, ...]:
    answers = (*_question_columns(campaign.questionnaire.questions), *campaign.questionnaire.overalls)
    conversation = (*CONVERSATION_COLUMNS, *(PAIR_COLUMNS if campaign.pair else ()))
    return (
        *(names.ITEM_ID, names.RATER_ID, *about_raters, *answers),
        *(names.ANSWER_TIME, TIMESTAMP, *conversation, *attributes.values()),
    )


def _question_columns(questions: Iterable[Question]) -> tuple[str, ...]:
    """Return the columns of questions: the answer, and the text that an answer opens."""
    return tuple(name for question in questions for name in (question.name, question.own_words) if name is not None)


def _text_columns(questions: Iterable[Question]) -> set[str]:
    """Return the columns with free text of raters."""
    columns = (question.name if question.kind == "text" else question.own_words for question in questions)
    return {name for name in columns if name is not None}


def _name_attributes(attributes: Collection[str], reserved: Collection[str]) -> dict[str, str]:
    """Return a unique column for each attribute, with a name that readers recognise as an attribute of items."""
    result: dict[str, str] = {}
    for name in sorted(attributes, key=lambda name: (not names.is_item_attribute(name), name)):
        column = name if names.is_item_attribute(name) else f"item_{name}"
        while column in reserved or column in result.values():
            column = f"item_{column}"
        result[name] = column
    return result


def to_frame(ratings: Sequence[ExportedRating], form: ExportForm, *, start: int = 0) -> pl.DataFrame:
    """Convert ratings to a table whose row numbers begin at `start`."""
    rows = [_to_row(rating, form, number) for number, rating in enumerate(ratings, start)]
    schema = form.schema
    dtypes = {name: dtype for name, dtype in schema.items() if name not in form.questionnaire.overalls}
    columns = {name: pl.Series(name, [row.get(name) for row in rows], dtype) for name, dtype in dtypes.items()}
    for name, parts in form.questionnaire.overalls.items():
        columns[name] = take_worst(pl.DataFrame([columns[part] for part in parts])).alias(name)
    return pl.DataFrame([columns[name] for name in schema])


def _to_row(rating: ExportedRating, form: ExportForm, number: int) -> dict[str, Any]:
    context, response = format_conversation(rating.item.conversation, _FORMS.get(form.official, DICES_350))
    declared = {name: _format_answer(value) for name, value in rating.declared.items()}
    declines = {question.name: question.decline for question in form.questionnaire.questions}
    answers = {name: _format_answer(value) for name, value in rating.answers.items() if value != declines.get(name)}
    corrected_at = rating.times.corrected_at
    states = [check_state(check, rating.check_answers.get(check.name, ())) for check in form.checks]
    return {
        **dict.fromkeys(RAW_RACES, declared.get(RACE)),
        **declared,
        **_released_race(rating.declared, form),
        PHASE: form.phase,
        **answers,
        **{form.attributes[name]: value for name, value in rating.item.attributes.items() if name in form.attributes},
        ROW_NUMBER: number,
        names.ITEM_ID: rating.item.item_id,
        names.RATER_ID: rating.rater_id,
        names.ANSWER_TIME: rating.times.answer_time_ms,
        names.OPEN_TIME: rating.times.open_time_ms,
        **_describe_bulk(rating, form),
        names.CORRECTION_TIME: rating.times.correction_time_ms,
        names.REPEAT: rating.showing,
        names.CORRECTED_AT: None if corrected_at is None else _format_time(corrected_at, form),
        TIMESTAMP: _format_time(rating.times.answered_at, form),
        names.CHECKS_PASSED: states.count("passed"),
        names.CHECKS_FAILED: states.count("failed"),
        names.FLAG: rating.flagged,
        CONVERSATION_COLUMNS[0]: context,
        CONVERSATION_COLUMNS[1]: response,
        PAIR_COLUMNS[0]: rating.item.response_b,
        PAIR_COLUMNS[1]: rating.shown_first,
    }


def _describe_bulk(rating: ExportedRating, form: ExportForm) -> dict[str, str | float]:
    """Return the questions of a rating that were answered in bulk, and their share of those answered."""
    answered = [question.name for question in form.questionnaire.questions if question.name in rating.answers]
    bulk = [name for name in answered if name in rating.bulk]
    return {names.BULK_QUESTIONS: json.dumps(bulk), names.BULK_SHARE: len(bulk) / max(len(answered), 1)}


def _released_race(declared: Mapping[str, Answer], form: ExportForm) -> dict[str, str]:
    """Return the column of race as DICES released it: one group, also of raters who named several."""
    named = declared.get(RACE)
    if not form.official or not isinstance(named, tuple) or not named:
        return {}
    return {RACE: named[0] if len(named) == 1 else SEVERAL_RACES}


def _format_time(moment: datetime, form: ExportForm) -> int | str:
    """Format a time as Unix time in seconds for official files, else as ISO 8601."""
    if form.official:
        return int(moment.timestamp())
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_conversation(conversation: Conversation, form: DicesForm = DICES_350) -> tuple[str, str]:
    """Format a conversation as context and response, as DICES does.

    The context is JSON if that format would be ambiguous, such as for a line that begins like a turn.

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
        context = conversation.to_dicts()[:-1]
        return json.dumps(context, ensure_ascii=False) if context else "", turns[-1][1]


def _format_answer(value: Answer) -> str:
    """Format an answer as text; several are a JSON list, since an answer may contain any separator."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
