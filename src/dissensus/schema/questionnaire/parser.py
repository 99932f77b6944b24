"""Parser of questionnaires in TOML; one error lists everything that is wrong."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dissensus.errors import InvalidInput
from dissensus.schema.definition_table import DefinitionErrors, DefinitionTable, make_table, read_toml
from dissensus.schema.hints import format_list
from dissensus.schema.questionnaire import question as limits
from dissensus.schema.questionnaire.checks import NAME, check_languages, check_question, check_questionnaire
from dissensus.schema.questionnaire.definition import JUDGED, SUBJECTS, Heading, Questionnaire
from dissensus.schema.questionnaire.faults import combine_problems, describe_type
from dissensus.schema.questionnaire.mapping import COUNTED_KINDS
from dissensus.schema.questionnaire.question import KINDS, Question, When, Wording

MAX_QUESTIONS: Final = 500
MAX_LANGUAGES: Final = 30
MAX_FLAGGED_RATERS: Final = 10_000
"""How many raters a questionnaire may flag."""
MAX_FILE_LENGTH: Final = 1_000_000
"""Characters of a TOML text."""

KEYS: Final = (
    *("name", "about", "judged", "languages", "title", "introduction", "scale", "labels", "headings", "overall"),
    *("questions", "leading", "flagged_raters"),
)
QUESTION_KEYS: Final = (
    *("name", "kind", "text", "help", "examples", "heading", "scale", "labels", "decline", "self_describe"),
    *("exclusive", "longest", "required", "when", "category", "counts", "most", "cut"),
)


def parse_questionnaire(data: Mapping[str, object] | str) -> Questionnaire:
    """Return the questionnaire that a TOML text, or the mapping read from it, describes.

    Parameters
    ----------
    data
        The text, or the mapping. docs/questionnaires.md describes all keys.

    Returns
    -------
    Questionnaire
        ``parse_questionnaire(found.as_mapping()) == found``.

    Raises
    ------
    InvalidInput
        The message names every place that is wrong, what is allowed there and what to do. Questions are counted
        from 1.

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
            f"A questionnaire is a table, and this is {describe_type(data)}. docs/questionnaires.md shows one."
        )
    notes = DefinitionErrors()
    found = _questionnaire(make_table(data, notes))
    faults = notes.list_messages()
    if faults:
        raise combine_problems("The questionnaire", faults)
    return found


def _questionnaire(table: DefinitionTable) -> Questionnaire:
    table.check_keys(KEYS)
    table.notes.languages = table.get_texts("languages", MAX_LANGUAGES, needed=True)
    check_languages(table)
    headings = _headings(table)
    tables = table.get_tables("questions", MAX_QUESTIONS)
    shared = _labels(table)
    scale = table.get_texts("scale", limits.MAX_ANSWERS)
    questions = tuple(_question(one, scale, shared) for one in tables)
    about = table.get_choice("about", SUBJECTS, "item")
    earlier: dict[str, Question] = {}
    for one, question in zip(tables, questions, strict=True):
        check_question(one, question, earlier, tuple(headings), about)
        if question.name:
            earlier.setdefault(question.name, question)
    overall = table.get_text("overall")
    found = Questionnaire(
        name=table.get_text("name") or "",
        questions=questions,
        overalls=MappingProxyType(_overalls(questions, overall)),
        leading=table.get_texts("leading", MAX_QUESTIONS),
        flagged_raters=table.get_texts("flagged_raters", MAX_FLAGGED_RATERS),
        about=about,
        judged=table.get_choice("judged", JUDGED, "response"),
        languages=table.notes.languages,
        title=table.get_wording("title"),
        introduction=table.get_wording("introduction"),
        headings=MappingProxyType(headings),
    )
    if table.notes.without_language and "languages" not in table.invalid_keys:
        places = format_list(table.notes.without_language, 3)
        table.add_error(
            "languages", f'There are none, and there are wordings: {places}. Name them: languages = ["en"].'
        )
    check_questionnaire(table, found, overall, tuple(shared))
    return found


