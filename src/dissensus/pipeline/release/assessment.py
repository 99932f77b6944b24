"""Assessment of a release: the published table with the verdict on it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.release import checks
from dissensus.pipeline.release.columns import list_answer_columns, select_columns
from dissensus.pipeline.release.datasheet import list_open_questions
from dissensus.pipeline.release.derivation import DerivedRecords, derive_records
from dissensus.pipeline.release.gate import ReleaseCheck, ReleaseVerdict, judge_release
from dissensus.pipeline.release.joins import JoinedRelease, join_earlier_releases
from dissensus.pipeline.release.pseudonyms import KEY_BYTES, Pseudonyms, conceal_conversation
from dissensus.pipeline.release.publication import Publication, list_images, publish, rename_raters
from dissensus.pipeline.release.source import ReleaseSource
from dissensus.pipeline.release.statistics import ReleaseStatistic, compare_statistics, read_published
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.release.plan import ReleasePlan

EVIDENCE: Final = Pseudonyms(bytes(KEY_BYTES))
"""Ids under which evidence is found; they are never published."""
UNSIGNED: Final[Mapping[str, Any]] = {"signatures": (), "key": None, "previous": None, "older": ()}
"""Fields of a plan that signatures do not cover: they name files of the owner, and come after the signatures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedRelease:
    """A release that may be written if its verdict says so."""

    publication: Publication
    ratings: Ratings  # of the published table
    question: str
    verdict: ReleaseVerdict
    derived: DerivedRecords


def assess_release(source: ReleaseSource, plan: ReleasePlan, pseudonyms: Pseudonyms | None = None) -> AssessedRelease:
    """Make the table that a plan publishes, and judge it; without a key, checks that need it are deferred.

    Evidence and codes are of ids under a constant key, so that people can sign where the secret one is not known.
    """
    plan = _require_signers(source, plan)
    source = replace(source, table=_conceal_conversations(source.table))
    answers = list_answer_columns(source)
    # Checked first: a rater with two values of an attribute would be two raters.
    before, question = read_published(select_columns(source, plan), answers, plan.question or source.question)
    judged = publish(source, plan, EVIDENCE)
    raters = source.table[names.RATER_ID].drop_nulls().cast(pl.String).str.strip_chars().unique()
    ids = {rater: EVIDENCE.rater_id(rater) for rater in raters}
    derived, publication = derive_records(source, plan, judged, ids), judged
    content = digest_content(source, plan, judged.table, derived)
    if pseudonyms is not None:
        secret = {rater: pseudonyms.rater_id(rater) for rater in raters}
        publication = rename_raters(judged, {ids[rater]: secret[rater] for rater in raters})
        derived = derive_records(source, plan, publication, secret)
    ratings, loss = before, list[ReleaseStatistic]()
    if judged.table.is_empty():
        checked = [checks.check_anonymity(judged, plan)]
    else:
        ratings, _ = read_published(judged.table, answers, question)
        checked = _list_checks(source, plan, judged, ratings, question)
        checked += _list_key_checks(source, plan, None if pseudonyms is None else publication)
        if judged.blanked or judged.left_out or plan.anonymity.groups:
            loss = compare_statistics(before, ratings, question, judged.axes)
    verdict = judge_release(checked, plan, content, loss, on_site=source.signatures)
    if not publication.table.is_empty():
        ratings, _ = read_published(publication.table, answers, question)
    return AssessedRelease(
        publication=publication, ratings=ratings, question=question, verdict=verdict, derived=derived
    )


def _require_signers(source: ReleaseSource, plan: ReleasePlan) -> ReleasePlan:
    """Return a plan with as many people as the campaign asks for, who sign on its site."""
    signers = None if source.campaign is None else source.campaign.release_signers
    if signers is None:
        return plan
    if plan.signatures:
        raise InvalidInput(
            f"signatures: {plan.campaign} asks for signatures on the page of the release, and these are in the plan. "
            "Remove them, and sign there."
        )
    return replace(plan, people=max(plan.people, signers))


def _conceal_conversations(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with pseudonyms in place of ids of conversations."""
    ids = table[names.ITEM_ID].drop_nulls().cast(pl.String).unique()
    pseudonyms = {item_id: conceal_conversation(item_id.strip()) for item_id in ids}
    return table.with_columns(pl.col(names.ITEM_ID).cast(pl.String).replace(pseudonyms))


def _list_checks(
    source: ReleaseSource, plan: ReleasePlan, publication: Publication, ratings: Ratings, question: str
) -> list[ReleaseCheck]:
    return [
        checks.check_consent(source, publication),
        checks.check_withdrawals(source),
        checks.check_columns(source, plan),
        checks.check_external_ids(source, publication),
        checks.check_anonymity(publication, plan),
        checks.check_diversity(source, publication, plan),
        checks.check_membership(ratings, question, publication, by_authors=source.by_authors),
        checks.check_times(publication, plan),
        checks.check_texts(publication),
        checks.check_images(source, publication, plan),
        checks.check_datasheet(list_open_questions(plan)),
    ]


def _list_key_checks(source: ReleaseSource, plan: ReleasePlan, publication: Publication | None) -> list[ReleaseCheck]:
    """Return the checks that need the secret key or the release before, which a site does not have."""
    joined: tuple[JoinedRelease, ...] = ()
    if publication is not None and source.previous is not None:
        earlier, answers = (source.previous, *source.older), list_answer_columns(source)
        joined = join_earlier_releases(publication.table, earlier, answers, plan.anonymity.k)
    key_checks = [checks.check_key(source.key_uses, plan), checks.check_joins(joined, source.unnamed, plan)]
    if publication is not None:
        return key_checks
    return [checks.defer_check(key_checks[0]), checks.defer_check(key_checks[1]) if source.earlier else key_checks[1]]


def digest_content(source: ReleaseSource, plan: ReleasePlan, table: pl.DataFrame, derived: DerivedRecords) -> str:
    """Return the SHA-256 of what is published: cells, derived records, and what documents say by plan and source."""
    digest = hashlib.sha256(table.write_csv().encode())
    for line in derived.lines():
        digest.update(line.encode())
    for name in list_images(table):
        digest.update(f"{name} {source.images.get(name)}\n".encode())
    stated = replace(plan, **UNSIGNED)
    definition = None if source.facts is None else source.facts.definition
    digest.update(json.dumps([stated, source.notices, definition], default=_to_plain, sort_keys=True).encode())
    return digest.hexdigest()


def _to_plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return dict(value) if isinstance(value, Mapping) else str(value)
