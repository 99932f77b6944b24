"""Consistency checks of a questionnaire: names, answers, conditions, languages and overalls."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from dissensus.schema.definition_errors import format_path
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire, Subject
from dissensus.schema.questionnaire.question import (
    MAX_ANSWERS,
    MAX_COLUMN_NAME,
    MAX_ITEM_TEXT,
    MAX_RATER_TEXT,
    Question,
    When,
)
from dissensus.schema.ratings import columns as names

# Characters that need no escaping in files, URLs and forms.
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# RFC 5646 without extensions and private use, which do not affect the display.
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
        names.OPEN_TIME,
        names.BULK_QUESTIONS,
        names.BULK_SHARE,
        names.CORRECTION_TIME,
        names.CORRECTED_AT,
        names.REPEAT,
        "answer_timestamp",
        names.REMOVED,
        names.FLAG,
        names.CHECKS_PASSED,
        names.CHECKS_FAILED,
        names.ITEM_ID,
        names.RATER_ID,
    }
)
"""Columns of a ratings table with another meaning, and names of its index."""

_ONLY_FOR: Final = {
    "exclusive": ("multiple",),
    "self_describe": ("single", "multiple"),
    "scale": ("single", "multiple", "likert"),
    "category": ("single", "likert"),
    "in_overall": ("single", "likert"),
    "max_answers": ("multiple",),
    "threshold": ("likert",),
}


def check_languages(table: DefinitionTable) -> None:
    """Record languages that are not canonical BCP 47 tags."""
    for language in table.notes.languages:
        if not LANGUAGE_TAG.fullmatch(language):
            table.add_error(
                "languages", f'{format_value(language)} is not a BCP 47 tag. Tags are like "en", "pt-BR" or "zh-Hant".'
            )
        elif language != _canonical(language):
            table.add_error("languages", f"{format_value(language)} is written {format_value(_canonical(language))}.")


def _canonical(tag: str) -> str:
    language, *subtags = tag.split("-")
    return "-".join([language.lower(), *map(_canonical_subtag, subtags)])


def _canonical_subtag(part: str) -> str:
    if len(part) == 2:
        return part.upper()
    return part.title() if len(part) == 4 and part.isalpha() else part.lower()


def check_question(
    table: DefinitionTable, question: Question, earlier: Mapping[str, Question], headings: Sequence[str], about: Subject
) -> None:
    """Record the errors of a question, given earlier ones."""
    _check_name(table, question.name, about)
    _check_kind(table, question)
    _check_scale(table, question)
    _check_labels(table, question)
    if question.when is not None:
        _check_when(table, question.when, earlier)
    if question.heading is not None and question.heading not in headings:
        hint = table.suggest(question.heading, headings)
        allowed = f"Headings are {format_list(headings)}." if headings else "There are no headings."
        table.add_error("heading", f"There is no heading {format_value(question.heading)}.{hint} {allowed}")
    if table.notes.languages and "text" not in table.data:
        table.add_error("text", "It is missing. Write the question that raters read.")


def _check_name(table: DefinitionTable, name: str, about: Subject) -> None:
    if "name" in table.invalid_keys:
        return
    fault = _column_fault(name, about) if name else "It is missing. Write the name of the column of its answers."
    if fault is not None:
        table.add_error("name", fault)


def _column_fault(name: str, about: Subject) -> str | None:
    """Return the reason why a name cannot be a column of answers, None if it can."""
    if not NAME.fullmatch(name) or len(name) > MAX_COLUMN_NAME:
        return (
            f"{format_value(name)} cannot be a column. A name is a letter, then letters, digits and _ (a to z alone), "
            f"at most {MAX_COLUMN_NAME} in all. Texts for raters are given by the key text."
        )
    if name.casefold() in RESERVED_NAMES:
        return f"{format_value(name)} is a column with another meaning. Choose another name."
    if about == "rater" and not names.is_rater_attribute(name):
        return f"{format_value(name)} is asked about raters. Begin its name with {format_value(names.RATER_PREFIX)}."
    if about == "item" and (names.is_rater_attribute(name) or names.is_item_attribute(name)):
        return (
            f"{format_value(name)} would be read as an attribute of the item or the rater. Choose another name, such "
            f'as {format_value("Q_" + name)}; questions about raters need about = "rater".'
        )
    return None


def _check_kind(table: DefinitionTable, question: Question) -> None:
    for key, kinds in _ONLY_FOR.items():
        if table.data.get(key) not in (None, False) and question.kind not in kinds and "kind" not in table.invalid_keys:
            table.add_error(
                key,
                f"It applies to the kinds {format_list(kinds)}, and this question is {question.kind}. Remove it.",
            )
    if "max_length" in table.data and question.kind != "text" and question.self_describe is None:
        table.add_error("max_length", "It applies only to questions with a text. Remove it.")


def _check_scale(table: DefinitionTable, question: Question) -> None:
    fewest = {"single": 2, "likert": 2, "multiple": 1, "text": 0}[question.kind]
    if len(question.scale) < fewest and "scale" not in table.invalid_keys:
        table.add_error(
            "scale",
            f"It has {len(question.scale)} answers, and a question of the kind {question.kind} needs {fewest} or "
            'more: scale = ["No", "Yes"].',
        )
    if question.decline in question.scale:
        table.add_error("decline", f"{format_value(question.decline)} is on the scale too. Remove it from the scale.")
    if (
        question.max_answers is not None
        and question.max_answers >= len(question.scale)
        and not {"scale", "max_answers"} & table.invalid_keys
    ):
        table.add_error(
            "max_answers",
            f"The scale has {count_noun(len(question.scale), 'answer')}, so this limits nothing. Remove or lower it.",
        )
    if question.threshold is not None and question.scale[:1] == (question.threshold,):
        table.add_error(
            "threshold",
            f"{format_value(question.threshold)} is the first of its scale, so that every answer counts as yes. "
            "Name a later one.",
        )
    references = [
        ("self_describe", question.self_describe),
        ("threshold", question.threshold),
        *(("exclusive", answer) for answer in question.exclusive),
    ]
    for key, answer in references:
        if answer is not None and answer not in question.scale and not {"scale", key} & table.invalid_keys:
            hint = table.suggest(answer, question.scale)
            table.add_error(
                key, f"{format_value(answer)} is not on its scale.{hint} The scale is {format_list(question.scale)}."
            )


def _check_labels(table: DefinitionTable, question: Question) -> None:
    """Record labels that are missing, ambiguous or incomplete in some language."""
    if not {"scale", "decline"} & table.invalid_keys:
        _check_among(table, "labels", list(question.labels), question.answers)
    for index, language in enumerate(table.notes.languages):
        for answer in question.answers if index else ():
            if answer not in question.labels and not NUMBER.fullmatch(answer):
                path = (*table.path_of("labels"), answer)
                table.notes.add_missing_wording(
                    language, path, f"{format_path(path[:-1])}.{format_value(answer)} ({question.name})"
                )
        counts = Counter(question.label(answer, language) for answer in question.answers)
        duplicates = [label for label, count in counts.items() if count > 1]
        if duplicates:
            table.add_error(
                "labels", f"In {language} several answers are shown as {format_list(duplicates)}. Tell them apart."
            )
        labelled = [answer for answer in question.scale if language in question.labels.get(answer, {})]
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
        allowed = f"Earlier are {format_list(list(earlier))}." if earlier else "This is the first question."
        table.add_error(
            "when",
            f"{format_value(when.question)} is not an earlier question.{hint} {allowed} Name one, or move this "
            "question down.",
        )
        return
    if other.kind == "text":
        table.add_error("when", f"{other.name} is answered by a text. Name a question with a scale.")
        return
    _check_among(table, "when", when.answers, other.answers, f" to {other.name}")


def _check_among(table: DefinitionTable, key: str, values: Sequence[str], answers: Sequence[str], to: str = "") -> None:
    """Record values that are not among the answers."""
    unknown = [value for value in values if value not in answers]
    if unknown:
        verb = "is not an answer" if len(unknown) == 1 else "are not answers"
        hint = table.suggest(unknown[0], answers)
        table.add_error(key, f"{format_list(unknown)} {verb}{to}.{hint} Answers are {format_list(answers)}.")


def check_questionnaire(
    table: DefinitionTable, questionnaire: Questionnaire, overall: str | None, labelled: Sequence[str]
) -> None:
    """Record the errors that concern the whole questionnaire."""
    name = questionnaire.name
    if "name" not in table.invalid_keys and (not FILE_NAME.fullmatch(name) or len(name) > MAX_COLUMN_NAME):
        value = format_value(name) if name else "missing"
        allowed = f"letters, digits, dots, _ and - (a to z alone), at most {MAX_COLUMN_NAME} in all"
        table.add_error("name", f"It is {value}. Write {allowed}.")
    if not questionnaire.questions and "questions" not in table.invalid_keys:
        table.add_error("questions", "There are none. Write one table [[questions]] for each.")
    if questionnaire.languages and "title" not in table.data:
        table.add_error("title", "It is missing. Write the title that raters read.")
    answers = dict.fromkeys(answer for question in questionnaire.questions for answer in question.answers)
    unused = [answer for answer in labelled if answer not in answers]
    if unused:
        hint = table.suggest(unused[0], tuple(answers)[:MAX_ANSWERS])
        table.add_error("labels", f"No question has the answer {format_list(unused)}.{hint} Remove it.")
    _check_text(table, questionnaire)
    _check_columns(table, questionnaire)
    _check_headings(table, questionnaire)
    _check_overalls(table, questionnaire, overall)


def _check_text(table: DefinitionTable, questionnaire: Questionnaire) -> None:
    """Record questions that allow more text than one request may carry."""
    texts = [question for question in questionnaire.questions if question.kind == "text" or question.own_words]
    total = sum(question.max_length for question in texts)
    most = MAX_ITEM_TEXT if questionnaire.about == "item" else MAX_RATER_TEXT
    if total > most:
        table.add_error(
            "questions",
            f"Their texts may have {total:,} characters together, and {most:,} are allowed about one "
            f"{questionnaire.about}. Lower max_length, or remove questions.",
        )


def _check_columns(table: DefinitionTable, questionnaire: Questionnaire) -> None:
    """Record columns whose names differ by case at most, which some tools cannot distinguish."""
    texts = [question.own_words for question in questionnaire.questions if question.own_words]
    by_folded: dict[str, list[str]] = {}
    for name in filter(None, (*questionnaire.columns, *texts)):
        by_folded.setdefault(name.casefold(), []).append(name)
    for same in by_folded.values():
        if len(same) > 1:
            table.add_error(
                "questions",
                f"{len(same)} columns have the name {format_value(same[0])}. Columns are leading_columns, questions, "
                f"their texts (…{names.OWN_WORDS}), categories and overall; capitals make no difference. Rename all "
                "but one.",
            )


def _check_headings(table: DefinitionTable, questionnaire: Questionnaire) -> None:
    runs = Counter(
        heading for heading, _ in groupby(question.heading for question in questionnaire.questions) if heading
    )
    for heading, count in runs.items():
        if count > 1:
            table.add_error(
                "questions", f"Questions under {format_value(heading)} are not consecutive. Put them one after another."
            )
    for heading in questionnaire.headings:
        if heading not in runs:
            table.add_error("headings", f"No question has the heading {format_value(heading)}. Remove it.")


def _check_overalls(table: DefinitionTable, questionnaire: Questionnaire, overall: str | None) -> None:
    """Record overalls that cannot be the worst of their answers."""
    scales = {question.name: question.scale for question in questionnaire.questions}
    for name, parts in questionnaire.overalls.items():
        key = "overall" if name == overall else "questions"
        fault = _column_fault(name, questionnaire.about)
        if fault is not None:
            table.add_error(key, fault)
        if not parts:
            table.add_error(key, f"Nothing counts towards {format_value(name)}. Remove it, or let questions count.")
        if len({scales[part] for part in parts}) > 1:
            odd = next(part for part in parts if scales[part] != scales[parts[0]])
            table.add_error(
                key,
                f"{format_value(name)} is the worst of several answers, which needs one scale, and {odd} has another "
                f"than {parts[0]}. Give it the same scale, or in_overall = false and no category.",
            )
