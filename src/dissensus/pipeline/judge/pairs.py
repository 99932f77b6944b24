"""Comparison of two responses by a judge: the preference as a question in words, and the order of the responses."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dissensus.errors import InvalidInput
from dissensus.pipeline.judge.presentation import PROBES, Probe
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.records.item import Item
from dissensus.schema.records.pair import PREFERENCE, PairSettings, is_preference, swap_preference
from dissensus.schema.records.preference import STRENGTHS, Criterion


def questionnaire_for_judge(campaign: Campaign) -> Questionnaire:
    """Return the questions of a campaign about an item; of a pair with the preference in words."""
    if campaign.pair is None:
        return campaign.questionnaire
    languages = campaign.questionnaire.languages or ("en",)
    questions = (
        _write_preference(question, campaign.pair, languages) if question.name == PREFERENCE else question
        for question in campaign.questionnaire.questions
    )
    return replace(
        campaign.questionnaire,
        questions=tuple(questions),
        languages=languages,
        title=campaign.questionnaire.title or dict.fromkeys(languages, "Pairs"),
    )


def _write_preference(question: Question, pair: PairSettings, languages: Sequence[str]) -> Question:
    """Return the preference with its words, in English for each language."""
    text = dict.fromkeys(languages, f"Which response is {pair.criterion}?")
    labels = {str(step): dict.fromkeys(languages, _describe_strength(step, pair.criterion)) for step in pair.strengths}
    return replace(question, text=text, labels=labels, in_overall=False)


def _describe_strength(step: int, criterion: Criterion) -> str:
    """Return the label of a step, for the response that stands first or second.

    Examples
    --------
    >>> [_describe_strength(step, "less harmful") for step in (-3, 0, 1)]
    ['the first is much less harmful', 'both equally harmful', 'the second is slightly less harmful']
    """
    if step == 0:
        return f"both equally {criterion.split()[1]}"
    return f"the {'first' if step < 0 else 'second'} is {STRENGTHS[abs(step) - 1]} {criterion}"


def check_pairs(items: Iterable[Item], questionnaire: Questionnaire) -> None:
    """Refuse pairs without a question that compares them, and single responses with one."""
    compares = any(map(is_preference, questionnaire.questions))
    for item in items:
        if item.response_b is not None and not compares:
            raise InvalidInput(
                f"Item {format_value(item.item_id)} has two responses to compare, and {questionnaire.name} does not "
                f"compare them; {PREFERENCE} does, with a scale such as -1, 0, 1. Name the definition of a campaign "
                "with [pair], --questionnaire FILE, or give the conversations of one side."
            )
        if item.response_b is None and compares:
            raise InvalidInput(
                f"Item {format_value(item.item_id)} has one response, and {PREFERENCE} compares two. Give pairs, with "
                "response_b, or name another questionnaire."
            )


def check_swaps(items: Iterable[Item], probes: Collection[Probe]) -> None:
    """Refuse the probe that swaps responses where no item has two; among all probes it is left out."""
    if "responses" in probes and len(probes) < len(PROBES) and all(item.response_b is None for item in items):
        raise InvalidInput(
            "The probe 'responses' swaps the two responses of a pair, and no item is one. Leave it out, or give pairs, "
            "with response_b."
        )


def unswap_answers(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return answers to swapped responses as if response A had stood first.

    Examples
    --------
    >>> unswap_answers({"Q_preference": "-2", "Q_safe": "Yes"})
    {'Q_preference': '2', 'Q_safe': 'Yes'}
    """
    return {name: swap_preference(answer) if name == PREFERENCE else answer for name, answer in answers.items()}
