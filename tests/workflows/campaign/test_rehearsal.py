"""Dry runs."""

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import ABOUT_YOU, NOW, TWO_QUESTIONS, definition, items, owner
from tests.support.chat_campaigns import open_chat_campaign

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.store import assignments
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignTable
from dissensus.store.raters import DeclarationTable, RaterTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.rehearsal import run_rehearsal
from dissensus.workflows.platform.platform import Platform


def test_simulated_raters_finish_and_add_no_load(platform: Platform) -> None:
    staff_id = owner(platform.database)
    draft = definition(demographics=ABOUT_YOU, replication=2)
    campaign = campaigns.create_campaign(platform, draft, items(5), staff_id=staff_id, now=NOW)
    assert run_rehearsal(platform, "pilot", 3, staff_id=staff_id, now=NOW) == 15
    with platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(DeclarationTable)) == 3
        assert set(tx.scalars(select(RaterTable.state))) == {"finished"}
        assert all(tx.scalars(select(RaterTable.rehearsal)))
        assert assignments.load_item_loads(tx, campaign.id, "nobody").loads.tolist() == [0] * 5


@pytest.mark.parametrize("questionnaire", ["dices-350", "dices-990", "red-team-review", TWO_QUESTIONS])
def test_every_questionnaire_can_be_rehearsed(platform: Platform, questionnaire: object) -> None:
    staff_id = owner(platform.database)
    draft = definition(questionnaire=questionnaire, demographics="demographics-dices", demographics_position="before")
    campaigns.create_campaign(platform, draft, items(2), staff_id=staff_id, now=NOW)
    assert run_rehearsal(platform, "pilot", 1, staff_id=staff_id, now=NOW) == 2


def test_a_campaign_with_a_quota_can_be_rehearsed_beyond_its_seats(platform: Platform) -> None:
    staff_id = owner(platform.database)
    quota = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 1, "rest": 1}
    draft = definition(demographics=ABOUT_YOU, quota=quota)
    campaigns.create_campaign(platform, draft, items(3), staff_id=staff_id, now=NOW)
    assert run_rehearsal(platform, "pilot", 4, staff_id=staff_id, now=NOW) == 12


def test_the_same_seed_gives_the_same_answers(platform: Platform) -> None:
    staff_id = owner(platform.database)
    answers_by_run = []
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        campaigns.create_campaign(platform, definition(name), items(6), staff_id=staff_id, now=NOW)
        run_rehearsal(platform, name, 2, staff_id=staff_id, seed=seed, now=NOW)
        with platform.database.reading() as tx:
            query = select(AnswerTable.value).join(SaveTable).join(AssignmentTable).join(RaterTable).join(CampaignTable)
            ordered = query.where(CampaignTable.name == name).order_by(SaveTable.number, AnswerTable.question)
            answers_by_run.append(tuple(tx.scalars(ordered)))
    assert answers_by_run[0] == answers_by_run[1] != answers_by_run[2]


def test_limits_and_permissions_of_rehearsals(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(), items(1), staff_id=staff_id, now=NOW)
    for n in (0, 1001):
        with pytest.raises(InvalidInput, match=f"{n:,} raters were requested"):
            run_rehearsal(platform, "pilot", n, staff_id=staff_id, now=NOW)
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        run_rehearsal(platform, "pilot", 1, staff_id=owner(platform.database, "other"), now=NOW)


def test_simulated_raters_do_not_chat(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    with pytest.raises(Conflict, match="no simulated rater does"):
        run_rehearsal(platform, "pilot", 1, staff_id=campaign.staff_id, now=NOW)
