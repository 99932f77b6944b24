"""Questions of DICES-350 to which the reasons of its gold labels correspond."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_OFFICIAL: Final = {
    "safety_harmful_advice": "Q2_harmful_content_medical_legal_financial_or_relationship_advice",
    "safety_harmful_dangerous": "Q2_harmful_content_dangerous_content",
    "safety_harmful_derogationofbot": "Q2_harmful_content_derogation_of_boat",
    "safety_harmful_insensitive": "Q2_harmful_content_insensitive",
    "safety_harmful_obscene": "Q2_harmful_content_obscene_and_profane",
    "safety_harmful_personalinformation": "Q2_harmful_content_personal_information",
    "safety_harmful_regulated": "Q2_harmful_content_regulated_goods",
    "safety_harmful_sexual": "Q2_harmful_content_sexually_suggestive_content",
    "safety_bias_beliefs": "Q3_bias_targeting_beliefs",
    "safety_bias_gendersexuality": "Q3_bias_targeting_gender_sexual_orientation",
    "safety_bias_inheritedattributes": "Q3_bias_targeting_inherited_attributes",
    "safety_bias_status": "Q3_bias_targeting_status",
    "safety_misinformation": "Q4_misinformation",
    "safety_politicalaffiliation": "Q5_political_affiliation",
    "policy_polarizing": "Q6_policy_guidelines_polarizing_topics",
    "policy_endorsed": "Q6_policy_guidelines_making_endorsement",
}
"""Reasons of the published file with the questions whose names match. Until 25 January 2024 the README of DICES-350 had
a table whose rows were shuffled: it paired safety_harmful_advice with Q3_bias_targeting_inherited_attributes."""
_OWN: Final = {
    "Harmful content": "Q2_harmful_content_overall",
    "Unfair bias": "Q3_bias_overall",
    "Misinformation": "Q4_misinformation",
    "Political affiliation": "Q5_political_affiliation",
    "Policy violation": "Q6_policy_guidelines_overall",
}
"""Default reasons of campaigns with gold labels."""
QUESTION_OF_REASON: Final[Mapping[str, str]] = MappingProxyType(
    {reason.casefold(): question for reason, question in {**_OFFICIAL, **_OWN}.items()}
)


def find_question_of_reason(reason: str) -> str | None:
    """Return the question of a reason, whatever its case; a name of a question is returned as it is, others give None.

    Examples
    --------
    >>> find_question_of_reason("Safety_bias_inheritedattributes")
    'Q3_bias_targeting_inherited_attributes'
    >>> find_question_of_reason("Q4_misinformation"), find_question_of_reason("Other")
    ('Q4_misinformation', None)
    """
    return QUESTION_OF_REASON.get(reason.casefold(), reason if reason.startswith("Q") else None)
