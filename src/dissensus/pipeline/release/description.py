"""Description of a release: the facts that all its documents state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.release.publication import Publication
from dissensus.pipeline.release.source import CampaignFacts, ReleaseSource
from dissensus.pipeline.release.statistics import estimate_alpha, estimate_alpha_interval
from dissensus.schema.campaign.definition import Campaign, localise
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.records.source_notice import SourceNotice
from dissensus.schema.release.plan import ReleasePlan

BLANK: Final = "(blank)"
"""Group of raters without a value."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file with data."""

    sha256: str
    size: int
    columns: Mapping[str, pl.DataType] | None = None  # of a Parquet file


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedEffect:
    """Effect of a group of raters against the base, with its 95 % interval."""

    axis: str
    group: str
    n_group: int  # modelled raters
    base: str
    n_base: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedEffects:
    """Effects of a model of the published ratings, or the reason without one."""

    effects: tuple[ReleasedEffect, ...] = ()
    formula: str = ""
    n_raters: int = 0  # of known attributes
    towards: str = ""  # answer to which effects above 0 lead
    reason: str = ""
    warnings: tuple[str, ...] = ()  # of the model


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDescription:
    """Facts that the documents of a release state."""

    plan: ReleasePlan
    title: str
    warning: str
    languages: tuple[str, ...]
    columns: Mapping[str, pl.DataType]
    n_ratings: int
    n_raters: int
    n_items: int
    groups: Mapping[str, Mapping[str, int]]  # raters by attribute
    answers: Mapping[str, int]  # to the question
    question: str
    alpha: float | None
    alpha_interval: tuple[float, float] | None
    n_flagged: int | None  # raters with a flag; None without a column
    flagged: Mapping[str, Mapping[str, tuple[int, int]]]  # flagged and all raters, by attribute and group
    fingerprint: str  # of the key
    software: str
    campaign: Campaign | None
    purposes: tuple[str, ...]  # to which raters agreed
    facts: CampaignFacts | None
    notices: tuple[SourceNotice, ...]  # of the datasets that items are from
    by_authors: bool  # True if raters wrote the conversations
    effects: ReleasedEffects


def describe_release(
    source: ReleaseSource,
    plan: ReleasePlan,
    publication: Publication,
    ratings: Ratings,
    question: str,
    *,
    fingerprint: str,
    software: str,
    effects: ReleasedEffects,
) -> ReleaseDescription:
    """Return the facts of a publication. All numbers of raters are of the published table, and tell of nobody else."""
    campaign, table = source.campaign, publication.table
    language = campaign.languages[0] if campaign else ""
    flag = next((name for name in (names.FLAG, names.REMOVED) if name in table.columns), None)
    flagged = None if flag is None else _flagged_raters(table, flag)
    return ReleaseDescription(
        plan=plan,
        title=plan.title or (localise(campaign.title, language) if campaign else plan.name),
        warning=plan.warning or (localise(campaign.warning, language) if campaign else ""),
        languages=plan.languages or (campaign.languages if campaign else ()),
        columns=dict(table.schema),
        n_ratings=table.height,
        n_raters=publication.raters.height,
        n_items=table[names.ITEM_ID].n_unique(),
        groups={axis: _count_groups(publication.raters, axis) for axis in publication.axes},
        answers=_count_answers(ratings, question),
        question=question,
        alpha=estimate_alpha(ratings, question),
        alpha_interval=estimate_alpha_interval(ratings, question),
        n_flagged=None if flagged is None else len(flagged),
        flagged={} if flagged is None else _flags_by_group(publication, flagged),
        fingerprint=fingerprint,
        software=software,
        campaign=campaign,
        purposes=source.purposes,
        facts=source.facts,
        notices=source.notices,
        by_authors=source.by_authors,
        effects=effects,
    )


def _count_answers(ratings: Ratings, question: str) -> dict[str, int]:
    """Return how often each answer was given, at first and second showings."""
    answers = pl.concat([ratings.answers[question], ratings.repeats[question]]).drop_nulls()
    counts = dict(answers.value_counts().iter_rows())
    return {answer: counts.get(answer, 0) for answer in ratings.scale(question)}


def _count_groups(raters: pl.DataFrame, axis: str) -> dict[str, int]:
    """Return the raters of each group, blank ones last."""
    counts = raters.group_by(axis).len().sort("len", axis, descending=[True, False], nulls_last=True)
    named = {value: n for value, n in counts.iter_rows() if value is not None}
    blank = raters[axis].null_count()
    return {**named, **({BLANK: blank} if blank else {})}


def _flagged_raters(table: pl.DataFrame, flag: str) -> frozenset[str]:
    column = table[flag].cast(pl.String).str.to_lowercase()
    unknown = column.drop_nulls().filter(~column.drop_nulls().is_in(["true", "false", "0", "1", "yes", "no"]))
    if len(unknown):
        raise InvalidInput(f"{flag}: {unknown[0]!r} is neither true nor false. Correct it, or drop the column.")
    return frozenset(table.filter(column.is_in(["true", "1", "yes"]))[names.RATER_ID])


def _flags_by_group(publication: Publication, flagged: frozenset[str]) -> dict[str, dict[str, tuple[int, int]]]:
    marked = publication.raters.with_columns(flagged=pl.col(names.RATER_ID).is_in(list(flagged)))
    result: dict[str, dict[str, tuple[int, int]]] = {}
    for axis in publication.axes:
        rows = marked.group_by(axis).agg(pl.col("flagged").sum(), pl.len().alias("n")).sort(axis, nulls_last=True)
        result[axis] = {value or BLANK: (int(n), int(total)) for value, n, total in rows.iter_rows()}
    return result
