"""Metadata of all tables.

::

    staff ─┬─ sign_in_link   api_token ── idempotency   sign_in_failure   rate_limit
           ├─ totp   recovery_code   passkey   security_event   mail       passkey_challenge
           └─ member ─────┐
    campaign ─┬───────────┴─ staff_invitation
              ├─ image
              ├─ item ──────────────┐
              ├─ consent_text ── consent ─┐
              ├─ invitation ─────── rater ─┼─ assignment ── save ── answer
              ├─ recruit ──────────────────┼─ declaration   check_answer   care_survey
              ├─ screen_out                ├─ notice   payment   flag_decision   flag_notice
              ├─ monitoring_snapshot       │
              ├─ published_figures         ├─ rater_figures
              ├─ item_summary              ├─ rating_codes
              ├─ monitoring_progress       │
              ├─ campaign_report ── report_section   report_figure
              ├─ release_plan              │
              ├─ campaign_plan             │
              └─ seat ─────────────────────┼─ chat ── chat_exchange ─┬─ chat_candidate
                                           │                         └─ chat_pick
              session (of a rater or of staff)   event   event_chain   lease   webhook
              working_copy (of a definition, by staff)
    item ───── gold_label   gold_decision (by staff)   gold_progress
    api_token ── api_token_exclusion (of a campaign)

Saves and answers are append-only: a correction is a later save with a higher `revision` (see
`dissensus.campaign.answer_drafts`); drafts that later saves supersede are deleted. The counter `item.load` serves to
choose the next item; an audit recounts it from the assignments.

Permissions of staff in a campaign follow from `member` alone; `campaign.staff_id` is its creator and grants nothing.
"""

from typing import Final

from sqlalchemy import MetaData

# Importing a module registers its tables.
from dissensus.store import (  # noqa: F401
    answer_drafts,
    assignments,
    audit_log,
    campaigns,
    care,
    chats,
    check_answers,
    consents,
    flags,
    gold,
    images,
    items,
    members,
    monitoring,
    notices,
    payments,
    raters,
    recruits,
    seats,
    staff,
    webhooks,
)
from dissensus.store.core import idempotency, leases, rate_limits, sign_in_failures  # noqa: F401
from dissensus.store.core.orm import Base
from dissensus.store.identity import (  # noqa: F401
    api_tokens,
    mails,
    passkeys,
    second_factors,
    security_log,
    sessions,
    sign_in_links,
)
from dissensus.store.lists import raters as rater_lists  # noqa: F401
from dissensus.store.lists import reports  # noqa: F401
from dissensus.store.planning import campaign_plans  # noqa: F401
from dissensus.store.release import release_plans  # noqa: F401

METADATA: Final[MetaData] = Base.metadata
