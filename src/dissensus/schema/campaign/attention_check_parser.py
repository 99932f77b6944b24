"""Parser of the tables ``[[checks]]`` of a campaign, with rules for fair checks."""

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dissensus.schema.campaign.attention_check import KINDS, AttentionCheck
from dissensus.schema.definition_errors import format_path
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.hints import count_noun, format_list, format_value
from dissensus.schema.questionnaire.checks import NAME, NUMBER
from dissensus.schema.questionnaire.question import MAX_ANSWERS, MAX_COLUMN_NAME, Wording

MAX_CHECKS: Final = 50
MAX_ITEMS: Final = 1_000_000

KEYS: Final = ("name", "kind", "text", "scale", "labels", "correct_answers", "after")


def parse_checks(table: DefinitionTable, max_items: int | None = None) -> tuple[AttentionCheck, ...]:
    """Parse the tables ``[[checks]]`` of a campaign; errors are recorded."""
    checks = tuple(_parse_check(row, max_items) for row in table.get_tables("checks", MAX_CHECKS))
    names = Counter(check.name.casefold() for check in checks if check.name)
    duplicate = next((check.name for check in checks if names[check.name.casefold()] > 1), None)
    if duplicate is not None:
        table.add_error(
            "checks", f"Two have the name {format_value(duplicate)}; capitals make no difference. Rename one."
        )
    return checks


def _parse_check(table: DefinitionTable, max_items: int | None) -> AttentionCheck:
    table.check_keys(KEYS)
    scale = table.get_texts("scale", MAX_ANSWERS, needed=True)
    if "kind" not in table.data:
        table.add_error("kind", f"It is missing. State the rule that it follows: one of {format_list(KINDS)}.")
    check = AttentionCheck(
        name=_name(table),
        kind=table.get_choice("kind", KINDS, "instruction") if "kind" in table.data else "instruction",
        text=table.get_wording("text"),
        scale=scale,
        correct_answers=table.get_texts("correct_answers", MAX_ANSWERS, needed=True),
        after=table.get_number("after", 0, MAX_ITEMS, least=0),
        labels=_labels(table, scale),
    )
    _check_position(table, check, max_items)
    _check_answers(table, check)
    if not {"kind", "text", "scale", "correct_answers", "labels"} & table.invalid_keys:
        _check_rule(table, check)
    return check


def _name(table: DefinitionTable) -> str:
    name = table.get_text("name") or ""
    if "name" not in table.invalid_keys and (not NAME.fullmatch(name) or len(name) > MAX_COLUMN_NAME):
        table.add_error("name", "Name a check by a letter, then letters, digits and _ (a to z alone).")
    return name


def _labels(table: DefinitionTable, scale: tuple[str, ...]) -> Mapping[str, Wording]:
    rows = table.get_table("labels")
    labels = {answer: rows.get_wording(answer, first=False) for answer in rows.data} if rows else {}
    unknown = [answer for answer in labels if answer not in scale]
    if unknown and "scale" not in table.invalid_keys:
        hint = table.suggest(unknown[0], scale)
        table.add_error(
            "labels", f"{format_value(unknown[0])} is not an answer.{hint} Answers are {format_list(scale)}."
        )
    for language in table.notes.languages[1:]:
        for answer in scale:
            if answer not in labels and not NUMBER.fullmatch(answer):
                path = (*table.path_of("labels"), answer)
                table.notes.add_missing_wording(language, path, f"{format_path(path[:-1])}.{format_value(answer)}")
    return MappingProxyType({answer: labels[answer] for answer in scale if labels.get(answer)})


def _check_position(table: DefinitionTable, check: AttentionCheck, max_items: int | None) -> None:
    if table.data.get("text") is None:
        table.add_error("text", "It is missing. Write the question that raters read.")
    if check.is_attention_check and not check.after and "after" not in table.invalid_keys:
        table.add_error("after", "It is missing or 0. Write after how many items it comes, 1 or more.")
    if max_items is not None and check.after > max_items and "after" not in table.invalid_keys:
        table.add_error(
            "after", f"It is {check.after:,}, and a rater has at most {count_noun(max_items, 'item')}. Take fewer."
        )


def _check_answers(table: DefinitionTable, check: AttentionCheck) -> None:
    """Record a check without a choice, or without both passing and failing answers."""
    if len(check.scale) < 2 and "scale" not in table.invalid_keys:
        table.add_error("scale", "It has fewer than two answers. A check is a choice, never a text that raters write.")
    if "correct_answers" not in table.data:
        table.add_error(
            "correct_answers", f"It is missing. Name those of the answers that pass: {format_list(check.scale)}."
        )
    unknown = [answer for answer in check.correct_answers if answer not in check.scale]
    if unknown and not {"scale", "correct_answers"} & table.invalid_keys:
        hint = table.suggest(unknown[0], check.scale)
        table.add_error(
            "correct_answers",
            f"{format_value(unknown[0])} is not an answer.{hint} Answers are {format_list(check.scale)}.",
        )
    if len(check.scale) > 1 and set(check.scale) <= set(check.correct_answers):
        table.add_error("correct_answers", "All answers are right, so no rater could fail. Leave some out.")
    for language in table.notes.languages:
        shared = Counter(check.label(answer, language) for answer in check.scale).most_common(1)
        if shared and shared[0][1] > 1:
            table.add_error(
                "labels", f"In {language} several answers are shown as {format_value(shared[0][0])}. Tell them apart."
            )


def _check_rule(table: DefinitionTable, check: AttentionCheck) -> None:
    if check.kind == "instruction":
        _check_instruction(table, check)
    elif check.kind == "nonsense":
        _check_nonsense(table, check)


def _check_instruction(table: DefinitionTable, check: AttentionCheck) -> None:
    """Record an instruction that does not name the answer to choose."""
    if len(check.correct_answers) > 1:
        table.add_error(
            "correct_answers",
            f"It is {format_list(check.correct_answers)}. An instruction says what to choose: name one answer.",
        )
        return
    for language, text in check.text.items():
        label = check.label(check.correct_answers[0], language)
        if not _contains_label(text, label):
            table.add_error(
                "text",
                f"In {language} it does not say {format_value(label)}, which is the right answer. An instruction says "
                f'explicitly what to choose: "Please choose “{label}” here." Or take another kind.',
            )


def _check_nonsense(table: DefinitionTable, check: AttentionCheck) -> None:
    """Record a nonsensical statement whose passing answers are not one half of the scale."""
    half, odd = divmod(len(check.scale), 2)
    if odd:
        table.add_error(
            "scale",
            f"It has {len(check.scale)} answers, and so one in the middle that is neither right nor wrong. Take as "
            "many that agree as disagree.",
        )
    elif set(check.correct_answers) not in (set(check.scale[:half]), set(check.scale[half:])):
        table.add_error(
            "correct_answers",
            f"It is {format_list(check.correct_answers)}. Every answer on the right side passes: "
            f"{format_list(check.scale[:half])} or {format_list(check.scale[half:])}.",
        )


def _contains_label(text: str, label: str) -> bool:
    """Return whether a text contains a label as a separate word: "No" is not in "know"."""
    before, after = r"(?<!\w)" * _has_word_boundary(label[0]), r"(?!\w)" * _has_word_boundary(label[-1])
    return re.search(before + re.escape(label) + after, text, re.IGNORECASE) is not None


def _has_word_boundary(character: str) -> bool:
    return character.isdigit() or character.lower() != character.upper()
