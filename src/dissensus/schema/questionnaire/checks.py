"""Consistency checks of a questionnaire: names, answers, conditions, languages and overalls."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire, Subject
from dissensus.schema.questionnaire.question import MAX_ANSWERS, MAX_COLUMN_NAME, Question, When
from dissensus.schema.ratings import columns as names

# Letters that are the same in files, addresses and forms of all kinds.
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# RFC 5646 without extensions and private use: nothing that is shown depends on them.
LANGUAGE_TAG: Final = re.compile(
    r"(?i)[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
)

NUMBER: Final = re.compile(r"[-+−]?\d+([.,]\d+)?")
"""Answers that are the same in all languages."""

RESERVED_NAMES: Final = frozenset(
    {
        "id",
        "item",
        "rater",
        names.ANSWER_TIME,
        "answer_timestamp",
        names.REMOVED,
        names.FLAG,
        names.CHECKS_PASSED,
        names.CHECKS_FAILED,
        names.ITEM_ID,
        names.RATER_ID,
    }
)
"""Columns of a ratings table that are something else, and names that its index has."""

_ONLY_FOR: Final = {
    "exclusive": ("multiple",),
    "self_describe": ("single", "multiple"),
    "scale": ("single", "multiple", "likert"),
    "category": ("single", "likert"),
    "counts": ("single", "likert"),
    "most": ("multiple",),
    "cut": ("likert",),
}


def check_languages(table: DefinitionTable) -> None:
    """Note languages that are no tags, or not written as tags are."""
    for language in table.notes.languages:
        if not LANGUAGE_TAG.fullmatch(language):
            table.add_error(
                "languages", f'{format_value(language)} is no BCP 47 tag. Tags are like "en", "pt-BR" or "zh-Hant".'
            )
        elif language != _canonical(language):
            table.add_error(
                "languages", f"{format_value(language)} is written {format_value(_canonical(language))}. Write it so."
            )


def _canonical(tag: str) -> str:
    first, *others = tag.split("-")
    return "-".join([first.lower(), *map(_cased, others)])


def _cased(part: str) -> str:
    if len(part) == 2:
        return part.upper()
    return part.title() if len(part) == 4 and part.isalpha() else part.lower()


def check_question(
    table: DefinitionTable, question: Question, earlier: Mapping[str, Question], headings: Sequence[str], about: Subject
) -> None:
    """Note what is wrong with a question, given those before it."""
    _check_name(table, question.name, about)
    _check_kind(table, question)
    _check_scale(table, question)
    _check_shown(table, question)
    if question.when is not None:
        _check_when(table, question.when, earlier)
    if question.heading is not None and question.heading not in headings:
        hint = table.suggest(question.heading, headings)
        known = f"Headings are {format_list(headings)}." if headings else "There are no headings."
        table.add_error("heading", f"There is no heading {format_value(question.heading)}.{hint} {known}")
    if table.notes.languages and "text" not in table.data:
        table.add_error("text", "It is missing. Write the question that raters read.")


def _check_name(table: DefinitionTable, name: str, about: Subject) -> None:
    if "name" in table.invalid_keys:
        return
    fault = _column_fault(name, about) if name else "It is missing. Write the name of the column of its answers."
    if fault is not None:
        table.add_error("name", fault)


def _column_fault(name: str, about: Subject) -> str | None:
    """Say why a name cannot be that of a column of answers, None where it can."""
    if not NAME.fullmatch(name) or len(name) > MAX_COLUMN_NAME:
        return (
            f"{format_value(name)} cannot be a column. A name is a letter, then letters, digits and _ (a to z alone), "
            "at most "
            f"{MAX_COLUMN_NAME} in all. What raters read stands under text."
        )
    if name.casefold() in RESERVED_NAMES:
        return f"{format_value(name)} is a column with another meaning. Choose another name."
    if about == "rater" and not names.is_rater_attribute(name):
        return f"{format_value(name)} is asked about raters. Begin its name with {format_value(names.RATER_PREFIX)}."
    if about == "item" and (names.is_rater_attribute(name) or names.is_item_attribute(name)):
        return (
            f"{format_value(name)} would be read as an attribute of the item or the rater. Choose another name, such "
            "as "
            f'{format_value("Q_" + name)}; questions about raters need about = "rater".'
        )
    return None


def _check_kind(table: DefinitionTable, question: Question) -> None:
    for key, kinds in _ONLY_FOR.items():
        if table.data.get(key) not in (None, False) and question.kind not in kinds and "kind" not in table.invalid_keys:
            table.add_error(
                key, f"A question of the kind {question.kind} has none; only {format_list(kinds)}. Take it out."
            )
    if "longest" in table.data and question.kind != "text" and question.self_describe is None:
        table.add_error("longest", "There is no text that it could limit. Take it out.")


def _check_scale(table: DefinitionTable, question: Question) -> None:
    fewest = {"single": 2, "likert": 2, "multiple": 1, "text": 0}[question.kind]
    if len(question.scale) < fewest and "scale" not in table.invalid_keys:
        table.add_error(
            "scale",
            f"It has {len(question.scale)} answers, and a question of the kind {question.kind} needs {fewest} or "
            'more: scale = ["No", "Yes"].',
        )
    if question.decline in question.scale:
        table.add_error("decline", f"{format_value(question.decline)} is on the scale too. Take it out of the scale.")
    if (
        question.most is not None
        and question.most >= len(question.scale)
        and not {"scale", "most"} & table.invalid_keys
    ):
        table.add_error(
            "most", f"It has {len(question.scale)} answers, so that this limits nothing. Take it out, or name less."
        )
    if question.cut is not None and question.scale[:1] == (question.cut,):
        table.add_error(
            "cut", f"{format_value(question.cut)} is the first of its scale, so that all answers are from it on."
        )
    chosen = [
        ("self_describe", question.self_describe),
        ("cut", question.cut),
        *(("exclusive", one) for one in question.exclusive),
    ]
    for key, answer in chosen:
        if answer is not None and answer not in question.scale and not {"scale", key} & table.invalid_keys:
            hint = table.suggest(answer, question.scale)
            table.add_error(
                key, f"{format_value(answer)} is not on its scale.{hint} The scale is {format_list(question.scale)}."
            )


def _check_shown(table: DefinitionTable, question: Question) -> None:
    """Note answers that nobody could read, or tell apart, in some language."""
    if not {"scale", "decline"} & table.invalid_keys:
        _check_among(table, "labels", list(question.labels), question.answers)
    for place, language in enumerate(table.notes.languages):
        for answer in question.answers if place else ():
            if answer not in question.labels and not NUMBER.fullmatch(answer):
                table.notes.add_missing_wording(
                    language, f"{table.path_of('labels')}.{format_value(answer)} ({question.name})"
                )
        twice = [one for one, n in Counter(question.label(one, language) for one in question.answers).items() if n > 1]
        if twice:
            table.add_error(
                "labels", f"In {language} several answers are shown as {format_list(twice)}. Tell them apart."
            )
        labelled = [one for one in question.scale if language in question.labels.get(one, {})]
        if question.kind == "likert" and not _ends_or_all(labelled, question.scale):
            table.add_error(
                "labels",
                f"In {language} it labels {format_list(labelled)}. Label both ends of the scale, or all of it.",
            )


def _ends_or_all(labelled: Sequence[str], scale: Sequence[str]) -> bool:
    return not labelled or list(labelled) in ([*scale[:1], *scale[-1:]], list(scale))


def _check_when(table: DefinitionTable, when: When, earlier: Mapping[str, Question]) -> None:
    other = earlier.get(when.question)
    if other is None:
        hint = table.suggest(when.question, list(earlier))
        known = f"Earlier are {format_list(list(earlier))}." if earlier else "This is the first question."
        table.add_error(
            "when",
            f"{format_value(when.question)} is no earlier question.{hint} {known} Name one, or move this question "
            "down.",
        )
        return
    if other.kind == "text":
        table.add_error("when", f"{other.name} is answered by a text. Name a question with a scale.")
        return
    _check_among(table, "when", when.answers, other.answers, f" to {other.name}")


def _check_among(table: DefinitionTable, key: str, given: Sequence[str], answers: Sequence[str], to: str = "") -> None:
    """Note what is given and is no answer."""
    wrong = [answer for answer in given if answer not in answers]
    if wrong:
        is_none = "is no answer" if len(wrong) == 1 else "are no answers"
        hint = table.suggest(wrong[0], answers)
        table.add_error(key, f"{format_list(wrong)} {is_none}{to}.{hint} Answers are {format_list(answers)}.")


def check_questionnaire(
    table: DefinitionTable, found: Questionnaire, overall: str | None, labelled: Sequence[str]
) -> None:
    """Note what is wrong with the questionnaire as a whole."""
    if "name" not in table.invalid_keys and (not FILE_NAME.fullmatch(found.name) or len(found.name) > MAX_COLUMN_NAME):
        given = format_value(found.name) if found.name else "missing"
        allowed = f"letters, digits, dots, _ and - (a to z alone), at most {MAX_COLUMN_NAME} in all"
        table.add_error("name", f"It is {given}. Write {allowed}.")
    if not found.questions and "questions" not in table.invalid_keys:
        table.add_error("questions", "There are none. Write one table [[questions]] for each.")
    if found.languages and "title" not in table.data:
        table.add_error("title", "It is missing. Write what raters read above everything.")
    answers = dict.fromkeys(answer for question in found.questions for answer in question.answers)
    unused = [answer for answer in labelled if answer not in answers]
    if unused:
        hint = table.suggest(unused[0], tuple(answers)[:MAX_ANSWERS])
        table.add_error("labels", f"No question has the answer {format_list(unused)}.{hint} Take it out.")
    _check_columns(table, found)
    _check_headings(table, found)
    _check_overalls(table, found, overall)


def _check_columns(table: DefinitionTable, found: Questionnaire) -> None:
    """Note names that two columns share; some tools do not tell capitals from small letters."""
    own = [question.own_words for question in found.questions if question.own_words]
    every = [name for name in (*found.columns, *own) if name]
    spelt: dict[str, list[str]] = {}
    for name in every:
        spelt.setdefault(name.casefold(), []).append(name)
    for same in spelt.values():
        if len(same) > 1:
            table.add_error(
                "questions",
                f"{len(same)} columns have the name {format_value(same[0])}. Columns are leading, questions, their "
                "texts "
                f"(…{names.OWN_WORDS}), categories and overall; capitals make no difference. Rename all but one.",
            )


def _check_headings(table: DefinitionTable, found: Questionnaire) -> None:
    runs = Counter(heading for heading, _ in groupby(question.heading for question in found.questions) if heading)
    for heading, times in runs.items():
        if times > 1:
            table.add_error(
                "questions", f"Questions under {format_value(heading)} stand apart. Put them one after another."
            )
    for heading in found.headings:
        if heading not in runs:
            table.add_error("headings", f"No question stands under {format_value(heading)}. Take it out.")


def _check_overalls(table: DefinitionTable, found: Questionnaire, overall: str | None) -> None:
    """Note overalls that the rule, the worst answer, cannot make."""
    scales = {question.name: question.scale for question in found.questions}
    for name, parts in found.overalls.items():
        where = "overall" if name == overall else "questions"
        fault = _column_fault(name, found.about)
        if fault is not None:
            table.add_error(where, fault)
        if not parts:
            table.add_error(where, f"Nothing counts towards {format_value(name)}. Take it out, or let questions count.")
        if len({scales[part] for part in parts}) > 1:
            odd = next(part for part in parts if scales[part] != scales[parts[0]])
            table.add_error(
                where,
                f"{format_value(name)} is the worst of several answers, which needs one scale, and {odd} has another "
                "than "
                f"{parts[0]}. Give it the same scale, or counts = false and no category.",
            )
