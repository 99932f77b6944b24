"""Registry of the questionnaires that ship with the package."""

from functools import cache

from dissensus.schema.questionnaire.definition import Questionnaire, Subject
from dissensus.schema.questionnaire.parser import parse_questionnaire
from dissensus.schema.shipped_files import ShippedFiles

_QUESTIONNAIRES = ShippedFiles("dissensus.schema", "questionnaires", "questionnaire")


def questionnaires(*, about: Subject = "item") -> tuple[str, ...]:
    """Return the names of the questionnaires that ship with the package.

    Parameters
    ----------
    about
        ``item`` for those about conversations, ``rater`` for those in which raters describe themselves.

    Examples
    --------
    >>> questionnaires()
    ('dices-350', 'dices-990', 'red-team-review')
    >>> questionnaires(about="rater")
    ('care-survey', 'demographics-dices', 'demographics-dices-990')
    """
    return tuple(name for name in _QUESTIONNAIRES.names if load_questionnaire(name).about == about)


@cache
def published_questionnaires() -> tuple[str, ...]:
    """Return the names of the questionnaires of published files.

    Examples
    --------
    >>> published_questionnaires()
    ('dices-350', 'dices-990')
    """
    return tuple(name for name in questionnaires() if load_questionnaire(name).leading_columns)


@cache
def load_questionnaire(name: str) -> Questionnaire:
    """Return a questionnaire that ships with the package.

    Raises
    ------
    NotFound
        No questionnaire has that name; the message lists the existing ones.

    Examples
    --------
    >>> dices = load_questionnaire("dices-350")
    >>> len(dices.questions), len(dices.flagged_raters)
    (20, 19)
    >>> dices.overalls["Q6_policy_guidelines_overall"]
    ('Q6_policy_guidelines_polarizing_topics',
     'Q6_policy_guidelines_making_endorsement',
     'Q6_policy_guidelines_other')
    """
    return parse_questionnaire(_QUESTIONNAIRES.read_text(name))


def known_scale(column: str) -> tuple[str, ...] | None:
    """Return the scale of a column in the shipped questionnaires, None if none has it.

    Examples
    --------
    >>> known_scale("Q_overall")
    ('No', 'Unsure', 'Yes')
    """
    scales = (load_questionnaire(name).scale(column) for name in questionnaires())
    return next((scale for scale in scales if scale is not None), None)
