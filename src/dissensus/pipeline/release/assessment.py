"""Assessment of a release: the published table with the verdict on it."""

import hashlib
from dataclasses import dataclass, replace

import polars as pl

from dissensus.pipeline.release import checks
from dissensus.pipeline.release.columns import select_columns
from dissensus.pipeline.release.datasheet import list_open_questions
from dissensus.pipeline.release.gate import ReleaseCheck, ReleaseVerdict, judge_release
from dissensus.pipeline.release.joins import join_releases
from dissensus.pipeline.release.pseudonyms import Pseudonyms, conceal_conversation
from dissensus.pipeline.release.publication import Publication, publish
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.pipeline.release.statistics import compare_statistics, read_published
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.release.plan import ReleasePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedRelease:
    """A release that may be written if its verdict says so."""

    publication: Publication
    ratings: Ratings  # of the published table
    question: str
    verdict: ReleaseVerdict


def assess_release(source: ReleaseSource, plan: ReleasePlan, pseudonyms: Pseudonyms) -> AssessedRelease:
    """Make the table that a plan publishes, and judge it."""
    source = replace(source, table=_conceal_conversations(source.table))
    # Checked first: a rater with two values of an attribute would be two raters.
    before, question = read_published(select_columns(source, plan), plan.question)
    publication = publish(source, plan, pseudonyms)
    if publication.table.is_empty():
        ratings = before
        checked = [checks.check_anonymity(publication, plan)]
    else:
        ratings, _ = read_published(publication.table, question)
        checked = _list_checks(source, plan, publication, ratings, question)
    changed = publication.blanked or publication.left_out or plan.anonymity.groups
    loss = compare_statistics(before, ratings, question, publication.axes) if changed else ()
    verdict = judge_release(checked, plan, digest_table(publication.table), loss)
    return AssessedRelease(publication=publication, ratings=ratings, question=question, verdict=verdict)


def _conceal_conversations(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with pseudonyms in place of ids of conversations."""
    ids = table[names.ITEM_ID].drop_nulls().cast(pl.String).unique()
    pseudonyms = {item_id: conceal_conversation(item_id.strip()) for item_id in ids}
    return table.with_columns(pl.col(names.ITEM_ID).cast(pl.String).replace(pseudonyms))


def _list_checks(
    source: ReleaseSource, plan: ReleasePlan, publication: Publication, ratings: Ratings, question: str
) -> list[ReleaseCheck]:
    joined = None
    if source.previous is not None:
        joined = join_releases(publication.table, source.previous, plan.anonymity.k)
    return [
        checks.check_consent(source, publication),
        checks.check_withdrawals(source),
        checks.check_columns(source, plan),
        checks.check_external_ids(source, publication),
        checks.check_key(source.key_uses, plan),
        checks.check_anonymity(publication, plan),
        checks.check_diversity(ratings, publication, plan),
        checks.check_membership(ratings, question, publication),
        checks.check_joins(joined, source.earlier, plan),
        checks.check_times(publication, plan),
        checks.check_texts(publication),
        checks.check_datasheet(list_open_questions(plan)),
    ]


def digest_table(table: pl.DataFrame) -> str:
    """Return the SHA-256 of all cells of a table."""
    return hashlib.sha256(table.write_csv().encode()).hexdigest()
