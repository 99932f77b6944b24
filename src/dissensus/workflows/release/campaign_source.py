"""Source of a release from a campaign of the site."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.audit_log import AuditEvent
from dissensus.campaign.consent_scope import required_purposes
from dissensus.errors import Conflict, InvalidInput
from dissensus.files.catalogue import load_source_notice
from dissensus.pipeline.release.publication import redact
from dissensus.pipeline.release.source import CampaignFacts, KeyUse, ReleaseSource, check_content
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.image import StoredImage
from dissensus.schema.release.plan import PURPOSE, ReleasePlan, Signature
from dissensus.store import audit, audit_log, consents, images, members, recruits, staff
from dissensus.store import export as export_store
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.audit import link_pending_events
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.images import load_image
from dissensus.workflows.campaign.members import campaign_for_member, load_member_campaign
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.release.collection import collect_chats, collect_ratings


@dataclass(frozen=True, slots=True, kw_only=True)
class _LogHead:
    """Head of the log as a release states it: the one that it stated before, where it is made again."""

    n_events: int
    digest: str


def load_source(
    platform: Platform,
    plan: ReleasePlan,
    fingerprint: str | None = None,
    *,
    staff_id: str | None = None,
    most: int | None = None,
) -> ReleaseSource:
    """Load the finished records of a campaign, of raters who agreed to all required purposes and to the release.

    The fingerprint is that of the secret key, where it is known. More than `most` ratings or messages are refused.
    """
    name = str(plan.campaign)
    staff_id = staff_id or overview.find_owner_id(platform, name)
    link_pending_events(platform)
    with platform.database.reading() as tx:
        campaign_row, campaign = load_member_campaign(tx, platform, name, staff_id)
        purposes = required_purposes(campaign, _list_requested(campaign, plan))
        _check_size(tx, campaign_row, campaign, purposes, most)
        collected = (
            collect_ratings(tx, campaign_row, campaign, purposes, plan)
            if campaign.chat is None
            else collect_chats(tx, campaign_row, campaign, campaign.chat, purposes, plan)
        )
        released = list(audit_log.iterate_events(tx, campaign_row.id, "released"))
        of_site = list(audit_log.iterate_events(tx, None, "released"))
        if fingerprint is not None:
            _check_version(of_site, plan, fingerprint)
        head = _find_head(tx, campaign_row, plan, released)
        uses = tuple(_to_use(event) for event in of_site if event.content["key"] == fingerprint)
        return ReleaseSource(
            table=collected.table,
            consented=_list_consented(tx, collected.rater_ids, purposes),
            purposes=purposes,
            withdrawn=frozenset(audit.iterate_withdrawn_raters(tx, campaign_row.id)),
            external_ids=frozenset(recruits.iterate_external_ids(tx, campaign_row.id)),
            texts=frozenset(_list_texts(campaign)),
            questions=collected.questions,
            question=collected.question,
            preferences=collected.preferences,
            attempts=collected.attempts,
            by_authors=collected.by_authors,
            images={image.name: image.digest for image in images.list_images(tx, campaign_row.id)},
            campaign=campaign,
            facts=CampaignFacts(
                definition=campaign_row.digest,
                consent_version=consents.find_latest_version(tx, campaign_row.id),
                first_day=collected.first_day,
                last_day=collected.last_day,
                withdrawn=collected.withdrawn,
                omissions=collected.omissions,
                head=head.digest,
                n_events=head.n_events,
            ),
            key_uses=uses,
            logged=uses,
            earlier=tuple(map(_to_use, released)),
            notices=tuple(map(load_source_notice, sorted(set(map(redact, collected.datasets))))),
            signatures=tuple(_list_signatures(tx, campaign_row, plan, released)),
        )


def _check_size(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, purposes: tuple[str, ...], most: int | None
) -> None:
    n_ratings = (
        export_store.count_rating_export(tx, campaign_row.id, purposes).exported.ratings
        if campaign.chat is None
        else export_store.count_chat_exchanges(tx, campaign_row.id, purposes)
    )
    if most is not None and n_ratings > most:
        raise InvalidInput(
            f"{campaign_row.name} has {n_ratings:,} ratings or messages, and {most:,} are judged on the site. "
            "Use the command: dissensus release PLAN --dry-run"
        )


def _list_requested(campaign: Campaign, plan: ReleasePlan) -> tuple[str, ...]:
    """Return the purpose of a plan, and always publication where raters were asked for it."""
    is_asked = any(purpose.name == PURPOSE for purpose in campaign.consent.purposes)
    return (plan.purpose, PURPOSE) if is_asked else (plan.purpose,)


@contextmanager
def log_release(
    platform: Platform,
    plan: ReleasePlan,
    source: ReleaseSource,
    fingerprint: str,
    use: KeyUse,
    now: datetime,
) -> Iterator[None]:
    """Log that a release was written, with the head of the log that it states, unless the body raises.

    Raise if somebody who is in it withdrew or refused since it was judged, or if the log has the version with another
    content by now. A release that is in the log already is only checked.
    """
    name = str(plan.campaign)
    staff_id = overview.find_owner_id(platform, name)
    facts = source.facts
    content: dict[str, Any] = {"name": plan.name, "version": plan.version, "manifest": use.manifest, "key": fingerprint}
    content |= {} if facts is None else {"head": facts.head, "events": facts.n_events}
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        _check_raters(tx, campaign_row, source)
        # Read under the lock: another process may have logged the version since the source was loaded.
        released = list(audit_log.iterate_events(tx, None, "released"))
        _check_version(released, plan, fingerprint)
        uses = [_to_use(event) for event in released if event.content["key"] == fingerprint]
        check_content(use, uses)
        if use not in uses:
            log_staff_event(tx, campaign_row.id, "released", staff_id, now, **content)
        yield


def _check_raters(tx: Connection, campaign_row: CampaignRow, source: ReleaseSource) -> None:
    rater_ids = frozenset(source.table[names.RATER_ID])
    gone = rater_ids.intersection(audit.iterate_withdrawn_raters(tx, campaign_row.id))
    gone |= rater_ids - _list_consented(tx, rater_ids, source.purposes)
    refused = export_store.list_refused_items(tx, campaign_row.id, (PURPOSE,)).intersection(source.table[names.ITEM_ID])
    if gone or refused:
        raise Conflict(
            f"Since the release was judged, {len(gone):,} of its raters and authors of {len(refused):,} of its items "
            "withdrew or agreed no longer. Run the command again. Nothing was written."
        )


def _list_signatures(
    tx: Connection, campaign_row: CampaignRow, plan: ReleasePlan, released: list[AuditEvent]
) -> Iterator[Signature]:
    """Yield the signatures of present owners, or those up to the release of this version, if it is made again."""
    written = (one.at for one in released if (one.content["name"], one.content["version"]) == (plan.name, plan.version))
    until = next(written, None)
    signed = [
        event
        for event in audit_log.iterate_events(tx, campaign_row.id, "release_signed")
        if event.staff_id is not None and (until is None or event.at <= until)
    ]
    if until is None:  # signatures of a release that is made again stand
        owners = {member.staff_id for member in members.list_members(tx, campaign_row.id) if member.role == "owner"}
        able = owners - set(staff.load_disabled_accounts(tx))
        signed = [event for event in signed if event.staff_id in able]
    people = staff.load_staff_names(tx, {str(event.staff_id) for event in signed})
    for event in signed:
        yield Signature(check=event.content["check"], by=people[str(event.staff_id)], code=event.content["code"])


def _to_use(event: AuditEvent) -> KeyUse:
    return KeyUse(**{name: event.content[name] for name in ("name", "version", "manifest")})


def _check_version(released: list[AuditEvent], plan: ReleasePlan, fingerprint: str) -> None:
    """Raise if the version was written with another key: its ids, and so its content, were others."""
    for event in released:
        content = event.content
        if (content["name"], content["version"]) == (plan.name, plan.version) and content["key"] != fingerprint:
            raise Conflict(
                f"{plan.name} {plan.version} was written before with another key, of the fingerprint {content['key']}. "
                "Name that key, or raise the version."
            )


def _find_head(tx: Connection, campaign_row: CampaignRow, plan: ReleasePlan, released: list[AuditEvent]) -> _LogHead:
    for event in released:
        if (event.content["name"], event.content["version"]) == (plan.name, plan.version):
            return _LogHead(n_events=event.content["events"], digest=event.content["head"])
    n_events, digest = audit_log.get_chain_head(tx, campaign_row.id)
    return _LogHead(n_events=n_events, digest=digest)


def iterate_released_images(
    platform: Platform, plan: ReleasePlan, image_names: Collection[str]
) -> Iterator[StoredImage]:
    """Yield the images that published items of a campaign show, one at a time."""
    name = str(plan.campaign)
    for image_name in image_names:
        yield load_image(platform, name, image_name, staff_id=overview.find_owner_id(platform, name))


def holds_head(platform: Platform, plan: ReleasePlan, n_events: int, digest: str) -> bool:
    """Return whether a head is in the chain of the campaign of a plan, after its first events."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(
            tx, str(plan.campaign), overview.find_owner_id(platform, str(plan.campaign))
        )
        return audit_log.find_chain_digest(tx, campaign_row.id, n_events) == digest


def _list_consented(tx: Connection, rater_ids: frozenset[str], purposes: tuple[str, ...]) -> frozenset[str]:
    """Return the raters whose latest answer to each purpose is yes; independent of the query of exports."""
    agreed = set()
    for rater_id in rater_ids:
        latest: dict[str, bool] = {}
        for row in consents.list_consents(tx, rater_id):  # the latest version first
            latest = {**row.agreed, **latest}
        if all(latest.get(purpose, False) for purpose in purposes):
            agreed.add(rater_id)
    return frozenset(agreed)


def _list_texts(campaign: Campaign) -> Iterator[str]:
    """Yield the columns with free text of raters."""
    demographics = () if campaign.demographics is None else campaign.demographics.questions
    for question in (*campaign.questionnaire.questions, *demographics):
        if question.kind == "text":
            yield question.name
        if question.own_words is not None:
            yield question.own_words
