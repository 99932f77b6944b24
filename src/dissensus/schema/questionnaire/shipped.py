"""Registry of the questionnaires that ship with the package."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from dissensus.errors import NotFound
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.questionnaire.definition import Questionnaire, Subject
from dissensus.schema.questionnaire.parser import parse_questionnaire
from dissensus.schema.questionnaire.question import Question

__all__ = [
    "Question",
    "Questionnaire",
    "known_scale",
    "list_definitions",
    "load_questionnaire",
    "parse_questionnaire",
    "published_questionnaires",
    "questionnaires",
]

_FOLDER = files("dissensus.schema") / "questionnaires"


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
    return tuple(name for name in _names() if load_questionnaire(name).about == about)


@cache
def published_questionnaires() -> tuple[str, ...]:
    """Return the names of the questionnaires of published files.

    Examples
    --------
    >>> published_questionnaires()
    ('dices-350', 'dices-990')
    """
    return tuple(name for name in questionnaires() if load_questionnaire(name).leading_columns)


def list_definitions(folder: Traversable) -> tuple[str, ...]:
    """Return the names of the TOML files in a folder of the package."""
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def _names() -> tuple[str, ...]:
    return list_definitions(_FOLDER)


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
    names = _names()
    if name not in names:
        hint = suggest(name, names)
        raise NotFound(f"There is no questionnaire {name!r}; there are {format_list(names)}.{hint}")
    return parse_questionnaire((_FOLDER / f"{name}.toml").read_text("utf-8"))


def known_scale(column: str) -> tuple[str, ...] | None:
    """Return the scale of a column in the shipped questionnaires, None if none has it.

    Examples
    --------
    >>> known_scale("Q_overall")
    ('No', 'Unsure', 'Yes')
    """
    scales = (load_questionnaire(name).scale(column) for name in questionnaires())
    return next((scale for scale in scales if scale is not None), None)