def _question(table: DefinitionTable, scale: tuple[str, ...], shared: Mapping[str, Wording]) -> Question:
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
        counts=table.get_flag("counts", default=kind in COUNTED_KINDS),
        kind=kind,
        text=table.get_wording("text"),
        help=table.get_wording("help"),
        examples=_examples(table),
        labels=_labels(table, allowed, shared),
        heading=table.get_text("heading"),
        when=_when(table),
        required=table.get_flag("required", default=True),
        exclusive=table.get_texts("exclusive", limits.MAX_ANSWERS),
        self_describe=table.get_text("self_describe"),
        decline=decline,
        longest=table.get_number("longest", limits.DEFAULT_TEXT_LENGTH, limits.MAX_TEXT_LENGTH),
        most=table.get_number("most", 1, limits.MAX_ANSWERS) if "most" in table.data else None,
        cut=table.get_text("cut"),
    )


def _headings(table: DefinitionTable) -> dict[str, Heading]:
    every = table.get_table("headings")
    found = {}
    for name in every.data if every else ():
        one = every.get_table(name) if every else None
        if one is None:
            continue
        one.check_keys(("text", "help"))
        if not NAME.fullmatch(name):
            one.add_error("", "Name a heading by a letter, then letters, digits and _ (a to z alone).")
        if "text" not in one.data:
            one.add_error("text", "It is missing. Write what raters read above the questions.")
        found[name] = Heading(text=one.get_wording("text"), help=one.get_wording("help"))
    return found


def _examples(table: DefinitionTable) -> tuple[Wording, ...]:
    """Return the examples, each a wording of its own, read as a table with the places as keys."""
    value = table.data.get("examples", ())
    if not isinstance(value, (list, tuple)) or len(value) > limits.MAX_EXAMPLES:
        given = f"{len(value):,} examples" if isinstance(value, (list, tuple)) else describe_type(value)
        table.add_error("examples", f"It is {given}. Write a list of at most {limits.MAX_EXAMPLES} wordings.")
        return ()
    each = DefinitionTable(
        data={f"examples[{place}]": one for place, one in enumerate(value, 1)},
        path=table.path,
        notes=table.notes,
        question=table.question,
    )
    return tuple(each.get_wording(key) for key in each.data)


def _labels(
    table: DefinitionTable, answers: Sequence[str] | None = None, shared: Mapping[str, Wording] | None = None
) -> Mapping[str, Wording]:
    """Return the labels of the answers of a question, those of the whole file among them, or the latter alone."""
    every = table.get_table("labels")
    own = {answer: every.get_wording(answer, first=False) for answer in every.data} if every else {}
    if answers is None:
        return MappingProxyType(own)
    found = {**(shared or {}), **own}
    kept = {answer: found[answer] for answer in answers if found.get(answer)}
    return MappingProxyType({**kept, **{answer: wording for answer, wording in own.items() if answer not in kept}})


def _when(table: DefinitionTable) -> When | None:
    every = table.get_table("when")
    if every is None:
        return None
    every.check_keys(("question", "is"))
    question, answers = every.get_text("question"), every.get_texts("is", limits.MAX_ANSWERS)
    if question and answers:
        return When(question=question, answers=answers)
    if not every.invalid_keys:
        every.add_error("", 'It needs an earlier question and some of its answers: { question = "Q1", is = ["Yes"] }.')
    return None


def _overalls(questions: Sequence[Question], overall: str | None) -> dict[str, tuple[str, ...]]:
    """Return the names of the questions behind each overall, that of everything last."""
    found: dict[str, list[str]] = {}
    for question in questions:
        if question.category:
            found.setdefault(question.category, []).append(question.name)
    if overall:
        found[overall] = [question.name for question in questions if question.counts]
    return {name: tuple(parts) for name, parts in found.items()}
