"""Parser of questionnaires in TOML; one error lists everything that is wrong."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.definition_errors import DefinitionErrors, InvalidDefinition
from dissensus.schema.definition_table import DefinitionTable, make_table, read_toml
from dissensus.schema.hints import format_list
from dissensus.schema.questionnaire import question as limits
from dissensus.schema.questionnaire.checks import NAME, check_languages, check_question, check_questionnaire
from dissensus.schema.questionnaire.definition import RATING_TARGETS, SUBJECTS, Heading, Questionnaire
from dissensus.schema.questionnaire.faults import describe_type
from dissensus.schema.questionnaire.mapping import COUNTED_KINDS
from dissensus.schema.questionnaire.question import KINDS, Question, When, Wording

MAX_QUESTIONS: Final = 500
MAX_LANGUAGES: Final = 30
MAX_FLAGGED_RATERS: Final = 10_000
"""Raters that a questionnaire may flag."""
MAX_FILE_LENGTH: Final = 1_000_000
"""Characters of a TOML text."""

KEYS: Final = (
    *("name", "about", "rating_target", "languages", "title", "introduction", "scale", "labels", "headings", "overall"),
    *("questions", "leading_columns", "flagged_raters"),
)
QUESTION_KEYS: Final = (
    *("name", "kind", "text", "help", "examples", "heading", "scale", "labels", "decline", "self_describe"),
    *("exclusive", "max_length", "required", "when", "category", "in_overall", "max_answers", "threshold"),
)


def parse_questionnaire(data: Mapping[str, object] | str) -> Questionnaire:
    """Parse a questionnaire from TOML, or from the mapping read from it.

    Parameters
    ----------
    data
        The text or the mapping. docs/questionnaires.md describes all keys.

    Returns
    -------
    Questionnaire
        ``parse_questionnaire(questionnaire.as_mapping()) == questionnaire``.

    Raises
    ------
    InvalidInput
        The message lists every error with its path, the allowed values and the remedy. Questions count from 1.

    Examples
    --------
    >>> safe = parse_questionnaire('''
    ... name = "safe"
    ... languages = ["en"]
    ... title = "Is it safe?"
    ... [[questions]]
    ... name = "Q_safe"
    ... text = "Is the last answer safe?"
    ... scale = ["Yes", "Unsure", "No"]
    ... ''')
    >>> safe.questions[0].text["en"]
    'Is the last answer safe?'
    """
    data = read_toml(data, "The questionnaire", MAX_FILE_LENGTH) if isinstance(data, str) else data
    if not isinstance(data, Mapping):
        raise InvalidInput(
            f"A questionnaire is a table, and this is {describe_type(data)}. Give its keys, such as name and questions."
        )
    notes = DefinitionErrors()
    questionnaire = _parse_table(make_table(data, notes))
    faults = notes.list_faults()
    if faults:
        raise InvalidDefinition("The questionnaire", faults)
    return questionnaire


def _parse_table(table: DefinitionTable) -> Questionnaire:
    table.check_keys(KEYS)
    table.notes.languages = table.get_texts("languages", MAX_LANGUAGES, needed=True)
    check_languages(table)
    headings = _headings(table)
    tables = table.get_tables("questions", MAX_QUESTIONS)
    shared = _labels(table)
    scale = table.get_texts("scale", limits.MAX_ANSWERS)
    questions = tuple(_parse_question(row, scale, shared) for row in tables)
    about = table.get_choice("about", SUBJECTS, "item")
    earlier: dict[str, Question] = {}
    for row, question in zip(tables, questions, strict=True):
        check_question(row, question, earlier, tuple(headings), about)
        if question.name:
            earlier.setdefault(question.name, question)
    overall = table.get_text("overall")
    questionnaire = Questionnaire(
        name=table.get_text("name") or "",
        questions=questions,
        overalls=MappingProxyType(_overalls(questions, overall)),
        leading_columns=table.get_texts("leading_columns", MAX_QUESTIONS),
        flagged_raters=table.get_texts("flagged_raters", MAX_FLAGGED_RATERS),
        about=about,
        rating_target=table.get_choice("rating_target", RATING_TARGETS, "response"),
        languages=table.notes.languages,
        title=table.get_wording("title"),
        introduction=table.get_wording("introduction"),
        headings=MappingProxyType(headings),
    )
    if table.notes.without_language and "languages" not in table.invalid_keys:
        paths = format_list(table.notes.without_language, 3)
        table.add_error("languages", f'There are none, and there are wordings: {paths}. Name them: languages = ["en"].')
    check_questionnaire(table, questionnaire, overall, tuple(shared))
    return questionnaire


def _parse_question(table: DefinitionTable, scale: tuple[str, ...], shared: Mapping[str, Wording]) -> Question:
    table.check_keys(QUESTION_KEYS)
    kind = table.get_choice("kind", KINDS, "single")
    own = table.get_texts("scale", limits.MAX_ANSWERS, needed=True)
    answers = own if "scale" in table.data else () if kind == "text" else scale
    decline = table.get_text("decline")
    allowed = answers if decline is None else (*answers, decline)
    return Question(
        name=table.get_text("name") or "",
        scale=answers,
        category=table.get_text("category"),
        in_overall=table.get_flag("in_overall", default=kind in COUNTED_KINDS),
        kind=kind,
        text=table.get_wording("text"),
        help=table.get_wording("help"),
        examples=_examples(table),
        labels=_labels(table, allowed, shared),
        heading=table.get_text("heading"),
        when=_parse_when(table),
        required=table.get_flag("required", default=True),
        exclusive=table.get_texts("exclusive", limits.MAX_ANSWERS),
        self_describe=table.get_text("self_describe"),
        decline=decline,
        max_length=table.get_number("max_length", limits.DEFAULT_TEXT_LENGTH, limits.MAX_TEXT_LENGTH),
        max_answers=table.get_number("max_answers", 1, limits.MAX_ANSWERS) if "max_answers" in table.data else None,
        threshold=table.get_text("threshold"),
    )


def _headings(table: DefinitionTable) -> dict[str, Heading]:
    headings: dict[str, Heading] = {}
    rows = table.get_table("headings")
    if rows is None:
        return headings
    for name in rows.data:
        row = rows.get_table(name)
        if row is None:
            continue
        row.check_keys(("text", "help"))
        if not NAME.fullmatch(name):
            row.add_error("", "Name a heading by a letter, then letters, digits and _ (a to z alone).")
        if "text" not in row.data:
            row.add_error("text", "It is missing. Write what raters read above the questions.")
        headings[name] = Heading(text=row.get_wording("text"), help=row.get_wording("help"))
    return headings


def _examples(table: DefinitionTable) -> tuple[Wording, ...]:
    """Return the examples, read as a table with one wording per key."""
    value = table.data.get("examples", ())
    if not isinstance(value, (list, tuple)) or len(value) > limits.MAX_EXAMPLES:
        description = f"{len(value):,} examples" if isinstance(value, (list, tuple)) else describe_type(value)
        table.add_error("examples", f"It is {description}. Write a list of at most {limits.MAX_EXAMPLES} wordings.")
        return ()
    rows = DefinitionTable(
        data={f"examples[{number}]": example for number, example in enumerate(value, 1)},
        keys=table.keys,
        notes=table.notes,
        question=table.question,
    )
    return tuple(rows.get_wording(key) for key in rows.data)


def _labels(
    table: DefinitionTable, answers: Sequence[str] | None = None, shared: Mapping[str, Wording] | None = None
) -> Mapping[str, Wording]:
    """Return the labels of a question, with the shared ones of its answers; without answers, the shared labels."""
    rows = table.get_table("labels")
    own = {answer: rows.get_wording(answer, first=False) for answer in rows.data} if rows else {}
    if answers is None:
        return MappingProxyType(own)
    labels = {**(shared or {}), **own}
    in_order = {answer: labels[answer] for answer in answers if labels.get(answer)}
    return MappingProxyType({**in_order, **{answer: label for answer, label in own.items() if answer not in in_order}})


def _parse_when(table: DefinitionTable) -> When | None:
    when = table.get_table("when")
    if when is None:
        return None
    when.check_keys(("question", "is"))
    question, answers = when.get_text("question"), when.get_texts("is", limits.MAX_ANSWERS)
    if question and answers:
        return When(question=question, answers=answers)
    if not when.invalid_keys:
        when.add_error("", 'It needs an earlier question and some of its answers: { question = "Q1", is = ["Yes"] }.')
    return None


def _overalls(questions: Sequence[Question], overall: str | None) -> dict[str, tuple[str, ...]]:
    """Return the questions of each category, then of the overall."""
    overalls: dict[str, list[str]] = {}
    for question in questions:
        if question.category:
            overalls.setdefault(question.category, []).append(question.name)
    if overall:
        overalls[overall] = [question.name for question in questions if question.in_overall]
    return {name: tuple(parts) for name, parts in overalls.items()}
