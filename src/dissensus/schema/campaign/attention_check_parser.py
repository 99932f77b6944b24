"""Parser of the tables ``[[checks]]`` of a campaign, with the rules for fair checks."""

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dissensus.schema.campaign.attention_check import KINDS, AttentionCheck
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.checks import NAME, NUMBER
from dissensus.schema.questionnaire.question import MAX_ANSWERS, MAX_COLUMN_NAME, Wording

MAX_CHECKS: Final = 50
MAX_ITEMS: Final = 1_000_000

KEYS: Final = ("name", "kind", "text", "scale", "labels", "right", "after")


def parse_checks(table: DefinitionTable, most_items: int | None = None) -> tuple[AttentionCheck, ...]:
    """Parse the tables ``[[checks]]`` of a campaign, given its limit of items a rater; errors are recorded."""
    checks = tuple(_check(one, most_items) for one in table.get_tables("checks", MAX_CHECKS))
    names = Counter(check.name.casefold() for check in checks if check.name)
    twice = next((check.name for check in checks if names[check.name.casefold()] > 1), None)
    if twice is not None:
        table.add_error(
            "checks", f"Two have the name {format_value(twice)}; capitals make no difference. Give each its own."
        )
    return checks


def _check(table: DefinitionTable, most_items: int | None) -> AttentionCheck:
    table.check_keys(KEYS)
    scale = table.get_texts("scale", MAX_ANSWERS, needed=True)
    if "kind" not in table.data:
        table.add_error("kind", f"It is missing. State which rule it keeps: one of {format_list(KINDS)}.")
    check = AttentionCheck(
        name=_name(table),
        kind=table.get_choice("kind", KINDS, "instruction") if "kind" in table.data else "instruction",
        text=table.get_wording("text"),
        scale=scale,
        right=table.get_texts("right", MAX_ANSWERS, needed=True),
        after=table.get_number("after", 0, MAX_ITEMS, least=0),
        labels=_labels(table, scale),
    )
    _check_position(table, check, most_items)
    _check_answers(table, check)
    if not {"kind", "text", "scale", "right", "labels"} & table.invalid_keys:
        _check_rule(table, check)
    return check


def _name(table: DefinitionTable) -> str:
    name = table.get_text("name") or ""
    if "name" not in table.invalid_keys and (not NAME.fullmatch(name) or len(name) > MAX_COLUMN_NAME):
        table.add_error("name", "Name a check by a letter, then letters, digits and _ (a to z alone).")
    return name


def _labels(table: DefinitionTable, scale: tuple[str, ...]) -> Mapping[str, Wording]:
    every = table.get_table("labels")
    found = {answer: every.get_wording(answer, first=False) for answer in every.data} if every else {}
    unknown = [answer for answer in found if answer not in scale]
    if unknown and "scale" not in table.invalid_keys:
        hint = table.suggest(unknown[0], scale)
        table.add_error("labels", f"{format_value(unknown[0])} is no answer.{hint} Answers are {format_list(scale)}.")
    for language in table.notes.languages[1:]:
        for answer in scale:
            if answer not in found and not NUMBER.fullmatch(answer):
                table.notes.add_missing_wording(language, f"{table.path_of('labels')}.{format_value(answer)}")
    return MappingProxyType({answer: found[answer] for answer in scale if found.get(answer)})


def _check_position(table: DefinitionTable, check: AttentionCheck, most_items: int | None) -> None:
    if table.data.get("text") is None:
        table.add_error("text", "It is missing. Write the question that raters read.")
    if check.of_attention and not check.after and "after" not in table.invalid_keys:
        table.add_error("after", "It is missing or 0. Write after how many items it comes, 1 or more.")
    if most_items is not None and check.after > most_items and "after" not in table.invalid_keys:
        table.add_error("after", f"It is {check.after:,}, and a rater has {most_items:,} items at most. Take fewer.")


def _check_answers(table: DefinitionTable, check: AttentionCheck) -> None:
    """Note a check without a choice, or one that everybody passes, or nobody."""
    if len(check.scale) < 2 and "scale" not in table.invalid_keys:
        table.add_error("scale", "It has fewer than two answers. A check is a choice, never a text that raters write.")
    if "right" not in table.data:
        table.add_error("right", f"It is missing. Name those of the answers that pass: {format_list(check.scale)}.")
    unknown = [answer for answer in check.right if answer not in check.scale]
    if unknown and not {"scale", "right"} & table.invalid_keys:
        hint = table.suggest(unknown[0], check.scale)
        table.add_error(
            "right", f"{format_value(unknown[0])} is no answer.{hint} Answers are {format_list(check.scale)}."
        )
    if len(check.scale) > 1 and set(check.scale) <= set(check.right):
        table.add_error("right", "All answers are right, so that nobody could fail. Leave some out.")
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
    """Note an instruction that does not say what to choose."""
    if len(check.right) > 1:
        table.add_error(
            "right", f"It is {format_list(check.right)}. An instruction says what to choose: name one answer."
        )
        return
    for language, text in check.text.items():
        label = check.label(check.right[0], language)
        if not _contains_label(text, label):
            table.add_error(
                "text",
                f"In {language} it does not say {format_value(label)}, which is the right answer. An instruction says "
                f'explicitly what to choose: "Please choose “{label}” here." Or take another kind.',
            )


def _check_nonsense(table: DefinitionTable, check: AttentionCheck) -> None:
    """Note a statement to which a right answer could be held against somebody."""
    half, odd = divmod(len(check.scale), 2)
    if odd:
        table.add_error(
            "scale",
            f"It has {len(check.scale)} answers, and so one in the middle that is neither right nor wrong. Take as "
            "many that agree as disagree.",
        )
    elif set(check.right) not in (set(check.scale[:half]), set(check.scale[half:])):
        table.add_error(
            "right",
            f"It is {format_list(check.right)}. Every answer on the right side passes: "
            f"{format_list(check.scale[:half])} or "
            f"{format_list(check.scale[half:])}.",
        )


def _contains_label(text: str, label: str) -> bool:
    """Tell whether a text holds a label, as a word of its own where words are set apart: "No" is not in "know"."""
    before, after = (r"(?<!\w)" * _has_word_boundary(label[0]), r"(?!\w)" * _has_word_boundary(label[-1]))
    return re.search(before + re.escape(label) + after, text, re.IGNORECASE) is not None


def _has_word_boundary(mark: str) -> bool:
    return mark.isdigit() or mark.lower() != mark.upper()
